// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Python workers that survive the failure of another worker, using only the protocol.

#include <elastic/process/processor_set.hpp>
#include <support/agent_command.hpp>
#include <support/candidate_endpoints.hpp>
#include <support/catch.hpp>
#include <support/elasticrun_stage.hpp>
#include <support/etcd_server.hpp>
#include <support/reserved_port.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>

#include <poll.h>
#include <signal.h>
#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace {

namespace replacement_test {

using elastic::test::contains_text;
using elastic::test::file_text;
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
    return start_script("survivor.py", options, faults);
  }

  std::unique_ptr<running_program> start_script(const std::string& script, const words& options,
                                                const words& arguments = {}) const {
    const words command = elasticrun({{"--max-restarts", "3"},
                                      options,
                                      {ELASTIC_SOURCE_DIR "/tests/integration/python/" + script},
                                      arguments});
    return std::make_unique<running_program>(
        command, environment({{"OMP_NUM_THREADS", "1"},
                              {"PYTHONPATH", ELASTIC_SOURCE_DIR "/python"},
                              {"LOGLEVEL", "INFO"},
                              {"STORY", story()},
                              {"LEAVE", folder / "leave"},
                              {"FINISH", folder / "finish"}}));
  }

  std::string story() const { return folder / "story"; }
  void end_work() const { std::ofstream(folder / "finish") << "now"; }
  void let_leave() const { std::ofstream(folder / "leave") << "now"; }
};

/// Of the epochs of a whole world of that size the last; waits for one that came after `after`, and
/// sets that to it.
world await_world(const stage& of, int size, int& after) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  while (std::chrono::steady_clock::now() < limit) {
    std::ostringstream text;
    text << std::ifstream(of.story()).rdbuf();
    for (int epoch = after + 30; epoch > after; --epoch) {
      const world seen = epoch_of(text.str(), epoch);
      const bool is_whole = std::all_of(seen.begin(), seen.end(), [&](const auto& entry) {
        return entry.second.world == size;
      });
      if (static_cast<int>(seen.size()) != size || !is_whole) continue;
      after = epoch;
      return seen;
    }
    ::poll(nullptr, 0, 5);
  }
  FAIL("there is no world of " << size << " after epoch " << after);
  return {};
}

/// How many of these processes are in a later world, too, wherever.
int count_kept(const world& before, const world& after) {
  return static_cast<int>(std::count_if(after.begin(), after.end(), [&](const auto& entry) {
    return std::any_of(before.begin(), before.end(), [&](const auto& old) {
      return old.second.pid == entry.second.pid;
    });
  }));
}

/// Kills them in one epoch: a stopped worker enters no other, however late its SIGKILL comes.
void kill_ranks(const world& of, const std::vector<int>& ranks) {
  for (const int number : {SIGSTOP, SIGKILL}) {
    for (const int rank : ranks) REQUIRE(::kill(of.at(rank).pid, number) == 0);
  }
}

/// A worker that is only kept waiting by a busy machine leaves its epoch in time.
words one_node(const std::string& workers, const std::string& logs = "/dev/null") {
  return {"--on-failure", "replace",   "--rejoin-timeout", "60", "--nproc-per-node",
          workers,        "--log-dir", logs};
}

/// The end of the log and `explain` tell who was replaced, once each.
void check_story(const stage& of, const std::vector<int>& victims) {
  const auto told = elastic::test::run_program({ELASTIC_ELASTICRUN, "explain", of.logs()});
  INFO(told.out);
  CHECK(told.code == 0);
  std::string text;
  for (const int rank : victims) {
    text += text.empty() ? fmt::format("rank {} was replaced once", rank)
                         : fmt::format(", rank {} once", rank);
  }
  CHECK_THAT(told.out, contains_text(text + "\n"));
  CHECK_THAT(told.out, contains_text("that saved is not known, because no worker reported"));
}

words with_standbys() {
  words options = one_node("2");
  options.insert(options.end(), {"--standalone", "--warm-standby", "--standby-delay", "0.1"});
  return options;
}

/// The processes in whose lines of the story this text stands before their number.
std::set<pid_t> processes_in(const stage& of, const std::string& text) {
  std::set<pid_t> found;
  std::ifstream story(of.story());
  for (std::string line; std::getline(story, line);) {
    const auto at = line.find(" pid ");
    if (line.find(text) == 0 && at != line.npos) found.insert(std::stoi(line.substr(at + 5)));
  }
  return found;
}

/// Waits until a local rank has a standby that is still one: its own, or one of any.
/// @param sign  what it has noted in the story, if anything
/// @param from  where in the log it begins to look
void await_standby(const stage& of, running_program& job, int local_rank,
                   const std::string& sign = "", std::size_t from = 0) {
  const std::string line = " has a standby: process ";
  const std::string own = fmt::format("local rank {}", local_rank);
  for (int count = 1;; ++count) {
    // One may have been replaced, or have become a worker.
    job.await_err(line, count);
    std::size_t at = job.err().find(line);
    for (int each = 1; each < count; ++each) at = job.err().find(line, at + 1);
    const std::string before = job.err().substr(0, at);
    if (at < from || !(before.ends_with(own) || before.ends_with("any local rank"))) continue;
    const pid_t pid = std::stoi(job.err().substr(at + line.size()));
    const bool is_worker = processes_in(of, "epoch").count(pid) != 0;
    const bool has_sign = sign.empty() || processes_in(of, sign).count(pid) != 0;
    if (!is_worker && has_sign && ::kill(pid, 0) == 0) return;
  }
}

/// The environment that a worker had in an epoch, without what differs between two of one node.
words environment_in(const stage& of, int epoch, int rank) {
  std::ifstream file(of.folder / fmt::format("environment.{}.{}", epoch, rank));
  words lines;
  for (std::string line; std::getline(file, line);) {
    const std::string name = line.substr(0, line.find('='));
    const words own{"RANK", "LOCAL_RANK", "ROLE_RANK", "TORCHELASTIC_ERROR_FILE"};
    if (std::find(own.begin(), own.end(), name) == own.end()) lines.push_back(line);
  }
  return lines;
}

TEST_CASE("replacement: whoever is killed is replaced, and the others keep process and rank",
          "[integration][replacement]") {
  for (const std::vector<int>& victims :
       {std::vector<int>{2}, std::vector<int>{0, 3}, std::vector<int>{0, 1, 3}}) {
    const stage stage;
    // Variables that no message could carry.
    words options = one_node("4", stage.logs());
    for (const std::string name : {"LONG", "LONGER"}) {
      options.insert(options.end(), {"--env", name + "=" + std::string(5000, 'x')});
    }
    const auto job = stage.start(options, {"tells:all"});
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
      // What survivors are told is what those find that were started.
      const words environment = environment_in(stage, 1, rank);
      const std::string count = "TORCHELASTIC_RESTART_COUNT=1";
      CHECK(std::count(environment.begin(), environment.end(), count) == 1);
      CHECK(environment == environment_in(stage, 1, victims[0]));
      const std::string files = fmt::format("attempt_1/{}", rank);
      CHECK(std::filesystem::exists(stage.log_root() / files) == is_new);
    }
    stage.end_work();
    const auto result = job->wait();
    CHECK(result.code == 0);
    CHECK(stage.left.processes().empty());
    CHECK_THAT(result.err, contains_text("the others keep their processes: restart 1 of 3"));
    check_story(stage, victims);
  }
}

TEST_CASE("replacement: all workers start again, and the log says why",
          "[integration][replacement]") {
  struct row {
    words faults;
    std::string timeout;
    std::string reason;
  };
  // Of the second job only rank 2 may be too late.
  for (const auto& [faults, timeout, reason] :
       {row{{"mute:2"}, "1", "rank 2 has not said that it can rejoin"},
        row{{"deaf:2"}, "10", "rank 2 did not leave its epoch in time"},
        row{{"finishes:0"}, "1", "rank 0 has finished its work"}}) {
    const stage stage;
    words options = one_node("3");
    options.insert(options.end(), {"--rejoin-timeout", timeout});
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
    CHECK_THAT(job->err(), contains_text("all workers of the job restart: " + reason));
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

TEST_CASE("replacement: one that ends while it leaves or rejoins is replaced, too",
          "[integration][replacement]") {
  struct row {
    std::string fault;
    int restarts;
  };
  // The end in the next epoch is a failure of that epoch.
  for (const auto& [fault, restarts] : {row{"raises:2", 1}, row{"quits:2", 2}}) {
    const stage stage;
    const auto job = stage.start(one_node("4"), {fault});
    int epoch = -1;
    const world before = await_world(stage, 4, epoch);
    kill_ranks(before, {1});
    const world after = await_world(stage, 4, epoch);
    INFO(job->err());
    CHECK(count_kept(before, after) == 2);
    for (const int rank : {0, 3}) CHECK(after.at(rank).pid == before.at(rank).pid);
    for (const auto& [rank, at] : after) CHECK(at.restarts == restarts);
    stage.end_work();
    CHECK(job->wait().code == 0);
  }
}

TEST_CASE("replacement: one that falls silent is replaced", "[integration][replacement]") {
  const stage stage;
  words options = one_node("3");
  // Long enough for a worker that beats, however busy the machine is.
  options.insert(options.end(), {"--heartbeat-timeout", "6"});
  const auto job = stage.start(options, {"beats:1"});
  int epoch = -1;
  const world before = await_world(stage, 3, epoch);
  REQUIRE(::kill(before.at(1).pid, SIGSTOP) == 0);
  const world after = await_world(stage, 3, epoch);
  INFO(job->err());
  for (const auto& [rank, at] : after) CHECK((at.pid == before.at(rank).pid) == (rank != 1));
  stage.end_work();
  CHECK(job->wait().code == 0);
  CHECK(stage.left.processes().empty());
}

TEST_CASE("replacement: a pause between two epochs waits for the next, and then ends all",
          "[integration][replacement]") {
  const stage stage;
  words options = one_node("3");
  const std::string socket = "unix:" + (stage.folder / "status");
  options.insert(options.end(), {"--status", socket, "--rejoin-timeout", "100"});
  const auto job = stage.start(options, {"waits:2"});
  int epoch = -1;
  const world before = await_world(stage, 3, epoch);
  kill_ranks(before, {1});
  job->await_err("replacing it, the others keep their processes");
  running_program pause({ELASTIC_ELASTICRUN, "pause", socket, "a", "test"});
  job->await_err("the job pauses when the workers have begun the next epoch");
  stage.let_leave();
  const auto paused = pause.wait();
  INFO(job->err());
  CHECK(paused.code == 0);
  CHECK(paused.out == "the job is paused: no worker of this node runs\n");
  for (const auto& [rank, at] : before) CHECK(::kill(at.pid, 0) != 0);
  CHECK(elastic::test::run_agent_command({ELASTIC_ELASTICRUN, "resume", socket}).code == 0);
  // All may have come into the epoch that the pause waited for.
  epoch = 1;
  const world after = await_world(stage, 3, epoch);
  CHECK(count_kept(before, after) == 0);
  // The replacement was one; the pause costs none.
  for (const auto& [rank, at] : after) CHECK(at.restarts == 1);
  stage.end_work();
  CHECK(job->wait().code == 0);
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
  CHECK_THAT(result.err, contains_text("all 3 restarts have been used"));
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
  // So long the agent looks for an explanation, and so long rank 0 has to leave the epoch.
  options.insert(options.end(), {"--rejoin-timeout", "10"});
  const auto job = stage.start(options);
  job->await_out("epoch 0 rank ", 2);
  const world before = epoch_of(job->out(), 0);
  ::kill(before.at(1).pid, SIGUSR1);
  job->await_out("no change");
  job->await_out("epoch 1 rank ", 2);
  const world after = epoch_of(job->out(), 1);
  CHECK(after.at(0).pid == before.at(0).pid);
  CHECK(after.at(1).pid != before.at(1).pid);
  CHECK_THAT(job->err(), contains_text("ended with exit code 3; replacing it"));
  job->signal(SIGTERM);
  job->wait();
}

TEST_CASE("replacement: a newcomer begins in its standby, which has imported survive",
          "[integration][replacement]") {
  const stage stage;
  words options = with_standbys();
  const elastic::processor_set all = elastic::processor_set::allowed_here();
  const int processors[] = {*all.begin(), *std::prev(all.end())};
  options.insert(options.end(),
                 {"--cpu-affinity", fmt::format("{}:{}", processors[0], processors[1])});
  const auto job = stage.start_script("survive_script.py", options);
  int epoch = -1;
  world before = await_world(stage, 2, epoch);
  // Its epoch is another one than that in which the standby was made, each time; and its rank may
  // be another one.
  for (int rank : {1, 0}) {
    await_standby(stage, *job, rank);
    kill_ranks(before, {rank});
    const world after = await_world(stage, 2, epoch);
    INFO(job->err());
    CHECK(after.at(1 - rank).pid == before.at(1 - rank).pid);
    CHECK(after.at(rank).pid != before.at(rank).pid);
    CHECK_THAT(file_text(fmt::format("/proc/{}/status", after.at(rank).pid)),
               contains_text(fmt::format("Cpus_allowed_list:\t{}\n", processors[rank])));
    before = after;
  }
  stage.end_work();
  const auto result = job->wait();
  CHECK(result.code == 0);
  CHECK_THAT(result.err, contains_text("the workers' starts on this node: 2 warm; 2 cold, because "
                                       "it is the first start"));
  // One was there at a time.
  CHECK_THAT(result.err, !contains_text("local rank 1 has a standby"));
}

TEST_CASE("replacement: a newcomer goes on where its standby has prepared it",
          "[integration][replacement]") {
  const stage stage;
  // To say it twice is harmless.
  const auto job =
      stage.start_script("survive_script.py", with_standbys(), {"build", "prepare", "prepare"});
  int epoch = -1;
  world before = await_world(stage, 2, epoch);
  for (int time = 1; time <= 2; ++time) {
    await_standby(stage, *job, time % 2, "built in a standby");
    kill_ranks(before, {time % 2});
    const world after = await_world(stage, 2, epoch);
    INFO(job->err());
    CHECK(processes_in(stage, "built in a standby").count(after.at(time % 2).pid) == 1);
    CHECK(after.at(1 - time % 2).pid == before.at(1 - time % 2).pid);
    before = after;
  }
  stage.end_work();
  const auto result = job->wait();
  CHECK(result.code == 0);
  // What a standby wrote is shown when it is a worker.
  CHECK_THAT(result.out, contains_text("built for local rank 0") &&
                             contains_text("built for local rank 1"));
  CHECK_THAT(result.err, contains_text(", which has run the script up to survive.prepare()"));
  CHECK_THAT(result.err, contains_text("the workers' starts on this node: 2 warm; 2 cold, because "
                                       "it is the first start"));
}

TEST_CASE("replacement: a script that cannot be run up to its point has standbys that import",
          "[integration][replacement]") {
  struct row {
    words script;
    std::string reason;
  };
  for (const auto& [script, reason] :
       {row{{"rank", "prepare"}, "it reads RANK before, which nobody knows yet"},
        row{{"standby-skip", "prepare"}, "it trains before"},
        row{{"standby-raise", "prepare"}, "it raised ValueError: a standby"},
        row{{"standby-exit", "prepare"}, "it ended before"},
        row{{"standby-vanish", "prepare"}, "it did not come so far"}}) {
    const stage stage;
    const auto job = stage.start_script("survive_script.py", with_standbys(), script);
    int epoch = -1;
    const world before = await_world(stage, 2, epoch);
    job->await_err("standbys do not run the script up to survive.prepare(): " + reason);
    // Those that were made before the script named its point are gone.
    await_standby(stage, *job, 1, "", job->err().find("standbys do not run the script"));
    kill_ranks(before, {1});
    const world after = await_world(stage, 2, epoch);
    INFO(job->err());
    CHECK(after.at(0).pid == before.at(0).pid);
    stage.end_work();
    const auto result = job->wait();
    CHECK(result.code == 0);
    CHECK_THAT(result.err, contains_text("the workers' starts on this node: 1 warm; 2 cold, "
                                         "because it is the first start"));
    const auto first = result.err.find("do not run the script");
    CHECK(result.err.find("do not run the script", first + 1) == std::string::npos);
    CHECK_THAT(result.err, !contains_text("which has run the script"));
  }
}

TEST_CASE("replacement: an exception behind its point is the worker's failure, whoever hooks it",
          "[integration][replacement]") {
  const stage stage;
  const auto job = stage.start_script("survive_script.py", with_standbys(),
                                      {"build", "hook", "prepare", "standby-raise"});
  int epoch = -1;
  const world before = await_world(stage, 2, epoch);
  await_standby(stage, *job, 1, "built in a standby");
  kill_ranks(before, {1});
  job->await_err("rank 1 (local rank 1, pid", 2);
  job->signal(SIGTERM);
  const auto result = job->wait();
  INFO(result.err);
  CHECK_THAT(result.err, contains_text("ended with exit code 1; replacing it"));
  CHECK_THAT(result.err, contains_text("the hook of the script\n"));
  CHECK_THAT(result.err, contains_text("ValueError: a standby\n"));
}

TEST_CASE("replacement: a loop of its own survives by the functions for frameworks",
          "[integration][replacement]") {
  const stage stage;
  const auto job = stage.start_script("survive_loop.py", one_node("3"));
  int epoch = -1;
  const world before = await_world(stage, 3, epoch);
  kill_ranks(before, {1});
  const world after = await_world(stage, 3, epoch);
  INFO(job->err());
  for (const auto& [rank, at] : after) CHECK((at.pid == before.at(rank).pid) == (rank != 1));
  stage.end_work();
  CHECK(job->wait().code == 0);
  CHECK(stage.left.processes().empty());
}

TEST_CASE("replacement: a callback that fails keeps no rank from the next epoch",
          "[integration][replacement]") {
  struct row {
    std::string fault;
    std::set<int> replaced;
    std::string complaint;
  };
  for (const auto& [fault, replaced, complaint] :
       {row{"fails", {1}, "RuntimeError: a callback fails at the end of epoch 0"},
        row{"breaks:0", {0, 1}, "AssertionError"}}) {
    const stage stage;
    const auto job = stage.start_script("survive_loop.py", one_node("3"), {fault});
    int epoch = -1;
    const world before = await_world(stage, 3, epoch);
    kill_ranks(before, {1});
    const world after = await_world(stage, 3, epoch);
    INFO(fault << "\n" << job->err());
    for (const auto& [rank, at] : after) {
      CHECK((at.pid == before.at(rank).pid) == (replaced.count(rank) == 0));
    }
    stage.end_work();
    const auto result = job->wait();
    CHECK(result.code == 0);
    CHECK_THAT(result.err, contains_text(complaint));
  }
}

TEST_CASE("replacement: where a rank has withdrawn all restart, whoever dies",
          "[integration][replacement]") {
  for (const int victim : {0, 1}) {
    const stage stage;
    const auto job = stage.start_script("survive_loop.py", one_node("3"), {"withdraws:0"});
    int epoch = -1;
    const world before = await_world(stage, 3, epoch);
    kill_ranks(before, {victim});
    const world after = await_world(stage, 3, epoch);
    INFO(victim << "\n" << job->err());
    CHECK(count_kept(before, after) == 0);
    stage.end_work();
    const auto result = job->wait();
    CHECK(result.code == 0);
    CHECK_THAT(result.err, contains_text("all workers of the job restart: rank 0: its part is too "
                                         "large"));
  }
}

TEST_CASE("replacement: SIGTERM ends all, also while workers leave an epoch",
          "[integration][replacement]") {
  const stage stage;
  words options = one_node("3");
  options.insert(options.end(), {"--rejoin-timeout", "600"});
  const auto job = stage.start(options, {"deaf:2"});
  job->await_out("epoch 0 rank ", 3);
  kill_ranks(epoch_of(job->out(), 0), {1});
  job->await_err("replacing it, the others keep their processes");
  job->signal(SIGTERM);
  CHECK(job->wait().code == 128 + SIGTERM);
  CHECK(stage.left.processes().empty());
}

// ---- several nodes ------------------------------------------------------------------------------

class nodes {
 public:
  nodes(const stage& of, std::string counts)
      : nodes(of, std::move(counts), "c10d",
              fmt::format("localhost:{}", elastic::test::reserved_port())) {}
  // Survivors of the node that leads have three quarters of `reconnect_grace` to leave.
  nodes(const stage& of, std::string counts, std::string backend, std::string place)
      : stage_(of),
        meeting_{"--nnodes",        std::move(counts), "--rdzv-backend", std::move(backend),
                 "--rdzv-endpoint", std::move(place),  "--rdzv-id",      "job",
                 "--rdzv-conf",     "last_call_timeout=0.3,reconnect_grace=2"} {}

  std::unique_ptr<running_program> start(const words& faults = {},
                                         const std::string& on_failure = "replace",
                                         const words& more = {},
                                         const std::string& script = "survivor.py") const {
    words options = one_node("2");
    options[1] = on_failure;
    // Who replaces nobody has no time for that.
    if (on_failure != "replace") options.erase(options.begin() + 2, options.begin() + 4);
    options.insert(options.end(), meeting_.begin(), meeting_.end());
    options.insert(options.end(), more.begin(), more.end());
    return stage_.start_script(script, options, faults);
  }

 private:
  const stage& stage_;
  words meeting_;
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

/// A rank is killed, then a node: `lose` chooses one of those that run.
void check_place(const stage& stage, const nodes& place, int count,
                 const std::function<std::size_t(const std::vector<running_program*>&)>& lose) {
  std::vector<std::unique_ptr<running_program>> running;
  std::vector<running_program*> all;
  for (int node = 0; node < count; ++node) {
    running.push_back(place.start());
    all.push_back(running.back().get());
  }
  int epoch = -1;
  const world before = await_world(stage, 2 * count, epoch);
  kill_ranks(before, {0, 3});
  const world replaced = await_world(stage, 2 * count, epoch);
  CHECK(count_kept(before, replaced) == 2 * count - 2);
  for (const auto& [rank, at] : replaced) {
    CHECK((at.pid == before.at(rank).pid) == (rank != 0 && rank != 3));
  }
  for (running_program* const node : all) node->await_err(": node ", 2);
  const std::size_t lost = lose(all);
  all[lost]->signal(SIGKILL);
  all[lost]->wait();
  const world left = await_world(stage, 2 * count - 2, epoch);
  CHECK(count_kept(replaced, left) == 2 * count - 2);
  stage.end_work();
  for (std::size_t node = 0; node < all.size(); ++node) {
    if (node == lost) continue;
    const auto result = all[node]->wait();
    INFO(result.err);
    CHECK(result.code == 0);
    CHECK(result.err.find("workers of the job restart") == std::string::npos);
  }
  CHECK(stage.left.processes().empty());
}

TEST_CASE("replacement: nodes that meet at etcd or in a directory keep their survivors",
          "[integration][replacement][nodes]") {
  const auto first = [](const auto&) { return std::size_t{0}; };
  {
    const stage stage;
    const elastic::test::etcd_server etcd;
    check_place(stage, nodes(stage, "1:3", "etcd", etcd.endpoint()), 3, first);
  }
  const stage stage;
  std::filesystem::create_directory(stage.folder / "place");
  check_place(stage, nodes(stage, "1:3", "file", stage.folder / "place"), 3, first);
}

TEST_CASE("replacement: of several nodes that can lead the one that does is lost",
          "[integration][replacement][nodes]") {
  const stage stage;
  const elastic::test::candidate_endpoints endpoints;
  check_place(stage, nodes(stage, "2:3", "c10d", endpoints.list()), 3,
              [](const std::vector<running_program*>& all) {
                const std::regex line(" leads in term (\\d+)");
                std::size_t leader = 0;
                long long most = -1;
                for (std::size_t node = 0; node < all.size(); ++node) {
                  const std::string text = all[node]->err();
                  for (std::sregex_iterator at(text.begin(), text.end(), line), end; at != end;
                       ++at) {
                    const long long term = std::stoll((*at)[1]);
                    if (term > most) leader = node;
                    most = std::max(most, term);
                  }
                }
                REQUIRE(most >= 0);
                return leader;
              });
}

TEST_CASE("replacement: a node that is drained costs nobody else a process or a restart",
          "[integration][replacement][nodes]") {
  const stage stage;
  const nodes pair(stage, "1:2");
  const auto first = pair.start();
  int epoch = -1;
  await_world(stage, 2, epoch);
  const std::string socket = "unix:" + (stage.folder / "status");
  const auto second = pair.start({}, "replace", {"--status", socket});
  const world before = await_world(stage, 4, epoch);
  CHECK(elastic::test::run_agent_command({ELASTIC_ELASTICRUN, "drain", socket}).code == 0);
  const world after = await_world(stage, 2, epoch);
  for (const auto& [rank, at] : after) {
    CHECK(at.pid == before.at(rank).pid);
    CHECK(at.restarts == 0);
  }
  CHECK(second->wait().code == 128 + SIGTERM);
  stage.end_work();
  CHECK(first->wait().code == 0);
}

TEST_CASE("replacement: a node that was cut off comes back, and the others keep their processes",
          "[integration][replacement][nodes]") {
  const stage stage;
  const nodes pair(stage, "1:2");
  const words soon{"--rdzv-conf", "last_call_timeout=0.3,keep_alive_interval=1"};
  const auto first = pair.start({}, "replace", soon);
  int epoch = -1;
  await_world(stage, 2, epoch);
  const auto second = pair.start({}, "replace", soon);
  const world before = await_world(stage, 4, epoch);
  second->signal(SIGSTOP);
  const world alone = await_world(stage, 2, epoch);
  for (const auto& [rank, at] : alone) CHECK(at.pid == before.at(rank).pid);
  second->signal(SIGCONT);
  const world after = await_world(stage, 4, epoch);
  INFO(first->err() << second->err());
  for (const int rank : {0, 1}) CHECK(after.at(rank).pid == before.at(rank).pid);
  for (const int rank : {2, 3}) CHECK(after.at(rank).pid != before.at(rank).pid);
  for (const auto& [rank, at] : after) CHECK(at.restarts == 0);
  stage.end_work();
  CHECK(first->wait().code == 0);
  CHECK(second->wait().code == 0);
  CHECK(stage.left.processes().empty());
}

TEST_CASE("replacement: a world that is too small for the script ends the job by its error",
          "[integration][replacement][nodes]") {
  const stage stage;
  const nodes pair(stage, "1:2");
  const std::string script = "survive_script.py";
  const auto first = pair.start({"needs-4"}, "replace", {"--tee", "3"}, script);
  int epoch = -1;
  await_world(stage, 2, epoch);
  const auto second = pair.start({"needs-4"}, "replace", {}, script);
  await_world(stage, 4, epoch);
  stage.let_leave();
  second->signal(SIGKILL);
  second->wait();
  const auto result = first->wait();
  INFO(result.err);
  CHECK(result.code == 1);
  CHECK_THAT(result.err, contains_text("all 3 restarts have been used"));
  CHECK_THAT(result.err, contains_text("ValueError: this needs 4 ranks, not 2"));
  CHECK(stage.left.processes().empty());
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
                                       "torchrun, or one without on_failure replace"));
  second->signal(SIGTERM);
  second->wait();
}

}  // namespace replacement_test

}  // namespace
