// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/job_view.hpp>

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace elastic::detail {

/// The condition of a job for whoever looks at it now and then. The activity of an agent says what
/// that does: it runs workers also while these stand still, and meets others in a restart, too.
struct job_condition {
  /// The name of an activity, or "waiting" for nodes, or "stalled".
  std::string_view name;
  /// The reason, such as what the job waits for; empty: the condition is the usual one.
  std::string reason = {};

  /// Whether the workers make steps, so that the time that is left can be told.
  bool is_moving() const { return name == to_string(agent_activity::running); }
};

/// "1 of 2 nodes are here"; empty: there are enough, or this node does not know.
inline std::string missing_nodes(const viewed_job& whole) {
  const int present = whole.active() + whole.waiting();
  if (!whole.is_known() || whole.is_complete() || present >= whole.min_nodes()) return {};
  return fmt::format("{} of {} nodes {} here", present, whole.min_nodes(),
                     present == 1 ? "is" : "are");
}

/// The last attempt that has ended; null: none has.
inline const job_attempt* ended_attempt(const job_state& job) {
  for (auto attempt = job.attempts().rbegin(); attempt != job.attempts().rend(); ++attempt) {
    if (attempt->end != attempt_end::none) return &*attempt;
  }
  return nullptr;
}

/// The condition of a job whose workers do not run yet.
inline job_condition unready_condition(const job_view& view) {
  const job_state& job = view.job();
  constexpr std::string_view waiting = "waiting";
  if (std::string missing = missing_nodes(view.whole()); !missing.empty()) {
    return {waiting, std::move(missing)};
  }
  const job_attempt* const ended = ended_attempt(job);
  if (ended) return {to_string(agent_activity::restarting), ended->reason};
  const bool meets = job.round() < 0 && job.activity() == agent_activity::meeting;
  if (meets) return {waiting, "for the nodes of the round"};
  return {to_string(agent_activity::starting)};
}

inline job_condition condition_of(const job_view& view) {
  const job_state& job = view.job();
  switch (job.activity()) {
    case agent_activity::running:
      if (job.is_stalled()) return {"stalled", job.stall()->event.reason};
      return {to_string(job.activity())};
    case agent_activity::starting:
    case agent_activity::meeting:
    case agent_activity::restarting: return unready_condition(view);
    case agent_activity::finishing: return {"waiting", "for the workers of other nodes to end"};
    default: return {to_string(job.activity()), job.reason()};
  }
}

}  // namespace elastic::detail
