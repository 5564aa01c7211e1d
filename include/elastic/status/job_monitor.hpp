// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_part.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/status/detail/job_metrics.hpp>
#include <elastic/status/detail/job_view.hpp>
#include <elastic/telemetry/detail/report_exchange.hpp>
#include <elastic/telemetry/journal_sink.hpp>
#include <elastic/telemetry/worker_progress.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace elastic {

class job_journal;

namespace detail {
class report_feed;
}  // namespace detail

/// The view of a running job. Add it to the job's journal, and to the parts of the agent
/// (`add_part`). A program with its own HTTP server passes the view to `job_json` and
/// `metrics_text`.
///
/// As `rendezvous_parameters::reports`, it sends reports about this node to the node that serves
/// the rendezvous; on that node, its view contains the whole job.
///
/// Thread-safety: any thread.
class ELASTIC_EXPORT job_monitor final : public journal_sink,
                          public agent_part,
                          public detail::report_exchange {
 public:
  /// @param time  null: `system_time`
  ELASTIC_DECL explicit job_monitor(std::shared_ptr<time_source> time = {});
  ELASTIC_DECL ~job_monitor() override;

  /// The current state of the job. A view is immutable; a change replaces it by a new one.
  ELASTIC_DECL std::shared_ptr<const detail::job_view> view() const;

  /// The counters of this node's stores; empty: it serves none, or they are not counted.
  ELASTIC_DECL std::optional<detail::viewed_stores> stores() const;

  /// The time of the last progress report, in microseconds since 1970; 0: none yet.
  ELASTIC_DECL std::int64_t progress_us() const;

  /// The time of day, in microseconds since 1970.
  ELASTIC_DECL std::int64_t now_us() const;

  /// Sets a function that is called, from any thread, after each record, and at most once a second
  /// when workers report progress. It must not throw or call the monitor. Empty: none.
  ELASTIC_DECL void on_change(std::function<void()> call);

  /// Sets the function that `stores` calls, from any thread. It must not throw or call the monitor.
  /// Empty: none.
  ELASTIC_DECL void measure_stores(std::function<std::optional<detail::viewed_stores>()> ask);

  /// The number of changes reported by other nodes that are not records.
  ELASTIC_DECL std::int64_t changes() const;

  // ---- who looks --------------------------------------------------------------------------------

  /// To be called when the job is shown on this node, so that other nodes send reports. Important
  /// reports become records of the journal, if there is one.
  ELASTIC_DECL void show(std::weak_ptr<job_journal> journal);

  /// A viewer begins or ends following the job, or requests it once.
  ELASTIC_DECL void begin_following();
  ELASTIC_DECL void end_following();
  ELASTIC_DECL void look();

  // ---- what is told -----------------------------------------------------------------------------

  ELASTIC_DECL void take(const journal_record& record) override;
  ELASTIC_DECL void progressed(const worker_progress& made) override;

  ELASTIC_DECL void demanded(detail::report_demand demand) override;
  ELASTIC_DECL std::string next_report() override;
  ELASTIC_DECL void on_report(std::function<void()> call) override;
  ELASTIC_DECL void begin_serving(const void* server, std::function<void()> on_demand) override;
  ELASTIC_DECL void end_serving(const void* server) override;
  ELASTIC_DECL detail::report_demand demand() const override;
  ELASTIC_DECL void reported(std::int64_t node, std::string_view report) override;
  ELASTIC_DECL void listed(detail::job_roster roster) override;

 private:
  // The callers of these functions hold the mutex.
  ELASTIC_DECL detail::job_view& change_view();
  ELASTIC_DECL detail::report_demand demand_at(std::int64_t now_us) const;
  ELASTIC_DECL void pass_demand();
  ELASTIC_DECL void note_report();
  ELASTIC_DECL void note_change();

  std::shared_ptr<time_source> time_;
  mutable std::mutex mutex_;
  detail::job_view view_;
  /// The copy of `view_` that viewers have; null: it has changed since.
  mutable std::shared_ptr<const detail::job_view> shown_;
  std::int64_t progress_us_ = 0;
  std::int64_t called_us_ = 0;
  std::function<void()> on_change_;
  std::function<std::optional<detail::viewed_stores>()> stores_;
  std::int64_t changes_ = 0;
  // Of this node for the one that serves.
  detail::report_demand wanted_ = detail::report_demand::nothing;
  std::unique_ptr<detail::report_feed> feed_;
  std::function<void()> on_report_;
  bool is_report_noted_ = false;
  bool has_progress_ = false;
  bool reports_to_itself_ = false;
  // Of the other nodes, if this one serves.
  bool is_shown_ = false;
  std::weak_ptr<job_journal> journal_;
  int followers_ = 0;
  std::int64_t looked_us_ = 0;
  const void* server_ = nullptr;
  std::function<void()> on_demand_;
  detail::report_demand passed_demand_ = detail::report_demand::nothing;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/status/impl/job_monitor.ipp>
#endif
