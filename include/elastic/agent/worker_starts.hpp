// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <cstddef>
#include <map>
#include <string>

namespace elastic {

/// How the processes that could have had a standby were started.
struct worker_starts {
  /// Started from a standby.
  std::size_t warm = 0;
  /// The largest number of different reasons that are kept.
  static constexpr std::size_t most_reasons = 8;
  /// Started without a standby, by the reason.
  std::map<std::string, std::size_t> cold;

  /// Counts processes that were started without a standby.
  ELASTIC_DECL void add_cold(const std::string& reason, std::size_t count = 1);

  /// Adds the counts of another attempt.
  ELASTIC_DECL void add(const worker_starts& more);

  std::size_t all() const { return warm + all_cold(); }
  ELASTIC_DECL std::size_t all_cold() const;

  /// "3 warm; 1 cold, because no standby was ready"; empty if nothing was started.
  ELASTIC_DECL std::string text() const;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/impl/worker_starts.ipp>
#endif
