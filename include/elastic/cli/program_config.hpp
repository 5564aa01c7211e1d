// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>
#include <elastic/diagnosis/job_diagnosis.hpp>
#include <elastic/launch/launch_config.hpp>
#include <elastic/launch/program_options.hpp>
#include <elastic/python/warm_standby.hpp>
#include <elastic/vault/vault_terms.hpp>
#include <elastic/wire/wire_terms.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace elastic {

/// Everything that the options of `elasticrun` set: the job, and what the program does around it.
struct program_config {
  /// The faults of a job. Each agent injects those that target its node and its workers.
  struct chaos_plan {
    /// A fault that is injected on purpose, to show how a job recovers from it.
    struct fault {
      enum class kind {
        /// SIGKILL.
        kill,
        /// SIGSTOP, and SIGCONT later.
        stop,
        /// The worker is stopped for nine tenths of the time.
        slow,
        /// The agent's connections, as if its cables were pulled, and put in again later.
        cut,
      };
      enum class target { rank, node };

      kind what = kind::kill;
      target scope = target::rank;
      /// The rank of a worker, or the group rank of a node.
      int number = 0;
      /// The time since the job's workers first ran on this node.
      duration start{};
      /// How long it lasts; not for `kill`.
      duration span{};

      friend bool operator==(const fault&, const fault&) = default;
    };

    /// Faults of random kinds and ranks, the same for each node that has the same seed.
    struct random_faults {
      std::uint64_t seed = 0;
      /// Between one fault and the next, on average.
      duration mean_gap{};

      friend bool operator==(const random_faults&, const random_faults&) = default;
    };

    std::vector<fault> faults;
    std::optional<random_faults> noise;

    bool empty() const { return faults.empty() && !noise; }
    friend bool operator==(const chaos_plan&, const chaos_plan&) = default;
  };

  /// Which worker of a job runs under a debugger, and where the debugger listens.
  struct debugger_plan {
    // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
    debugger_plan() = default;

    /// The worker's rank in the job; empty: no worker has a debugger.
    std::optional<int> rank;
    /// An address of the worker's node, or what names one as for `local_address_named`.
    std::string host = "127.0.0.1";
    /// 0: a free port, another one at each start of the worker.
    std::uint16_t port = 0;
  };

  /// The tasks that a scheduler has started on this node and that form one node of a job: task 0 is
  /// the agent, each of the others a slot, in which the worker of its local rank runs.
  struct slot_plan {
    // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
    slot_plan() = default;

    /// Names these tasks among all of this host and user, with letters, digits, dots and hyphens.
    std::string step;
    /// How many tasks there are, 1 to `limits::local_world_size`. 1: there is no slot.
    int count = 1;
    /// The number of this task among them, from 0.
    int place = 0;
    /// The numbers that the scheduler gives these tasks in the whole step, by place. Ranks that
    /// differ from them are logged; empty: they need not be.
    std::vector<int> numbers;
  };

  /// The job, for `make_agent`.
  launch_config job;
  /// The options of `run_as_program`.
  program_options program;
  /// Whether the agent keeps standbys for its workers, and how: for `add_warm_standbys`.
  bool keeps_standbys = false;
  warm_standby standby;
  /// Which wire-ups the workers get: for `add_wire`, if there are any.
  wire_terms wire;
  /// The tasks of this node that are the job's workers, if there are several.
  slot_plan slots;
  /// How much memory keeps the workers' commits: for `add_vault`, if there is any.
  vault_terms vault;
  /// The options of `add_diagnosis`.
  job_diagnosis diagnosis;
  /// The name of the job in the report of a failure, for `closing_words`: the script.
  std::string name;
  /// The script in the arguments, which must exist before anything is started; empty for a program
  /// without Python, or a Python module.
  std::string script;
  /// Whether a program with a terminal shows the progress of the workers there.
  bool progress = true;
  /// Whether equal lines of several workers appear once on the console.
  bool merges_output = false;
  /// The file of a job of several roles, which takes the place of the script ("-": standard input);
  /// empty: there is none. What changes its text, and whether to show it instead of running it.
  std::string job_file;
  std::vector<std::string> job_settings;
  bool prints_job = false;
  /// The faults that `elasticrun` injects on purpose.
  chaos_plan chaos;
  /// The worker that `elasticrun` starts under a debugger.
  debugger_plan debugger;
};

}  // namespace elastic
