// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/contract/environment.hpp>

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace elastic {

namespace detail {

struct vault_content;

/// The type of an element in the notation of Python's module struct; "B": bytes.
template <class Element>
constexpr char vault_type() {
  using type = std::remove_cv_t<Element>;
  static_assert(std::is_arithmetic_v<type> || std::is_same_v<type, std::byte>,
                "the elements of a buffer are numbers or bytes");
  if constexpr (std::is_same_v<type, bool>) return '?';
  if constexpr (std::is_same_v<type, float>) return 'f';
  if constexpr (std::is_same_v<type, double>) return 'd';
  if constexpr (std::is_same_v<type, signed char>) return 'b';
  if constexpr (std::is_same_v<type, short>) return 'h';
  if constexpr (std::is_same_v<type, unsigned short>) return 'H';
  if constexpr (std::is_same_v<type, int>) return 'i';
  if constexpr (std::is_same_v<type, unsigned>) return 'I';
  if constexpr (std::is_same_v<type, long>) return 'l';
  if constexpr (std::is_same_v<type, unsigned long>) return 'L';
  if constexpr (std::is_same_v<type, long long>) return 'q';
  if constexpr (std::is_same_v<type, unsigned long long>) return 'Q';
  return 'B';
}

}  // namespace detail

/// A worker's end of the vault: copies its state into memory of the agent, where it survives the
/// worker. A worker in Python can read the commits of a worker in C++, and vice versa.
///
///     elastic::worker_vault vault;
///     std::int64_t step = 0;
///     if (const auto found = vault.newest()) {
///       vault.read("weights", weights);
///       step = found->step;
///     }
///     while (step < steps) {
///       train(weights);
///       vault.commit({{"weights", weights}}, ++step);
///     }
///
/// All workers must commit equally often: the agent numbers the calls, and workers restore the
/// newest number that all of them have committed. Without an agent that has a vault, no commit is
/// kept, and there is nothing to read. The same holds in a process that the worker has forked.
///
/// The calls block: they copy, and wait for the agent, at most a minute.
/// Thread-safety: one call at a time.
class worker_vault {
 public:
  /// A named buffer of a commit: contiguous numbers or bytes.
  struct named_buffer {
    /// Refers to `values`, which must outlive it.
    template <std::ranges::contiguous_range Values>
    named_buffer(std::string buffer_name, const Values& values)
        : name(std::move(buffer_name)),
          bytes(std::as_bytes(std::span(values))),
          type(detail::vault_type<std::ranges::range_value_t<Values>>()),
          length(std::ranges::size(values)) {}

    std::string name;
    std::span<const std::byte> bytes;
    /// The type of an element in the notation of Python's module struct, such as 'd'.
    char type;
    /// The number of elements.
    std::size_t length;
  };

  /// The result of a commit.
  struct commit_result {
    bool is_kept = false;
    /// The reason why it was skipped; empty: it was not.
    std::string reason;
  };

  /// The generation that the workers restore.
  struct found_generation {
    std::int64_t epoch = 0;
    std::int64_t number = 0;
    /// The step with which it was committed.
    std::int64_t step = 0;
    int world_size = 1;
  };

  /// The vault that this process's environment names (ELASTIC_VAULT). Does not connect yet.
  ELASTIC_DECL worker_vault();
  ELASTIC_DECL explicit worker_vault(const environment_map& variables);
  worker_vault(const worker_vault&) = delete;
  worker_vault& operator=(const worker_vault&) = delete;
  ELASTIC_DECL ~worker_vault();

  /// Copies buffers, whose names differ, into memory of the agent. The copy is complete when this
  /// returns.
  ///
  /// @param step  at least 0; `newest` returns it after a restart
  /// @param has_checksums  false: the commit takes a sixth of the time, but damage is not detected
  /// Result: whether the commit is kept. If not, the previous one still is, and `reason` says why.
  /// Errors: `std::bad_alloc` only.
  ELASTIC_DECL commit_result commit(const std::vector<named_buffer>& buffers, std::int64_t step,
                                    bool has_checksums = true);

  /// The generation that the workers restore: the newest that all of them have committed; empty:
  /// there is none.
  /// Errors: `errc::protocol_violation` if it is damaged. This worker should then end: all workers
  /// restart, and restore the generation before.
  ELASTIC_DECL std::optional<found_generation> newest();

  /// Reads a buffer of that generation into one of the same size, whose content is undefined after
  /// an error.
  ///
  /// @param out  numbers of the type that was committed, or bytes for any type
  /// @param rank  the rank whose buffer is read; empty: this worker's. Buffers of other ranks can
  ///              be read if they are on this node
  /// Errors: `errc::invalid_argument` if there is no such buffer or it has another type or size;
  /// `errc::not_supported` if its checksum is of an unknown kind; those of `newest`.
  template <std::ranges::contiguous_range Values>
  void read(std::string_view name, Values&& out, std::optional<int> rank = std::nullopt) {
    read_bytes(name, std::as_writable_bytes(std::span(out)),
               detail::vault_type<std::ranges::range_value_t<Values>>(), rank);
  }

 private:
  struct slot {
    ino_t inode = 0;
    std::span<std::byte> memory;
  };
  struct answer;

  ELASTIC_DECL bool connect();
  ELASTIC_DECL void tell(const std::string& packet);
  ELASTIC_DECL answer ask(const std::string& packet);
  ELASTIC_DECL std::string write(const std::vector<named_buffer>& buffers, std::int64_t step,
                                 bool has_checksums);
  ELASTIC_DECL std::span<std::byte> map(int number, int file);
  ELASTIC_DECL std::optional<detail::vault_content> find(std::optional<int> rank);
  ELASTIC_DECL void read_bytes(std::string_view name, std::span<std::byte> out, char type,
                               std::optional<int> rank);
  [[noreturn]] ELASTIC_DECL void call_damaged(const std::string& problem);

  /// Empty: there is no vault.
  std::string address_;
  pid_t owner_;
  detail::unique_fd socket_;
  std::map<int, slot> slots_;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/vault/impl/worker_vault.ipp>
#endif
