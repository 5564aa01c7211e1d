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

/// What the kernel says of a process: `R`, `S` or `I`, `D`, `T` or `t`, `Z` or `X` in
/// /proc/PID/stat, or that there is none.
enum class process_state { unknown, running, sleeping, uninterruptible, stopped, zombie, gone };

/// Whether PyTorch's recorder in a worker told its positions.
enum class recorder_state {
  /// The worker has none: an older PyTorch, another library, or it was not asked.
  absent,
  answered,
  /// It accepted the question, or should have, and did not answer in time.
  silent,
};

/// What is known of one rank while the job stands still. Each field that is unknown has its
/// default. Texts are as the worker wrote them: show them with `printable_line`.
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
  /// Processor time of its processes between two looks, as a share of one processor.
  std::optional<double> processor_share = {};

  /// The last step that it reported, -1 for none, and how long ago.
  std::int64_t step = -1;
  std::optional<duration> step_age = {};

  std::vector<group_position> groups = {};
  /// The main thread's Python stack, innermost frame first.
  std::vector<stack_frame> stack = {};
  /// Whether the stack, or its processor's use of it, was another at an earlier look.
  bool stack_moved = false;

  /// The exception that it reported, or how its process ended: "ValueError: …", "exit code 1". At
  /// most `limits::failure_digest_bytes`.
  std::string failure = {};

  friend bool operator==(const rank_evidence&, const rank_evidence&) = default;
};

/// The evidence as it travels between nodes: one line of JSON of at most
/// `limits::rank_digest_bytes`. If it has no room for all, it leaves out what tells least: first
/// outer frames, then operations that have ended, then groups in which nothing is outstanding, then
/// the other groups but the first, and at last the ends of texts.
ELASTIC_DECL std::string to_digest(const rank_evidence& evidence);

/// Reads a digest.
///
/// Errors: `errc::protocol_violation`, which names the field that is missing, of another type or
/// out of its bounds.
ELASTIC_DECL rank_evidence parse_digest(std::string_view text);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/diagnosis/detail/impl/rank_evidence.ipp>
#endif
