// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Administrators and NTP may set the time of day while a job runs: only displayed times may depend
// on it.

#include <support/catch.hpp>
#include <support/leftovers.hpp>
#include <support/reserved_port.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>
#include <support/sanitized.hpp>
#include <support/skip.hpp>
#include <support/stepped_clock.hpp>
#include <support/text.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace {

namespace wall_clock_test {

namespace fs = std::filesystem;
using elastic::test::file_text;
using elastic::test::has_text;
using elastic::test::leftovers;
using elastic::test::program_result;
using elastic::test::running_program;
using elastic::test::skip;
using elastic::test::stepped_clock;
using elastic::test::temporary_directory;
using elastic::test::text_between;
using namespace std::chrono_literals;
using words = std::vector<std::string>;

constexpr std::chrono::seconds day = 24h;

/// Two hosts with a clock each, and a job of one worker on each. Workers count until the test lets
/// them end.
class stage {
 public:
  stage() : clocks_{stepped_clock(folder_ / "clock0"), stepped_clock(folder_ / "clock1")} {
    for (int host = 0; host < 2; ++host) nodes_.push_back(start(host));
    await_attempt(0);
  }

  /// Sets both clocks, and waits until each worker has counted for so long that a node without
  /// valid keep-alives would be lost.
  void step(std::chrono::seconds first, std::chrono::seconds second) {
    clocks_[0].step(first);
    clocks_[1].step(second);
    for (const auto& node : nodes_) node->await_fresh_out("count", 20);
  }

  void await_attempt(int number) {
    for (const auto& node : nodes_) node->await_out(fmt::format("attempt {} of ", number));
  }

  void kill_worker(int host) {
    const std::string pid = text_between(nodes_[host]->out(), "attempt 0 of ", "\n");
    REQUIRE(!pid.empty());
    REQUIRE(::kill(std::stoi(pid), SIGKILL) == 0);
  }

  std::vector<program_result> end() {
    std::ofstream(folder_ / "end") << "now";
    std::vector<program_result> results;
    for (const auto& node : nodes_) results.push_back(node->wait());
    CHECK(left_.processes().empty());
    return results;
  }

  /// The text of the journal of a host's agent.
  std::string journal(int host) const {
    for (const auto& entry : fs::recursive_directory_iterator(logs(host))) {
      if (entry.path().filename() == "journal.jsonl") return file_text(entry.path());
    }
    return "";
  }

  /// The output of `elasticrun explain` for it, on this machine.
  program_result explanation(int host) const {
    return elastic::test::run_program({ELASTIC_ELASTICRUN, "explain", logs(host)});
  }

 private:
  std::string logs(int host) const { return folder_ / fmt::format("logs{}", host); }

  std::unique_ptr<running_program> start(int host) const {
    const std::string work =
        "echo attempt $TORCHELASTIC_RESTART_COUNT of $$$$; while [ ! -e " + (folder_ / "end") +
        " ]; do sleep 0.3; echo count; done";
    const words command = {ELASTIC_ELASTICRUN,
                           "--nnodes",
                           "2",
                           "--rdzv-backend",
                           "c10d",
                           "--rdzv-endpoint",
                           fmt::format("localhost:{}", port_),
                           "--rdzv-id",
                           "job",
                           "--rdzv-conf",
                           "last_call_timeout=0.3,keep_alive_interval=0.5,"
                           "keep_alive_max_attempt=10",
                           "--max-restarts",
                           "1",
                           "--log-dir",
                           logs(host),
                           "--no-python",
                           "sh",
                           "-c",
                           work};
    std::map<std::string, std::string> variables = clocks_[host].variables();
    variables.emplace(left_.name, left_.value);
    variables.emplace("LOGLEVEL", "DEBUG");
    return std::make_unique<running_program>(command, variables);
  }

  const std::uint16_t port_ = elastic::test::reserved_port();
  leftovers left_;
  temporary_directory folder_;
  stepped_clock clocks_[2];
  std::vector<std::unique_ptr<running_program>> nodes_;
};

// The UTC days of the agent's records.
std::vector<std::string> days_in(const std::string& log) {
  std::vector<std::string> days;
  for (std::size_t at = log.find("DEBUG "); at != log.npos; at = log.find("DEBUG ", at + 1)) {
    const std::string found = log.substr(at + 6, 10);
    if (days.empty() || days.back() != found) days.push_back(found);
  }
  return days;
}

TEST_CASE("wall clock: hosts whose clocks are set forth and back lose no node and no restart",
          "[integration]") {
  if (elastic::test::is_sanitized) return skip("a sanitizer wants to be loaded first");
  stage job;
  job.step(day, 0s);
  job.step(-3 * day, day);
  job.step(0s, -day);
  // A round and an attempt under clocks that are two days apart.
  job.step(day, -day);
  job.kill_worker(0);
  job.await_attempt(1);
  job.step(-day, 400 * day);
  const std::vector<program_result> results = job.end();
  for (int host = 0; host < 2; ++host) {
    INFO(results[host].err);
    CHECK(results[host].code == 0);
    // It saw several days, and still acted as on one day.
    CHECK(days_in(results[host].err).size() > 1);
    const std::string journal = job.journal(host);
    CHECK(has_text(journal, "restart 1 of 1"));
    CHECK_FALSE(has_text(journal, "lost"));
    CHECK_FALSE(has_text(results[host].err, "lost"));
  }
}

TEST_CASE("wall clock: a journal whose clock was set back is explained without negative times",
          "[integration]") {
  if (elastic::test::is_sanitized) return skip("a sanitizer wants to be loaded first");
  stage job;
  job.step(-day, 10 * day);
  job.kill_worker(0);
  job.await_attempt(1);
  job.step(day, -10 * day);
  job.end();
  for (int host = 0; host < 2; ++host) {
    const program_result told = job.explanation(host);
    INFO(told.out << told.err);
    CHECK(told.code == 0);
    CHECK(has_text(told.out, "1 restart"));
    const std::string times = told.out.substr(told.out.find("Where the time went"));
    CHECK_FALSE(std::regex_search(times, std::regex(R"( -\d)")));
    CHECK_FALSE(has_text(times, "nan"));
  }
}

}  // namespace wall_clock_test

}  // namespace
