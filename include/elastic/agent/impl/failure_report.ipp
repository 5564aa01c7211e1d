// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/failure_report.hpp>

#include <elastic/base/time.hpp>
#include <elastic/contract/detail/printed_exception.hpp>
#include <elastic/process/exit_status.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace elastic {

namespace detail {

/// How much later than its peers the agent may learn of a worker's death: the peers' lost
/// connections wake them at the same time, and a busy machine may run them first.
inline constexpr std::chrono::seconds notice_delay{1};

/// Whether the worker was ended by a signal that neither the agent sent nor a peer's failure
/// causes. SIGABRT and SIGPIPE do not count: they end programs that lost a connection.
inline bool was_struck(const run_result::failure& failure) {
  const auto number = failure.status.signal();
  return number && *number != SIGABRT && *number != SIGPIPE && !failure.stopped_by_agent;
}

/// The earliest time at which a worker can have failed.
inline wall_time earliest_moment(const run_result::failure& failure) {
  if (failure.error && failure.error->timestamp != 0) {
    const wall_time written{std::chrono::seconds(failure.timestamp())};
    const wall_time fine = failure.moment();
    return fine >= written && fine < written + std::chrono::seconds(2) ? fine : written;
  }
  return was_struck(failure) ? failure.time - notice_delay : failure.time;
}

/// When the first worker failed that the agent had not stopped; empty if it had stopped all.
inline std::optional<wall_time> first_own_failure(
    const std::vector<run_result::failure>& failures) {
  std::optional<wall_time> first;
  for (const run_result::failure& failure : failures) {
    if (failure.stopped_by_agent) continue;
    const wall_time moment = earliest_moment(failure);
    if (!first || moment < *first) first = moment;
  }
  return first;
}

/// Whether a worker failed only because the agent stopped it. A worker that wrote its error file
/// before any other failure was failing by itself, and was still ending when it was stopped.
inline bool is_victim(const run_result::failure& failure,
                      const std::optional<wall_time>& first_own) {
  if (!failure.stopped_by_agent || !first_own) return failure.stopped_by_agent;
  const bool own_account = failure.error && !failure.error->unparsable && failure.error->written;
  return !own_account || *failure.error->written >= *first_own;
}

}  // namespace detail

ELASTIC_DECL const run_result::failure* root_cause(
    const std::vector<run_result::failure>& failures) {
  const auto first_own = detail::first_own_failure(failures);
  const auto before = [&](const run_result::failure& left, const run_result::failure& right) {
    const bool left_is_victim = detail::is_victim(left, first_own);
    if (left_is_victim != detail::is_victim(right, first_own)) return !left_is_victim;
    return detail::earliest_moment(left) < detail::earliest_moment(right);
  };
  const auto first = std::min_element(failures.begin(), failures.end(), before);
  return first == failures.end() ? nullptr : &*first;
}

namespace detail {

/// "2026-11-20_10:32:44", local time.
inline std::string report_time(std::int64_t timestamp) {
  const std::time_t seconds = static_cast<std::time_t>(timestamp);
  std::tm local{};
  char text[32];
  if (!::localtime_r(&seconds, &local)) return "<N/A>";
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d_%H:%M:%S", &local)};
}

inline std::string indented(std::string_view text, std::string_view indent) {
  std::string result;
  for (const char letter : text) {
    result += letter;
    if (letter == '\n') result += indent;
  }
  return result;
}

/// The text after "traceback :". It keeps torchelastic's wording, because users search for it.
inline std::string report_message(const run_result::failure& failure) {
  if (failure.error) {
    return indented(failure.error->callstack.value_or(failure.error->message), "  ");
  }
  if (!failure.hung.empty()) return "hung: " + failure.hung;
  if (const auto number = failure.status.signal()) {
    return fmt::format("Signal {} ({}) received by PID {}", *number, signal_name(*number),
                       failure.pid);
  }
  return "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html";
}

ELASTIC_DECL std::string report_failure(const run_result::failure& failure, std::size_t index) {
  std::string exit = fmt::format("{} (pid: {})", failure.status.as_python(), failure.pid);
  if (const auto number = failure.status.signal()) {
    exit += fmt::format(" ({}{})", signal_name(*number),
                        failure.status.has_dumped_core() ? ", core dumped" : "");
  } else if (failure.status == exit_status::guard_lost()) {
    exit += fmt::format(" ({})", failure.status.text());
  } else if (!failure.status.code()) {
    exit += " (unknown status)";
  }
  std::string text = fmt::format(
      "[{}]:\n"
      "  time      : {}\n"
      "  host      : {}\n"
      "  rank      : {} (local_rank: {})\n"
      "  role      : {}\n"
      "  exitcode  : {}\n"
      "  error_file: {}\n"
      "  traceback : {}\n",
      index, report_time(failure.timestamp()), failure.host, failure.rank, failure.local_rank,
      failure.role, exit, failure.error ? failure.error_file : "<N/A>", report_message(failure));
  if (failure.out_of_memory) {
    text += "  reason    : out of memory: the kernel killed processes here when it died\n";
  }
  if (!failure.full_disk.empty()) text += fmt::format("  reason    : {}\n", failure.full_disk);
  if (!failure.stall.empty()) text += fmt::format("  stall     : {}\n", failure.stall);
  if (!failure.core_file.empty()) text += fmt::format("  core      : {}\n", failure.core_file);
  return text;
}

/// A key that is equal for workers that failed in the same way, as far as the report shows.
inline std::string name_of_kind(const run_result::failure& failure) {
  const std::string message = failure.status.signal() ? "" : report_message(failure);
  std::string name;
  for (const std::string& part :
       {failure.status.text(), failure.role, failure.core_file, message}) {
    name += fmt::format("{} {}", part.size(), part);
  }
  return name + (failure.out_of_memory ? " out of memory" : "") +
         (failure.full_disk.empty() ? "" : " full disk");
}

inline std::string report_stderr(const run_result::failure& failure) {
  const bool explained = failure.error && !failure.error->unparsable;
  if (explained || failure.last_stderr.empty()) return "";
  std::string text = "  its last lines of stderr:\n";
  for (const std::string& line : failure.last_stderr) text += fmt::format("    {}\n", line);
  return text;
}

ELASTIC_DECL std::string rank_ranges(std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  std::string text;
  for (std::size_t index = 0; index < ranks.size();) {
    std::size_t last = index;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text += fmt::format("{}", ranks[index]);
    if (last > index) text += fmt::format("{}{}", last == index + 1 ? ", " : "-", ranks[last]);
    index = last + 1;
  }
  return text;
}

/// The number of characters of the longest line. A character outside ASCII counts once per code
/// point.
inline std::size_t longest_line(std::string_view text) {
  std::size_t longest = 0;
  std::size_t length = 0;
  for (const char letter : text) {
    if (letter == '\n')
      length = 0;
    else if ((static_cast<unsigned char>(letter) & 0xc0) != 0x80)
      ++length;
    longest = std::max(longest, length);
  }
  return longest;
}

/// Failures of one kind: the first of them, and the ranks of all.
struct failure_kind {
  std::size_t first = 0;
  std::vector<int> ranks;
};

/// The failures that are not a consequence of others, grouped by kind, in the order of each kind's
/// first failure.
inline std::vector<failure_kind> kinds_of(const std::vector<run_result::failure>& failures,
                                          const std::optional<wall_time>& first_own,
                                          const run_result::failure* root) {
  std::vector<failure_kind> kinds;
  std::unordered_map<std::string, std::size_t> places;
  // The root cause represents its kind.
  kinds.push_back({static_cast<std::size_t>(root - failures.data()), {}});
  places.emplace(name_of_kind(*root), 0);
  for (std::size_t index = 0; index < failures.size(); ++index) {
    const run_result::failure& failure = failures[index];
    if (&failure != root && is_victim(failure, first_own)) continue;
    const auto [place, is_new] = places.emplace(name_of_kind(failure), kinds.size());
    if (is_new) kinds.push_back({index, {}});
    kinds[place->second].ranks.push_back(failure.rank);
  }
  return kinds;
}

inline std::string report_kind(const std::vector<run_result::failure>& failures,
                               const failure_kind& kind) {
  std::string text = report_failure(failures[kind.first], kind.first);
  if (kind.ranks.size() > 1) {
    text += fmt::format("  ranks     : {} ({} workers failed in this way)\n",
                        rank_ranges(kind.ranks), kind.ranks.size());
  }
  return text;
}

/// A line about the workers that the agent has stopped, and one for each exception that they had
/// printed before. One of these may be the cause: a failing worker closes its connections, and so
/// makes others fail, before it has ended.
inline std::string report_stopped(const std::vector<const run_result::failure*>& stopped) {
  constexpr std::size_t most_exceptions = 3;
  constexpr std::size_t shown_bytes = 200;
  std::vector<int> ranks;
  std::map<std::string, std::vector<int>> exceptions;
  for (const run_result::failure* const each : stopped) {
    ranks.push_back(each->rank);
    const auto last = last_exception(each->last_stderr);
    if (!last || last->text == "KeyboardInterrupt") continue;
    std::string text = last->text.substr(0, shown_bytes);
    if (exceptions.size() < most_exceptions || exceptions.contains(text)) {
      exceptions[std::move(text)].push_back(each->rank);
    }
  }
  if (ranks.empty()) return {};
  std::string lines = fmt::format("Stopped by the agent because of it: rank {}\n",
                                  rank_ranges(std::move(ranks)));
  for (const auto& [text, own] : exceptions) {
    lines += fmt::format("  rank {} had printed: {}\n", rank_ranges(own), text);
  }
  return lines;
}

}  // namespace detail

ELASTIC_DECL std::string failure_report(const std::string& name,
                                        const std::vector<run_result::failure>& failures) {
  const run_result::failure* root = root_cause(failures);
  if (!root) return "";
  const auto first_own = detail::first_own_failure(failures);
  std::string others;
  std::string cause;
  for (const detail::failure_kind& kind : detail::kinds_of(failures, first_own, root)) {
    std::string text = detail::report_kind(failures, kind);
    if (&failures[kind.first] == root) {
      cause = std::move(text) + detail::report_stderr(*root);
    } else {
      others += text;
    }
  }
  if (others.empty()) others = "  <NO_OTHER_FAILURES>\n";
  std::vector<const run_result::failure*> stopped;
  for (const run_result::failure& failure : failures) {
    if (&failure != root && detail::is_victim(failure, first_own)) stopped.push_back(&failure);
  }
  const std::string peers = detail::report_stopped(stopped);
  const std::string title = name + " FAILED\n";
  constexpr std::size_t widest = 60;
  const std::size_t width = std::min(widest, detail::longest_line(title + others + cause));
  const std::string border(width, '=');
  const std::string section(width, '-');
  return fmt::format(
      "\n{0}\n{2}{1}\nFailures:\n{3}{1}\nRoot Cause (first observed failure):\n{4}{5}{0}\n", border,
      section, title, others, cause, peers);
}

}  // namespace elastic
