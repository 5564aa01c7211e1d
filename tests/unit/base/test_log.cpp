// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/base/log.hpp>
#include <support/catch.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace elastic::test {
namespace log_tests {

class recorder final : public log_handler {
 public:
  void write(log_level level, std::string_view text) noexcept override {
    lines.emplace_back(level, std::string(text));
  }
  std::vector<std::pair<log_level, std::string>> lines;
};

TEST_CASE("logger: one that was made by default is silent", "[base]") {
  const logger silent_log;
  CHECK_FALSE(silent_log.is_enabled(log_level::error));
  silent_log.error("nobody reads {}", "this");
}

TEST_CASE("logger: passes on what is at or above its threshold, with its level", "[base]") {
  const auto handler = std::make_shared<recorder>();
  const logger log(handler, log_level::warning);
  log.debug("d");
  log.info("i");
  log.warning("w {}", 1);
  log.error("e {} {}", "x", 2);
  REQUIRE(handler->lines.size() == 2);
  CHECK(handler->lines[0] == std::pair(log_level::warning, std::string("w 1")));
  CHECK(handler->lines[1] == std::pair(log_level::error, std::string("e x 2")));
}

TEST_CASE("logger: lets through what each threshold says", "[base]") {
  const auto handler = std::make_shared<recorder>();
  const std::vector<std::pair<log_level, std::size_t>> expected = {
      {log_level::debug, 4}, {log_level::info, 3}, {log_level::warning, 2},
      {log_level::error, 1}, {log_level::off, 0},
  };
  for (const auto& [threshold, count] : expected) {
    handler->lines.clear();
    const logger log(handler, threshold);
    log.debug("d");
    log.info("i");
    log.warning("w");
    log.error("e");
    CHECK(handler->lines.size() == count);
    CHECK(log.is_enabled(log_level::error) == (threshold != log_level::off));
  }
}

TEST_CASE("logger: a copy writes to the same place", "[base]") {
  const auto handler = std::make_shared<recorder>();
  const logger log(handler, log_level::debug);
  const logger copy = log;
  copy.info("by the copy");
  CHECK(handler->lines.size() == 1);
}

}  // namespace log_tests
}  // namespace elastic::test
