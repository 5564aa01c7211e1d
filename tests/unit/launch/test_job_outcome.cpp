// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/launch/job_outcome.hpp>
#include <support/catch.hpp>
#include <support/log_recorder.hpp>
#include <support/run_program.hpp>

#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace {

namespace job_outcome_test {

using elastic::errc;

elastic::run_result failed_result(elastic::run_result::failure failure) {
  elastic::run_result result;
  result.state = elastic::worker_state::failed;
  result.failures = {std::move(failure)};
  return result;
}

elastic::run_result::failure with_error_file() {
  elastic::run_result::failure failure;
  failure.status = elastic::exit_status::exited(3);
  failure.error =
      elastic::parse_error_file(elastic::error_file_text("ValueError: no", "Traceback", 7));
  return failure;
}

}  // namespace job_outcome_test

namespace jt = job_outcome_test;

TEST_CASE("job_outcome: the exit code says how the job ended", "[launch]") {
  using elastic::worker_state;
  struct row {
    worker_state state;
    std::optional<int> signal;
    int code;
  };
  const std::vector<row> rows = {
      {worker_state::succeeded, std::nullopt, 0}, {worker_state::failed, std::nullopt, 1},
      {worker_state::stopped, SIGINT, 130},       {worker_state::stopped, SIGTERM, 143},
      {worker_state::stopped, SIGHUP, 129},       {worker_state::stopped, std::nullopt, 1},
      {worker_state::init, std::nullopt, 1}};
  for (const row& entry : rows) {
    elastic::run_result result;
    result.state = entry.state;
    result.stop_signal = entry.signal;
    CHECK(elastic::exit_code(result) == entry.code);
  }
  elastic::run_result hopeless_run;
  hopeless_run.state = worker_state::failed;
  hopeless_run.is_hopeless = true;
  CHECK(elastic::exit_code(hopeless_run) == 93);
}

TEST_CASE("job_outcome: without a result the error decides", "[launch]") {
  const std::vector<std::pair<jt::errc, int>> rows = {
      {jt::errc::invalid_argument, 2},    {jt::errc::file_access, 2},
      {jt::errc::address_in_use, 2},      {jt::errc::program_not_executable, 126},
      {jt::errc::program_not_found, 127}, {jt::errc::start_failed, 1},
      {jt::errc::rendezvous_timeout, 1},  {jt::errc::rendezvous_closed, 1},
      {jt::errc::connection_failed, 1}};
  for (const auto& [code, expected] : rows) {
    CHECK(elastic::exit_code(elastic::error(code, "x")) == expected);
  }
  CHECK(elastic::exit_code(std::runtime_error("x")) == 1);
  // The same number in another category is another error.
  const std::system_error other_error(static_cast<int>(jt::errc::invalid_argument),
                                      std::generic_category());
  CHECK(elastic::exit_code(other_error) == 1);
}

TEST_CASE("job_outcome: after a failure come the report and the log directory", "[launch]") {
  auto result = jt::failed_result(jt::with_error_file());
  result.log_directory = "/logs/run";
  const std::string words = elastic::closing_words("train.py", result);
  CHECK_THAT(words, elastic::test::contains_text("train.py FAILED"));
  CHECK_THAT(words, elastic::test::contains_text("Traceback"));
  CHECK(words.ends_with("Logs: /logs/run\n"));
}

TEST_CASE("job_outcome: success is silent, and a stop blames nobody", "[launch]") {
  auto result = jt::failed_result(jt::with_error_file());
  result.state = elastic::worker_state::stopped;
  CHECK(elastic::closing_words("train.py", result).empty());
  result.state = elastic::worker_state::succeeded;
  result.log_directory = "/logs/run";
  CHECK(elastic::closing_words("train.py", result).empty());
}

TEST_CASE("job_outcome: the launcher's error text is the worker's with its exit code", "[launch]") {
  const std::string text = elastic::launcher_error_text(jt::failed_result(jt::with_error_file()));
  CHECK_THAT(text, elastic::test::contains_text("ValueError: no"));
  CHECK_THAT(text, elastic::test::contains_text("\"errorCode\": 3"));
  CHECK(elastic::launcher_error_text(jt::failed_result({})).empty());
  CHECK(elastic::launcher_error_text(elastic::run_result()).empty());
  auto stopped_result = jt::failed_result(jt::with_error_file());
  stopped_result.state = elastic::worker_state::stopped;
  CHECK(elastic::launcher_error_text(stopped_result).empty());
}

TEST_CASE("job_outcome: the launcher's own failure has the schema of a worker's", "[launch]") {
  const std::string text = elastic::launcher_error_text(
      std::runtime_error("no rendezvous"), elastic::wall_time(std::chrono::seconds(12)));
  const auto content = elastic::parse_error_file(text);
  CHECK(content.message == "no rendezvous");
  CHECK(content.timestamp == 12);
}

TEST_CASE("job_outcome: an error file that cannot be written is logged and ends nothing",
          "[launch]") {
  const auto recorder = std::make_shared<elastic::test::log_recorder>();
  const elastic::logger log(recorder, elastic::log_level::debug);
  elastic::test::temporary_directory folder;
  elastic::leave_error_file({}, "text", log);
  elastic::leave_error_file({{"TORCHELASTIC_ERROR_FILE", ""}}, "text", log);
  elastic::leave_error_file({{"TORCHELASTIC_ERROR_FILE", folder / "none"}}, "", log);
  CHECK_FALSE(recorder->has("error file"));
  elastic::leave_error_file({{"TORCHELASTIC_ERROR_FILE", folder / "good"}}, "text", log);
  CHECK(elastic::test::file_text(folder / "good") == "text");
  elastic::leave_error_file({{"TORCHELASTIC_ERROR_FILE", folder / "no/such"}}, "text", log);
  CHECK(recorder->has("cannot write error file"));
}

}  // namespace
