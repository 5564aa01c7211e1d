// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>

#include <chrono>

namespace elastic {

/// A request to the workers over the control channel; see `local_agent::ask`.
struct worker_request {
  enum class kind {
    /// To do nothing until `resume`.
    pause,
    resume,
    /// To save a checkpoint. The log reports the result.
    checkpoint,
  };
  kind what = kind::checkpoint;
  /// How long a checkpoint may take.
  duration within = std::chrono::seconds(60);
};

}  // namespace elastic
