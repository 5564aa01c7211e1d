// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/event_sentence.hpp>

#include <elastic/base/printable_text.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL std::string reason_words(const job_event& event) {
  return event.reason.empty() ? std::string() : ": " + printable_text(event.reason, "    ");
}

ELASTIC_DECL std::string worker_words(const job_event& event) {
  std::string text = fmt::format("rank {}", event.rank.value_or(-1));
  if (event.local_rank) text += fmt::format(" (local rank {}", *event.local_rank);
  if (event.local_rank && event.pid) text += fmt::format(", pid {}", *event.pid);
  return event.local_rank ? text + ")" : text;
}

ELASTIC_DECL std::string span_words(double seconds) {
  if (seconds < 9.95) return fmt::format("{:.2g} s", seconds < 0.001 ? 0.0 : seconds);
  const auto whole = static_cast<std::int64_t>(std::min(std::round(seconds), 1e15));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

inline std::string ranks_text(const job_event& event) {
  constexpr std::int64_t most = 1'000'000'000;
  const std::int64_t first = std::clamp<std::int64_t>(event.base_rank.value_or(0), 0, most);
  const std::int64_t count = std::clamp<std::int64_t>(event.local_world_size.value_or(1), 1, most);
  const std::string ranks = count == 1 ? fmt::format("rank {}", first)
                                       : fmt::format("ranks {} to {}", first, first + (count - 1));
  return fmt::format("{} of {}", ranks, event.world_size.value_or(count));
}

inline std::string_view change_words(std::string_view state) {
  if (state == "node_lost") return "a node was lost";
  if (state == "node_waiting") return "a node joined";
  if (state == "paused") return "the job was paused";
  return "a worker failed";
}

/// " (restart 1 of 3, after 2 s)"; empty: nobody said why.
inline std::string reason_in_parentheses(const job_event& event) {
  return event.reason.empty() ? std::string()
                              : fmt::format(" ({})", printable_text(event.reason, "    "));
}

inline std::string suspicion_words(const job_event& event) {
  if (event.state == "none") return "is no longer suspected";
  return "seems " + printable_text(event.state);
}

/// ", failed"; empty: nobody said how.
inline std::string outcome_words(const job_event& event) {
  return event.state.empty() ? std::string() : ", " + printable_text(event.state);
}

/// A sentence about an event of another node. This event holds all that the node has told.
inline std::string told_sentence(const job_event& told) {
  const std::string where = fmt::format("on {}: ", printable_text(told.peer));
  const auto kind = job_event_kind_of(told.state);
  if (!kind || *kind == job_event::type::node_told) {
    return where + printable_text(told.state) + reason_words(told);
  }
  job_event there = told;
  there.kind = *kind;
  there.state.clear();
  return where + event_sentence(there);
}

/// "rank 3", "ranks 0, 2 and 5", of at most eight.
inline std::string replaced_words(const job_event& event) {
  constexpr std::size_t most_named = 8;
  if (event.ranks.size() < 2) return fmt::format("rank {}", event.rank.value_or(-1));
  std::string text = "ranks";
  const std::size_t named = std::min(event.ranks.size(), most_named);
  for (std::size_t index = 0; index < named; ++index) {
    const bool is_last = index + 1 == event.ranks.size();
    text += fmt::format("{}{}", index == 0 ? " " : is_last ? " and " : ", ", event.ranks[index]);
  }
  if (event.ranks.size() > named) text += fmt::format(" and {} more", event.ranks.size() - named);
  return text;
}

/// "ranks 1 and 3 were replaced and 2 workers continued, after 0.13 s".
inline std::string replacement_sentence(const job_event& event) {
  const std::int64_t stayed = event.count.value_or(0);
  std::string text;
  if (event.rank) {
    text = replaced_words(event) + (event.ranks.size() > 1 ? " were replaced" : " was replaced");
  }
  if (stayed > 0) {
    text += fmt::format("{}{} worker{} continued", text.empty() ? "" : " and ", stayed,
                        stayed == 1 ? "" : "s");
  }
  if (text.empty()) text = "no worker of this node continued";
  if (event.seconds) text += fmt::format(", after {}", span_words(*event.seconds));
  return text + reason_words(event);
}

/// A sentence about an event of workers.
inline std::string worker_sentence(const job_event& event) {
  using kind = job_event::type;
  const double seconds = event.seconds.value_or(0);
  const std::string why = reason_words(event);
  switch (event.kind) {
    case kind::workers_starting: return "the workers start" + why;
    case kind::workers_started:
      return fmt::format("attempt {}: the workers run, started in {}{}", event.attempt.value_or(0),
                         span_words(seconds), why);
    case kind::worker_ended:
      return worker_words(event) + (event.state == "succeeded" ? " succeeded" : " failed" + why);
    case kind::worker_hung: return worker_words(event) + " was hung" + why;
    case kind::worker_suspected:
      return fmt::format("{} {}{}", worker_words(event), suspicion_words(event), why);
    case kind::workers_judged:
      if (event.state == "succeeded") return "all workers of this node succeeded";
      return "the workers of this node ended" + outcome_words(event) + why;
    case kind::checkpoint_ended:
      return fmt::format("checkpoint: {} saved in {}{}", event.count.value_or(0),
                         span_words(seconds), why);
    case kind::failure_described:
      return worker_words(event) + " left" + (why.empty() ? " no error" : why);
    case kind::fence_reached: return "the workers were killed" + why;
    case kind::workers_stopping:
      if (!event.allowed) return "the workers are being stopped" + why;
      return fmt::format("the workers are being stopped, within {}{}", span_words(*event.allowed),
                         why);
    case kind::workers_stopped:
      return fmt::format("{} worker{} stopped in {}", event.count.value_or(0),
                         event.count == 1 ? " was" : "s were", span_words(seconds));
    default: return {};
  }
}

ELASTIC_DECL std::string event_sentence(const job_event& event) {
  using kind = job_event::type;
  const double seconds = event.seconds.value_or(0);
  const std::string why = reason_words(event);
  switch (event.kind) {
    case kind::agent_started:
      return fmt::format("the agent began (backend {}, {} worker{}, up to {} restart{})",
                         printable_text(event.backend), event.local_world_size.value_or(0),
                         event.local_world_size == 1 ? "" : "s", event.max_restarts.value_or(0),
                         event.max_restarts == 1 ? "" : "s");
    case kind::rendezvous_started: return "the nodes meet" + why;
    case kind::round_joined:
      return fmt::format("joined round {} {} as node {} of {}, {}", event.round.value_or(0),
                         seconds < 0.001 ? "at once" : "in " + span_words(seconds),
                         event.group_rank.value_or(0), event.group_world_size.value_or(1),
                         ranks_text(event));
    case kind::round_ended:
      return fmt::format("the round ended because {}{}", change_words(event.state),
                         reason_in_parentheses(event));
    case kind::job_paused: return "the job pauses" + why;
    case kind::job_resumed: return "the job resumed" + why;
    case kind::restart_decided:
      if (event.state == "replace") {
        return "the other workers keep their processes" + reason_in_parentheses(event);
      }
      return "the workers restart" + reason_in_parentheses(event);
    case kind::ranks_replaced: return replacement_sentence(event);
    case kind::replacement_abandoned: return "all workers of the job restart" + why;
    case kind::rollback_started:
      return fmt::format("the workers repeat steps, from step {} on", event.step.value_or(0));
    case kind::step_reached:
      return fmt::format("step {} was reached after {}", event.step.value_or(0),
                         span_words(seconds));
    case kind::standbys_changed:
      return fmt::format("{} standby{} ready, {} in the making", event.count.value_or(0),
                         event.count == 1 ? " is" : "s are", event.making.value_or(0));
    case kind::vault_committed:
      return fmt::format("generation {} is in memory, of step {}", event.generation.value_or(0),
                         event.step.value_or(0));
    case kind::vault_restored:
      return fmt::format("restored generation {} from memory, of step {}, in {}",
                         event.generation.value_or(0), event.step.value_or(0),
                         span_words(seconds));
    case kind::vault_dropped:
      return fmt::format("generation {} in memory is given up{}", event.generation.value_or(0),
                         why);
    case kind::vault_skipped:
      return fmt::format("rank {} skipped the commit of generation {}{}", event.rank.value_or(0),
                         event.generation.value_or(0), why);
    case kind::failure_decided: return "the job is given up" + why;
    case kind::stop_requested: return "a stop was requested" + why;
    case kind::fault_injected: return "a fault was injected" + why;
    case kind::stall_found: return "the job has stalled" + why;
    case kind::notice_given: return "notice" + why;
    case kind::stall_ended: return "the job makes progress again" + why;
    case kind::exit_barrier_started: return "the agent waits for the other nodes to finish" + why;
    case kind::exit_barrier_ended:
      return fmt::format("exit barrier {} after {}{}", printable_text(event.state),
                         span_words(seconds), why);
    case kind::agent_ended: return "the agent ended" + outcome_words(event) + why;
    case kind::node_told: return told_sentence(event);
    case kind::workers_starting:
    case kind::workers_started:
    case kind::worker_ended:
    case kind::worker_hung:
    case kind::worker_suspected:
    case kind::workers_judged:
    case kind::checkpoint_ended:
    case kind::failure_described:
    case kind::fence_reached:
    case kind::workers_stopping:
    case kind::workers_stopped: return worker_sentence(event);
  }
  return {};
}

}  // namespace elastic::detail
