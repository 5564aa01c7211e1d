// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/vault/detail/vault_generation.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace elastic::detail {

/// A commit of one rank in the vault.
struct vault_commit {
  int rank = 0;
  int world_size = 1;
  vault_generation id;
};

/// The content of the vault before workers start.
struct vault_view {
  /// The workers that are about to start.
  int world_size = 1;
  std::vector<vault_commit> commits = {};
  /// Generations that a worker has found damaged.
  std::vector<vault_generation> damaged = {};
  /// The generation that was restored last, and how often without a later one since; 0: not yet.
  vault_generation restored = {};
  int restores = 0;
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
};

/// Chooses the newest generation that every rank of the world has committed, and that is neither
/// damaged nor was restored `limits::vault_restores` times without a later one. Whatever is newer
/// than the result is useless.
ELASTIC_DECL vault_step next_vault_step(const vault_view& view);

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
