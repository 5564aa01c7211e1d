// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/job_monitor_core.hpp>

#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/status/detail/node_report.hpp>
#include <elastic/status/detail/output_desk.hpp>
#include <elastic/status/detail/output_message.hpp>
#include <elastic/status/detail/report_feed.hpp>
#include <elastic/telemetry/job_journal.hpp>

#include <chrono>
#include <utility>

namespace elastic::detail {

ELASTIC_DECL job_monitor_core::job_monitor_core(std::shared_ptr<time_source> time)
    : time_(std::move(time)),
      feed_(std::make_unique<report_feed>()),
      wanted_output_(std::make_unique<output_request>()),
      desk_(std::make_unique<output_desk>()) {
  if (!time_) time_ = new_shared<system_time>();
}

ELASTIC_DECL job_monitor_core::~job_monitor_core() = default;

ELASTIC_DECL std::shared_ptr<const job_view> job_monitor_core::view() const {
  const std::lock_guard lock(mutex_);
  return shown_view();
}

ELASTIC_DECL std::shared_ptr<const job_view> job_monitor_core::shown_view() const {
  if (!shown_) shown_ = new_shared<const job_view>(view_);
  return shown_;
}

ELASTIC_DECL job_view& job_monitor_core::change_view() {
  shown_.reset();
  return view_;
}

ELASTIC_DECL void job_monitor_core::measure_workers() {
  for (const auto& [place, usage] : meter_.look(view_.workers(), *time_)) {
    change_view().take(place, usage);
  }
}

ELASTIC_DECL job_launch job_monitor_core::launch() const {
  const std::lock_guard lock(mutex_);
  job_launch launch = launch_;
  if (log_dir_) launch.log_dir = log_dir_();
  return launch;
}

ELASTIC_DECL void job_monitor_core::describe(job_launch launch) {
  const std::lock_guard lock(mutex_);
  launch_ = std::move(launch);
}

ELASTIC_DECL void job_monitor_core::locate_logs(std::function<std::string()> ask) {
  const std::lock_guard lock(mutex_);
  log_dir_ = std::move(ask);
}

ELASTIC_DECL std::string job_monitor_core::curves() const {
  const std::lock_guard lock(mutex_);
  return curves_.json();
}

ELASTIC_DECL std::optional<viewed_stores> job_monitor_core::stores() const {
  const std::lock_guard lock(mutex_);
  return stores_ ? stores_() : std::nullopt;
}

ELASTIC_DECL void job_monitor_core::measure_stores(
    std::function<std::optional<viewed_stores>()> ask) {
  const std::lock_guard lock(mutex_);
  stores_ = std::move(ask);
}

ELASTIC_DECL std::int64_t job_monitor_core::progress_us() const {
  const std::lock_guard lock(mutex_);
  return progress_us_;
}

ELASTIC_DECL std::int64_t job_monitor_core::now_us() const {
  return std::chrono::duration_cast<std::chrono::microseconds>(time_->wall_now().time_since_epoch())
      .count();
}

ELASTIC_DECL void job_monitor_core::on_change(std::function<void()> call) {
  const std::lock_guard lock(mutex_);
  on_change_ = std::move(call);
}

ELASTIC_DECL void job_monitor_core::take(const journal_record& record) {
  const std::lock_guard lock(mutex_);
  change_view().take(record);
  curves_.take(record);
  if (wanted_ != report_demand::nothing) feed_->note(record);
  announce_report();
  if (on_change_) on_change_();
}

ELASTIC_DECL void job_monitor_core::progressed(const worker_progress& made) {
  constexpr std::int64_t pause_us = 1'000'000;
  const std::int64_t now = now_us();
  const std::lock_guard lock(mutex_);
  job_view& view = change_view();
  view.take(made, now);
  const viewed_worker* const worker = view.worker(made.local_rank);
  curves_.take(made, worker ? worker->step_seconds : 0, now);
  progress_us_ = now;
  // A clock that was set back is not a reason to be silent.
  if (now >= called_us_ && now - called_us_ < pause_us) return;
  called_us_ = now;
  has_progress_ = true;
  if (wanted_ == report_demand::progress) announce_report();
  if (on_change_) on_change_();
}

ELASTIC_DECL std::int64_t job_monitor_core::changes() const {
  const std::lock_guard lock(mutex_);
  return changes_;
}

ELASTIC_DECL void job_monitor_core::announce_change() {
  ++changes_;
  if (on_change_) on_change_();
}

// ---- this node for the one that serves ----------------------------------------------------------

ELASTIC_DECL void job_monitor_core::demanded(report_demand demand) {
  const std::lock_guard lock(mutex_);
  if (demand == report_demand::nothing) {
    *feed_ = report_feed();
    is_report_noted_ = false;
    reports_to_itself_ = false;
    *wanted_output_ = {};
    ++breaks_;
  }
  wanted_ = demand;
  has_progress_ = true;
  change_view().shown_elsewhere(demand != report_demand::nothing && !reports_to_itself_);
  announce_report();
}

ELASTIC_DECL void job_monitor_core::demanded_output(std::string_view text) {
  output_request wanted;
  try {
    if (!text.empty()) wanted = parse_output_request(text);
  } catch (const error&) {
    // A node with another release may want what this one does not know.
  }
  const std::lock_guard lock(mutex_);
  if (wanted.readings.empty() && wanted_output_->readings.empty()) return;
  *wanted_output_ = std::move(wanted);
  if (on_output_demand_) on_output_demand_();
}

ELASTIC_DECL output_request job_monitor_core::wanted_output() const {
  const std::lock_guard lock(mutex_);
  const bool is_own = wanted_output_->viewer == view_.job().epoch();
  return is_own ? output_request() : *wanted_output_;
}

ELASTIC_DECL int job_monitor_core::breaks() const {
  const std::lock_guard lock(mutex_);
  return breaks_;
}

ELASTIC_DECL void job_monitor_core::on_output_demand(std::function<void()> call) {
  const std::lock_guard lock(mutex_);
  on_output_demand_ = std::move(call);
}

ELASTIC_DECL bool job_monitor_core::has_unsent_output() const {
  const std::lock_guard lock(mutex_);
  return !unsent_output_.empty();
}

ELASTIC_DECL void job_monitor_core::send_output(std::string report) {
  const std::lock_guard lock(mutex_);
  if (wanted_output_->readings.empty()) return;
  unsent_output_.push_back(std::move(report));
  announce_report();
}

ELASTIC_DECL void job_monitor_core::announce_report() {
  const bool is_wanted = wanted_ != report_demand::nothing && !reports_to_itself_;
  if (!is_wanted || !on_report_ || std::exchange(is_report_noted_, true)) return;
  on_report_();
}

ELASTIC_DECL std::string job_monitor_core::next_report() {
  const std::lock_guard lock(mutex_);
  is_report_noted_ = false;
  if (wanted_ == report_demand::nothing || reports_to_itself_) return {};
  if (wanted_ == report_demand::progress) measure_workers();
  const bool has_progress = wanted_ == report_demand::progress && has_progress_;
  std::string report = feed_->next(view_, has_progress);
  if (!report.empty()) return report;
  has_progress_ = false;
  if (unsent_output_.empty()) return {};
  report = std::move(unsent_output_.front());
  unsent_output_.pop_front();
  return report;
}

ELASTIC_DECL void job_monitor_core::on_report(std::function<void()> call) {
  const std::lock_guard lock(mutex_);
  on_report_ = std::move(call);
}

// ---- the other nodes, if this one serves --------------------------------------------------------

ELASTIC_DECL void job_monitor_core::show(std::weak_ptr<job_journal> journal) {
  const std::lock_guard lock(mutex_);
  is_shown_ = true;
  journal_ = std::move(journal);
  pass_demand();
}

ELASTIC_DECL void job_monitor_core::begin_following() {
  const std::lock_guard lock(mutex_);
  ++followers_;
  pass_demand();
}

ELASTIC_DECL void job_monitor_core::end_following() {
  const std::lock_guard lock(mutex_);
  --followers_;
  pass_demand();
}

ELASTIC_DECL std::shared_ptr<const job_view> job_monitor_core::look() {
  const std::lock_guard lock(mutex_);
  looked_us_ = now_us();
  pass_demand();
  measure_workers();
  return shown_view();
}

ELASTIC_DECL report_demand job_monitor_core::demand_at(std::int64_t now_us) const {
  constexpr std::int64_t attention_us = 5'000'000;
  const bool was_looked_at = now_us >= looked_us_ && now_us - looked_us_ < attention_us;
  if (followers_ > 0 || was_looked_at) return report_demand::progress;
  return is_shown_ ? report_demand::changes : report_demand::nothing;
}

ELASTIC_DECL report_demand job_monitor_core::demand() const {
  const std::lock_guard lock(mutex_);
  return demand_at(now_us());
}

ELASTIC_DECL void job_monitor_core::pass_demand() {
  const report_demand demand = demand_at(now_us());
  if (std::exchange(passed_demand_, demand) != demand && on_demand_) on_demand_();
}

ELASTIC_DECL std::string job_monitor_core::output_demand() const {
  const std::lock_guard lock(mutex_);
  return passed_output_;
}

ELASTIC_DECL void job_monitor_core::pass_output_demand() {
  std::string output = desk_->demand(view_.job().epoch());
  if (std::exchange(passed_output_, output) != output && on_demand_) on_demand_();
}

ELASTIC_DECL std::shared_ptr<const std::int64_t> job_monitor_core::begin_reading(
    const output_reading& reading) {
  const std::lock_guard lock(mutex_);
  const job_view& view = view_;
  const std::int64_t id = desk_->begin(reading, view.whole(), view.job().epoch());
  if (id == 0) return nullptr;
  pass_output_demand();
  return {new std::int64_t(id), [this](const std::int64_t* ended) {
            const std::lock_guard guard(mutex_);
            desk_->end(*ended);
            delete ended;
            pass_output_demand();
          }};
}

ELASTIC_DECL output_delivery job_monitor_core::collect_output(std::int64_t id) {
  const std::lock_guard lock(mutex_);
  const viewed_job& whole = std::as_const(view_).whole();
  output_delivery delivery = desk_->collect(id, whole);
  if (!whole.is_known() && view_.is_shown_elsewhere()) {
    delivery.notices.emplace_back(
        "another node shows the whole job: these are the lines of this one");
  }
  pass_output_demand();
  return delivery;
}

ELASTIC_DECL bool job_monitor_core::awaits_output_end() const {
  const std::lock_guard lock(mutex_);
  return desk_->awaits_end(view_.whole());
}

ELASTIC_DECL void job_monitor_core::begin_serving(const void* server,
                                                  std::function<void()> on_demand) {
  const std::lock_guard lock(mutex_);
  server_ = server;
  on_demand_ = std::move(on_demand);
  // The keys of a server are those of its own nodes.
  if (std::as_const(view_).whole().is_known()) forget_nodes();
}

ELASTIC_DECL void job_monitor_core::end_serving(const void* server) {
  const std::lock_guard lock(mutex_);
  if (server_ != server) return;
  server_ = nullptr;
  on_demand_ = {};
  forget_nodes();
}

ELASTIC_DECL void job_monitor_core::forget_nodes() {
  desk_->lose_nodes();
  change_view().whole().forget();
  announce_change();
}

ELASTIC_DECL void job_monitor_core::reported(std::int64_t node, std::string_view report) {
  node_report content;
  try {
    if (is_output_report(report)) {
      output_report output = parse_output_report(report);
      const std::lock_guard lock(mutex_);
      desk_->take(node, std::move(output));
      return pass_output_demand();
    }
    content = parse_node_report(report);
  } catch (const error&) {
    // A node with another release may send reports that this one cannot read.
    return;
  }
  job_news news;
  std::shared_ptr<job_journal> journal;
  {
    const std::lock_guard lock(mutex_);
    const std::int64_t now = now_us();
    news = change_view().whole().take(node, content, view_.job().epoch(), now);
    journal = journal_.lock();
    if (news.is_own) {
      reports_to_itself_ = true;
      change_view().shown_elsewhere(false);
    }
    if (news.has_steps) progress_us_ = now;
    // A viewer that looked only once may be gone by now, so the demand may be lower.
    pass_demand();
    if (news.has_changed) ++changes_;
    if (on_change_) on_change_();
  }
  if (!journal) return;
  for (job_event& event : news.events) journal->record(std::move(event));
}

ELASTIC_DECL void job_monitor_core::listed(job_roster roster) {
  const std::lock_guard lock(mutex_);
  change_view().whole().take(roster, now_us());
  announce_change();
}

}  // namespace elastic::detail
