// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Workers that outlive the failure of another one, in Python, with the protocol alone.

#include <support/catch.hpp>
#include <support/elasticrun_stage.hpp>
#include <support/reserved_port.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>

#include <signal.h>
#include <sys/types.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace {

namespace replacement_test {

using elastic::test::contains_text;
using elastic::test::running_program;
using words = std::vector<std::string>;

/// A worker as it has described itself in an epoch.
struct place {
  int world = 0;
  int node = 0;
  int restarts = 0;
  pid_t pid = 0;
};

/// By rank.
using world = std::map<int, place>;

world epoch_of(const std::string& output, int wanted) {
  world seen;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    int epoch = 0;
    int rank = 0;
    place at;
    if (std::sscanf(line.c_str(), "epoch %d rank %d/%d node %d restarts %d pid %d", &epoch, &rank,
                    &at.world, &at.node, &at.restarts, &at.pid) != 6) {
      continue;
    }
    if (epoch == wanted) seen[rank] = at;
  }
  return seen;
}

class stage : public elastic::test::elasticrun_stage {
 public:
  std::unique_ptr<running_program> start(const words& options, const words& faults = {}) const {
    const words command =
        elasticrun({{"--max-restarts", "3"},
                    options,
                    {ELASTIC_SOURCE_DIR "/tests/integration/python/survivor.py"},
                    faults});
    return std::make_unique<running_program>(
        command, environment({{"OMP_NUM_THREADS", "1"},
                              {"LOGLEVEL", "INFO"},
                              {"FINISH", finish()}}));
  }

  std::string finish() const { return folder / "finish"; }
  void end_work() const { std::ofstream(finish()) << "now"; }
};

void kill_ranks(const world& of, const std::vector<int>& ranks) {
  for (const int rank : ranks) REQUIRE(::kill(of.at(rank).pid, SIGKILL) == 0);
}

words one_node(const std::string& workers, const std::string& logs = "/dev/null") {
  return {"--on-failure", "replace", "--nproc-per-node", workers, "--log-dir", logs};
}

TEST_CASE("replacement: whoever is killed is replaced, and the others keep process and rank",
          "[integration][replacement]") {
  for (const std::vector<int>& victims :
       {std::vector<int>{2}, std::vector<int>{0, 3}, std::vector<int>{0, 1, 3}}) {
    const stage stage;
    const auto job = stage.start(one_node("4", stage.logs()));
    job->await_out("epoch 0 rank ", 4);
    const world before = epoch_of(job->out(), 0);
    kill_ranks(before, victims);
    job->await_out("epoch 1 rank ", 4);
    const world after = epoch_of(job->out(), 1);
    REQUIRE(after.size() == 4);
    for (const auto& [rank, at] : after) {
      const bool is_new = std::find(victims.begin(), victims.end(), rank) != victims.end();
      CHECK((at.pid == before.at(rank).pid) == !is_new);
      CHECK(at.restarts == 1);
      CHECK(at.world == 4);
      const std::string files = fmt::format("attempt_1/{}", rank);
      CHECK(std::filesystem::exists(stage.log_root() / files) == is_new);
    }
    stage.end_work();
    CHECK(job->wait().code == 0);
    CHECK(stage.left.processes().empty());
  }
}

TEST_CASE("replacement: all workers start again, and the log says why",
          "[integration][replacement]") {
  struct row {
    words faults;
    std::string reason;
  };
  for (const auto& [faults, reason] :
       {row{{"mute:2"}, "rank 2 has not said that it can rejoin"},
        row{{"deaf:2"}, "rank 2 did not leave its epoch in time"},
        row{{"finishes:0"}, "rank 0 has finished its work"}}) {
    const stage stage;
    words options = one_node("3");
    options.insert(options.end(), {"--rejoin-timeout", "1"});
    const auto job = stage.start(options, faults);
    job->await_out("epoch 0 rank ", 3);
    const world before = epoch_of(job->out(), 0);
    if (faults[0] != "finishes:0") {
      kill_ranks(before, {1});
    } else {
      ::kill(before.at(1).pid, SIGUSR1);
      job->await_out("no change");
    }
    job->await_out("epoch 1 rank ", 3);
    INFO(job->err());
    CHECK_THAT(job->err(), contains_text("all workers of the job start again: " + reason));
    for (const auto& [rank, at] : epoch_of(job->out(), 1)) {
      CHECK(at.pid != before.at(rank).pid);
      CHECK(at.restarts == 1);
    }
    job->signal(SIGTERM);
    CHECK(job->wait().code == 128 + SIGTERM);
    CHECK(stage.left.processes().empty());
  }
}

TEST_CASE("replacement: one that dies while it leaves counts once", "[integration][replacement]") {
  const stage stage;
  const auto job = stage.start(one_node("4"), {"dies:2"});
  job->await_out("epoch 0 rank ", 4);
  const world before = epoch_of(job->out(), 0);
  kill_ranks(before, {1});
  job->await_out("epoch 1 rank ", 4);
  const world after = epoch_of(job->out(), 1);
  for (const int rank : {0, 3}) CHECK(after.at(rank).pid == before.at(rank).pid);
  for (const int rank : {1, 2}) CHECK(after.at(rank).pid != before.at(rank).pid);
  for (const auto& [rank, at] : after) CHECK(at.restarts == 1);
  job->signal(SIGTERM);
  job->wait();
}

TEST_CASE("replacement: one that fails at once, again and again, uses the restarts up",
          "[integration][replacement]") {
  const stage stage;
  const auto job = stage.start(one_node("2"), {"fails:1"});
  job->await_out("epoch 0 rank ", 2);
  const world before = epoch_of(job->out(), 0);
  kill_ranks(before, {1});
  const auto result = job->wait();
  CHECK(result.code == 1);
  CHECK_THAT(result.err, contains_text("all 3 restarts are used up"));
  CHECK_THAT(result.err, contains_text("exitcode  : 7"));
  for (int epoch = 1; epoch <= 3; ++epoch) {
    CHECK(epoch_of(result.out, epoch).at(0).pid == before.at(0).pid);
  }
  CHECK(stage.left.processes().empty());
}

TEST_CASE("replacement: a failure that nothing explains is the worker's own",
          "[integration][replacement]") {
  const stage stage;
  words options = one_node("2");
  options.insert(options.end(), {"--rejoin-timeout", "0.2"});
  const auto job = stage.start(options);
  job->await_out("epoch 0 rank ", 2);
  const world before = epoch_of(job->out(), 0);
  ::kill(before.at(1).pid, SIGUSR1);
  job->await_out("no change");
  job->await_out("epoch 1 rank ", 2);
  const world after = epoch_of(job->out(), 1);
  CHECK(after.at(0).pid == before.at(0).pid);
  CHECK(after.at(1).pid != before.at(1).pid);
  CHECK_THAT(job->err(), contains_text("ended: exit code 3"));
  job->signal(SIGTERM);
  job->wait();
}

TEST_CASE("replacement: SIGTERM ends all, also while workers leave an epoch",
          "[integration][replacement]") {
  const stage stage;
  words options = one_node("3");
  options.insert(options.end(), {"--rejoin-timeout", "600"});
  const auto job = stage.start(options, {"deaf:2"});
  job->await_out("epoch 0 rank ", 3);
  kill_ranks(epoch_of(job->out(), 0), {1});
  job->await_err("restarting the workers");
  job->signal(SIGTERM);
  CHECK(job->wait().code == 128 + SIGTERM);
  CHECK(stage.left.processes().empty());
}

// ---- several nodes ------------------------------------------------------------------------------

class nodes {
 public:
  explicit nodes(const stage& of, std::string counts) : stage_(of), counts_(std::move(counts)) {}

  std::unique_ptr<running_program> start(const words& faults = {},
                                         const std::string& on_failure = "replace") const {
    words options = one_node("2");
    options[1] = on_failure;
    options.insert(options.end(), {"--nnodes", counts_, "--rdzv-backend", "c10d", "--rdzv-endpoint",
                                   fmt::format("localhost:{}", port_), "--rdzv-id", "job",
                                   "--rdzv-conf", "last_call_timeout=0.3"});
    return stage_.start(options, faults);
  }

 private:
  const stage& stage_;
  std::string counts_;
  int port_ = elastic::test::reserved_port();
};

/// The epoch of a whole world of that size, as all nodes have described it; waits for it.
world await_world(const std::vector<running_program*>& of, int size) {
  const std::string sign = fmt::format("/{} node ", size);
  for (running_program* const node : of) node->await_out(sign, 2);
  for (int epoch = 0; epoch < 20; ++epoch) {
    std::string all;
    for (running_program* const node : of) all += node->out();
    const world seen = epoch_of(all, epoch);
    if (static_cast<int>(seen.size()) == size && seen.at(0).world == size) return seen;
  }
  FAIL("there is no world of " << size);
  return {};
}

TEST_CASE("replacement: on two nodes only the dead worker is replaced",
          "[integration][replacement][nodes]") {
  const stage stage;
  const nodes pair(stage, "2");
  const auto first = pair.start();
  const auto second = pair.start();
  const world before = await_world({first.get(), second.get()}, 4);
  kill_ranks(before, {3});
  first->await_out("epoch 1 rank ", 2);
  second->await_out("epoch 1 rank ", 2);
  const world after = epoch_of(first->out() + second->out(), 1);
  REQUIRE(after.size() == 4);
  for (const auto& [rank, at] : after) {
    CHECK((at.pid == before.at(rank).pid) == (rank != 3));
    CHECK(at.restarts == 1);
    CHECK(at.node == rank / 2);
  }
  stage.end_work();
  CHECK(first->wait().code == 0);
  CHECK(second->wait().code == 0);
  CHECK(stage.left.processes().empty());
}

TEST_CASE("replacement: a node that comes or is lost costs nobody its process, and no restart",
          "[integration][replacement][nodes]") {
  const stage stage;
  const nodes growing(stage, "1:3");
  const auto first = growing.start();
  const world one = await_world({first.get()}, 2);
  const auto second = growing.start();
  const world two = await_world({first.get(), second.get()}, 4);
  const auto third = growing.start();
  const world three = await_world({first.get(), second.get(), third.get()}, 6);
  for (const auto& [rank, at] : one) CHECK(two.at(rank).pid == at.pid);
  for (const auto& [rank, at] : two) CHECK(three.at(rank).pid == at.pid);
  // The last node moves to the place of the lost one, as a whole.
  second->signal(SIGKILL);
  second->wait();
  first->await_out("/4 node ", 4);
  third->await_out("/4 node ", 2);
  const world left = [&] {
    for (int epoch = 3; epoch < 10; ++epoch) {
      const world seen = epoch_of(first->out() + third->out(), epoch);
      if (seen.size() == 4) return seen;
    }
    return world();
  }();
  REQUIRE(left.size() == 4);
  for (const int rank : {0, 1}) CHECK(left.at(rank).pid == three.at(rank).pid);
  for (const int rank : {2, 3}) CHECK(left.at(rank).pid == three.at(rank + 2).pid);
  for (const auto& [rank, at] : left) CHECK(at.restarts == 0);
  stage.end_work();
  CHECK(first->wait().code == 0);
  CHECK(third->wait().code == 0);
}

TEST_CASE("replacement: a job with a node that starts all workers again is refused in one line",
          "[integration][replacement][nodes]") {
  const stage stage;
  const nodes pair(stage, "2");
  const auto first = pair.start();
  const auto second = pair.start({}, "restart");
  const auto result = first->wait();
  CHECK(result.code == 2);
  CHECK_THAT(result.err, contains_text("of the round does not replace ranks: it is one of "
                                       "torchrun, or one without --on-failure replace"));
  second->signal(SIGTERM);
  second->wait();
}

}  // namespace replacement_test

}  // namespace
