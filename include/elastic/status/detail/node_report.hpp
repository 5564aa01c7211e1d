// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/status/detail/viewed_worker.hpp>
#include <elastic/telemetry/journal_record.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// The report of a node about itself and about those of its workers that have changed.
struct node_report {
  /// It is the first on this connection: what was told before holds no longer.
  bool begins = false;
  /// The epoch of the node's journal.
  std::int64_t epoch = 0;
  agent_activity activity = agent_activity::starting;
  std::string reason = {};
  std::int64_t round = -1;
  std::int64_t base_rank = 0;
  /// The number of workers of the node.
  std::int64_t size = 0;
  /// The events that matter to the job.
  std::vector<journal_record> events = {};
  /// The changed workers, without `text`.
  std::vector<viewed_worker> workers = {};
  /// The workers whose use of the node is new to somebody who reads; only that is sent of them.
  std::vector<viewed_worker> used = {};
};

/// A report as one JSON object. Texts are cut.
ELASTIC_DECL std::string report_text(const node_report& report);

/// The bytes of a worker, or of an event, in a report.
ELASTIC_DECL std::size_t report_bytes(const viewed_worker& worker);
ELASTIC_DECL std::size_t report_bytes(const journal_record& event);

/// The most bytes that the use of a worker takes in a report.
inline constexpr std::size_t report_usage_bytes = 64;

/// Errors: `errc::protocol_violation`, one sentence that says what is wrong with it.
ELASTIC_DECL node_report parse_node_report(std::string_view text);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/status/detail/node_report.ipp>
#endif
