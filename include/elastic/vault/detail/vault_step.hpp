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
  /// In the order of their ranks.
  std::vector<vault_report> nodes = {};
  /// The node of each rank in the last world, as far as this node knows.
  std::vector<std::string> former_nodes = {};
};

/// What happens to the content.
struct vault_step {
  /// The generation that the workers restore; empty: none.
  std::optional<vault_generation> restore = {};
  /// A complete generation that is not restored although it is newer, and why.
  struct dropped {
    vault_generation id;
    std::string reason;
  };
  std::vector<dropped> given_up = {};
  /// What was restored last, and how often, as far as any node knows.
  vault_generation restored = {};
  int restores = 0;
};

/// Chooses the newest generation that every rank of the world has committed, and whose part of each
/// rank is at the node where the rank is about to start; that is not damaged, and was not restored
/// `limits::vault_restores` times without a later one. Whatever is newer than the result is
/// useless. All nodes come to the same result.
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

/// What a node says about a generation.
enum class vault_vote { undecided, kept, skipped };

/// A node keeps a generation if all its workers have it, and skips it once one of them has passed
/// its number without it.
ELASTIC_DECL vault_vote next_vault_vote(std::int64_t number,
                                        const std::vector<vault_committer>& workers);

/// The two slots of a worker before it commits.
struct vault_slot_view {
  struct slot {
    /// 0: not allocated.
    std::uint64_t bytes = 0;
    /// Empty: no whole commit.
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
  /// The slot is too small, and another takes its place.
  bool is_new = false;
  /// Not empty: the commit is skipped.
  std::string refusal = {};
  /// The generation for whose sake it is skipped, which may soon be complete.
  std::optional<vault_generation> awaited = {};
};

/// Chooses the slot that a commit overwrites. It spares the complete generation, which the next
/// restart needs, and one that may be complete soon: a rank ahead of the others would else never
/// have one in common with them. A generation that a rank has skipped can never be complete; if it
/// were spared, too, no commit would be possible any more. The limit must have room for two slots
/// of the size.
ELASTIC_DECL vault_slot_choice next_vault_slot(const vault_slot_view& view);

/// "1.5 GiB".
ELASTIC_DECL std::string memory_text(std::uint64_t bytes);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/vault/detail/vault_step.ipp>
#endif
