// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/diagnosis/detail/group_position.hpp>
#include <elastic/diagnosis/detail/stack_frame.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// The state of a process in /proc/PID/stat, in this order: unreadable, `R`, `S` or `I`, `D`, `T`
/// or `t`, `Z` or `X`, or no such process.
enum class process_state { unknown, running, sleeping, uninterruptible, stopped, zombie, gone };

/// Whether PyTorch's recorder in a worker reported its positions.
enum class recorder_state {
  /// There is no recorder (an older PyTorch or another library), or it was not asked.
  absent,
  answered,
  /// It accepted the question, or should have, but did not answer in time.
  silent,
};

/// The evidence about one rank while the job is stalled. Unknown fields have their defaults. Texts
/// are as the worker wrote them: show them with `printable_line`.
struct rank_evidence {
  int rank = 0;
  int local_rank = 0;
  /// The group rank of its node, and the node's name, of at most `limits::node_name_bytes`.
  int group_rank = 0;
  std::string node = {};

  recorder_state recorder = recorder_state::absent;
  process_state state = process_state::unknown;
  /// The kernel function in which the main thread waits: "futex_do_wait". At most
  /// `limits::wait_channel_bytes`.
  std::string wait_channel = {};
  /// The processor time of its processes between two samples, as a share of one processor.
  std::optional<double> processor_share = {};

  /// The last step that it reported (-1: none), and how long ago.
  std::int64_t step = -1;
  std::optional<duration> step_age = {};

  std::vector<group_position> groups = {};
  /// The main thread's Python stack, innermost frame first.
  std::vector<stack_frame> stack = {};
  /// Whether the stack changed since an earlier sample.
  bool stack_moved = false;

  /// The exception that it reported, or how its process ended, such as "ValueError: …" or "exit
  /// code 1". At most `limits::failure_digest_bytes`.
  std::string failure = {};

  friend bool operator==(const rank_evidence&, const rank_evidence&) = default;
};

/// The evidence as it travels between nodes: one line of JSON of at most
/// `limits::rank_digest_bytes`. If there is too much, it leaves out the least informative parts:
/// first outer frames, then operations that have ended, then groups in which nothing is
/// outstanding, then all groups but the first, and at last the ends of texts.
ELASTIC_DECL std::string to_digest(const rank_evidence& evidence);

/// Parses a digest.
///
/// Errors: `errc::protocol_violation`; the message names the field that is missing, has another
/// type or is out of bounds.
ELASTIC_DECL rank_evidence parse_digest(std::string_view text);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/diagnosis/detail/rank_evidence.ipp>
#endif
