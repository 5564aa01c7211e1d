// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/diagnosis/detail/notice_judge.hpp>

#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/diagnosis/detail/rank_set.hpp>

#include <chrono>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

namespace elastic::detail {

/// The time without progress after which a worker that has reported an exception is named, and that
/// for workers that still run when others have ended.
inline constexpr std::chrono::seconds failure_patience(5);
inline constexpr std::chrono::seconds rest_patience(60);
/// The interval at which workers that still do not end are named again.
inline constexpr std::chrono::minutes rest_reminder(5);

/// "61 s", "0.5 s".
inline std::string in_seconds(duration span) {
  const double seconds = std::chrono::duration<double>(span).count();
  return seconds < 1 ? fmt::format("{:.1f} s", seconds) : fmt::format("{:.0f} s", seconds);
}

/// Whether processes have written anything but the eight bytes of an eventfd, by which threads of
/// libraries wake each other. Python writes each word of an unbuffered line by itself.
inline bool has_written_text(const worker_activity& last, const worker_activity& now) {
  constexpr std::uint64_t eventfd_bytes = 8;
  return now.written - last.written != eventfd_bytes * (now.writes - last.writes);
}

/// Whether processes have computed or transferred data.
inline bool has_worked(const worker_activity& last, const worker_activity& now, duration span) {
  constexpr double most_share = 0.02;
  constexpr std::uint64_t idle_bytes = 4096;
  const std::chrono::duration<double> used = now.processor_time - last.processor_time;
  const std::chrono::duration<double> time = span;
  return now.processes != last.processes || now.sends || used >= most_share * time ||
         now.read > last.read + idle_bytes || now.written > last.written + idle_bytes;
}

ELASTIC_DECL std::vector<notice> notice_judge::take(const std::vector<worker_signs>& signs,
                                                    time_point now, bool disturbed) {
  // A late sample: the machine or the agent was suspended, so the workers may have been suspended,
  // too.
  const bool is_late = now - limits::watch_lateness > wake_at_;
  records ended;
  records running;
  std::vector<record*> failed;
  for (const worker_signs& each : signs) {
    record& entry = records_[each.local_rank];
    compare(entry, each, now, disturbed);
    if (is_late) entry.quiet_since = entry.idle_since = now;
    (each.ended ? ended : running).push_back(&entry);
    if (each.ended) evidence_at_ = std::max(evidence_at_, each.ended->at);
    if (!each.ended && has_failed(entry)) failed.push_back(&entry);
  }
  taken_ = now;
  wake_at_ = time_point::max();
  std::vector<notice> notices;
  for (record* const each : failed) {
    evidence_at_ = std::max(evidence_at_, each->last.failure->at);
    judge_failure(*each, now, notices);
  }
  if (failed.empty()) judge_rest(ended, running, now, notices);
  return notices;
}

ELASTIC_DECL void notice_judge::compare(record& entry, const worker_signs& signs, time_point now,
                                        bool disturbed) const {
  if (entry.last.pid != signs.pid) {
    entry = {};
    entry.quiet_since = entry.idle_since = now;
  } else {
    const auto& last = entry.last.activity;
    const bool is_unknown = !last || !signs.activity;
    const bool is_compared = !is_unknown && !disturbed;
    const bool has_written = signs.output != entry.last.output ||
                             (is_compared && has_written_text(*last, *signs.activity));
    if (has_written) entry.quiet_since = now;
    const bool works = is_compared && has_worked(*last, *signs.activity, now - *taken_);
    // A stopped process cannot do anything.
    if (is_unknown || works || signs.activity->is_stopped) entry.idle_since = now;
  }
  entry.last = signs;
  entry.quiet_since = std::max({entry.quiet_since, signs.heard_at, signs.step_at});
  entry.idle_since = std::max(entry.idle_since, entry.quiet_since);
}

/// A script that takes a step after an exception has caught it.
ELASTIC_DECL bool notice_judge::has_failed(const record& entry) {
  return entry.last.failure && entry.last.step_at <= entry.last.failure->at;
}

ELASTIC_DECL void notice_judge::judge_failure(record& entry, time_point now,
                                              std::vector<notice>& notices) {
  const worker_signs::exception& failure = *entry.last.failure;
  const time_point told_at = std::max(entry.quiet_since, failure.at) + failure_patience;
  if (entry.told != failure.at && is_due(told_at, now)) {
    entry.told = failure.at;
    const std::string name = failure.text.substr(0, failure.text.find(':'));
    notice told{fmt::format("{} reported {} {} ago and has not ended", name_of(entry),
                            printable_line(name), in_seconds(now - failure.at))};
    told.ranks = {entry.last.rank};
    told.state = "failed";
    told.places = {entry.last.local_rank};
    notices.push_back(std::move(told));
  }
  const bool may_end = failure.is_fatal && end_after_error_ > duration::zero();
  if (!may_end || entry.punished == failure.at) return;
  const time_point ended_at =
      deadline_after(std::max(entry.idle_since, failure.at), end_after_error_);
  if (!is_due(ended_at, now)) return;
  entry.punished = failure.at;
  constexpr std::size_t shown_bytes = 200;
  notice end{fmt::format("it reported '{}' {} ago, has not ended, and has done nothing for {}",
                         printable_line(failure.text.substr(0, shown_bytes)),
                         in_seconds(now - failure.at), in_seconds(end_after_error_))};
  end.ended = entry.last.local_rank;
  notices.push_back(std::move(end));
}

/// The workers of a node of which some have ended and others run.
struct notice_judge::remainder {
  const records& ended;
  const records& running;
  time_point last_end{};
  /// Since when none of those that run has made progress, or done anything.
  time_point quiet_since{};
  time_point idle_since{};
  /// Whether all of those that run have completed their last steps.
  bool are_done = true;
};

ELASTIC_DECL auto notice_judge::survey(const records& ended, const records& running) -> remainder {
  remainder rest{ended, running};
  for (const record* const each : ended) {
    rest.last_end = std::max(rest.last_end, each->last.ended->at);
  }
  rest.quiet_since = rest.last_end;
  for (const record* const each : running) {
    const worker_signs& signs = each->last;
    rest.quiet_since = std::max(rest.quiet_since, each->quiet_since);
    rest.idle_since = std::max(rest.idle_since, each->idle_since);
    rest.are_done = rest.are_done && signs.steps > 0 && signs.step + 1 >= signs.steps;
  }
  return rest;
}

/// Judges the workers that still run when others have ended with success.
ELASTIC_DECL void notice_judge::judge_rest(const records& ended, const records& running,
                                           time_point now, std::vector<notice>& notices) {
  const auto has_succeeded = [](const record* each) { return each->last.ended->is_success; };
  if (ended.empty() || running.empty()) return;
  if (!std::all_of(ended.begin(), ended.end(), has_succeeded)) return;
  const remainder rest = survey(ended, running);
  const bool are_idle = now - rest.idle_since >= rest_patience;
  const bool is_told = told_ended_ == ended.size();
  if (is_told && !are_idle) return;
  time_point due = rest.quiet_since + rest_patience;
  if (is_told) due = std::max(due, told_at_ + rest_reminder);
  if (!is_due(due, now)) return;
  told_ended_ = ended.size();
  told_at_ = now;
  if (are_idle) wake_at_ = now + rest_reminder;
  notice told{line_about(rest, are_idle, now)};
  if (are_idle && !rest.are_done) {
    told.guess = running.size() == 1 ? ": it waits for one that has ended, or its interpreter does "
                                       "not end"
                                     : ": they wait for one that has ended, or their interpreters "
                                       "do not end";
  }
  told.state = "unfinished";
  constexpr std::size_t most_places = 3;
  for (const record* const each : running) {
    told.ranks.push_back(each->last.rank);
    if (told.places.size() < most_places) told.places.push_back(each->last.local_rank);
  }
  notices.push_back(std::move(told));
}

ELASTIC_DECL std::string notice_judge::line_about(const remainder& rest, bool are_idle,
                                                  time_point now) const {
  const bool is_one = rest.running.size() == 1;
  const std::string quiet = in_seconds(now - rest.quiet_since);
  const std::string_view have = is_one ? "has" : "have";
  std::string state = fmt::format("{} made no step and no output for {}", have, quiet);
  if (rest.are_done) {
    state = fmt::format("{} done the last step and {} not end", have, is_one ? "does" : "do");
  } else if (are_idle) {
    state = fmt::format("{} done nothing for {}", have, quiet);
  }
  return fmt::format("{} {} {} ago (exit code 0), and {} {}", ranks_of(rest.ended),
                     rest.ended.size() == 1 ? "ended" : "have ended, the last one",
                     in_seconds(now - rest.last_end), names_of(rest.running), state);
}

/// Decides whether a notice is due, and otherwise when the next sample is. Soon after the evidence,
/// samples follow each other closely.
ELASTIC_DECL bool notice_judge::is_due(time_point due, time_point now) {
  if (now >= due) return true;
  constexpr duration shortest = std::chrono::milliseconds(500);
  constexpr duration longest = std::chrono::seconds(5);
  const duration period = std::clamp((now - evidence_at_) / 4, shortest, longest);
  wake_at_ = std::min({wake_at_, due, now + period});
  return false;
}

ELASTIC_DECL std::string notice_judge::name_of(const record& entry) const {
  return fmt::format("rank {} ({}, local rank {}, pid {})", entry.last.rank, node_,
                     entry.last.local_rank, entry.last.pid);
}

ELASTIC_DECL std::string notice_judge::names_of(const records& workers) const {
  if (workers.size() == 1) return name_of(*workers.front());
  return fmt::format("{} ({})", ranks_of(workers), node_);
}

ELASTIC_DECL std::string notice_judge::ranks_of(const records& workers) {
  if (workers.size() == 1) return fmt::format("rank {}", workers.front()->last.rank);
  std::vector<int> ranks;
  for (const record* const each : workers) ranks.push_back(each->last.rank);
  std::string text = rank_set(std::move(ranks)).text();
  constexpr std::size_t shown_bytes = 60;
  if (text.size() > shown_bytes) text = text.substr(0, shown_bytes) + "…";
  return "ranks " + text;
}

}  // namespace elastic::detail
