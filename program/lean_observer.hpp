// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/event_flag.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/telemetry/worker_observer.hpp>
#include <program/code_pages.hpp>

#include <memory>

namespace elasticrun {

/// Returns the memory of the startup code to the system, once the workers of the first attempt have
/// run for a second: a launcher that waits never runs most of its code again. Shorter jobs do not
/// pay for this.
///
/// Thread-safety: one strand at a time, the agent's.
class lean_observer final : public elastic::worker_observer {
 public:
  /// @param next     an observer that is notified first; may be null
  /// @param release  returns the memory
  lean_observer(asio::any_io_executor strand, std::shared_ptr<elastic::time_source> time,
                std::shared_ptr<elastic::worker_observer> next = {},
                void (*release)() = release_code_pages);

  /// Returns the memory once, at that time.
  /// Cancellation: all types; only a cancellation ends it.
  elastic::task<void> run();

  void started(const elastic::worker_observer::started_workers& job) override;
  void progress(const elastic::worker_observer::worker_progress& made) override;
  void hung(const elastic::worker_observer::hung_worker& worker) override;

 private:
  elastic::event_flag has_started_;
  std::shared_ptr<elastic::time_source> time_;
  std::shared_ptr<elastic::worker_observer> next_;
  void (*release_)();
};

}  // namespace elasticrun
