// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>

namespace elastic::detail {

/// How many clients a server has. Counts towards the total of all servers of this process, which
/// share its file descriptors.
///
/// Thread-safety: `set` by one thread at a time, the rest by any.
class client_count {
 public:
  client_count() = default;
  ~client_count() { set(0); }
  client_count(const client_count&) = delete;
  client_count& operator=(const client_count&) = delete;

  void set(std::size_t clients) {
    // Unsigned arithmetic wraps, so this also subtracts.
    all_.fetch_add(clients - own_.exchange(clients, std::memory_order_relaxed),
                   std::memory_order_relaxed);
  }

  std::size_t own() const { return own_.load(std::memory_order_relaxed); }

  static std::size_t of_all_servers() { return all_.load(std::memory_order_relaxed); }

 private:
  static inline std::atomic<std::size_t> all_ = 0;

  std::atomic<std::size_t> own_ = 0;
};

}  // namespace elastic::detail
