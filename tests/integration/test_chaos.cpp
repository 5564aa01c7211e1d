// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Jobs with injected faults (--chaos).

#include <support/catch.hpp>
#include <support/elasticrun_stage.hpp>
#include <support/job_of_nodes.hpp>
#include <support/leftovers.hpp>
#include <support/run_program.hpp>
#include <support/reserved_port.hpp>
#include <support/text.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace chaos_test {

using elastic::test::contains_text;
using elastic::test::job_of_nodes;
using elastic::test::program_result;

struct stage : elastic::test::elasticrun_stage {
  /// A job of two workers, which wait for their end in the first attempt.
  program_result run(const std::string& plan) const {
    const std::string worker =
        "[ $TORCHELASTIC_RESTART_COUNT = 0 ] && exec sleep 1000; echo again $RANK";
    return elastic::test::run_program(
        elasticrun({{"--standalone", "--nproc-per-node", "2", "--max-restarts", "1", "--chaos",
                     plan, "--no-python", "sh", "-c", worker}}),
        environment());
  }
};

TEST_CASE("chaos: a worker is killed at its time, and the job recovers", "[elasticrun]") {
  const stage s;
  const auto result = s.run("kill=rank:1@50ms,stop=rank:0@10ms+10ms,kill=rank:7@1h");
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK_THAT(result.out, contains_text("again 0") && contains_text("again 1"));
  for (const char* const text :
       {"chaos: this job is disturbed on purpose: kill=rank:1@50ms,stop=rank:0@10ms+10ms",
        "chaos: nothing happens to rank 7: the job has 2 ranks and 1 node",
        "chaos: stop=rank:0@10ms+10ms: SIGSTOP sent to rank 0 (local rank 0, pid ",
        "chaos: kill=rank:1@50ms: SIGKILL sent to rank 1 (local rank 1, pid ",
        "chaos: 2 workers run again "}) {
    CHECK_THAT(result.err, contains_text(text));
  }
  CHECK(s.left.processes_become(0));
}

TEST_CASE("chaos: a node is killed with all that it runs", "[elasticrun]") {
  const stage s;
  const auto result = s.run("kill=node:0@50ms,kill=node:1@10ms");
  INFO(result.err);
  CHECK(result.code == -SIGKILL);
  CHECK_THAT(result.err, contains_text("chaos: kill=node:0@50ms: this agent is killed"));
  CHECK(s.left.processes_become(0));
}

// Nodes of this host that meet at a port of it, with this plan.
std::vector<std::string> meeting(const std::string& plan) {
  return {"--rdzv-backend",  "c10d",
          "--rdzv-endpoint", fmt::format("localhost:{}", elastic::test::reserved_port()),
          "--max-restarts",  "1000",
          "--chaos",         plan};
}

TEST_CASE("chaos: the others go on without a node that is cut off, and it comes back",
          "[elasticrun][nodes]") {
  // It stays cut off for longer than the others take to notice, and to meet; who is only kept from
  // its processor for a while is not missed.
  job_of_nodes job("2:3", meeting("cut=node:2@20ms+12s"),
                   "last_call_timeout=0.2,keep_alive_interval=0.5,keep_alive_max_attempt=8");
  // In the order of their addresses; that of their pids is the kernel's.
  const auto node_at = [&](const std::string& address) {
    return job.node("", {"--local-addr", address});
  };
  const auto first = node_at("127.0.0.1");
  const auto second = node_at("127.0.0.2");
  for (const auto* node : {&first, &second}) (*node)->await_world(2);
  const auto third = node_at("127.0.0.3");
  for (const auto* node : {&first, &second, &third}) (*node)->await_world(3);
  const pid_t cut_off = third->worker();
  for (const auto* node : {&first, &second}) {
    const std::string& out = (**node)->out();
    const std::string met = out.substr(0, out.rfind("works with 3,"));
    (*node)->await_world(2, 1 + elastic::test::occurrences(met, "works with 2,"));
  }
  // Its worker is gone before the others go on.
  CHECK(::kill(cut_off, 0) == -1);
  CHECK(errno == ESRCH);
  for (const auto* node : {&first, &second}) (*node)->await_world(3, 2);
  third->await_world(3, 2);
  (*third)->await_err("connections and ports of this agent are cut");
  (*third)->await_err("chaos: the connections and ports of this agent are whole again");
  (*third)->await_err("chaos: 3 workers run again ");
  job.finish();
  for (const auto* node : {&first, &second, &third}) (*node)->check_success();
  job.check_nothing_left();
}

// For as long as you like, each time in another way; otherwise always the same.
TEST_CASE("chaos: whatever happens to workers and nodes, the job goes on to its end",
          "[elasticrun][nodes]") {
  const char* const setting = std::getenv("ELASTIC_CHAOS_SECONDS");
  const int seconds = setting ? std::atoi(setting) : 4;
  std::mt19937_64 random{setting ? std::random_device()() : 1};
  std::string plan = fmt::format("random={}@700ms", random() % 1'000'000);
  // A plan has room for a thousand.
  for (int at = 1; at < seconds; at += std::max(4, seconds / 900)) {
    plan += fmt::format(",cut=node:{}@{}s+1s", random() % 3, at);
  }
  CAPTURE(plan);
  job_of_nodes job("2:3", meeting(plan),
                   "last_call_timeout=0.5,keep_alive_interval=0.2,keep_alive_max_attempt=4");
  const auto first = job.node();
  const auto second = job.node();
  const auto third = job.node();
  const std::vector nodes{first.get(), second.get(), third.get()};
  for (auto* node : nodes) node->await_world(3);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  for (int times = 2; std::chrono::steady_clock::now() < end; ++times) {
    for (auto* node : nodes) node->await_world(3, times);
  }
  job.finish();
  for (auto* node : nodes) node->check_success();
  job.check_nothing_left();
}

TEST_CASE("chaos: a plan that cannot be read starts nothing", "[elasticrun]") {
  const stage s;
  const auto result = s.run("kill=rank:1");
  CHECK(result.code == 2);
  CHECK(result.out.empty());
  CHECK_THAT(result.err, contains_text("--chaos 'kill=rank:1': the faults are kill=rank:R@TIME"));
}

}  // namespace chaos_test
