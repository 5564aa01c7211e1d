// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/report_feed.hpp>

#include <elastic/base/limits.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace elastic::detail {

/// The bytes after which a report takes nothing more: one worker or event needs less than the rest.
inline constexpr std::size_t report_room = limits::node_report_bytes - 6 * 1024;

/// Whether the other nodes should hear of it.
inline bool matters_to_job(const job_event& event) {
  using kind = job_event::type;
  if (event.kind == kind::worker_ended) return !has_succeeded(event);
  if (event.kind == kind::ranks_replaced) return !event.ranks.empty();
  if (event.kind == kind::stall_found) return event.elsewhere != 1;
  return event.kind == kind::worker_hung || event.kind == kind::notice_given ||
         event.kind == kind::stop_requested || event.kind == kind::fence_reached ||
         event.kind == kind::failure_decided || event.kind == kind::agent_ended;
}

ELASTIC_DECL void report_feed::begin() {
  begins_ = true;
  head_.clear();
  told_.clear();
}

ELASTIC_DECL void report_feed::note(const journal_record& record) {
  if (!matters_to_job(record.event)) return;
  const std::int64_t second = record.time_us / 1'000'000;
  if (std::exchange(second_, second) != second) noted_ = 0;
  // The first is the cause, the rest its consequences.
  const bool has_room = events_.size() < static_cast<std::size_t>(limits::node_events_per_second);
  if (++noted_ <= limits::node_events_per_second && has_room) events_.push_back(record);
}

ELASTIC_DECL bool report_feed::is_new(std::size_t index, const viewed_worker& worker,
                                      bool has_progress) const {
  const told_worker& former = told_[index];
  return former.state != worker.state || former.pid != worker.pid ||
         (has_progress && former.step != worker.step);
}

ELASTIC_DECL std::string report_feed::next(const job_view& view, bool has_progress) {
  node_report report;
  report.epoch = view.job().epoch();
  report.activity = view.job().activity();
  report.reason = view.job().reason();
  report.round = view.job().round();
  report.base_rank = std::max<std::int64_t>(view.job().base_rank(), 0);
  report.size = static_cast<std::int64_t>(view.workers().size());
  const std::string head = report_text(report);
  const bool is_other = begins_ || report.round != round_ || told_.size() != view.workers().size();
  if (is_other) told_.assign(view.workers().size(), {});
  std::size_t size = head.size();
  while (!events_.empty() && size < report_room) {
    size += report_bytes(events_.front());
    report.events.push_back(std::move(events_.front()));
    events_.pop_front();
  }
  for (std::size_t index = 0; index < told_.size() && size < report_room; ++index) {
    const viewed_worker& worker = view.workers()[index];
    if (has_progress && std::exchange(told_[index].usage, worker.usage) != worker.usage) {
      size += report_usage_bytes;
      report.used.push_back(worker);
    }
    if (!is_new(index, worker, has_progress)) continue;
    size += report_bytes(worker);
    report.workers.push_back(worker);
    told_[index] = {worker.state, worker.pid, worker.step, told_[index].usage};
  }
  const bool has_news = is_other || head != head_ || !report.events.empty();
  if (!has_news && report.workers.empty() && report.used.empty()) return {};
  report.begins = std::exchange(begins_, false);
  round_ = report.round;
  head_ = head;
  return report_text(report);
}

}  // namespace elastic::detail
