// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace elastic::detail {

class key_value_engine;

enum class store_op : std::uint8_t;

/// Counts the requests to all stores that a node serves, in sequence or at the same time. Give it
/// to their servers (`tcp_store_server::options::meter`).
///
/// Thread-safety: any thread.
class store_meter {
 public:
  /// Counts this many executed requests for the operation.
  void count(store_op operation, std::uint64_t requests = 1) noexcept {
    counts_[static_cast<std::size_t>(operation)].fetch_add(requests, std::memory_order_relaxed);
  }

  /// Includes a table for as long as it lives, because a server serves it now.
  ELASTIC_DECL void add(const std::shared_ptr<const key_value_engine>& table);

  /// The number of requests by operation ("set", "get", ...), without operations that had none.
  ELASTIC_DECL std::map<std::string, std::uint64_t> requests() const;

  /// The number of keys in the tables that are served; empty if none ever was.
  ELASTIC_DECL std::optional<std::int64_t> keys() const;

 private:
  static constexpr std::size_t operations = 32;

  std::array<std::atomic<std::uint64_t>, operations> counts_{};
  mutable std::mutex mutex_;
  std::vector<std::weak_ptr<const key_value_engine>> tables_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/store/detail/store_meter.ipp>
#endif
