// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/telemetry/worker_observer.hpp>

#include <memory>

namespace elastic::detail {

/// Gives back the memory of the code that only started the job, when the workers of the first
/// attempt run: most of what a launcher holds while it waits is never run again.
///
/// Thread-safety: one strand at a time, the agent's.
class lean_observer final : public worker_observer {
 public:
  /// @param next  is told the same before; may be null
  ELASTIC_DECL explicit lean_observer(std::shared_ptr<worker_observer> next = {});

  ELASTIC_DECL void started(const started_workers& job) override;
  ELASTIC_DECL void progress(const worker_progress& made) override;
  ELASTIC_DECL void hung(const hung_worker& worker) override;

 private:
  std::shared_ptr<worker_observer> next_;
  bool is_lean_ = false;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/detail/impl/lean_observer.ipp>
#endif
