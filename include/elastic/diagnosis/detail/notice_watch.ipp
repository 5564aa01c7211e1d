// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/diagnosis/detail/notice_watch.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/mount_table.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/race.hpp>
#include <elastic/contract/detail/printed_exception.hpp>
#include <elastic/diagnosis/job_diagnosis.hpp>
#include <elastic/net/host_name.hpp>
#include <elastic/telemetry/job_event.hpp>
#include <elastic/telemetry/job_journal.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace elastic::detail {

ELASTIC_DECL notice_watch::notice_watch(const job_diagnosis& terms,
                                        const agent_part::context& agent, place_finder places,
                                        reader read)
    : is_on_(terms.notices),
      end_after_error_(terms.end_after_error),
      node_(terms.node_name.empty() ? host_name() : terms.node_name),
      agent_(agent),
      places_(std::move(places)),
      read_(std::move(read)),
      files_(agent.strand),
      evidence_(agent.strand) {}

ELASTIC_DECL void notice_watch::progressed(const worker_progress& made) {
  steps_[made.local_rank] = made.total;
}

ELASTIC_DECL void notice_watch::ended_elsewhere(const std::vector<int>& ranks, time_point at) {
  if (!elsewhere_.empty()) return;
  for (const int rank : ranks) {
    worker_signs& each = elsewhere_.emplace_back();
    each.rank = rank;
    each.local_rank = -1 - rank;
    each.ended = {"exit code 0", true, at};
  }
  evidence_.set();
}

ELASTIC_DECL void notice_watch::failing() {
  is_urgent_ = true;
  evidence_.set();
}

ELASTIC_DECL task<void> notice_watch::run() {
  std::string problem;
  try {
    if (is_on_) co_await watch();
  } catch (const std::exception& failure) {
    const auto* const ended = dynamic_cast<const asio_system_error*>(&failure);
    if (ended && ended->code() == asio::error::operation_aborted) throw;
    problem = failure.what();
  }
  // A job must not end because its workers cannot be inspected.
  if (is_on_) agent_.log.warning("the workers are no longer watched for failures: {}", problem);
  co_await agent_.time->sleep_until(time_point::max());
}

ELASTIC_DECL task<void> notice_watch::watch() {
  steps_.clear();
  recorded_.clear();
  printed_.clear();
  unread_.clear();
  elsewhere_.clear();
  evidence_.reset();
  is_urgent_ = false;
  // File systems have coarse clocks.
  constexpr std::chrono::seconds tolerance(1);
  began_ = agent_.time->wall_now() - tolerance;
  files_.clear();
  std::vector<agent_part::attempt_worker> workers = agent_.workers();
  // All error files are below one folder.
  const bool may_block = !workers.empty() && may_hang(workers.front().error_file);
  for (const agent_part::attempt_worker& each : workers) {
    if (!each.end.empty()) evidence_.set();
    if (!each.error_file.empty() && !may_block) unread_.insert(each.local_rank);
  }
  if (unread_.empty()) workers.clear();
  co_await race(follow(std::move(workers)), judge());
}

/// Begins late, so that a short job does not wait for the kernel when it ends. If the kernel cannot
/// watch the error files, they are read at the first other sign.
ELASTIC_DECL task<void> notice_watch::follow(std::vector<agent_part::attempt_worker> workers) {
  constexpr std::chrono::seconds patience(2);
  const time_point begin = deadline_after(agent_.time->now(), patience);
  if (!workers.empty()) co_await agent_.time->sleep_until(begin);
  if (workers.empty() || !files_.open()) co_await agent_.time->sleep_until(time_point::max());
  for (const agent_part::attempt_worker& each : workers) {
    if (each.error_file.empty()) continue;
    files_.add(each.local_rank, each.error_file);
    // It may have been written before it was watched.
    if (std::error_code none; std::filesystem::exists(each.error_file, none)) failing();
  }
  for (;;) {
    const std::vector<int> ranks = co_await files_.written();
    unread_.insert(ranks.begin(), ranks.end());
    failing();
  }
}

ELASTIC_DECL task<void> notice_watch::judge() {
  // Most workers end at about the same time, and then no notice is needed.
  constexpr std::chrono::milliseconds settling(500);
  // Limits the work: a worker may write exceptions endlessly, and each look reads files of all
  // workers.
  constexpr std::chrono::milliseconds rest(100);
  time_point rested = agent_.time->now();
  notice_judge judge(end_after_error_, node_);
  for (;;) {
    if (judge.wake_at() == time_point::max()) {
      co_await evidence_.wait();
    } else {
      co_await with_deadline(*agent_.time, judge.wake_at(), evidence_.wait());
    }
    if (evidence_.is_set()) {
      const time_point settled = deadline_after(agent_.time->now(), settling);
      const time_point begin = is_urgent_ ? rested : settled;
      co_await agent_.time->sleep_until(begin);
    }
    evidence_.reset();
    is_urgent_ = false;
    const time_point now = agent_.time->now();
    const std::vector<worker_signs> signs = co_await look();
    rested = deadline_after(agent_.time->now(), rest);
    std::vector<notice> notices = judge.take(signs, now, std::exchange(is_disturbed_, false));
    for (notice& each : notices) co_await report(std::move(each));
  }
}

/// Collects the signs of all workers.
ELASTIC_DECL task<std::vector<worker_signs>> notice_watch::look() {
  worker_look asked;
  for (const agent_part::attempt_worker& each : agent_.workers()) {
    worker_signs& seen = asked.signs.emplace_back();
    seen.rank = each.rank;
    seen.local_rank = each.local_rank;
    seen.pid = each.pid;
    seen.step = each.step;
    seen.step_at = each.step_at;
    seen.steps = steps_[each.local_rank];
    seen.heard_at = each.heard_at;
    seen.output = each.written;
    if (!each.end.empty()) {
      seen.ended = {each.end, each.has_succeeded, each.ended_at};
    } else {
      read_failure(seen);
    }
    if (unread_.contains(each.local_rank)) asked.errors[each.local_rank] = each.error_file;
  }
  unread_.clear();
  task<worker_look> reading = read_(std::move(asked), began_);
  worker_look found = co_await std::move(reading);
  for (const auto& [rank, text] : found.errors) keep_failure(rank, text);
  for (worker_signs& each : found.signs) {
    if (!each.ended && recorded_.contains(each.local_rank)) {
      each.failure = recorded_[each.local_rank];
    }
  }
  found.signs.insert(found.signs.end(), elsewhere_.begin(), elsewhere_.end());
  co_return std::move(found.signs);
}

ELASTIC_DECL void notice_watch::keep_failure(int local_rank, const std::string& text) {
  if (!text.empty()) recorded_[local_rank] = {text, agent_.time->now(), true};
}

/// An exception in the error file takes precedence over one on stderr, since it may be the cause of
/// that one.
ELASTIC_DECL void notice_watch::read_failure(worker_signs& signs) {
  const auto recorded = recorded_.find(signs.local_rank);
  if (recorded != recorded_.end()) {
    signs.failure = recorded->second;
    return;
  }
  std::optional<printed_exception> last = last_exception(agent_.last_stderr(signs.local_rank));
  if (!last) {
    printed_.erase(signs.local_rank);
    return;
  }
  worker_signs::exception& printed = printed_[signs.local_rank];
  const time_point at = printed.text == last->text ? printed.at : agent_.time->now();
  signs.failure = printed = {std::move(last->text), at, last->is_fatal};
}

ELASTIC_DECL task<void> notice_watch::report(notice said) {
  if (said.ended) {
    agent_.end_hung(*said.ended, said.line);
    co_return;
  }
  std::vector<std::string> found;
  if (places_) {
    task<std::vector<std::string>> finding = places_(std::move(said.places));
    found = co_await std::move(finding);
  }
  if (found.empty()) found.push_back(said.guess);
  if (!places_) found.emplace_back("; start with --diagnose to see where");
  job_event event;
  event.kind = job_event::type::notice_given;
  event.state = said.state;
  event.rank = said.ranks.front();
  event.count = static_cast<std::int64_t>(said.ranks.size());
  event.reason = fmt::format("{}{}", said.line, fmt::join(found, ""));
  agent_.log.warning("{}", event.reason);
  if (agent_.journal) agent_.journal->record(std::move(event));
}

}  // namespace elastic::detail
