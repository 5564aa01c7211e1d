// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <cstddef>
#include <map>
#include <string>

namespace elastic {

/// How processes were started that could have had a standby.
struct worker_starts {
  /// By a standby.
  std::size_t warm = 0;
  /// Different reasons that are kept.
  static constexpr std::size_t most_reasons = 8;
  /// Without, by the reason.
  std::map<std::string, std::size_t> cold;

  /// One more was started without a standby.
  ELASTIC_DECL void add_cold(const std::string& reason, std::size_t count = 1);

  /// What another attempt adds to a job.
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
