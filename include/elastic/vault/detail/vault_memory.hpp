// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/asio.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/task.hpp>
#include <elastic/vault/detail/vault_generation.hpp>
#include <elastic/vault/detail/vault_header.hpp>
#include <elastic/vault/detail/vault_step.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace elastic::detail {

/// The slots of a node's workers: two memory files for each worker, which maps them but can neither
/// shrink nor extend them. The memory is free once this object is gone and no worker has the files
/// open.
///
/// Thread-safety: one strand at a time.
class vault_memory {
 public:
  /// A slot for a commit.
  struct place {
    // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
    place() = default;

    std::size_t slot = 0;
    /// Borrowed.
    int file = -1;
    std::uint64_t bytes = 0;
    /// The reason why there is no slot; empty: there is one.
    std::string refusal = {};
    /// See `vault_slot_choice::awaited`.
    std::optional<vault_generation> awaited = {};
  };

  ELASTIC_DECL vault_memory(asio::any_io_executor strand, std::uint64_t limit, int workers);
  vault_memory(const vault_memory&) = delete;
  vault_memory& operator=(const vault_memory&) = delete;

  /// Finds a slot for a commit of `bytes` in total, and erases its content. If the slot has no
  /// memory yet, allocates it in pieces, so that the strand can do other work meanwhile.
  ///
  /// Cancellation: all types; the slot is then empty.
  /// @param complete    the newest generation that all ranks have
  /// @param is_pending  whether ranks that lack a later generation can still commit it
  ELASTIC_DECL task<place> open(int local_rank, std::uint64_t bytes,
                                std::optional<vault_generation> complete,
                                std::function<bool(vault_generation)> is_pending) &;

  /// The header of the commit in a slot; empty if there is no whole commit. Reads the file again
  /// each time, since a worker may publish or damage a commit at any time.
  ELASTIC_DECL std::optional<vault_header> read(int local_rank, std::size_t index) const;

  /// The header of a worker's commit of a generation; empty: there is none, or it is not whole.
  ELASTIC_DECL std::optional<vault_header> find(int local_rank, vault_generation id) const;

  /// A read-only descriptor of the file with a generation; invalid if there is none.
  ELASTIC_DECL unique_fd reader(int local_rank, vault_generation id) const;

  /// All whole commits.
  ELASTIC_DECL std::vector<vault_commit> commits() const;

  /// Erases the generations after `last`; empty: all of them.
  ELASTIC_DECL void keep_until(std::optional<vault_generation> last);

  /// Frees all slots.
  ELASTIC_DECL void clear();

  /// The memory of all slots.
  ELASTIC_DECL std::uint64_t used() const;

 private:
  struct slot {
    unique_fd file;
    std::uint64_t bytes = 0;
  };
  struct worker {
    std::array<slot, 2> slots;
    /// Whether a commit waits for the memory of this slot.
    bool is_opening = false;
  };

  ELASTIC_DECL vault_slot_view view_of(int local_rank) const;
  ELASTIC_DECL static void erase(const slot& chosen);
  ELASTIC_DECL std::string create(slot& chosen, std::uint64_t bytes);
  ELASTIC_DECL task<std::string> allocate(int file, std::uint64_t bytes);
  ELASTIC_DECL task<std::string> replace(slot& chosen, std::uint64_t bytes);
  const worker& at(int local_rank) const {
    return workers_.at(static_cast<std::size_t>(local_rank));
  }

  asio::any_io_executor strand_;
  std::uint64_t limit_;
  std::vector<worker> workers_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/vault/detail/vault_memory.ipp>
#endif
