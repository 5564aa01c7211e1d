// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/viewed_job.hpp>

#include <elastic/base/limits.hpp>
#include <elastic/status/detail/node_report.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

/// The event of another node, as this node's journal records it.
inline job_event told_event(const viewed_node& node, const journal_record& record) {
  job_event event;
  event.kind = job_event::type::node_told;
  event.peer = node.entry.name.empty() ? record.node : node.entry.name;
  event.state = to_string(record.event.kind);
  event.reason = record.event.reason;
  event.rank = record.event.rank;
  event.exit_code = record.event.exit_code;
  event.signal = record.event.signal;
  return event;
}

ELASTIC_DECL void viewed_job::take(const job_roster& roster, std::int64_t now_us) {
  std::map<std::int64_t, viewed_node> former;
  for (viewed_node& node : nodes_) former.emplace(node.entry.key, std::move(node));
  nodes_.clear();
  for (const job_roster::entry& entry : roster.nodes) {
    if (nodes_.size() >= limits::viewed_nodes) break;
    viewed_node node;
    if (const auto before = former.extract(entry.key)) node = std::move(before.mapped());
    if (node.since_us == 0 || node.entry.presence != entry.presence) node.since_us = now_us;
    if (entry.presence == node_presence::lost) node.workers.clear();
    node.entry = entry;
    nodes_.push_back(std::move(node));
  }
  is_known_ = true;
  roster_ = roster;
  roster_.nodes.clear();
}

ELASTIC_DECL job_news viewed_job::take(std::int64_t key, const node_report& report,
                                               std::int64_t own_epoch, std::int64_t now_us) {
  auto place = std::find_if(nodes_.begin(), nodes_.end(),
                            [&](const viewed_node& node) { return node.entry.key == key; });
  if (place == nodes_.end()) {
    // The roster that has it comes a moment later.
    if (nodes_.size() >= limits::viewed_nodes) return {};
    nodes_.emplace_back().entry.key = key;
    place = std::prev(nodes_.end());
  }
  viewed_node& node = *place;
  if (node.entry.presence == node_presence::lost) return {};
  const std::int64_t second = now_us / 1'000'000;
  if (std::exchange(node.second, second) != second) node.reports = node.events = 0;
  if (++node.reports > limits::heard_reports_per_second) return {};
  job_news news;
  news.is_own = own_epoch != 0 && report.epoch == own_epoch;
  news.has_changed = node.epoch != report.epoch || node.activity != report.activity ||
                     node.reason != report.reason || node.is_own != news.is_own;
  node.is_own = news.is_own;
  node.epoch = report.epoch;
  node.activity = report.activity;
  node.reason = report.reason;
  if (node.is_own) return news;
  take_workers(node, report, now_us, news);
  for (const journal_record& record : report.events) {
    if (++node.events > limits::heard_events_per_second) break;
    news.events.push_back(told_event(node, record));
  }
  return news;
}

ELASTIC_DECL void viewed_job::take_workers(viewed_node& node, const node_report& report,
                                           std::int64_t now_us, job_news& news) {
  const auto size = static_cast<std::size_t>(report.size);
  const bool is_other = report.begins || node.round != report.round ||
                        node.base_rank != report.base_rank || node.workers.size() != size;
  node.round = report.round;
  node.base_rank = report.base_rank;
  if (is_other) {
    news.has_changed = true;
    std::size_t others = 0;
    node.workers.clear();
    for (const viewed_node& other : nodes_) others += other.workers.size();
    if (others + size > limits::viewed_workers) return;
    node.workers.resize(size);
    for (std::size_t index = 0; index < size; ++index) {
      node.workers[index].local_rank = static_cast<std::int64_t>(index);
      node.workers[index].rank = report.base_rank + static_cast<std::int64_t>(index);
    }
  }
  for (const viewed_worker& update : report.workers) {
    const auto index = static_cast<std::size_t>(update.local_rank);
    if (index >= node.workers.size()) continue;
    viewed_worker& worker = node.workers[index];
    const std::int64_t rank = worker.rank;
    news.has_changed = news.has_changed || update.state != worker.state || update.pid != worker.pid;
    news.has_steps = news.has_steps || update.step != worker.step;
    const std::int64_t progress_us = update.step == worker.step ? worker.progress_us : now_us;
    const worker_usage usage = update.pid == worker.pid ? worker.usage : worker_usage();
    worker = update;
    worker.rank = rank;
    worker.progress_us = progress_us;
    worker.usage = usage;
  }
  for (const viewed_worker& update : report.used) {
    const auto index = static_cast<std::size_t>(update.local_rank);
    if (index < node.workers.size()) node.workers[index].usage = update.usage;
  }
}

}  // namespace elastic::detail
