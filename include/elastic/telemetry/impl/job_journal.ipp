// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/telemetry/job_journal.hpp>

#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/detail/required.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

namespace elastic {

namespace detail {

inline std::int64_t microseconds_of(wall_time time) {
  const auto since = std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch());
  return std::max<std::int64_t>(since.count(), 0);
}

}  // namespace detail

ELASTIC_DECL job_journal::job_journal(options settings) : options_(std::move(settings)) {
  if (!options_.time) options_.time = detail::new_shared<system_time>();
  epoch_ = detail::microseconds_of(options_.time->wall_now());
}

ELASTIC_DECL void job_journal::record(job_event event) {
  const std::lock_guard lock(mutex_);
  journal_record made;
  made.sequence = next_++;
  made.epoch = epoch_;
  made.time_us = detail::microseconds_of(options_.time->wall_now());
  made.node = options_.node;
  made.event = std::move(event);
  if (records_.size() >= std::max<std::size_t>(options_.most_records, 1)) records_.pop_front();
  records_.push_back(std::move(made));
  for (const auto& sink : sinks_) tell(*sink, records_.back());
}

ELASTIC_DECL void job_journal::add(std::shared_ptr<journal_sink> sink) {
  detail::required(sink, "job_journal::add: the sink");
  const std::lock_guard lock(mutex_);
  for (const journal_record& kept : records_) tell(*sink, kept);
  sinks_.push_back(std::move(sink));
}

ELASTIC_DECL void job_journal::remove(const std::shared_ptr<journal_sink>& sink) {
  const std::lock_guard lock(mutex_);
  std::erase(sinks_, sink);
}

ELASTIC_DECL std::vector<journal_record> job_journal::after(std::int64_t sequence) const {
  const std::lock_guard lock(mutex_);
  const auto first =
      std::find_if(records_.begin(), records_.end(),
                   [&](const journal_record& kept) { return kept.sequence > sequence; });
  return {first, records_.end()};
}

ELASTIC_DECL void job_journal::tell(journal_sink& sink, const journal_record& record) const {
  try {
    sink.take(record);
  } catch (const std::exception& failure) {
    options_.log.warning("a sink of the journal failed: {}", failure.what());
  } catch (...) {
    options_.log.warning("a sink of the journal failed");
  }
}

}  // namespace elastic
