// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/launch/detail/code_pages.hpp>
#include <elastic/telemetry/worker_observer.hpp>

#include <memory>

namespace elastic::detail {

/// Returns the memory of the startup code to the system, once the workers of the first attempt have
/// run for a second: a launcher that waits never runs most of its code again. Shorter jobs do not
/// pay for this.
///
/// Thread-safety: one strand at a time, the agent's.
class lean_observer final : public worker_observer {
 public:
  /// @param next     an observer that is notified first; may be null
  /// @param release  returns the memory
  ELASTIC_DECL lean_observer(asio::any_io_executor strand, std::shared_ptr<time_source> time,
                             std::shared_ptr<worker_observer> next = {},
                             void (*release)() = release_code_pages);

  /// Returns the memory once, at that time.
  /// Cancellation: all types; only a cancellation ends it.
  ELASTIC_DECL task<void> run();

  ELASTIC_DECL void started(const started_workers& job) override;
  ELASTIC_DECL void progress(const worker_progress& made) override;
  ELASTIC_DECL void hung(const hung_worker& worker) override;

 private:
  event_flag has_started_;
  std::shared_ptr<time_source> time_;
  std::shared_ptr<worker_observer> next_;
  void (*release_)();
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/detail/impl/lean_observer.ipp>
#endif
