// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_part.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/telemetry/journal_sink.hpp>
#include <elastic/telemetry/worker_progress.hpp>

#include <functional>
#include <memory>
#include <string>

namespace elastic {

class job_journal;
struct worker_spec;

namespace detail {
struct internals;
class job_monitor_core;
}  // namespace detail

/// The state of a running job, for a status_server or for a program with its own HTTP server. Add
/// it to the job's journal, and to the parts of the agent; `add_monitor` does both, and connects it
/// with the monitors of the other nodes.
///
/// Thread-safety: any thread.
class ELASTIC_EXPORT job_monitor final : public journal_sink, public agent_part {
 public:
  /// @param time  null: `system_time`
  ELASTIC_DECL explicit job_monitor(std::shared_ptr<time_source> time = {});
  ELASTIC_DECL ~job_monitor() override;

  /// The current state of the job as `/api/v1/job` of a status_server shows it: as JSON, and as
  /// text for people. Errors: none.
  ELASTIC_DECL std::string json() const;
  ELASTIC_DECL std::string text() const;

  /// The metrics of `/metrics`, in Prometheus's text format. Errors: none.
  ELASTIC_DECL std::string metrics() const;

  /// Sets a function that is called, from any thread, after each record, and at most once a second
  /// when workers report progress. It must not throw or call the monitor. Empty: none.
  ELASTIC_DECL void on_change(std::function<void()> call);

  /// Shows the script or the program of these workers, the user and the host of this process, and,
  /// if `add_monitor` has made the monitor, the log directory. Arguments, which may hold secrets,
  /// are shown by a status_server, and only to who may see the output of the workers.
  /// Errors: none.
  ELASTIC_DECL void describe(const worker_spec& workers);

  /// Shows the job on this node: from now on, other nodes send it their reports. Important
  /// reports become records of the journal, if there is one.
  ELASTIC_DECL void show(std::weak_ptr<job_journal> journal);

  /// A viewer begins or ends following the job, or requests it once: other nodes then report
  /// progress, too.
  ELASTIC_DECL void begin_following();
  ELASTIC_DECL void end_following();
  ELASTIC_DECL void look();

  ELASTIC_DECL void take(const journal_record& record) override;
  ELASTIC_DECL void progressed(const worker_progress& made) override;

 private:
  friend detail::internals;

  /// An lvalue: null is a time.
  ELASTIC_DECL explicit job_monitor(std::shared_ptr<detail::job_monitor_core>& core);

  std::shared_ptr<detail::job_monitor_core> core_;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/status/impl/job_monitor.ipp>
#endif
