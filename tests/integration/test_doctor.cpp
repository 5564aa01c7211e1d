// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// What `elasticrun doctor` finds on this host.

#include <support/catch.hpp>
#include <support/leftovers.hpp>
#include <support/reserved_port.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>
#include <support/text.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace {

namespace doctor_test {

using elastic::test::has_text;
using elastic::test::program_result;
using elastic::test::run_program;

nlohmann::json about(const nlohmann::json& document, const std::string& subject) {
  for (const nlohmann::json& each : document["findings"]) {
    if (each["subject"] == subject) return each;
  }
  FAIL("nothing is said about " << subject);
  return {};
}

TEST_CASE("doctor: it says for people and for programs what it has found", "[integration]") {
  const program_result shown = run_program({ELASTIC_ELASTICRUN, "doctor"});
  const program_result listed = run_program({ELASTIC_ELASTICRUN, "doctor", "--json"});
  const auto document = nlohmann::json::parse(listed.out);
  CAPTURE(shown.out, listed.out);
  CHECK(shown.code == (document["problems"] == 0 ? 0 : 1));
  CHECK(listed.code == shown.code);
  CHECK(document["findings"].size() == 17);
  CHECK(about(document, "kernel")["level"] == "ok");
  CHECK(has_text(shown.out, "ok       kernel            Linux "));
  CHECK(has_text(about(document, "input and output")["text"], "I/O: "));
  CHECK(shown.err.empty());
}

TEST_CASE("doctor: it finds what was taken from it", "[integration]") {
  const std::string elasticrun = ELASTIC_ELASTICRUN;
  const program_result limited = run_program(
      {"sh", "-c", "ulimit -n 256; TMPDIR=/proc exec '" + elasticrun + "' doctor --json"});
  const auto document = nlohmann::json::parse(limited.out);
  CAPTURE(limited.out);
  CHECK(limited.code == 0);
  CHECK(about(document, "open files")["level"] == "warning");
  CHECK(about(document, "open files")["text"] == "256, at most 256");
  CHECK(about(document, "temporary folder")["level"] == "warning");
  CHECK(has_text(about(document, "temporary folder")["text"], "/proc cannot be used ("));
  CHECK(has_text(about(document, "temporary folder")["text"], "): /tmp is used instead"));
}

TEST_CASE("doctor: a guard that cannot be used is found", "[integration]") {
  const program_result result =
      run_program({ELASTIC_ELASTICRUN, "doctor", "--json"}, {{"ELASTIC_GUARD", "/dev/null"}});
  const auto document = nlohmann::json::parse(result.out);
  CAPTURE(result.out);
  CHECK(about(document, "guards")["level"] == "warning");
  CHECK(has_text(about(document, "guards")["text"], "/dev/null"));
}

TEST_CASE("doctor: it looks for PyTorch in the Python that scripts get", "[integration]") {
  const program_result result =
      run_program({ELASTIC_ELASTICRUN, "doctor", "--json"}, {{"PYTHON_EXEC", "/opt/none/python3"}});
  const auto document = nlohmann::json::parse(result.out);
  CAPTURE(result.out);
  CHECK(about(document, "PyTorch")["text"] == "none in /opt/none/python3");
}

TEST_CASE("doctor: it takes no other argument", "[integration]") {
  const program_result result = run_program({ELASTIC_ELASTICRUN, "doctor", "--jsn"});
  CHECK(result.code == 2);
  CHECK(has_text(result.err, "the options that say where nodes meet, such as --nnodes and "
                 "--rdzv-endpoint, not '--jsn'"));
  CHECK(result.out.empty());
}

// ---- several nodes ------------------------------------------------------------------------------

using elastic::test::running_program;

/// The doctors of a job, which meet on this host.
class doctors {
 public:
  doctors(int count, const std::string& expected, const std::vector<std::string>& more = {}) {
    const std::string endpoint = fmt::format("localhost:{}", elastic::test::reserved_port());
    for (int node = 0; node < count; ++node) {
      std::vector<std::string> command{ELASTIC_ELASTICRUN, "doctor",          "--nnodes", expected,
                                       "--rdzv-endpoint",  endpoint,          "--json",
                                       "--node-name",      fmt::format("node{}", node)};
      command.insert(command.end(), more.begin(), more.end());
      programs_.push_back(std::make_unique<running_program>(
          command, std::map<std::string, std::string>{{left_.name, left_.value}}));
    }
  }

  running_program& operator[](std::size_t node) { return *programs_[node]; }

  /// Waits for the ends of all, which must leave nothing.
  std::vector<program_result> wait() {
    std::vector<program_result> results;
    for (auto& each : programs_) results.push_back(each->wait());
    CHECK(left_.processes().empty());
    return results;
  }

 private:
  elastic::test::leftovers left_;
  std::vector<std::unique_ptr<running_program>> programs_;
};

/// The report, which one node shows.
nlohmann::json report_in(const std::vector<program_result>& results) {
  std::string report;
  int shown = 0;
  for (const program_result& each : results) {
    CAPTURE(each.err);
    if (each.out.empty()) {
      CHECK(has_text(each.err, " shows what the nodes found"));
      continue;
    }
    ++shown;
    report = each.out;
  }
  REQUIRE(shown == 1);
  return nlohmann::json::parse(report);
}

TEST_CASE("doctor: eight nodes examine themselves and all ways between them", "[integration]") {
  doctors job(8, "8");
  const auto results = job.wait();
  const nlohmann::json report = report_in(results);
  CAPTURE(report.dump(2));
  for (const program_result& each : results) CHECK(each.code == (report["problems"] == 0 ? 0 : 1));
  CHECK(report["nodes"].size() == 8);
  CHECK(report["links"].size() == 56);
  for (const nlohmann::json& link : report["links"]) {
    CHECK_FALSE(link.contains("failure"));
    CHECK(link["latency_us"] > 0);
    CHECK(link["bytes_per_second"] > 0);
    CHECK(link["interface"] == "lo");
  }
  CHECK(has_text(about(report, "nodes")["text"], "all 8 joined: node"));
  CHECK(about(report, "reach")["level"] == "ok");
  CHECK(about(report, "PyTorch")["level"] == "ok");
  CHECK(about(report, "clocks")["level"] == "ok");
}

TEST_CASE("doctor: nodes wait for one that does not come, and then go on without it",
          "[integration]") {
  // The second one may start late on a busy machine.
  doctors job(2, "3", {"--within", "15"});
  const auto results = job.wait();
  const nlohmann::json report = report_in(results);
  CAPTURE(report.dump(2));
  for (const program_result& each : results) CHECK(each.code == 1);
  CHECK(report["nodes"].size() == 2);
  CHECK(about(report, "nodes")["level"] == "problem");
  CHECK(has_text(about(report, "nodes")["text"], "2 of 3 joined within "));
  CHECK(has_text(about(report, "nodes")["text"], "; one is missing"));
}

TEST_CASE("doctor: if the node with the endpoint does not come, the others say so",
          "[integration]") {
  doctors job(1, "2", {"--within", "1", "--rdzv-conf", "is_host=0"});
  const auto results = job.wait();
  CAPTURE(results[0].err);
  CHECK(results[0].code == 1);
  CHECK(results[0].out.empty());
  CHECK(has_text(results[0].err, "elasticrun: error: "));
  CHECK(has_text(results[0].err, "Connection refused"));
  CHECK(has_text(results[0].err, ": does the node with the endpoint run elasticrun doctor, and"));
}

TEST_CASE("doctor: nodes with fixed ranks meet, too", "[integration]") {
  const elastic::test::leftovers left;
  const std::string port = std::to_string(elastic::test::reserved_port());
  std::vector<std::unique_ptr<running_program>> nodes;
  for (const char* const rank : {"0", "1"}) {
    nodes.push_back(std::make_unique<running_program>(
        std::vector<std::string>{ELASTIC_ELASTICRUN, "doctor", "--nnodes", "2", "--node-rank", rank,
                                 "--master-addr", "127.0.0.1", "--master-port", port},
        std::map<std::string, std::string>{{left.name, left.value}}));
  }
  const program_result first = nodes[0]->wait();
  const program_result second = nodes[1]->wait();
  CAPTURE(first.out, first.err, second.err);
  CHECK(first.code == second.code);
  CHECK(has_text(first.out, "ok       reach             every node reaches every other node"));
  CHECK(has_text(first.out, "all 2 joined: "));
  CHECK(second.out.empty());
  CHECK(left.processes().empty());
}

}  // namespace doctor_test

}  // namespace
