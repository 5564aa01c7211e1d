// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/vault/detail/vault_generation.hpp>
#include <elastic/vault/detail/vault_report.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace elastic::detail {

/// The vaults of all nodes before workers start.
struct vault_view {
  /// The report of each node, in the order of ranks.
  std::vector<vault_report> nodes = {};
  /// The node of each rank in the last world, as far as this node knows.
  std::vector<std::string> former_nodes = {};
};

/// The decision about the content of the vaults.
struct vault_step {
  /// The generation that the workers restore; empty: none.
  std::optional<vault_generation> restore = {};
  /// A complete generation that is not restored although it is newer, with the reason.
  struct dropped {
    vault_generation id;
    std::string reason;
  };
  std::vector<dropped> given_up = {};
  /// The generation that was restored last, and how often, according to the node that knows most.
  vault_generation restored = {};
  int restores = 0;
};

/// Chooses the newest generation that meets three conditions: the part of every rank is on the node
/// where that rank is about to start, no part is damaged, and the generation was not restored
/// `limits::vault_restores` times without a later one. Newer generations than the result are
/// useless. All nodes compute the same result.
ELASTIC_DECL vault_step next_vault_step(const vault_view& view);

/// A worker of the node in its epoch, and a generation.
struct vault_committer {
  /// The number of its last commit.
  std::int64_t number = 0;
  /// It has a slot for that commit, and has not published it yet.
  bool is_writing = false;
  /// It has the generation in a slot.
  bool has_it = false;
};

/// The vote of a node on a generation.
enum class vault_vote { undecided, kept, skipped };

/// A node keeps a generation if all its workers have it, and skips it once one of them has passed
/// its number without it.
ELASTIC_DECL vault_vote next_vault_vote(std::int64_t number,
                                        const std::vector<vault_committer>& workers);

/// The two slots of a worker before it commits.
struct vault_slot_view {
  struct slot {
    /// The size of the slot; 0: it is not allocated.
    std::uint64_t bytes = 0;
    /// The generation in the slot; empty: there is no whole commit.
    std::optional<vault_generation> id = {};
    /// It is not complete, and ranks that lack it can still commit it.
    bool is_pending = false;
  };
  std::array<slot, 2> slots = {};
  /// The bytes of the commit.
  std::uint64_t needed = 0;
  /// The newest generation that is complete.
  std::optional<vault_generation> complete = {};
  /// The bytes of the slots of all workers of the node, and their limit.
  std::uint64_t used = 0;
  std::uint64_t limit = 0;
};

/// The slot for a commit, or the reason why there is none.
struct vault_slot_choice {
  std::size_t slot = 0;
  /// The slot is too small, and a larger one replaces it.
  bool is_new = false;
  /// The reason why the commit is skipped; empty: it is not.
  std::string refusal = {};
  /// The generation that the slot holds, if the commit is skipped because that one may soon be
  /// complete.
  std::optional<vault_generation> awaited = {};
};

/// Chooses the slot that a commit overwrites. It preserves the complete generation, which the next
/// restart needs, and one that may be complete soon: otherwise, a rank that is ahead of the others
/// would never have a generation in common with them. A generation that a rank has skipped can
/// never become complete. If that were preserved, too, no further commit would be possible. The
/// limit must have room for two slots of the size.
ELASTIC_DECL vault_slot_choice next_vault_slot(const vault_slot_view& view);

/// "1.5 GiB".
ELASTIC_DECL std::string memory_text(std::uint64_t bytes);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/vault/detail/vault_step.ipp>
#endif
