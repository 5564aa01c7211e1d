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

/// The slots of the workers of a node: two files in memory for each, which workers map and can
/// neither shrink nor extend. They are freed with this object and the workers that have them open.
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
    /// Not empty: there is none, for this reason.
    std::string refusal = {};
    /// `vault_slot_choice::awaited`
    std::optional<vault_generation> awaited = {};
  };

  ELASTIC_DECL vault_memory(asio::any_io_executor strand, std::uint64_t limit, int workers);
  vault_memory(const vault_memory&) = delete;
  vault_memory& operator=(const vault_memory&) = delete;

  /// Finds a slot for a commit of `bytes` in all, and erases what it holds. Allocates the memory if
  /// there is none, a piece at a time, so that the strand does other work meanwhile.
  ///
  /// Cancellation: all types; the slot is then empty.
  /// @param complete    the newest generation that all ranks have
  /// @param is_pending  whether ranks that lack a later generation can still commit it
  ELASTIC_DECL task<place> open(int local_rank, std::uint64_t bytes,
                                std::optional<vault_generation> complete,
                                std::function<bool(vault_generation)> is_pending) &;

  /// The whole commit in a slot, which a worker may have published or damaged meanwhile.
  ELASTIC_DECL std::optional<vault_header> read(int local_rank, std::size_t index) const;

  /// The header of a generation; empty: the worker has none, or it is not whole.
  ELASTIC_DECL std::optional<vault_header> find(int local_rank, vault_generation id) const;

  /// The file of a generation for reading alone. Invalid if there is none.
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
    /// A commit waits for its memory.
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
