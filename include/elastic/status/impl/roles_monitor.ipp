// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/roles_monitor.hpp>

#include <elastic/base/detail/new_shared.hpp>
#include <elastic/telemetry/detail/output_tails.hpp>
#include <elastic/telemetry/job_journal.hpp>

#include <algorithm>
#include <utility>

namespace elastic {

struct roles_monitor::change_count {
  std::mutex mutex;
  std::int64_t changes = 0;
  std::function<void()> call;

  void note() {
    const std::lock_guard lock(mutex);
    ++changes;
    if (call) call();
  }
};

ELASTIC_DECL roles_monitor::roles_monitor(snapshot begin, std::shared_ptr<time_source> time)
    : count_(std::make_shared<change_count>()) {
  for (const snapshot::role& role : begin.roles) {
    part& made = parts_.emplace_back();
    made.name = role.shown.name;
    made.monitor = detail::new_shared<job_monitor>(time);
    made.tails = detail::new_shared<detail::output_tails>();
    made.monitor->on_change([count = count_] { count->note(); });
  }
  view_ = detail::new_shared<const snapshot>(std::move(begin));
}

ELASTIC_DECL roles_monitor::~roles_monitor() = default;

ELASTIC_DECL std::optional<std::size_t> roles_monitor::find(std::string_view name) const {
  const auto found = std::find_if(parts_.begin(), parts_.end(),
                                  [&](const part& each) { return each.name == name; });
  if (found == parts_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - parts_.begin());
}

ELASTIC_DECL std::shared_ptr<job_journal> roles_monitor::journal(std::size_t role) const {
  const std::lock_guard lock(mutex_);
  return parts_[role].journal;
}

ELASTIC_DECL void roles_monitor::begin(std::size_t role, std::shared_ptr<job_journal> journal) {
  const std::shared_ptr<job_monitor>& monitor = parts_[role].monitor;
  journal->add(monitor);
  monitor->show(journal);
  const std::lock_guard lock(mutex_);
  parts_[role].journal = std::move(journal);
}

ELASTIC_DECL std::shared_ptr<const roles_monitor::snapshot> roles_monitor::view() const {
  const std::lock_guard lock(mutex_);
  return view_;
}

ELASTIC_DECL void roles_monitor::change(snapshot now) {
  auto fresh = detail::new_shared<const snapshot>(std::move(now));
  {
    const std::lock_guard lock(mutex_);
    view_ = std::move(fresh);
  }
  count_->note();
}

ELASTIC_DECL std::int64_t roles_monitor::changes() const {
  const std::lock_guard lock(count_->mutex);
  return count_->changes;
}

ELASTIC_DECL void roles_monitor::on_change(std::function<void()> call) {
  const std::lock_guard lock(count_->mutex);
  count_->call = std::move(call);
}

}  // namespace elastic
