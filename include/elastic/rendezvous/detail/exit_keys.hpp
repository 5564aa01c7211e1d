// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

namespace elastic::detail {

/// The keys of PyTorch's exit barrier in the store of a round's agents. PyTorch before 2.4 appends
/// a node's rank to `exit_state`; newer ones count the nodes, and the last one sets `exit_last`.
inline constexpr const char* exit_state = "torchelastic/agent/terminal_state";
inline constexpr const char* exit_count = "torchelastic/agent/terminal_state/num_members";
inline constexpr const char* exit_last = "torchelastic/agent/terminal_state/last_member";

}  // namespace elastic::detail
