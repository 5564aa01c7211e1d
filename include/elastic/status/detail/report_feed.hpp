// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/status/detail/job_view.hpp>
#include <elastic/status/detail/node_report.hpp>
#include <elastic/telemetry/journal_record.hpp>

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace elastic::detail {

/// The changes that a node has not yet reported to the node that shows the job, in pieces of at
/// most `limits::node_report_bytes`.
class report_feed {
 public:
  /// Nothing was told yet.
  ELASTIC_DECL void begin();

  /// Takes a record of the node's journal, which may matter to the job.
  ELASTIC_DECL void note(const journal_record& record);

  /// The next piece, which counts as told; empty: there is nothing new.
  /// @param has_progress  steps that workers have made, and what they use, are something new
  ELASTIC_DECL std::string next(const job_view& view, bool has_progress);

 private:
  /// The last report about a worker.
  struct told_worker {
    viewed_worker::condition state = viewed_worker::condition::waiting;
    std::int64_t pid = 0;
    std::int64_t step = -1;
    worker_usage usage = {};
  };

  ELASTIC_DECL bool is_new(std::size_t index, const viewed_worker& worker, bool has_progress) const;

  bool begins_ = true;
  std::int64_t round_ = -1;
  std::string head_;
  std::vector<told_worker> told_;
  std::deque<journal_record> events_;
  /// The number of events in the last second that matter to the job.
  std::int64_t second_ = 0;
  int noted_ = 0;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/status/detail/report_feed.ipp>
#endif
