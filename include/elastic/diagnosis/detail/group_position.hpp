// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>
#include <elastic/diagnosis/detail/rank_set.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace elastic::detail {

/// The state of a collective in PyTorch's recorder. With gloo it stays `scheduled`.
enum class collective_state { scheduled, started, completed };

/// A collective operation, or a message from one rank to another, as one rank called it.
struct collective_call {
  /// Without the backend's name: "all_reduce". At most `limits::collective_name_bytes`.
  std::string operation = {};
  /// Its number in the group, from 1; the same on all ranks that take part in the operation.
  std::int64_t sequence = 0;
  /// The sizes of its inputs: "[[5, 7]]". At most `limits::collective_sizes_bytes`; longer ones are
  /// cut.
  std::string sizes = {};
  /// The types of its inputs: "Float". At most `limits::collective_types_bytes`; longer ones are
  /// cut.
  std::string types = {};
  collective_state state = collective_state::scheduled;
  /// A send or receive, whose sequence number implies no order.
  bool is_point_to_point = false;
  /// The time for which it has been outstanding.
  duration age = {};

  friend bool operator==(const collective_call&, const collective_call&) = default;
};

/// The progress of one rank in one process group.
struct group_position {
  /// PyTorch's name of the group, the same on all its members: "0". Two groups without a common
  /// member may share it. At most `limits::group_name_bytes`.
  std::string name = {};
  /// The user's name of the group: "dp_0"; may be empty. At most `limits::group_name_bytes`.
  std::string description = {};
  /// The ranks of the job in the group; empty: unknown.
  rank_set members = {};
  /// The sequence numbers of the last operation that the rank called and of the last that ended.
  std::int64_t enqueued = 0;
  std::int64_t completed = 0;
  /// The first operation that has not ended.
  std::optional<collective_call> outstanding = {};
  /// The last collective with inputs that has ended, by success or by an error.
  std::optional<collective_call> previous = {};

  friend bool operator==(const group_position&, const group_position&) = default;
};

}  // namespace elastic::detail
