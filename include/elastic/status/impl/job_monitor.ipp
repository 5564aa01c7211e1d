// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/job_monitor.hpp>

#include <elastic/base/detail/new_shared.hpp>
#include <elastic/status/detail/job_document.hpp>
#include <elastic/status/detail/job_metrics.hpp>
#include <elastic/status/detail/job_monitor_core.hpp>

#include <utility>

namespace elastic {

ELASTIC_DECL job_monitor::job_monitor(std::shared_ptr<time_source> time)
    : core_(detail::new_shared<detail::job_monitor_core>(std::move(time))) {}

ELASTIC_DECL job_monitor::job_monitor(std::shared_ptr<detail::job_monitor_core>& core)
    : core_(core) {}

ELASTIC_DECL job_monitor::~job_monitor() = default;

ELASTIC_DECL std::string job_monitor::json() const {
  return detail::job_json(*core_->view(), core_->now_us(), {core_->launch()});
}

ELASTIC_DECL std::string job_monitor::text() const {
  return detail::job_text(*core_->view(), core_->now_us());
}

ELASTIC_DECL std::string job_monitor::metrics() const {
  return detail::metrics_text(*core_->view(), detail::metrics_format::text, core_->now_us(),
                              core_->stores());
}

ELASTIC_DECL void job_monitor::on_change(std::function<void()> call) {
  core_->on_change(std::move(call));
}

ELASTIC_DECL void job_monitor::describe(const worker_spec& workers) {
  core_->describe(detail::launch_of(workers));
}

ELASTIC_DECL void job_monitor::show(std::weak_ptr<job_journal> journal) {
  core_->show(std::move(journal));
}

ELASTIC_DECL void job_monitor::begin_following() { core_->begin_following(); }

ELASTIC_DECL void job_monitor::end_following() { core_->end_following(); }

ELASTIC_DECL void job_monitor::look() { core_->look(); }

ELASTIC_DECL void job_monitor::take(const journal_record& record) { core_->take(record); }

ELASTIC_DECL void job_monitor::progressed(const worker_progress& made) { core_->progressed(made); }

}  // namespace elastic
