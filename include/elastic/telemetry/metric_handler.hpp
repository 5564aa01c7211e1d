// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>

#include <cstdint>
#include <string>

namespace elastic {

/// Where metrics go. Thread-safety: called on the strand of the agent that emits them.
class ELASTIC_EXPORT metric_handler {
 public:
  /// One measured value, such as "workers.trainer.remaining_restarts" = 2.
  struct metric {
    std::string group = "torchelastic";
    std::string name = {};
    std::int64_t value = 0;
    wall_time time = {};
  };

  virtual ~metric_handler() = default;

  /// Receives one value. Exceptions are logged and otherwise ignored.
  virtual void emit(const metric& measured) = 0;
};

}  // namespace elastic
