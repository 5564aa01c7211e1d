// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/commands/explanation.hpp>

#include <elastic/base/printable_text.hpp>
#include <elastic/diagnosis/detail/stall_text.hpp>
#include <elastic/status/detail/event_sentence.hpp>
#include <program/commands/advice.hpp>
#include <program/commands/journal_run.hpp>
#include <program/commands/replacement_account.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <iterator>
#include <numeric>
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
  // A time_point would not suffice: its nanoseconds end in the year 2262.
  const std::tm time = fmt::gmtime(static_cast<std::time_t>(seconds));
  return with_day ? fmt::format("{:%Y-%m-%d %H:%M:%S}", time) : fmt::format("{:%H:%M:%S}", time);
}

/// Whether the time line shows an event.
bool is_shown(const elastic::job_event& event) {
  using kind = elastic::job_event::type;
  switch (event.kind) {
    case kind::worker_ended: return !detail::has_succeeded(event);
    case kind::workers_judged: return event.state == "succeeded";
    case kind::failure_described: return !event.reason.empty();
    case kind::exit_barrier_ended: return event.state != "passed" || event.seconds.value_or(0) >= 1;
    case kind::job_paused:
    case kind::rendezvous_started:
    case kind::workers_starting:
    case kind::standbys_changed:
    case kind::vault_committed:
    case kind::exit_barrier_started:
    case kind::workers_stopping: return false;
    default: return true;
  }
}

/// Shortens repetitions: later events repeat the long reason of a stall or a hang, which is shown
/// only once.
class told_reasons {
 public:
  std::string sentence_of(const elastic::job_event& event) {
    using kind = elastic::job_event::type;
    elastic::job_event shown = event;
    for (const std::string& told : told_) {
      const std::size_t at = shown.reason.find(told);
      if (at != std::string::npos) shown.reason.replace(at, told.size(), "as above");
    }
    if (event.kind == kind::stall_found || event.kind == kind::worker_hung) tell(event.reason);
    return detail::event_sentence(shown);
  }

 private:
  void tell(const std::string& reason) {
    constexpr std::size_t least_bytes = 40;
    // An event that names the rank itself has the reason without that name.
    for (const std::string& each : {reason, detail::without_name(reason)}) {
      if (each.size() >= least_bytes) told_.push_back(each);
    }
  }

  std::vector<std::string> told_;
};

/// The age of the last saved checkpoint, compared with a restored commit.
class checkpoint_age {
 public:
  /// Result: a clause; empty for other events, and if no checkpoint before the commit is known.
  std::string clause_of(const elastic::journal_record& record) {
    using kind = elastic::job_event::type;
    const elastic::job_event& event = record.event;
    if (event.kind == kind::checkpoint_ended && event.count > 0) saved_us_ = record.time_us;
    if (event.kind == kind::vault_committed) committed_us_ = record.time_us;
    const bool is_known = saved_us_ > 0 && committed_us_ > saved_us_;
    if (event.kind != kind::vault_restored || !is_known) return {};
    return fmt::format("; the last checkpoint is {} older",
                       detail::span_words(detail::seconds_between(saved_us_, committed_us_)));
  }

 private:
  std::int64_t saved_us_ = 0;
  std::int64_t committed_us_ = 0;
};

std::string time_line(const journal_run& run) {
  std::vector<std::string> lines;
  std::string day;
  told_reasons reasons;
  checkpoint_age age;
  for (const elastic::journal_record* record : run.records) {
    const std::string clause = age.clause_of(*record);
    if (!is_shown(record->event)) continue;
    const std::string when = time_words(record->time_us, true);
    const bool is_new_day = when.substr(0, 10) != std::exchange(day, when.substr(0, 10));
    lines.push_back(fmt::format("  {:>19}  {}{}\n", is_new_day ? when : when.substr(11),
                                reasons.sentence_of(record->event), clause));
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

/// The last lines of a failed worker, to be shown below the line that names it.
std::string last_words(const detail::job_attempt& attempt) {
  std::string text;
  std::string_view rest = attempt.last_lines;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    text += fmt::format("    | {}\n", elastic::printable_line(line));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  }
  return text;
}

std::string root_causes(const std::vector<journal_run>& runs) {
  std::string text;
  for (const journal_run& run : runs) {
    for (const elastic::detail::job_attempt& attempt : run.job.attempts()) {
      const elastic::job_event* const cause = attempt.root_cause();
      if (!cause) continue;
      const std::size_t others = std::max(attempt.failures.size(), attempt.hung.size()) - 1;
      text += fmt::format(
          "  round {} on {}: {} {}{}{}\n", std::max<std::int64_t>(attempt.round, 0),
          elastic::printable_text(run.job.node()), detail::worker_words(*cause),
          attempt.hung.empty() ? "failed" : "was hung", detail::reason_words(*cause),
          others == 0 ? std::string() : fmt::format(" (the first of {} on this node)", others + 1));
      text += last_words(attempt);
    }
  }
  return text;
}

/// The share of each amount in tenths of a percent. Shares are rounded down; the remainder goes to
/// those that lose most by that, so that the sum is 100 %.
std::vector<int> shares_of(const std::vector<double>& amounts) {
  constexpr int all = 1000;
  const double total = std::accumulate(amounts.begin(), amounts.end(), 0.0);
  std::vector<int> shares;
  std::vector<std::pair<double, std::size_t>> losses;
  for (const double amount : amounts) {
    const double exact = total > 0 ? all * amount / total : 0;
    shares.push_back(static_cast<int>(exact));
    losses.emplace_back(shares.back() - exact, losses.size());
  }
  const int missing = total > 0 ? all - std::accumulate(shares.begin(), shares.end(), 0) : 0;
  std::sort(losses.begin(), losses.end());
  for (std::size_t index = 0; index < losses.size() && static_cast<int>(index) < missing; ++index) {
    ++shares[losses[index].second];
  }
  return shares;
}

/// A remark that says for how many agents the account lacks steps.
std::string without_steps(const std::vector<journal_run>& runs) {
  const auto lacking = static_cast<std::size_t>(
      std::count_if(runs.begin(), runs.end(),
                    [](const journal_run& run) { return !run.job.has_steps(); }));
  if (lacking == 0) return {};
  const std::string who =
      lacking == runs.size()
          ? "No worker reported a step"
          : fmt::format("The workers of {} of {} agents reported no step", lacking, runs.size());
  return fmt::format(
      "  {}, so all the time for which they ran counts as productive, except stalls that "
      "--diagnose found.\n",
      who);
}

std::string where_time_went(const std::vector<journal_run>& runs) {
  std::vector<double> amounts(detail::time_use_names.size());
  for (const journal_run& run : runs) {
    for (std::size_t index = 0; index < amounts.size(); ++index) {
      amounts[index] += run.seconds_of(static_cast<detail::time_use>(index));
    }
  }
  const std::vector<int> shares = shares_of(amounts);
  std::string text;
  for (std::size_t index = 0; index < amounts.size(); ++index) {
    if (shares[index] == 0 && amounts[index] < 0.001) continue;
    std::string name(detail::time_use_names[index]);
    std::replace(name.begin(), name.end(), '_', ' ');
    text += fmt::format("  {:<20} {:>5.1f} %  {}\n", name, shares[index] / 10.0,
                        detail::span_words(amounts[index]));
  }
  return text.empty() ? text : text + without_steps(runs);
}

/// Names the run and its outcome, and counts what used up a restart: failures of workers.
std::string headline(const journal_run& run) {
  const auto& attempts = run.job.attempts();
  const auto restarts = std::count_if(attempts.begin(), attempts.end(), [](const auto& attempt) {
    return attempt.is_restarted == true && attempt.change == "worker_failed";
  });
  std::string text = fmt::format("Run {} on {}", elastic::printable_text(run.job.run_id()),
                                 elastic::printable_text(run.job.node()));
  text += run.job.has_ended()
              ? fmt::format(": {} after {}", to_string(run.job.activity()),
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
    const std::string& name = run.job.role_of_job();
    const auto same = std::find_if(roles.begin(), roles.end(),
                                   [&](const auto& role) { return role.first == name; });
    auto& of_role = same == roles.end() ? roles.emplace_back(name, std::vector<journal_run>())
                                        : *same;
    of_role.second.push_back(std::move(run));
  }
  return roles;
}

/// "  gpu-7: at most 1 standby was ready, with 225 MiB".
std::string standbys_account(const std::vector<journal_run>& runs) {
  std::string text;
  for (const journal_run& run : runs) {
    const auto& standbys = run.job.standbys();
    if (!standbys) continue;
    text += fmt::format("  {}: at most {} {} ready", elastic::printable_text(run.job.node()),
                        standbys->most_ready,
                        standbys->most_ready == 1 ? "standby was" : "standbys were");
    if (standbys->most_bytes > 0) text += fmt::format(", with {} MiB", standbys->most_bytes >> 20);
    text += "\n";
  }
  return text;
}

/// The whole explanation of the runs of one role.
std::string story(const std::vector<journal_run>& runs) {
  std::string text;
  for (const journal_run& run : runs) {
    text += section(fmt::format("Time line of {} (UTC)", elastic::printable_text(run.job.node())),
                    time_line(run));
  }
  text += section("Root causes", root_causes(runs));
  text += section("Replacements", replacement_account(runs));
  text += section("Standbys", standbys_account(runs));
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
