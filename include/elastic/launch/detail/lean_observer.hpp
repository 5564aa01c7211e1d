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

/// Gives back the memory of the code that only started the job, once the workers of the first
/// attempt have run for a second: most of what a launcher holds while it waits is never run again,
/// and a job that is over sooner does not pay for it.
///
/// Thread-safety: one strand at a time, the agent's.
class lean_observer final : public worker_observer {
 public:
  /// @param next     is told the same before; may be null
  /// @param release  gives the memory back
  ELASTIC_DECL lean_observer(asio::any_io_executor strand, std::shared_ptr<time_source> time,
                             std::shared_ptr<worker_observer> next = {},
                             void (*release)() = release_code_pages);

  /// Gives the memory back when it is time to, once.
  /// Cancellation: all types; it ends by nothing else.
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
