// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/observe/job_view.hpp>
#include <elastic/observe/journal_sink.hpp>
#include <elastic/telemetry/worker_observer.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

namespace elastic {

/// The view of a job that runs: add it to the job's journal, and make it the agent's observer.
/// Who serves HTTP by other means answers from its view by `job_json` and `metrics_text`.
///
/// Thread-safety: any thread.
class job_monitor final : public journal_sink, public worker_observer {
 public:
  /// @param time  null: `system_time`
  /// @param next  is told first whatever the observer is told; may be null
  ELASTIC_DECL explicit job_monitor(std::shared_ptr<time_source> time = {},
                                    std::shared_ptr<worker_observer> next = {});

  /// What the job is at.
  ELASTIC_DECL job_view view() const;

  /// When a worker last reported progress, in microseconds since 1970; 0: none has.
  ELASTIC_DECL std::int64_t progress_us() const;

  /// The time of day, in microseconds since 1970.
  ELASTIC_DECL std::int64_t now_us() const;

  /// Calls this, which must not throw or call the monitor, from any thread: after each record, and
  /// when workers report progress, once a second at most. Empty: nobody is called any more.
  ELASTIC_DECL void on_change(std::function<void()> call);

  ELASTIC_DECL void take(const journal_record& record) override;
  ELASTIC_DECL void started(const started_workers& job) override;
  ELASTIC_DECL void progress(const worker_progress& made) override;
  ELASTIC_DECL void hung(const hung_worker& worker) override;

 private:
  std::shared_ptr<time_source> time_;
  std::shared_ptr<worker_observer> next_;
  mutable std::mutex mutex_;
  job_view view_;
  std::int64_t progress_us_ = 0;
  std::int64_t called_us_ = 0;
  std::function<void()> on_change_;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/observe/impl/job_monitor.ipp>
#endif
