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
  std::string stderr_text;
  std::optional<elastic::error_file_content> error_file;
};

// Runs a body as a worker's main would, with stderr and the error file in a separate folder.
template <class Body>
record_outcome record_body(Body body, bool with_file = true) {
  std::string folder = "/tmp/elastic_record_XXXXXX";
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const std::string path = folder + "/error.json";
  const std::string stderr_path = folder + "/stderr";
  ::setenv("TORCHELASTIC_ERROR_FILE", with_file ? path.c_str() : "", 1);
  const int saved_stderr = ::dup(2);
  const int stderr_file = ::open(stderr_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ::dup2(stderr_file, 2);
  record_outcome outcome;
  outcome.code = elastic::record(std::move(body));
  ::dup2(saved_stderr, 2);
  ::close(saved_stderr);
  char text[4096];
  const ssize_t count = ::pread(stderr_file, text, sizeof text, 0);
  ::close(stderr_file);
  if (count > 0) outcome.stderr_text.assign(text, static_cast<std::size_t>(count));
  ::unsetenv("TORCHELASTIC_ERROR_FILE");
  outcome.error_file = elastic::read_error_file(path);
  ::unlink(path.c_str());
  ::unlink(stderr_path.c_str());
  ::rmdir(folder.c_str());
  return outcome;
}

TEST_CASE("record: an exception goes to stderr and the error file, and makes code 1", "[worker]") {
  const auto outcome = record_body([] { throw std::runtime_error("no such data set"); });
  CHECK(outcome.code == 1);
  CHECK(outcome.stderr_text == "std::runtime_error: no such data set\n");
  REQUIRE(outcome.error_file);
  CHECK_FALSE(outcome.error_file->unparsable);
  CHECK(outcome.error_file->message == "std::runtime_error: no such data set");
  CHECK_FALSE(outcome.error_file->callstack);
  const auto write_time = outcome.error_file->written.value_or(elastic::wall_time());
  const auto delay =
      std::chrono::floor<std::chrono::seconds>(write_time).time_since_epoch().count() -
      outcome.error_file->timestamp;
  // The kernel's clock for files lags behind by up to a tick.
  CHECK(delay >= -1);
  CHECK(delay <= 10);
}

TEST_CASE("record: nested exceptions are told from the outside in", "[worker]") {
  const auto outcome = record_body([] {
    try {
      throw std::invalid_argument("inner");
    } catch (...) {
      std::throw_with_nested(elastic::error(elastic::errc::timed_out, "outer"));
    }
  });
  CHECK(outcome.code == 1);
  CHECK(outcome.stderr_text == "elastic::error: outer\ncaused by std::invalid_argument: inner\n");
  REQUIRE(outcome.error_file);
  CHECK(outcome.error_file->message == "elastic::error: outer");
  CHECK(outcome.error_file->callstack ==
        "elastic::error: outer\ncaused by std::invalid_argument: inner");
}

TEST_CASE("record: what is not a std::exception has its type", "[worker]") {
  const auto outcome = record_body([]() -> int { throw 3; });
  CHECK(outcome.code == 1);
  CHECK(outcome.stderr_text == "int\n");
  REQUIRE(outcome.error_file);
  CHECK(outcome.error_file->message == "int");
}

TEST_CASE("record: success leaves nothing, and a code is passed on", "[worker]") {
  const auto success = record_body([] {});
  CHECK(success.code == 0);
  CHECK(success.stderr_text.empty());
  CHECK_FALSE(success.error_file);
  const auto coded_exit = record_body([] { return 7; });
  CHECK(coded_exit.code == 7);
  CHECK_FALSE(coded_exit.error_file);
}

TEST_CASE("record: without an error file the reason is on stderr alone", "[worker]") {
  const auto outcome = record_body([] { throw std::logic_error("x"); }, false);
  CHECK(outcome.code == 1);
  CHECK(outcome.stderr_text == "std::logic_error: x\n");
  CHECK_FALSE(outcome.error_file);
}

}  // namespace
