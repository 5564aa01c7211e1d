// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/worker_failure.hpp>

#include <chrono>

namespace elastic {

ELASTIC_DECL std::int64_t worker_failure::timestamp() const {
  if (error && error->timestamp != 0) return error->timestamp;
  return std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count();
}

ELASTIC_DECL wall_time worker_failure::moment() const {
  if (error && error->timestamp != 0 && error->written) return *error->written;
  return at;
}

}  // namespace elastic
