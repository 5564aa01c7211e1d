// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/agent/detail/workers/line_template.hpp>
#include <elastic/base/error.hpp>

#include <support/catch.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace line_template_tests {

using elastic::worker_identity;
using elastic::detail::line_template;
using elastic::test::contains_text;

worker_identity trainer() {
  worker_identity identity;
  identity.role_name = "trn";
  identity.rank = 5;
  identity.local_rank = 1;
  return identity;
}

// The prefix of lines of process 42 that are read 1.5 s after the epoch.
std::string prefix(const std::string& text, const worker_identity& identity = trainer()) {
  const elastic::wall_time read_time{std::chrono::milliseconds(1500)};
  return line_template(text).head_of(identity, "node7").text(42, read_time);
}

std::string refusal_of(const std::string& text) {
  try {
    line_template{text};
  } catch (const elastic::error& refusal) {
    CHECK(refusal.code() == elastic::errc::invalid_argument);
    return refusal.what();
  }
  FAIL(text << " was accepted");
  return "";
}

TEST_CASE("line template: each field is the worker's", "[agent]") {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"[${role_name}:${rank}] ", "[trn:5] "},
      {"${local_rank}|", "1|"},
      {"$rank.$local_rank ", "5.1 "},
      {"${hostname}/${pid}: ", "node7/42: "},
      {"${time} ", "1970-01-01T00:00:01.500Z "},
      {"fixed ", "fixed "},
      {"$$${rank} $", "$5 $"},
      {"${", "${"},
      {"${rank", "${rank"},
      {"$1", "$1"},
  };
  for (const auto& [text, expected] : rows) {
    INFO(text);
    CHECK(prefix(text) == expected);
  }
}

TEST_CASE("line template: without one the prefix is torchrun's", "[agent]") {
  CHECK(prefix("") == "[trn1]:");
}

TEST_CASE("line template: a role that looks like a field stays as it is", "[agent]") {
  worker_identity identity = trainer();
  identity.role_name = "${rank}";
  CHECK(prefix("", identity) == "[${rank}1]:");
}

TEST_CASE("line template: a field that there is not is named, with those that there are",
          "[agent]") {
  for (const std::string text : {"[${rnk}]", "$rnk", "${rank}${rnk}"}) {
    const std::string message = refusal_of(text);
    CHECK_THAT(message, contains_text("no field 'rnk'"));
    for (const char* field : {"role_name", "rank", "local_rank", "pid", "hostname", "time"}) {
      CHECK_THAT(message, contains_text("${" + std::string(field) + "}"));
    }
  }
}

}  // namespace line_template_tests
