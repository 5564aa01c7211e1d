// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/status/detail/job_curves.hpp>
#include <elastic/status/detail/job_launch.hpp>
#include <elastic/status/detail/job_metrics.hpp>
#include <elastic/status/detail/job_view.hpp>
#include <elastic/status/detail/worker_meter.hpp>
#include <elastic/telemetry/detail/report_exchange.hpp>
#include <elastic/telemetry/worker_progress.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace elastic {

class job_journal;
struct journal_record;

namespace detail {

class output_desk;
struct output_delivery;
struct output_request;
struct output_reading;
class report_feed;

/// The shared state of the copies of a job_monitor. As the reports of a rendezvous, it sends
/// reports about this node to the node that serves the rendezvous; on that node, its view has the
/// whole job.
///
/// Thread-safety: any thread.
class job_monitor_core final : public report_exchange {
 public:
  /// @param time  null: `system_time`
  ELASTIC_DECL explicit job_monitor_core(std::shared_ptr<time_source> time);
  ELASTIC_DECL ~job_monitor_core() override;

  /// The current state of the job. A view is immutable; a change replaces it by a new one.
  ELASTIC_DECL std::shared_ptr<const job_view> view() const;

  /// What the job runs.
  ELASTIC_DECL job_launch launch() const;
  ELASTIC_DECL void describe(job_launch launch);

  /// Sets the function that tells the log directory of the run, from any thread. It must not throw
  /// or call the monitor.
  ELASTIC_DECL void locate_logs(std::function<std::string()> ask);

  /// How the training goes, as `job_curves::json` writes it.
  ELASTIC_DECL std::string curves() const;

  /// The counters of this node's stores; empty: it serves none, or they are not counted.
  ELASTIC_DECL std::optional<viewed_stores> stores() const;

  /// The time of the last progress report, in microseconds since 1970; 0: none yet.
  ELASTIC_DECL std::int64_t progress_us() const;

  /// The time of day, in microseconds since 1970.
  ELASTIC_DECL std::int64_t now_us() const;

  ELASTIC_DECL void on_change(std::function<void()> call);

  /// Sets the function that `stores` calls, from any thread. It must not throw or call the monitor.
  /// Empty: none.
  ELASTIC_DECL void measure_stores(std::function<std::optional<viewed_stores>()> ask);

  /// The number of changes reported by other nodes that are not records.
  ELASTIC_DECL std::int64_t changes() const;

  // ---- who looks: see job_monitor ---------------------------------------------------------------

  ELASTIC_DECL void show(std::weak_ptr<job_journal> journal);
  ELASTIC_DECL void begin_following();
  ELASTIC_DECL void end_following();
  /// Result: the view, with what the workers use.
  ELASTIC_DECL std::shared_ptr<const job_view> look();

  // ---- who reads the output of workers ----------------------------------------------------------

  /// The other nodes send lines for a reader, as long as the result lives. Null: there are
  /// `limits::output_readers` already. The monitor must outlive it.
  ELASTIC_DECL std::shared_ptr<const std::int64_t> begin_reading(const output_reading& reading);

  /// The lines that have arrived for a reader since the last call. @param id  that of its reading
  ELASTIC_DECL output_delivery collect_output(std::int64_t id);

  /// Whether a reader here waits for the last lines of another node.
  ELASTIC_DECL bool awaits_output_end() const;

  /// What the node that shows the job wants to read; nothing if that is this node.
  ELASTIC_DECL output_request wanted_output() const;

  /// How often a connection to the node that shows the job has ended: what was on its way may be
  /// lost.
  ELASTIC_DECL int breaks() const;

  /// Sets the function that is called, from any thread, when `wanted_output` has changed. It must
  /// not throw or call the monitor. Empty: none.
  ELASTIC_DECL void on_output_demand(std::function<void()> call);

  /// Whether lines that were to be sent still wait.
  ELASTIC_DECL bool has_unsent_output() const;

  /// Sends lines to the node that shows the job: the text of an output_report.
  ELASTIC_DECL void send_output(std::string report);

  // ---- what is told -----------------------------------------------------------------------------

  ELASTIC_DECL void take(const journal_record& record);
  ELASTIC_DECL void progressed(const worker_progress& made);

  ELASTIC_DECL void demanded(report_demand demand) override;
  ELASTIC_DECL void demanded_output(std::string_view text) override;
  ELASTIC_DECL std::string next_report() override;
  ELASTIC_DECL void on_report(std::function<void()> call) override;
  ELASTIC_DECL void begin_serving(const void* server, std::function<void()> on_demand) override;
  ELASTIC_DECL void end_serving(const void* server) override;
  ELASTIC_DECL report_demand demand() const override;
  ELASTIC_DECL std::string output_demand() const override;
  ELASTIC_DECL void reported(std::int64_t node, std::string_view report) override;
  ELASTIC_DECL void listed(job_roster roster) override;

 private:
  // The callers of these functions hold the mutex.
  ELASTIC_DECL std::shared_ptr<const job_view> shown_view() const;
  ELASTIC_DECL job_view& change_view();
  ELASTIC_DECL void measure_workers();
  ELASTIC_DECL report_demand demand_at(std::int64_t now_us) const;
  ELASTIC_DECL void pass_demand();
  ELASTIC_DECL void pass_output_demand();
  ELASTIC_DECL void forget_nodes();
  ELASTIC_DECL void announce_report();
  ELASTIC_DECL void announce_change();

  std::shared_ptr<time_source> time_;
  mutable std::mutex mutex_;
  job_view view_;
  job_curves curves_;
  job_launch launch_;
  std::function<std::string()> log_dir_;
  worker_meter meter_;
  /// The copy of `view_` that viewers have; null: it has changed since.
  mutable std::shared_ptr<const job_view> shown_;
  std::int64_t progress_us_ = 0;
  std::int64_t called_us_ = 0;
  std::function<void()> on_change_;
  std::function<std::optional<viewed_stores>()> stores_;
  std::int64_t changes_ = 0;
  // The reports of this node to the one that serves.
  report_demand wanted_ = report_demand::nothing;
  std::unique_ptr<report_feed> feed_;
  std::function<void()> on_report_;
  bool is_report_noted_ = false;
  bool has_progress_ = false;
  bool reports_to_itself_ = false;
  std::unique_ptr<output_request> wanted_output_;
  std::deque<std::string> unsent_output_;
  int breaks_ = 0;
  std::function<void()> on_output_demand_;
  // The reports of the other nodes, if this one serves.
  bool is_shown_ = false;
  std::weak_ptr<job_journal> journal_;
  int followers_ = 0;
  std::int64_t looked_us_ = 0;
  const void* server_ = nullptr;
  std::function<void()> on_demand_;
  report_demand passed_demand_ = report_demand::nothing;
  std::unique_ptr<output_desk> desk_;
  /// What the other nodes were asked for.
  std::string passed_output_;
};

}  // namespace detail

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/status/detail/job_monitor_core.ipp>
#endif
