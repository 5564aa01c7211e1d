// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <support/catch.hpp>
#include <support/leftovers.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic::test {

/// One node of a job with all of its processes (a worker of torchrun outlives its agent). The
/// destructor kills them.
class node_of_job {
 public:
  /// @param work  the verb in its workers' line "works with WORLD_SIZE, …, pid PID;"
  node_of_job(std::vector<std::string> command, std::map<std::string, std::string> environment,
              std::string work = "works")
      : work_(std::move(work)),
        program_(with_session(std::move(command)), environment, std::chrono::seconds(180)),
        group_(program_.pid()) {}
  ~node_of_job() { lose(); }
  node_of_job(const node_of_job&) = delete;
  node_of_job& operator=(const node_of_job&) = delete;

  running_program* operator->() { return &program_; }

  /// Kills everything, as if the host had lost power. Who was waited for has nothing left, and its
  /// number may be another one's.
  void lose() {
    if (program_.pid() > 0) ::kill(-group_, SIGKILL);
  }

  /// Waits until its worker has started `times` times in a world of this size.
  void await_world(int size, int times = 1) {
    program_.await_out(fmt::format("{} with {},", work_, size), times);
  }

  /// The pid of its latest worker.
  pid_t worker() const {
    const std::regex line(work_ + R"( with .*, pid (\d+);)");
    std::string out = const_cast<running_program&>(program_).out();
    pid_t latest = -1;
    std::smatch match;
    while (std::regex_search(out, match, line)) {
      latest = std::stoi(match[1]);
      out = match.suffix();
    }
    REQUIRE(latest > 0);
    return latest;
  }

  void check_success() {
    const program_result result = program_.wait();
    INFO(result.out << result.err);
    CHECK(result.code == 0);
  }

  /// Waits for its end, and checks the exit code and a text on stderr.
  void check_failure(int code, const std::string& text) {
    const program_result result = program_.wait();
    INFO(result.out << result.err);
    CHECK(result.code == code);
    CHECK(result.err.find(text) != std::string::npos);
  }

 private:
  static std::vector<std::string> with_session(std::vector<std::string> command) {
    command.insert(command.begin(), "setsid");
    return command;
  }

  const std::string work_;
  running_program program_;
  pid_t group_;
};

/// The real torchrun. 1.13.1 under Python 3.11 fails with its own default of no redirection and no
/// tee.
inline std::vector<std::string> torchrun_command(const std::string& python,
                                                 const std::string& nodes,
                                                 const std::string& run_id,
                                                 const std::string& log_directory) {
  return {python,
          "-m",
          "torch.distributed.run",
          "--nnodes",
          nodes,
          "--rdzv_id",
          run_id,
          "--max_restarts",
          "5",
          "--monitor_interval",
          "0.2",
          "-r",
          "1",
          "-t",
          "1",
          "--log_dir",
          log_directory};
}

/// A job of several nodes of elasticrun on this host, whose workers run until `finish`.
class job_of_nodes {
 public:
  /// @param meeting  the options by which the nodes find each other
  job_of_nodes(std::string nodes, std::vector<std::string> meeting, std::string conf)
      : nodes_(std::move(nodes)), meeting_(std::move(meeting)), conf_(std::move(conf)) {
    environment_ = {{"LOGLEVEL", "INFO"}, {left_.name, left_.value}};
  }

  /// The command of workers after they have printed their world and pid; its argument is a file
  /// that exists once they should finish.
  std::vector<std::string> work = {ELASTIC_PUPPET, "await"};

  /// @param conf     further settings of the rendezvous
  /// @param options  further options of its command line
  std::unique_ptr<node_of_job> node(const std::string& conf = "",
                                    const std::vector<std::string>& options = {}) {
    std::vector<std::string> command = {
        ELASTIC_ELASTICRUN, "--nnodes", nodes_,      "--rdzv-id",        "job",
        "--max-restarts",   "5",        "--log-dir", directory_ / "logs"};
    command.insert(command.end(), meeting_.begin(), meeting_.end());
    command.push_back("--rdzv-conf");
    command.push_back(conf_ + (conf.empty() || conf_.empty() ? "" : ",") + conf);
    command.insert(command.end(), options.begin(), options.end());
    command.push_back("--no-python");
    return start(std::move(command));
  }

  /// A node of the real torchrun, with its own options for the rendezvous.
  std::unique_ptr<node_of_job> torchrun(const std::string& python,
                                        const std::vector<std::string>& meeting) {
    std::vector<std::string> command =
        torchrun_command(python, nodes_, "job", directory_ / "torch_logs");
    command.insert(command.end(), meeting.begin(), meeting.end());
    command.push_back("--no_python");
    return start(std::move(command));
  }

  /// Lets the workers finish.
  void finish() { std::ofstream(stop_file()) << "done"; }

  void check_nothing_left() const { CHECK(left_.processes_become(0)); }

 private:
  std::unique_ptr<node_of_job> start(std::vector<std::string> command) {
    command.insert(command.end(),
                   {"sh", "-c", "echo \"works with $WORLD_SIZE, pid $$$$;\"; exec \"$0\" \"$@\""});
    command.insert(command.end(), work.begin(), work.end());
    command.push_back(stop_file());
    return std::make_unique<node_of_job>(std::move(command), environment_);
  }

  std::string stop_file() const { return directory_ / "stop"; }

  const leftovers left_;
  temporary_directory directory_;
  std::string nodes_;
  std::vector<std::string> meeting_;
  std::string conf_;
  std::map<std::string, std::string> environment_;
};

// Checks for every kind of rendezvous. `job` has 2 to 3 nodes.

inline void check_meeting(job_of_nodes& job) {
  const auto first = job.node();
  const auto second = job.node();
  for (const auto* node : {&first, &second}) (*node)->await_world(2);
  job.finish();
  for (const auto* node : {&first, &second}) (*node)->check_success();
  job.check_nothing_left();
}

/// If a worker dies on one node, the workers of all nodes restart.
inline void check_worker_killed(job_of_nodes& job) {
  const auto first = job.node();
  const auto second = job.node();
  for (const auto* node : {&first, &second}) (*node)->await_world(2);
  for (int times = 2; times <= 3; ++times) {
    ::kill((times == 2 ? first : second)->worker(), SIGKILL);
    for (const auto* node : {&first, &second}) (*node)->await_world(2, times);
  }
  job.finish();
  for (const auto* node : {&first, &second}) (*node)->check_success();
  job.check_nothing_left();
}

/// After the loss of a node, the others continue in a smaller world and admit a new node.
inline void check_node_lost(job_of_nodes& job) {
  const auto first = job.node();
  const auto second = job.node();
  const auto lost = job.node();
  for (const auto* node : {&first, &second, &lost}) (*node)->await_world(3);
  lost->lose();
  for (const auto* node : {&first, &second}) (*node)->await_world(2);
  const auto late = job.node();
  for (const auto* node : {&first, &second}) (*node)->await_world(3, 2);
  late->await_world(3);
  job.finish();
  for (const auto* node : {&first, &second, &late}) (*node)->check_success();
  job.check_nothing_left();
}

/// Longer than `check_agents_killed` may take.
inline const std::string long_lease =
    "last_call_timeout=80,keep_alive_interval=25,keep_alive_max_attempt=4";

/// Of three nodes, all but one are killed one after the other, first the one with group rank 0.
/// Uses the settings of `long_lease`.
inline void check_agents_killed(job_of_nodes& job) {
  std::vector<std::unique_ptr<node_of_job>> nodes;
  for (int more = 0; more < 3; ++more) nodes.push_back(job.node());
  for (const auto& node : nodes) node->await_world(3);
  for (int size = 3; size > 1; --size) {
    for (const auto& node : nodes) (*node)->await_err(fmt::format(" of {}, ranks", size));
    const std::string words = fmt::format(": node {} of {},", size == 3 ? 0 : 1, size);
    const auto is_next = [&](const auto& node) {
      return (*node)->err().find(words) != std::string::npos;
    };
    const auto next = std::find_if(nodes.begin(), nodes.end(), is_next);
    REQUIRE(next != nodes.end());
    (*next)->lose();
    nodes.erase(next);
    for (const auto& node : nodes) node->await_world(size - 1);
  }
  job.finish();
  for (const auto& node : nodes) node->check_success();
  job.check_nothing_left();
}

/// A node that waits for others, for up to 10 min, ends when it is told to.
inline void check_interrupted_wait(job_of_nodes& job, const std::string& said_before) {
  const auto node = job.node();
  (*node)->await_err(said_before);
  (*node)->signal(SIGINT);
  const program_result result = (*node)->wait();
  INFO(result.out << result.err);
  CHECK(result.code == 130);
  job.check_nothing_left();
}

}  // namespace elastic::test
