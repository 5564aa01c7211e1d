// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace elastic {

/// A decision of an agent, or an event on its node, with its details. Fields that do not apply are
/// empty.
struct job_event {
  /// The kind of event. Those that end in "ended" or "stopped" are the ends of spans, and have
  /// their duration in `seconds`.
  enum class type {
    agent_started,
    rendezvous_started,
    round_joined,
    workers_starting,
    workers_started,
    worker_ended,
    worker_hung,
    worker_suspected,
    workers_judged,
    checkpoint_ended,
    round_ended,
    failure_described,
    job_paused,
    job_resumed,
    restart_decided,
    failure_decided,
    stop_requested,
    fence_reached,
    fault_injected,
    stall_found,
    stall_ended,
    workers_stopping,
    workers_stopped,
    exit_barrier_started,
    exit_barrier_ended,
    agent_ended,
    node_told,
    ranks_replaced,
    replacement_abandoned,
    rollback_started,
    step_reached,
    standbys_changed,
    notice_given,
    vault_committed,
    vault_restored,
    vault_dropped,
    vault_skipped,
  };

  /// Why a worker seems to delay the others: its steps take longer, it does nothing while they
  /// work, it waits in the kernel for something that does not answer, or it was stopped.
  enum class suspicion { none, slow, idle, blocked, stopped };

  type kind = type::agent_started;
  /// The cause or a description: a clause.
  std::string reason = {};
  /// How something ended, or another detail of the event:
  /// - agent_started: "replace" if workers can outlive a round
  /// - worker_suspected: a job_event::suspicion
  /// - workers_judged, agent_ended: "succeeded", "failed" or "stopped"
  /// - round_ended: "node_waiting", "node_lost", "paused" or "worker_failed"
  /// - ranks_replaced: the same for the round that ended before
  /// - exit_barrier_ended: "passed", "changed" or "timed_out"
  /// - stall_found: the cause, such as "behind", "stopped" or "mismatch"
  /// - notice_given: what workers have shown: "failed" (they reported an exception and do not end),
  ///   "unfinished" (others have ended, and they do not), "missing" (they have not come to
  ///   `init_process_group`)
  /// - vault_dropped: "lost" if none before it is restored, either
  /// - node_told: what happened on that node, as the name of a kind
  std::string state = {};
  /// node_told: the node, as named by the rendezvous server.
  std::string peer = {};
  /// failure_described: the last lines that a worker wrote to stderr. stall_found: the evidence.
  std::string lines = {};
  /// Only in agent_started.
  std::string run_id = {};
  std::string backend = {};
  std::string role = {};
  /// The name of the host, if the node has another one.
  std::string host = {};

  std::optional<std::int64_t> round = {};
  /// How often workers of the job had failed before: the number of the attempt's log directory.
  std::optional<std::int64_t> attempt = {};
  /// The worker that an event is about.
  std::optional<std::int64_t> rank = {};
  std::optional<std::int64_t> local_rank = {};
  std::optional<std::int64_t> pid = {};
  /// How it ended: one of the two, or neither if that is unknown.
  std::optional<std::int64_t> exit_code = {};
  std::optional<std::int64_t> signal = {};
  /// round_joined, workers_started: the rank of this node in the round.
  std::optional<std::int64_t> group_rank = {};
  std::optional<std::int64_t> group_world_size = {};
  std::optional<std::int64_t> world_size = {};
  /// The rank of this node's first worker, and how many it has.
  std::optional<std::int64_t> base_rank = {};
  std::optional<std::int64_t> local_world_size = {};
  /// How often workers of the job have failed so far, and how often they may.
  std::optional<std::int64_t> restarts = {};
  std::optional<std::int64_t> max_restarts = {};
  /// The furthest step that a worker of this node has reported in the attempt; of the vault's
  /// events: the step of the generation.
  std::optional<std::int64_t> step = {};
  /// The vault's events: the number of a generation in its epoch.
  std::optional<std::int64_t> generation = {};
  /// 1: another node had the failure that ended the round, of which those of this node's workers
  /// are the consequence; or another node has found the stall (stall_found).
  std::optional<std::int64_t> elsewhere = {};
  /// How many workers were stopped, saved a checkpoint, were started from a standby, delay the
  /// others (stall_found; `rank` is the first), are named (notice_given, too), or continued in a
  /// new round (ranks_replaced).
  /// standbys_changed: how many standbys wait. The vault's events: how many commits were skipped.
  std::optional<std::int64_t> count = {};
  /// standbys_changed: how many are in the making, and the memory of those that wait, in bytes. The
  /// vault's events: the memory of its slots on this node.
  std::optional<std::int64_t> making = {};
  std::optional<std::int64_t> bytes = {};

  /// The duration of a span, at its end. ranks_replaced, step_reached: the time since the previous
  /// round was known to have ended. The first step_reached: the time since the workers were
  /// started. round_ended, stall_found: how long no worker of this node has reported another step;
  /// for a stall of a job without steps, how long a rank has waited for the others.
  /// vault_restored: how long the slowest worker of this node took.
  std::optional<double> seconds = {};
  /// A time limit: for workers to end (workers_stopping); or the delay of a restart.
  std::optional<double> allowed = {};
  /// workers_started: the process ids, by local rank.
  std::vector<std::int64_t> pids = {};
  /// ranks_replaced: the ranks of this node that have a new process, in ascending order.
  std::vector<std::int64_t> ranks = {};

  friend bool operator==(const job_event&, const job_event&) = default;
};

/// The names of the types in files and on pages.
inline constexpr auto job_event_kinds =
    std::to_array<std::pair<job_event::type, std::string_view>>({
        {job_event::type::agent_started, "agent_started"},
        {job_event::type::rendezvous_started, "rendezvous_started"},
        {job_event::type::round_joined, "round_joined"},
        {job_event::type::workers_starting, "workers_starting"},
        {job_event::type::workers_started, "workers_started"},
        {job_event::type::worker_ended, "worker_ended"},
        {job_event::type::worker_hung, "worker_hung"},
        {job_event::type::worker_suspected, "worker_suspected"},
        {job_event::type::workers_judged, "workers_judged"},
        {job_event::type::checkpoint_ended, "checkpoint_ended"},
        {job_event::type::round_ended, "round_ended"},
        {job_event::type::failure_described, "failure_described"},
        {job_event::type::job_paused, "job_paused"},
        {job_event::type::job_resumed, "job_resumed"},
        {job_event::type::restart_decided, "restart_decided"},
        {job_event::type::failure_decided, "failure_decided"},
        {job_event::type::stop_requested, "stop_requested"},
        {job_event::type::fence_reached, "fence_reached"},
        {job_event::type::fault_injected, "fault_injected"},
        {job_event::type::stall_found, "stall_found"},
        {job_event::type::stall_ended, "stall_ended"},
        {job_event::type::workers_stopping, "workers_stopping"},
        {job_event::type::workers_stopped, "workers_stopped"},
        {job_event::type::exit_barrier_started, "exit_barrier_started"},
        {job_event::type::exit_barrier_ended, "exit_barrier_ended"},
        {job_event::type::agent_ended, "agent_ended"},
        {job_event::type::node_told, "node_told"},
        {job_event::type::ranks_replaced, "ranks_replaced"},
        {job_event::type::replacement_abandoned, "replacement_abandoned"},
        {job_event::type::rollback_started, "rollback_started"},
        {job_event::type::step_reached, "step_reached"},
        {job_event::type::standbys_changed, "standbys_changed"},
        {job_event::type::notice_given, "notice_given"},
        {job_event::type::vault_committed, "vault_committed"},
        {job_event::type::vault_restored, "vault_restored"},
        {job_event::type::vault_dropped, "vault_dropped"},
        {job_event::type::vault_skipped, "vault_skipped"},
    });

constexpr std::string_view to_string(job_event::type kind) {
  for (const auto& [value, name] : job_event_kinds) {
    if (value == kind) return name;
  }
  return "unknown";
}

constexpr std::optional<job_event::type> job_event_kind_of(std::string_view name) {
  for (const auto& [value, text] : job_event_kinds) {
    if (text == name) return value;
  }
  return std::nullopt;
}

inline constexpr std::array<std::string_view, 5> worker_suspicion_names{"none", "slow", "idle",
                                                                        "blocked", "stopped"};

constexpr std::string_view to_string(job_event::suspicion suspicion) {
  return worker_suspicion_names[static_cast<std::size_t>(suspicion)];
}

}  // namespace elastic
