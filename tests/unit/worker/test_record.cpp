// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/error.hpp>
#include <elastic/contract/error_file.hpp>
#include <elastic/worker/record.hpp>
#include <support/catch.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace {

struct record_outcome {
  int code = 0;
  std::string said;
  std::optional<elastic::error_file_content> left;
};

// Runs a body as a worker's main would, with stderr and the error file in a folder of its own.
template <class Body>
record_outcome recorded(Body body, bool with_file = true) {
  std::string folder = "/tmp/elastic_record_XXXXXX";
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const std::string path = folder + "/error.json";
  const std::string stderr_path = folder + "/stderr";
  ::setenv("TORCHELASTIC_ERROR_FILE", with_file ? path.c_str() : "", 1);
  const int kept = ::dup(2);
  const int caught = ::open(stderr_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ::dup2(caught, 2);
  record_outcome outcome;
  outcome.code = elastic::record(std::move(body));
  ::dup2(kept, 2);
  ::close(kept);
  char text[4096];
  const ssize_t count = ::pread(caught, text, sizeof text, 0);
  ::close(caught);
  if (count > 0) outcome.said.assign(text, static_cast<std::size_t>(count));
  ::unsetenv("TORCHELASTIC_ERROR_FILE");
  outcome.left = elastic::read_error_file(path);
  ::unlink(path.c_str());
  ::unlink(stderr_path.c_str());
  ::rmdir(folder.c_str());
  return outcome;
}

TEST_CASE("record: an exception goes to stderr and the error file, and makes code 1", "[worker]") {
  const auto outcome = recorded([] { throw std::runtime_error("no such data set"); });
  CHECK(outcome.code == 1);
  CHECK(outcome.said == "std::runtime_error: no such data set\n");
  REQUIRE(outcome.left);
  CHECK_FALSE(outcome.left->unparsable);
  CHECK(outcome.left->message == "std::runtime_error: no such data set");
  CHECK_FALSE(outcome.left->callstack);
  const auto written = outcome.left->written.value_or(elastic::wall_time());
  const auto late = std::chrono::floor<std::chrono::seconds>(written).time_since_epoch().count() -
                    outcome.left->timestamp;
  CHECK(late >= 0);
  CHECK(late <= 10);
}

TEST_CASE("record: nested exceptions are told from the outside in", "[worker]") {
  const auto outcome = recorded([] {
    try {
      throw std::invalid_argument("inner");
    } catch (...) {
      std::throw_with_nested(elastic::error(elastic::errc::timed_out, "outer"));
    }
  });
  CHECK(outcome.code == 1);
  CHECK(outcome.said == "elastic::error: outer\ncaused by std::invalid_argument: inner\n");
  REQUIRE(outcome.left);
  CHECK(outcome.left->message == "elastic::error: outer");
  CHECK(outcome.left->callstack ==
        "elastic::error: outer\ncaused by std::invalid_argument: inner");
}

TEST_CASE("record: what is no std::exception has its type", "[worker]") {
  const auto outcome = recorded([]() -> int { throw 3; });
  CHECK(outcome.code == 1);
  CHECK(outcome.said == "int\n");
  REQUIRE(outcome.left);
  CHECK(outcome.left->message == "int");
}

TEST_CASE("record: success leaves nothing, and a code is passed on", "[worker]") {
  const auto nothing = recorded([] {});
  CHECK(nothing.code == 0);
  CHECK(nothing.said.empty());
  CHECK_FALSE(nothing.left);
  const auto code = recorded([] { return 7; });
  CHECK(code.code == 7);
  CHECK_FALSE(code.left);
}

TEST_CASE("record: without an error file the reason is on stderr alone", "[worker]") {
  const auto outcome = recorded([] { throw std::logic_error("x"); }, false);
  CHECK(outcome.code == 1);
  CHECK(outcome.said == "std::logic_error: x\n");
  CHECK_FALSE(outcome.left);
}

}  // namespace
