// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/commands/explanation.hpp>

#include <elastic/base/printable_text.hpp>
#include <elastic/status/detail/event_sentence.hpp>
#include <program/commands/advice.hpp>
#include <program/commands/journal_run.hpp>
#include <program/commands/replacement_account.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace elasticrun {

namespace detail = elastic::detail;

namespace {

/// A longer time line keeps its first and its last lines.
constexpr std::size_t most_lines = 200;

/// 1700000001250000 → "22:13:21", with the day in front if `with_day`.
std::string time_words(std::int64_t time_us, bool with_day) {
  // The range of the calendar.
  const std::int64_t seconds = std::clamp<std::int64_t>(time_us / 1'000'000, 0, 253'402'300'799);
  // Not a time_point, whose nanoseconds end in the year 2262.
  const std::tm time = fmt::gmtime(static_cast<std::time_t>(seconds));
  return with_day ? fmt::format("{:%Y-%m-%d %H:%M:%S}", time) : fmt::format("{:%H:%M:%S}", time);
}

/// Whether the time line shows an event.
bool is_shown(const elastic::job_event& event) {
  using kind = elastic::job_event::type;
  switch (event.kind) {
    case kind::worker_ended: return event.state != "succeeded";
    case kind::workers_judged: return event.state == "succeeded";
    case kind::failure_described: return !event.reason.empty();
    case kind::exit_barrier_ended: return event.state != "passed" || event.seconds.value_or(0) >= 1;
    case kind::job_paused:
    case kind::rendezvous_started:
    case kind::workers_starting:
    case kind::exit_barrier_started:
    case kind::workers_stopping: return false;
    default: return true;
  }
}

std::string time_line(const journal_run& run) {
  std::vector<std::string> lines;
  std::string day;
  for (const elastic::journal_record* record : run.records) {
    if (!is_shown(record->event)) continue;
    const std::string when = time_words(record->time_us, true);
    const bool is_new_day = when.substr(0, 10) != std::exchange(day, when.substr(0, 10));
    lines.push_back(fmt::format("  {:>19}  {}\n", is_new_day ? when : when.substr(11),
                                detail::event_sentence(record->event)));
  }
  std::string text;
  for (std::size_t index = 0; index < lines.size(); ++index) {
    const bool is_omitted = lines.size() > most_lines && index >= most_lines / 2 &&
                            index + most_lines / 2 < lines.size();
    if (!is_omitted) text += lines[index];
    if (is_omitted && index == most_lines / 2) {
      text += fmt::format("  {:>19}  ({} more)\n", "...", lines.size() - most_lines);
    }
  }
  return text;
}

std::string root_causes(const std::vector<journal_run>& runs) {
  std::string text;
  for (const journal_run& run : runs) {
    for (const elastic::detail::viewed_attempt& attempt : run.view.attempts()) {
      const elastic::job_event* const cause = attempt.root_cause();
      if (!cause) continue;
      const std::size_t others = std::max(attempt.failures.size(), attempt.hung.size()) - 1;
      text += fmt::format(
          "  round {} on {}: {} {}{}{}\n", std::max<std::int64_t>(attempt.round, 0),
          elastic::printable_text(run.view.node()), detail::worker_words(*cause),
          attempt.hung.empty() ? "failed" : "was hung", detail::reason_words(*cause),
          others == 0 ? std::string() : fmt::format(" (the first of {} on this node)", others + 1));
    }
  }
  return text;
}

std::string where_time_went(const std::vector<journal_run>& runs) {
  double total = 0;
  for (const journal_run& run : runs) total += run.total();
  std::string text;
  for (std::size_t index = 0; index < detail::agent_phase_names.size(); ++index) {
    double seconds = 0;
    for (const journal_run& run : runs) seconds += run.view.phase_seconds()[index];
    if (seconds < 0.001) continue;
    text += fmt::format("  {:<20} {:>5.1f} %  {}\n", detail::agent_phase_names[index],
                        100 * seconds / total, detail::span_words(seconds));
  }
  return text;
}

/// Names the run and its outcome, and counts what used up a restart: failures of workers.
std::string headline(const journal_run& run) {
  const auto& attempts = run.view.attempts();
  const auto restarts = std::count_if(attempts.begin(), attempts.end(), [](const auto& attempt) {
    return attempt.is_restarted == true && attempt.change == "worker_failed";
  });
  std::string text = fmt::format("Run {} on {}", elastic::printable_text(run.view.run_id()),
                                 elastic::printable_text(run.view.node()));
  text += run.view.has_ended()
              ? fmt::format(": {} after {}", to_string(run.view.activity()),
                            detail::span_words(run.total()))
              : fmt::format(": its agent still runs or was killed; its journal ends after {}",
                            detail::span_words(run.total()));
  return text + fmt::format(", {} restart{}\n", restarts, restarts == 1 ? "" : "s");
}

std::string section(std::string_view title, const std::string& body) {
  return body.empty() ? std::string() : fmt::format("\n{}\n{}", title, body);
}

/// Groups runs by role, in the order in which the roles began.
std::vector<std::pair<std::string, std::vector<journal_run>>> by_role(
    std::vector<journal_run> runs) {
  std::vector<std::pair<std::string, std::vector<journal_run>>> roles;
  for (journal_run& run : runs) {
    const auto same = std::find_if(roles.begin(), roles.end(),
                                   [&](const auto& role) { return role.first == run.role; });
    auto& of_role = same == roles.end() ? roles.emplace_back(run.role, std::vector<journal_run>())
                                        : *same;
    of_role.second.push_back(std::move(run));
  }
  return roles;
}

/// The whole explanation of the runs of one role.
std::string story(const std::vector<journal_run>& runs) {
  std::string text;
  for (const journal_run& run : runs) {
    text += section(fmt::format("Time line of {} (UTC)", elastic::printable_text(run.view.node())),
                    time_line(run));
  }
  text += section("Root causes", root_causes(runs));
  text += section("Replacements", replacement_account(runs));
  text += section("Where the time went", where_time_went(runs));
  std::string help;
  for (const advice_rule& rule : advice_rules()) {
    const std::string sentence = rule.apply(runs);
    if (!sentence.empty())
      help += fmt::format("  {}: {}\n", rule.name, elastic::printable_text(sentence));
  }
  return text + section("What would have helped", help);
}

}  // namespace

std::string explain(const std::vector<elastic::detail::journal_contents>& journals) {
  std::vector<journal_run> runs;
  std::string text;
  std::string remarks;
  for (const elastic::detail::journal_contents& journal : journals) {
    auto more = runs_of(journal.records);
    std::move(more.begin(), more.end(), std::back_inserter(runs));
    if (journal.is_torn) remarks += "  The last line of a journal is cut off and left out.\n";
    if (journal.refused_lines == 0) continue;
    remarks +=
        fmt::format("  {} lines are not records and are left out; the first: {}\n",
                    journal.refused_lines, elastic::printable_text(journal.first_refusal, "    "));
  }
  if (runs.empty()) return "The journal has no records.\n" + section("Remarks", remarks);
  for (const journal_run& run : runs) {
    text += headline(run);
  }
  for (const auto& [role, of_role] : by_role(std::move(runs))) {
    if (!role.empty()) text += fmt::format("\n== Role {} ==\n", elastic::printable_text(role));
    text += story(of_role);
  }
  return text + section("Remarks", remarks);
}

}  // namespace elasticrun
