// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/status/detail/output_message.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

class viewed_job;

/// Why stdout is missing. It may be where no agent keeps it.
inline constexpr std::string_view lacking_stdout =
    "stdout of workers goes to the terminal of their node only: --tee 3 would keep it, too";

/// The lines that have arrived for a reader since it last asked.
struct output_delivery {
  std::vector<output_piece> pieces = {};
  /// The nodes, by name, that have not sent all of the lines with which the reading begins.
  std::vector<std::string> awaited = {};
  /// Sentences about what is missing, each as long as it holds.
  std::vector<std::string> notices = {};
};

/// The readers of a job's output on the node that shows it, and the lines that other nodes have
/// sent for each. A plain value without clocks; bounded, whatever is sent: if a reader is slow, the
/// nodes pause, and what arrives nevertheless replaces what has waited for longest.
///
/// Thread-safety: one thread at a time.
class output_desk {
 public:
  /// @param job     its nodes are asked, but for this one
  /// @param viewer  the epoch of this node's journal, which makes ids differ from those of others
  /// Result: the id of the reading; 0: there are `limits::output_readers` already.
  ELASTIC_DECL std::int64_t begin(const output_reading& reading, const viewed_job& job,
                                  std::int64_t viewer);
  ELASTIC_DECL void end(std::int64_t id);

  /// No other node is reached any more: nothing more of them comes.
  ELASTIC_DECL void lose_nodes();

  /// Takes what a node has sent. @param node  its key in the roster
  ELASTIC_DECL void take(std::int64_t node, output_report report);

  /// @param job  a node that it has lost is not waited for, but named
  ELASTIC_DECL output_delivery collect(std::int64_t id, const viewed_job& job);

  /// Whether a reader who follows waits for the last lines of a node.
  ELASTIC_DECL bool awaits_end(const viewed_job& job) const;

  /// What the nodes are to send; empty: nobody reads.
  /// @param viewer  the epoch of this node's journal
  ELASTIC_DECL std::string demand(std::int64_t viewer) const;

 private:
  struct reader {
    output_reading reading;
    /// The nodes that send for it, by key.
    std::map<std::int64_t, output_stage> nodes = {};
    std::deque<output_piece> pieces = {};
    /// The memory of the pieces.
    std::size_t bytes = 0;
    bool is_paused = false;
    bool lacks_out = false;
  };

  std::map<std::int64_t, reader> readers_;
  std::int64_t last_ = 0;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/status/detail/output_desk.ipp>
#endif
