// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/worker_meter.hpp>

#include <elastic/process/detail/memory_room.hpp>
#include <elastic/process/detail/tree_usage.hpp>

#include <algorithm>
#include <chrono>

namespace elastic::detail {

ELASTIC_DECL std::optional<worker_reading> read_process_usage(pid_t pid) {
  // A worker with thousands of threads would delay the others.
  constexpr std::size_t most_files = 1000;
  const std::optional<tree_usage> usage = look_at_tree(pid, most_files);
  if (!usage) return std::nullopt;
  worker_reading reading;
  if (!usage->is_cut) reading.processor_time = usage->processor_time;
  reading.memory_bytes = static_cast<std::int64_t>(memory_of(pid));
  return reading;
}

ELASTIC_DECL std::optional<worker_usage> worker_meter::measure(std::size_t place, std::int64_t pid,
                                                               time_point now) {
  const std::optional<worker_reading> reading = read_(static_cast<pid_t>(pid));
  if (!reading) return std::nullopt;
  const former_reading before = std::exchange(former_[place], {pid, reading->processor_time, now});
  worker_usage usage;
  usage.memory_bytes = reading->memory_bytes;
  const bool is_same = before.pid == pid && before.processor_time && reading->processor_time;
  if (!is_same || now <= before.at) return usage;
  using seconds = std::chrono::duration<double>;
  const double used = seconds(*reading->processor_time - *before.processor_time).count();
  // The time of a process that nobody waited for is lost when it ends.
  usage.processors = std::max(used, 0.0) / seconds(now - before.at).count();
  return usage;
}

ELASTIC_DECL auto worker_meter::look(const std::vector<viewed_worker>& workers,
                                     const time_source& time) -> std::vector<measured> {
  constexpr std::chrono::milliseconds longest(10);
  constexpr std::chrono::seconds period(2);
  constexpr int part = 100;
  const time_point began = time.now();
  std::vector<measured> all;
  if (due_ && began < *due_) return all;
  former_.resize(workers.size());
  time_point now = began;
  for (std::size_t count = 0; count < workers.size() && now - began < longest; ++count) {
    next_ %= workers.size();
    const std::size_t place = next_++;
    const viewed_worker& worker = workers[place];
    if (worker.state != job_worker::condition::running || worker.pid <= 0) continue;
    if (const auto usage = measure(place, worker.pid, now)) all.emplace_back(place, *usage);
    now = time.now();
  }
  due_ = began + std::max<duration>(period, part * (now - began));
  return all;
}

}  // namespace elastic::detail
