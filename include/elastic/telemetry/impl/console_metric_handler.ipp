// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/telemetry/console_metric_handler.hpp>

#include <chrono>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL std::string to_console_line(const metric_handler::metric& measured) {
  const auto micros =
      std::chrono::floor<std::chrono::microseconds>(measured.time.time_since_epoch());
  const auto seconds = std::chrono::floor<std::chrono::seconds>(micros);
  return fmt::format("[{}.{:06}][{}]: {}={}", seconds.count(), (micros - seconds).count(),
                     measured.group, measured.name, measured.value);
}

}  // namespace elastic
