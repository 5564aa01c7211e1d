// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// What the doctor says of several nodes, from reports of all kinds, and what it takes from them.

#include <program/doctor/job_doctor.hpp>
#include <program/doctor/job_findings.hpp>
#include <program/doctor/node_report.hpp>
#include <support/catch.hpp>
#include <support/error_of.hpp>
#include <support/text.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace {

namespace job_doctor_test {

using elastic::test::has_text;
using elasticrun::doctor_query;
using elasticrun::finding;
using elasticrun::job_view;
using elasticrun::link_report;
using elasticrun::node_report;
using level = finding::level;
using words = std::vector<std::string>;

node_report node(int rank) {
  node_report report;
  report.name = fmt::format("node{}", rank);
  report.address = fmt::format("10.0.0.{}", rank + 1);
  report.port = 4000;
  report.token = "0123456789abcdef0123456789abcdef";
  report.program = "0.1.0";
  report.kernel = "Linux 6.1.0";
  report.torch = "2.13.0";
  report.cuda = "12.8";
  report.nccl = "2.27.5";
  report.driver = "535.104.05";
  report.accelerators = 8;
  report.cards = {"eth0 25000 Mb/s"};
  return report;
}

link_report way_to(int peer) {
  link_report link;
  link.peer = peer;
  link.address = fmt::format("10.0.0.{}", peer + 1);
  link.interface = "eth0";
  link.latency_ns = 50'000;
  link.bytes_per_second = 3'000'000'000;
  return link;
}

/// A job whose nodes lack nothing.
job_view healthy(int nodes) {
  job_view view;
  view.expected = nodes;
  view.waited = 3;
  for (int rank = 0; rank < nodes; ++rank) {
    view.nodes.push_back(node(rank));
    std::vector<link_report>& links = view.links.emplace_back();
    for (int peer = 0; peer < nodes; ++peer) {
      if (peer != rank) links.push_back(way_to(peer));
    }
  }
  return view;
}

link_report& way(job_view& view, std::size_t from, int to) {
  auto& links = view.links[from];
  return *std::find_if(links.begin(), links.end(),
                       [to](const link_report& link) { return link.peer == to; });
}

finding about(const job_view& view, const std::string& subject) {
  const std::vector<finding> findings = elasticrun::examine(view);
  const auto found = std::find_if(findings.begin(), findings.end(),
                                  [&](const finding& each) { return each.subject == subject; });
  REQUIRE(found != findings.end());
  return *found;
}

TEST_CASE("job doctor: a job that lacks nothing has no warning", "[program]") {
  const std::vector<finding> findings = elasticrun::examine(healthy(4));
  for (const finding& each : findings) {
    CAPTURE(each.subject, each.text);
    CHECK(each.how == level::ok);
  }
  CHECK(findings.size() == 14);
  CHECK(elasticrun::exit_code(findings) == 0);
  CHECK(about(healthy(4), "nodes").text == "all 4 joined: node0, node1, node2, node3");
  CHECK(about(healthy(4), "latency").text == "50 us round trip, at most 50 us from node0 to node1");
  CHECK(about(healthy(4), "rate").text ==
        "24 Gbit/s over one TCP connection, at least 24 Gbit/s from node0 to node1");
  CHECK(about(healthy(4), "interface").text == "eth0 on all 4 nodes");
}

TEST_CASE("job doctor: a node that does not come is a problem, with those that came",
          "[program]") {
  job_view view = healthy(3);
  view.expected = 4;
  view.waited = 60;
  CHECK(about(view, "nodes").how == level::problem);
  CHECK(about(view, "nodes").text ==
        "3 of 4 joined within 60 s: node0, node1, node2; one is missing");
  view.expected = 5;
  CHECK(has_text(about(view, "nodes").text, "; 2 are missing"));
  // Nobody else came: there is no way to judge.
  view = healthy(1);
  view.expected = 2;
  CHECK(elasticrun::exit_code(elasticrun::examine(view)) == 1);
}

TEST_CASE("job doctor: nodes of one name are told apart by their ranks", "[program]") {
  job_view view = healthy(3);
  view.nodes[2].name = "node0";
  CHECK(elasticrun::labels_of(view.nodes) == words{"node0 (rank 0)", "node1", "node0 (rank 2)"});
}

TEST_CASE("job doctor: what differs between nodes is named", "[program]") {
  struct row {
    const char* subject;
    std::string node_report::*member;
    level how;
  };
  const row rows[] = {{"elasticrun", &node_report::program, level::problem},
                      {"kernel", &node_report::kernel, level::ok},
                      {"PyTorch", &node_report::torch, level::problem},
                      {"CUDA", &node_report::cuda, level::warning},
                      {"NCCL", &node_report::nccl, level::problem},
                      {"driver", &node_report::driver, level::warning}};
  for (const auto& [subject, member, how] : rows) {
    CAPTURE(subject);
    job_view view = healthy(3);
    const std::string usual = view.nodes[0].*member;
    view.nodes[1].*member = "1.0";
    CHECK(about(view, subject).how == how);
    CHECK(about(view, subject).text == fmt::format("{} on node0, node2; 1.0 on node1", usual));
  }
  job_view view = healthy(2);
  view.nodes[1].torch = "";
  CHECK(about(view, "PyTorch").text == "2.13.0 on node0; none on node1");
  view.nodes[1].accelerators = 7;
  CHECK(about(view, "GPUs").how == level::warning);
  view.nodes[1].cards = {"eth0 1000 Mb/s"};
  CHECK(about(view, "network cards").how == level::warning);
}

TEST_CASE("job doctor: a way that fails, is slow or has another interface is named", "[program]") {
  job_view view = healthy(4);
  way(view, 1, 3).address.clear();
  way(view, 1, 3).failure = "10.0.0.4:4000: Connection refused";
  CHECK(about(view, "reach").how == level::problem);
  CHECK(about(view, "reach").text ==
        "node1 does not reach node3 (10.0.0.4:4000: Connection refused)");
  view = healthy(4);
  way(view, 2, 0).interface = "docker0";
  CHECK(about(view, "interface").how == level::warning);
  CHECK(about(view, "interface").text == "docker0 on node2; eth0 on all 4 nodes");
  view = healthy(4);
  way(view, 2, 0).bytes_per_second /= 5;
  CHECK(about(view, "rate").how == level::warning);
  CHECK(has_text(about(view, "rate").text, "at least 4.8 Gbit/s from node2 to node0"));
  view = healthy(4);
  way(view, 3, 2).latency_ns = 20'000'000;
  CHECK(about(view, "latency").how == level::warning);
  CHECK(has_text(about(view, "latency").text, "at most 20.0 ms from node3 to node2"));
  view = healthy(4);
  way(view, 0, 2).clock_ahead_ms = -1500;
  CHECK(about(view, "clocks").how == level::warning);
  CHECK(about(view, "clocks").text == "ahead of node0: node2 by -1.5 s");
}

TEST_CASE("job doctor: what several hosts lack is one finding", "[program]") {
  job_view view = healthy(3);
  const finding small{level::warning, "/dev/shm", "64 MiB", "make it larger"};
  for (const std::size_t rank : {0, 2}) view.nodes[rank].findings = {small};
  CHECK(about(view, "/dev/shm").text == "node0, node2: 64 MiB");
  CHECK(about(view, "/dev/shm").advice == "make it larger");
  view.nodes[1].findings = {small};
  CHECK(about(view, "/dev/shm").text == "all 3 nodes: 64 MiB");
}

TEST_CASE("job doctor: programs get all nodes and ways", "[program]") {
  const job_view view = healthy(2);
  const auto document =
      nlohmann::json::parse(elasticrun::job_json(view, elasticrun::examine(view)));
  CHECK(document["expected_nodes"] == 2);
  CHECK(document["nodes"][1]["name"] == "node1");
  CHECK(document["nodes"][1]["torch"] == "2.13.0");
  CHECK(document["links"].size() == 2);
  CHECK(document["links"][0]["from"] == 0);
  CHECK(document["links"][0]["to"] == 1);
  CHECK(document["links"][0]["latency_us"] == 50.0);
  CHECK(document["links"][0]["interface"] == "eth0");
  CHECK(document["problems"] == 0);
}

// ---- what nodes tell ----------------------------------------------------------------------------

TEST_CASE("job doctor: a report is read as it was written", "[program]") {
  node_report report = node(3);
  report.findings = {{level::problem, "/dev/shm", "there is none", "mount it"}};
  const node_report read = elasticrun::parse_node_report(text_of(report));
  CHECK(text_of(read) == text_of(report));
  CHECK(read.findings[0].how == level::problem);
  CHECK(read.cards == words{"eth0 25000 Mb/s"});
  std::vector<link_report> links{way_to(1), way_to(2)};
  links[1].clock_ahead_ms = -3;
  const auto ways = elasticrun::parse_link_reports(text_of(links), 3);
  CHECK(text_of(ways) == text_of(links));
  // Of two nodes, none has rank 2.
  CHECK(elasticrun::parse_link_reports(text_of(links), 2).size() == 1);
}

TEST_CASE("job doctor: what another node tells is bounded, and does nothing to a terminal",
          "[program]") {
  node_report report = node(0);
  report.name = "node\x1b[2J0\n";
  report.findings = {{level::warning, std::string(10'000, 'a'), "\x1b]0;title\x07", "a\nb"}};
  const node_report read = elasticrun::parse_node_report(text_of(report));
  CHECK(read.name == "node\\x1b[2J0");
  CHECK(read.findings[0].subject.size() <= 512);
  CHECK(read.findings[0].text == "\\x1b]0;title\\x07");
  CHECK(read.findings[0].advice == "a b");
  const std::string text = text_of(node(0));
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    const std::size_t at = other.find(from);
    REQUIRE(at != other.npos);
    return other.replace(at, from.size(), to);
  };
  const std::string refused[] = {
      "",
      "{}",
      "[]",
      text.substr(1),
      changed("\"10.0.0.1\"", "\"evil.example\""),
      changed("\"10.0.0.1\"", "7"),
      changed("4000", "0"),
      changed("4000", "70000"),
      changed("\"accelerators\": 8", "\"accelerators\": -1"),
      changed("\"findings\": []", "\"findings\": [7]"),
      changed("\"findings\": []", "\"findings\": {}"),
      changed("0123456789abcdef0123456789abcdef", std::string(33, 'a')),
      changed("\"findings\": []", "\"findings\": [" + std::string(200'000, ' ') + "]"),
  };
  for (const std::string& each : refused) {
    CAPTURE(each.substr(0, 300));
    CHECK_THROWS_AS(elasticrun::parse_node_report(each), elastic::error);
  }
  CHECK_THROWS_AS(elasticrun::parse_link_reports("{\"links\": [{\"peer\": -1}]}", 2),
                  elastic::error);
}

// ---- the command --------------------------------------------------------------------------------

doctor_query query_of(const words& arguments, const elastic::environment_map& environment = {}) {
  auto parsed = elasticrun::parse_doctor_command(arguments, environment);
  if (const auto* exit = std::get_if<elastic::early_exit>(&parsed)) FAIL(exit->text);
  return std::get<doctor_query>(std::move(parsed));
}

TEST_CASE("job doctor: its command says whom to examine", "[program]") {
  CHECK_FALSE(query_of({}).asks_nodes);
  CHECK(query_of({"--json"}).as_json);
  const doctor_query several =
      query_of({"--rdzv-endpoint", "host0:29400", "--nnodes", "8", "--json"});
  CHECK(several.asks_nodes);
  CHECK(several.as_json);
  CHECK(several.meeting.backend == "c10d");
  CHECK(several.meeting.endpoint == "host0:29400");
  CHECK(several.meeting.max_nodes == 8);
  // Those that come go on without the others.
  CHECK(several.meeting.min_nodes == 1);
  CHECK(several.meeting.last_call_timeout == std::chrono::seconds(60));
  // No job runs under this name.
  CHECK(several.meeting.run_id == "doctor-none");
  const doctor_query hasty = query_of({"--nnodes=2", "--rdzv_endpoint=h", "--within=0.5"});
  CHECK(hasty.meeting.last_call_timeout == std::chrono::milliseconds(500));
  // A node that stops after it has joined is missed as soon, but not for a short pause.
  CHECK(hasty.meeting.keep_alive_interval == std::chrono::seconds(1));
  CHECK(query_of({"--nnodes", "2", "--rdzv-endpoint", "h", "--within", "6"})
            .meeting.keep_alive_interval == std::chrono::seconds(2));
  CHECK(several.meeting.keep_alive_interval == std::chrono::seconds(5));
  CHECK(query_of({"--nnodes", "2", "--rdzv-endpoint", "h", "--rdzv-conf", "keep_alive_interval=3"})
            .meeting.keep_alive_interval == std::chrono::seconds(3));
  // A job's other settings do not matter.
  CHECK(query_of({"--nnodes", "2"}, {{"PET_NPROC_PER_NODE", "gpu"}, {"PET_RDZV_ENDPOINT", "h:1"}})
            .meeting.endpoint == "h:1");
  const doctor_query fixed =
      query_of({"--nnodes", "2", "--node-rank", "1", "--master-addr", "host0"});
  CHECK(fixed.meeting.backend == "static");
  CHECK(fixed.meeting.endpoint == "host0:29500");
  CHECK(fixed.meeting.min_nodes == 2);
  CHECK(query_of({"--nnodes", "2", "--rdzv-endpoint", "e", "--rdzv-backend", "etcd"})
            .meeting.backend == "etcd");
}

TEST_CASE("job doctor: a command that says something else is refused", "[program]") {
  struct row {
    words arguments;
    std::string message;
  };
  const row rows[] = {
      {{"--jsn"}, "doctor takes --json, --within SECONDS and the options that say where nodes"},
      {{"train.py"}, "doctor takes --json"},
      {{"--nnodes", "2", "--max-restarts", "3"}, "not '--max-restarts'"},
      {{"--nnodes"}, "--nnodes needs a value"},
      {{"--nnodes", "none"}, "--nnodes 'none': allowed is N"},
      {{"--nnodes", "1"}, "doctor of several nodes needs --nnodes with the number of nodes"},
      {{"--rdzv-endpoint", "h:1"}, "doctor of several nodes needs --nnodes"},
      {{"--within", "5"}, "--within is for several nodes: --nnodes is missing"},
      {{"--nnodes", "2", "--within", "0"}, "--within '0': a number of seconds above 0"},
      {{"--nnodes", "2", "--within", "soon"}, "--within 'soon': a number of seconds"},
      {{"--nnodes", "2", "--within", "nan"}, "--within 'nan': a number of seconds"},
      {{"--nnodes", "2", "--rdzv-endpoint", "h:x"}, "the port must be a number"},
      {{"--nnodes", "2", "--node-rank", "2"}, "--node-rank 2: with --nnodes 2 it is 0 to 1"},
  };
  for (const auto& [arguments, message] : rows) {
    CAPTURE(arguments);
    const auto parsed = elasticrun::parse_doctor_command(arguments, {});
    const auto* exit = std::get_if<elastic::early_exit>(&parsed);
    REQUIRE(exit != nullptr);
    CHECK(exit->code == 2);
    CHECK(has_text(exit->text, message));
  }
}

}  // namespace job_doctor_test

}  // namespace
