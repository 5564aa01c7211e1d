// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/agent/failure_report.hpp>
#include <elastic/agent/failure_report_json.hpp>
#include <support/catch.hpp>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace {

using elastic::exit_status;
using elastic::run_result;

// The report shows local time; the samples were recorded in UTC.
class report_in_utc {
 public:
  report_in_utc() {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
  }
  ~report_in_utc() {
    ::unsetenv("TZ");
    ::tzset();
  }
};

run_result::failure failure_of(int rank, exit_status status, double seconds) {
  run_result::failure failure;
  failure.rank = rank;
  failure.local_rank = rank;
  failure.role = "default";
  failure.host = "localhost";
  failure.pid = 30000 + rank;
  failure.status = status;
  failure.time = elastic::wall_time(std::chrono::duration_cast<elastic::wall_time::duration>(
      std::chrono::duration<double>(seconds)));
  return failure;
}

run_result::failure stopped_failure_of(int rank, double seconds) {
  run_result::failure failure = failure_of(rank, exit_status::signalled(15), seconds);
  failure.stopped_by_agent = true;
  return failure;
}

nlohmann::json report_vectors() {
  std::ifstream in(ELASTIC_SOURCE_DIR "/tests/vectors/events_and_reports_113.json");
  REQUIRE(in);
  return nlohmann::json::parse(in)["data"];
}

/// What torchrun reports, with the role added below the rank.
std::string with_role(std::string report) {
  const std::size_t position = report.find("  exitcode");
  return report.insert(position, "  role      : default\n");
}

TEST_CASE("failure report: torchrun's own with the role, for an exception and an exit code",
          "[agent]") {
  const report_in_utc utc;
  const auto vectors = report_vectors();

  auto raise_failure = failure_of(1, exit_status::exited(1), 1795170764.9);
  raise_failure.pid = 30059;
  raise_failure.error_file =
      "<tmp>/spec_work/ld_raise/73adc34a-d7aa-4c16-8876-ec62b42c0730_fxxsvr55/"
      "attempt_0/1/error.json";
  const auto event = nlohmann::json::parse(vectors["worker_raise"][1].get<std::string>());
  raise_failure.error =
      elastic::parse_error_file(event["metadata"]["raw_error"].get<std::string>());
  CHECK(elastic::failure_report("w_fail.py", {raise_failure}) ==
        "\n" + with_role(vectors["failure_report_raise"].get<std::string>()));

  auto exit_failure = failure_of(1, exit_status::exited(7), 1795170769.5);
  exit_failure.pid = 30111;
  exit_failure.error_file = "/not/there/error.json";
  CHECK(elastic::failure_report("w_fail.py", {exit_failure}) ==
        "\n" + with_role(vectors["failure_report_exit"].get<std::string>()));
}

TEST_CASE("failure report: a signal is named beside torchrun's lines", "[agent]") {
  const report_in_utc utc;
  const auto vectors = report_vectors();
  for (const auto& [key, number, pid, seconds] :
       {std::tuple("failure_report_kill", 9, 30173, 1795170773.0),
        std::tuple("failure_report_segv", 11, 30229, 1795170777.0)}) {
    auto failure = failure_of(1, exit_status::signalled(number), seconds);
    failure.pid = pid;
    std::string expected = "\n" + with_role(vectors[key].get<std::string>());
    const std::string line = "(pid: " + std::to_string(pid) + ")";
    expected.replace(expected.find(line), line.size(),
                     line + " (" + elastic::signal_name(number) + ")");
    CHECK(elastic::failure_report("w_fail.py", {failure}) == expected);
  }
}

TEST_CASE("failure report: root cause, others, stderr and those that were stopped", "[agent]") {
  const report_in_utc utc;
  auto root_failure = failure_of(2, exit_status::signalled(11, true), 100.2);
  root_failure.last_stderr = {"loading", "", "about to crash"};
  auto other_failure = failure_of(1, exit_status::exited(1), 100.9);
  other_failure.local_rank = 0;
  other_failure.error_file = "/logs/1/error.json";
  other_failure.error = elastic::parse_error_file(R"({"message": "connection reset\nby peer"})");
  other_failure.last_stderr = {"not shown"};
  const std::vector<run_result::failure> failures = {stopped_failure_of(0, 99), other_failure,
                                                     root_failure, stopped_failure_of(3, 101)};
  CHECK(elastic::failure_report("train.py", failures) ==
        "\n"
        "=======================================================\n"
        "train.py FAILED\n"
        "-------------------------------------------------------\n"
        "Failures:\n"
        "[1]:\n"
        "  time      : 1970-01-01_00:01:40\n"
        "  host      : localhost\n"
        "  rank      : 1 (local_rank: 0)\n"
        "  role      : default\n"
        "  exitcode  : 1 (pid: 30001)\n"
        "  error_file: /logs/1/error.json\n"
        "  traceback : connection reset\n"
        "  by peer\n"
        "-------------------------------------------------------\n"
        "Root Cause (first observed failure):\n"
        "[2]:\n"
        "  time      : 1970-01-01_00:01:40\n"
        "  host      : localhost\n"
        "  rank      : 2 (local_rank: 2)\n"
        "  role      : default\n"
        "  exitcode  : -11 (pid: 30002) (SIGSEGV, core dumped)\n"
        "  error_file: <N/A>\n"
        "  traceback : Signal 11 (SIGSEGV) received by PID 30002\n"
        "  its last lines of stderr:\n"
        "    loading\n"
        "    \n"
        "    about to crash\n"
        "Stopped by the agent because of it: rank 0, 3\n"
        "=======================================================\n");
}

TEST_CASE("failure report: exceptions with which stopped workers were ending are named",
          "[agent]") {
  const auto ending = [](int rank, const std::string& exception) {
    auto failure = stopped_failure_of(rank, 101);
    failure.last_stderr = {"Traceback (most recent call last):",
                           "  File \"train.py\", line 52, in <module>", exception};
    return failure;
  };
  const std::vector<run_result::failure> failures = {
      failure_of(0, exit_status::exited(1), 100), ending(1, "ValueError: bad batch 17"),
      ending(2, "RuntimeError: Connection closed by peer"), ending(3, "KeyboardInterrupt"),
      ending(4, "RuntimeError: Connection closed by peer"), stopped_failure_of(5, 101)};
  CHECK_THAT(elastic::failure_report("train.py", failures),
             elastic::test::contains_text(
                 "Stopped by the agent because of it: rank 1-5\n"
                 "  rank 2, 4 had printed: RuntimeError: Connection closed by peer\n"
                 "  rank 1 had printed: ValueError: bad batch 17\n"));
}

TEST_CASE("failure report: nothing failed, nothing to report", "[agent]") {
  CHECK(elastic::failure_report("x", {}).empty());
  CHECK(elastic::root_cause({}) == nullptr);
}

TEST_CASE("failure report: if all were stopped, the first of them is named", "[agent]") {
  const std::vector<run_result::failure> failures = {stopped_failure_of(0, 5),
                                                     stopped_failure_of(1, 4)};
  CHECK(elastic::root_cause(failures)->rank == 1);
  CHECK_THAT(elastic::failure_report("x", failures), elastic::test::contains_text("rank      : 1"));
}

TEST_CASE("failure report: an unknown status is said to be so", "[agent]") {
  const std::string report =
      elastic::failure_report("x", {failure_of(0, exit_status::unknown(), 5)});
  CHECK_THAT(report, elastic::test::contains_text("exitcode  : 255 (pid: 30000) (unknown status)"));
}

TEST_CASE("failure report: says what may be left if a guard was killed", "[agent]") {
  const std::string report =
      elastic::failure_report("x", {failure_of(0, exit_status::guard_lost(), 5)});
  CHECK_THAT(report, elastic::test::contains_text(
                         "exitcode  : 255 (pid: 30000) (its guard was killed, descendants of it "
                         "may survive)"));
}

TEST_CASE("root cause: the smallest timestamp, by the worker's own account if it has one",
          "[agent]") {
  auto file_of = [](const std::string& timestamp) {
    return elastic::parse_error_file(R"({"message": "m", "timestamp": )" + timestamp + "}");
  };
  SECTION("a worker that failed first but took long to end") {
    auto slow_failure = failure_of(0, exit_status::exited(1), 110);
    slow_failure.error = file_of("100");
    const std::vector<run_result::failure> failures = {
        failure_of(1, exit_status::signalled(6), 103), slow_failure};
    CHECK(elastic::root_cause(failures)->rank == 0);
  }
  SECTION("a file that does not say when counts as of the death") {
    auto silent_failure = failure_of(0, exit_status::exited(1), 110);
    silent_failure.error = file_of("0");
    const std::vector<run_result::failure> failures = {
        silent_failure, failure_of(1, exit_status::signalled(6), 103)};
    CHECK(elastic::root_cause(failures)->rank == 1);
  }
  SECTION("within one second the time of death decides") {
    const std::vector<run_result::failure> failures = {
        failure_of(0, exit_status::signalled(6), 100.7),
        failure_of(1, exit_status::signalled(9), 100.2)};
    CHECK(elastic::root_cause(failures)->rank == 1);
  }
  SECTION("within one second the time at which the file was written counts, not the death") {
    auto slow_failure = failure_of(1, exit_status::exited(1), 100.9);
    slow_failure.error = file_of("100");
    slow_failure.error->written = elastic::wall_time(std::chrono::milliseconds(100'300));
    const std::vector<run_result::failure> failures = {
        failure_of(0, exit_status::signalled(6), 100.6), slow_failure};
    CHECK(elastic::root_cause(failures)->rank == 1);
  }
  SECTION("at the same moment the first in the list") {
    const std::vector<run_result::failure> failures = {failure_of(4, exit_status::exited(1), 100),
                                                       failure_of(2, exit_status::exited(1), 100)};
    CHECK(elastic::root_cause(failures)->rank == 4);
  }
  SECTION("a worker that the agent stopped is never blamed for another's failure") {
    const std::vector<run_result::failure> failures = {stopped_failure_of(0, 1),
                                                       failure_of(1, exit_status::exited(3), 100)};
    CHECK(elastic::root_cause(failures)->rank == 1);
  }
}

TEST_CASE("root cause: a worker that was stopped while it was ending after a failure of its own",
          "[agent]") {
  auto ending_failure = stopped_failure_of(0, 100.9);
  ending_failure.error = elastic::parse_error_file(R"({"message": "m", "timestamp": 100})");
  ending_failure.error->written = elastic::wall_time(std::chrono::milliseconds(100'300));
  const auto consequence = failure_of(1, exit_status::signalled(6), 100.6);
  SECTION("its error file is older than the first death: it is the root cause") {
    const std::vector<run_result::failure> failures = {consequence, ending_failure};
    CHECK(elastic::root_cause(failures)->rank == 0);
    const std::string report = elastic::failure_report("x", failures);
    CHECK(report.find("Stopped by the agent") == std::string::npos);
    CHECK_THAT(report, elastic::test::contains_text("rank      : 1 (local_rank: 1)"));
  }
  SECTION("its error file is younger: it speaks of the stop") {
    ending_failure.error->written = elastic::wall_time(std::chrono::milliseconds(100'700));
    const std::vector<run_result::failure> failures = {consequence, ending_failure};
    CHECK(elastic::root_cause(failures)->rank == 1);
    CHECK_THAT(elastic::failure_report("x", failures),
               elastic::test::contains_text("Stopped by the agent because of it: rank 0\n"));
  }
}

TEST_CASE("root cause: peers that report the loss of a killed worker before the agent learns of it",
          "[agent]") {
  const auto kill_failure = failure_of(1, exit_status::signalled(9), 101.1);
  const bool was_stopped = GENERATE(false, true);
  auto peer_failure =
      was_stopped ? stopped_failure_of(0, 101.2) : failure_of(0, exit_status::exited(1), 101);
  peer_failure.error =
      elastic::parse_error_file(R"({"message": "connection closed", "timestamp": 100})");
  SECTION("shortly before: the kill is the root cause") {
    peer_failure.error->written = elastic::wall_time(std::chrono::milliseconds(100'900));
    const std::vector<run_result::failure> failures = {peer_failure, kill_failure};
    CHECK(elastic::root_cause(failures)->rank == 1);
  }
  SECTION("long before: it failed by itself") {
    peer_failure.error->written = elastic::wall_time(std::chrono::milliseconds(100'050));
    const std::vector<run_result::failure> failures = {peer_failure, kill_failure};
    CHECK(elastic::root_cause(failures)->rank == 0);
  }
  SECTION("an abort is what a lost connection leads to, and gets no such credit") {
    peer_failure.error->written = elastic::wall_time(std::chrono::milliseconds(100'900));
    const std::vector<run_result::failure> failures = {
        peer_failure, failure_of(1, exit_status::signalled(6), 101.1)};
    CHECK(elastic::root_cause(failures)->rank == 0);
  }
}

TEST_CASE("failure report: an error file that cannot be understood leaves stderr in the report",
          "[agent]") {
  auto failure = failure_of(0, exit_status::exited(1), 5);
  failure.error = elastic::parse_error_file("{");
  failure.last_stderr = {"the reason"};
  CHECK_THAT(elastic::failure_report("x", {failure}),
             elastic::test::contains_text("  its last lines of stderr:\n    the reason\n"));
}

TEST_CASE("failure report: ranks that follow each other are drawn together", "[agent]") {
  CHECK(elastic::detail::rank_ranges({3}) == "3");
  CHECK(elastic::detail::rank_ranges({4, 3}) == "3, 4");
  CHECK(elastic::detail::rank_ranges({0, 7, 2, 3, 4, 6}) == "0, 2-4, 6, 7");
}

TEST_CASE("failure report: workers that failed in the same way are one entry", "[agent]") {
  std::vector<run_result::failure> failures;
  for (int rank = 0; rank < 8; ++rank) {
    failures.push_back(failure_of(rank, exit_status::exited(rank < 3 ? 1 : 2), 100 + rank));
  }
  failures[5].status = exit_status::signalled(11);
  failures[6].error = elastic::parse_error_file(R"({"message": "another reason"})");
  const std::string report = elastic::failure_report("x", failures);
  CHECK_THAT(report, elastic::test::contains_text("Root Cause (first observed failure):\n[0]:"));
  CHECK_THAT(report, elastic::test::contains_text("  ranks     : 0-2 (3 workers failed in this "
                                                  "way)\n"));
  CHECK_THAT(report, elastic::test::contains_text("  ranks     : 3, 4, 7 (3 workers"));
  for (const std::string single_entry : {"[5]:", "[6]:"}) {
    CHECK_THAT(report, elastic::test::contains_text(single_entry));
  }
  for (const std::string folded_entry : {"[1]:", "[2]:", "[4]:", "[7]:"}) {
    CHECK(report.find(folded_entry) == std::string::npos);
  }
}

TEST_CASE("failure report: failures that differ make separate entries", "[agent]") {
  const run_result::failure one = failure_of(0, exit_status::exited(1), 100);
  std::vector<run_result::failure> failures(7, one);
  failures[1].status = exit_status::exited(2);
  failures[2].role = "trainer";
  failures[3].out_of_memory = true;
  failures[4].core_file = "/core";
  failures[5].hung = "nothing said for 5 s";
  failures[6].pid = 7;
  failures.push_back(one);
  failures[7].full_disk = "full";
  const std::string report = elastic::failure_report("x", failures);
  for (const std::string entry : {"[0]:", "[1]:", "[2]:", "[3]:", "[4]:", "[5]:", "[7]:"}) {
    CHECK_THAT(report, elastic::test::contains_text(entry));
  }
  CHECK(report.find("[6]:") == std::string::npos);
}

// By comparing every pair this would take minutes.
TEST_CASE("failure report: a large job whose workers all failed in different ways", "[agent]") {
  constexpr int workers = 20'000;
  std::vector<run_result::failure> failures;
  for (int rank = 0; rank < workers; ++rank) {
    failures.push_back(failure_of(rank, exit_status::exited(1), 100));
    failures.back().hung = std::to_string(rank);
  }
  const std::string report = elastic::failure_report("x", failures);
  CHECK_THAT(report, elastic::test::contains_text(fmt::format("\n[{}]:\n", workers - 1)));
}

TEST_CASE("failure report: memory that ran out and the core file are named", "[agent]") {
  auto kill_failure = failure_of(0, exit_status::signalled(9), 5);
  kill_failure.out_of_memory = true;
  CHECK_THAT(elastic::failure_report("x", {kill_failure}),
             elastic::test::contains_text("  reason    : out of memory: "));
  auto crash_failure = failure_of(0, exit_status::signalled(11, true), 5);
  crash_failure.core_file = "/cores/core.7";
  CHECK_THAT(elastic::failure_report("x", {crash_failure}),
             elastic::test::contains_text("  core      : /cores/core.7\n"));
}

TEST_CASE("failure report: a full disk of the log files is named", "[agent]") {
  auto failure = failure_of(0, exit_status::exited(1), 5);
  failure.full_disk = "the disk of its log file '/logs/0/stdout.log' is full: 0 bytes are free";
  CHECK_THAT(elastic::failure_report("x", {failure}),
             elastic::test::contains_text("  reason    : the disk of its log file "
                                          "'/logs/0/stdout.log' is full: 0 bytes are free\n"));
  elastic::run_result result;
  result.failures = {failure};
  const auto report = nlohmann::json::parse(elastic::failure_report_json(result));
  CHECK(report["failures"][0]["full_disk"] == failure.full_disk);
}

TEST_CASE("failure report: programs get the same as JSON", "[agent]") {
  elastic::run_result result;
  result.state = elastic::worker_state::failed;
  result.reason = "rank 1 ended: SIGSEGV";
  result.restarts = 2;
  result.max_restarts = 3;
  auto crash_failure = failure_of(1, exit_status::signalled(11, true), 5.5);
  crash_failure.core_file = "/core";
  crash_failure.last_stderr = {"bad \xff byte"};
  auto raise_failure = failure_of(0, exit_status::exited(1), 7);
  raise_failure.error_file = "/logs/0/error.json";
  raise_failure.error = elastic::parse_error_file(R"({"message": {"message": "E: no",
      "extraInfo": {"py_callstack": "trace", "timestamp": "9"}}})");
  result.failures = {crash_failure, stopped_failure_of(2, 6), raise_failure};
  const auto report = nlohmann::json::parse(elastic::failure_report_json(result));
  CHECK(report["state"] == "FAILED");
  CHECK(report["reason"] == "rank 1 ended: SIGSEGV");
  CHECK(report["restarts"] == 2);
  CHECK(report["max_restarts"] == 3);
  CHECK(report["root_cause"] == 1);
  REQUIRE(report["failures"].size() == 3);
  const auto& first_failure = report["failures"][0];
  CHECK(first_failure["rank"] == 1);
  CHECK(first_failure["end"]["signal_name"] == "SIGSEGV");
  CHECK(first_failure["end"]["core_dumped"] == true);
  CHECK(first_failure["core"] == "/core");
  CHECK(first_failure["time"] == 5.5);
  CHECK(first_failure["last_stderr"][0] == "bad \xef\xbf\xbd byte");
  CHECK(report["failures"][1]["stopped_by_agent"] == true);
  CHECK(report["failures"][2]["end"]["code"] == 1);
  CHECK(report["failures"][2]["message"] == "E: no");
  CHECK(report["failures"][2]["callstack"] == "trace");
  CHECK(report["failures"][2]["error_file"] == "/logs/0/error.json");
}

}  // namespace
