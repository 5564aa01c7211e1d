// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/observe/explanation.hpp>

#include <elastic/base/printable_text.hpp>
#include <elastic/observe/detail/advice.hpp>
#include <elastic/observe/detail/run_story.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <iterator>
#include <string_view>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace elastic {

namespace detail {

/// Lines of a time line that are told; of a longer one the first and the last.
inline constexpr std::size_t told_lines = 200;

/// 1700000001250000 → "22:13:21", with the day in front if `with_day`.
inline std::string time_words(std::int64_t time_us, bool with_day) {
  // What a calendar can tell.
  const std::int64_t seconds = std::clamp<std::int64_t>(time_us / 1'000'000, 0, 253'402'300'799);
  // Not as a time_point: its nanoseconds end in the year 2262.
  const std::tm time = fmt::gmtime(static_cast<std::time_t>(seconds));
  return with_day ? fmt::format("{:%Y-%m-%d %H:%M:%S}", time) : fmt::format("{:%H:%M:%S}", time);
}

inline std::string because(const job_event& event) {
  return event.reason.empty() ? std::string() : ": " + printable_text(event.reason, "    ");
}

inline std::string worker_text(const job_event& event) {
  std::string text = fmt::format("rank {}", event.rank.value_or(-1));
  if (event.local_rank) text += fmt::format(" (local rank {}", *event.local_rank);
  if (event.local_rank && event.pid) text += fmt::format(", pid {}", *event.pid);
  return event.local_rank ? text + ")" : text;
}

inline std::string ranks_text(const job_event& event) {
  constexpr std::int64_t most = 1'000'000'000;
  const std::int64_t first = std::clamp<std::int64_t>(event.base_rank.value_or(0), 0, most);
  const std::int64_t count = std::clamp<std::int64_t>(event.local_world_size.value_or(1), 1, most);
  const std::string ranks = count == 1 ? fmt::format("rank {}", first)
                                       : fmt::format("ranks {} to {}", first, first + (count - 1));
  return fmt::format("{} of {}", ranks, event.world_size.value_or(count));
}

inline std::string change_text(const job_event& event) {
  if (event.state == "node_lost") return "a node was lost";
  if (event.state == "node_waiting") return "a node came";
  if (event.state == "paused") return "the job was paused";
  return "workers failed";
}

/// What a line of the time line says; empty: the event is not worth one.
inline std::string line_of(const job_event& event) {
  using kind = job_event_kind;
  const double seconds = event.seconds.value_or(0);
  switch (event.kind) {
    case kind::agent_started:
      return fmt::format("the agent began (backend {}, {} workers, up to {} restarts)",
                         printable_text(event.backend), event.local_world_size.value_or(0),
                         event.max_restarts.value_or(0));
    case kind::round_joined:
      return fmt::format("round {}: node {} of {}, {}, met in {}", event.round.value_or(0),
                         event.group_rank.value_or(0), event.group_world_size.value_or(1),
                         ranks_text(event), span_words(seconds));
    case kind::workers_started:
      return fmt::format("attempt {}: the workers run, started in {}{}", event.attempt.value_or(0),
                         span_words(seconds), because(event));
    case kind::worker_ended:
      if (event.state == "succeeded") return "";
      return worker_text(event) + " failed" + because(event);
    case kind::worker_hung: return worker_text(event) + " was hung" + because(event);
    case kind::worker_suspected:
      return fmt::format(
          "{} {}{}", worker_text(event),
          event.state == "none" ? "is suspected no more" : "seems " + printable_text(event.state),
          because(event));
    case kind::workers_judged:
      if (event.state != "succeeded") return "";
      return "all workers of this node succeeded";
    case kind::checkpoint_ended:
      return fmt::format("checkpoint: {} saved in {}{}", event.count.value_or(0),
                         span_words(seconds), because(event));
    case kind::round_ended:
      return fmt::format("the round ended, {}{}", change_text(event), because(event));
    case kind::job_resumed: return "the job went on" + because(event);
    case kind::restart_decided:
      return fmt::format("restart{}{}", because(event),
                         event.allowed.value_or(0) > 0
                             ? fmt::format(", after {}", span_words(*event.allowed))
                             : std::string());
    case kind::failure_decided: return "the job is given up" + because(event);
    case kind::failure_described:
      return event.reason.empty() ? std::string() : worker_text(event) + " left" + because(event);
    case kind::stop_requested: return "a stop was asked for" + because(event);
    case kind::fence_reached: return "the workers were killed" + because(event);
    case kind::fault_injected: return "a fault was made on purpose" + because(event);
    case kind::workers_stopped:
      return fmt::format("{} worker{} stopped in {}", event.count.value_or(0),
                         event.count == 1 ? " was" : "s were", span_words(seconds));
    case kind::exit_barrier_ended:
      if (event.state == "passed" && seconds < 1) return "";
      return fmt::format("exit barrier {} after {}{}", printable_text(event.state),
                         span_words(seconds), because(event));
    case kind::agent_ended:
      return fmt::format("the agent ended, {}{}", printable_text(event.state), because(event));
    case kind::node_told:
      return fmt::format("on {}: {}{}{}", printable_text(event.peer), printable_text(event.state),
                         event.rank ? fmt::format(" of rank {}", *event.rank) : std::string(),
                         because(event));
    case kind::job_paused:
    case kind::rendezvous_started:
    case kind::workers_starting:
    case kind::exit_barrier_started:
    case kind::workers_stopping: break;
  }
  return "";
}

inline std::string time_line(const run_story& story) {
  std::vector<std::string> lines;
  std::string day;
  for (const journal_record* record : story.records) {
    const std::string text = line_of(record->event);
    if (text.empty()) continue;
    const std::string when = time_words(record->time_us, true);
    const bool is_new_day = when.substr(0, 10) != std::exchange(day, when.substr(0, 10));
    lines.push_back(fmt::format("  {:>19}  {}\n", is_new_day ? when : when.substr(11), text));
  }
  std::string text;
  for (std::size_t at = 0; at < lines.size(); ++at) {
    const bool is_left_out =
        lines.size() > told_lines && at >= told_lines / 2 && at + told_lines / 2 < lines.size();
    if (!is_left_out) text += lines[at];
    if (is_left_out && at == told_lines / 2) {
      text += fmt::format("  {:>19}  ({} more)\n", "...", lines.size() - told_lines);
    }
  }
  return text;
}

inline std::string root_causes(const std::vector<run_story>& stories) {
  std::string text;
  for (const run_story& story : stories) {
    for (const attempt_story& attempt : story.attempts) {
      const journal_record* const first = attempt.cause();
      if (!first) continue;
      const job_event& cause = first->event;
      const std::size_t others = std::max(attempt.failures.size(), attempt.hung.size()) - 1;
      text += fmt::format(
          "  round {} on {}: {} {}{}{}\n", attempt.round.value_or(0), printable_text(story.node),
          worker_text(cause), attempt.hung.empty() ? "failed" : "was hung", because(cause),
          others == 0 ? std::string() : fmt::format(" (the first of {} on this node)", others + 1));
    }
  }
  return text;
}

inline std::string where_time_went(const std::vector<run_story>& stories) {
  double total = 0;
  for (const run_story& story : stories) total += story.total();
  std::string text;
  for (std::size_t at = 0; at < agent_phase_names.size(); ++at) {
    double seconds = 0;
    for (const run_story& story : stories) seconds += story.seconds[at];
    if (seconds < 0.001) continue;
    text += fmt::format("  {:<20} {:>5.1f} %  {}\n", agent_phase_names[at], 100 * seconds / total,
                        span_words(seconds));
  }
  return text;
}

inline std::string headline(const run_story& story) {
  std::int64_t restarts = 0;
  for (const attempt_story& attempt : story.attempts) {
    if (attempt.decision && attempt.decision->event.kind == job_event_kind::restart_decided) {
      ++restarts;
    }
  }
  std::string text =
      fmt::format("Run {} on {}", printable_text(story.run_id), printable_text(story.node));
  text += story.end ? fmt::format(": {} after {}", printable_text(story.end->event.state),
                                  span_words(story.total()))
                    : fmt::format(": its agent still runs or was killed; its journal ends after {}",
                                  span_words(story.total()));
  return text + fmt::format(", {} restart{}\n", restarts, restarts == 1 ? "" : "s");
}

inline std::string section(std::string_view title, const std::string& body) {
  return body.empty() ? std::string() : fmt::format("\n{}\n{}", title, body);
}

}  // namespace detail

ELASTIC_DECL std::string explain(const std::vector<journal_contents>& journals) {
  std::vector<detail::run_story> stories;
  std::string text;
  std::string remarks;
  for (const journal_contents& journal : journals) {
    auto more = detail::stories_of(journal.records);
    std::move(more.begin(), more.end(), std::back_inserter(stories));
    if (journal.is_torn) remarks += "  The last line of a journal is cut off and left out.\n";
    if (journal.refused_lines == 0) continue;
    remarks += fmt::format("  {} lines are no records and are left out; the first: {}\n",
                           journal.refused_lines, printable_text(journal.first_refusal, "    "));
  }
  if (stories.empty()) return "The journal has no records.\n" + detail::section("Remarks", remarks);
  for (const detail::run_story& story : stories) {
    text += detail::headline(story);
  }
  for (const detail::run_story& story : stories) {
    text += detail::section(fmt::format("Time line of {} (UTC)", printable_text(story.node)),
                            detail::time_line(story));
  }
  text += detail::section("Root causes", detail::root_causes(stories));
  text += detail::section("Where the time went", detail::where_time_went(stories));
  std::string help;
  for (const detail::advice_rule& rule : detail::advice_rules()) {
    const std::string sentence = rule.apply(stories);
    if (!sentence.empty()) help += fmt::format("  {}: {}\n", rule.name, printable_text(sentence));
  }
  text += detail::section("What would have helped", help);
  return text + detail::section("Remarks", remarks);
}

}  // namespace elastic
