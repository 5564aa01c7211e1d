// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace elastic {

/// Something that happened to a worker or an agent, in torchelastic's terms
/// (torch.distributed.elastic.events, as recorded by its agent).
struct event {
  enum class origin { agent, worker };

  /// The worker that an event is about.
  struct worker_part {
    int pid = 0;
    int global_rank = 0;
    int local_rank = 0;
    int role_rank = 0;
    int role_world_size = 0;
    /// As in Python's subprocess: negative for a signal. Only set for a failed worker.
    std::optional<int> exit_code = {};
  };

  /// "torchelastic.worker.status.SUCCEEDED" and similar names, also for agents.
  std::string name = {};
  origin source = origin::agent;
  std::string run_id = {};
  std::string role = {};
  std::string hostname = {};
  std::string rdzv_backend = {};
  /// The end of a worker or an agent: "SUCCEEDED", "FAILED", "TERMINATED"; "START" for a worker
  /// that was started; an action of an agent, with `duration_ms`: "RENDEZVOUS",
  /// "ASSIGN_WORKER_RANKS", and "REPLACED" if workers outlived a round, which torchelastic does not
  /// have.
  std::string state = {};
  /// Seconds since the agent started to run.
  std::int64_t total_run_time = 0;
  int agent_restarts = 0;
  /// Those of the last round whose workers were started; empty before the first.
  std::optional<int> group_rank = {};
  std::optional<int> group_world_size = {};
  /// The program's file name.
  std::string entry_point = {};
  /// JSON text of the worker's error file, or why the agent failed; empty if nothing failed.
  std::optional<std::string> raw_error = {};
  /// The duration of an agent's action, in milliseconds.
  std::optional<double> duration_ms = {};
  /// Only set for a worker's event.
  std::optional<worker_part> worker = {};
};

}  // namespace elastic
