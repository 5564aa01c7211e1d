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

/// Counts what the stores that a node serves are asked for, one after the other or beside each
/// other: give it to their servers (`tcp_store_server::options::meter`).
///
/// Thread-safety: any thread.
class store_meter {
 public:
  /// So many requests for the operation were carried out.
  void count(store_op operation, std::uint64_t requests = 1) noexcept {
    counts_[static_cast<std::size_t>(operation)].fetch_add(requests, std::memory_order_relaxed);
  }

  /// A table is served from now on, until it is gone.
  ELASTIC_DECL void add(const std::shared_ptr<const key_value_engine>& table);

  /// How often, by operation: "set", "get", ...; those that nobody asked for are not listed.
  ELASTIC_DECL std::map<std::string, std::uint64_t> requests() const;

  /// The keys of the tables that are served; none if none ever was.
  ELASTIC_DECL std::optional<std::int64_t> keys() const;

 private:
  static constexpr std::size_t operations = 32;

  std::array<std::atomic<std::uint64_t>, operations> counts_{};
  mutable std::mutex mutex_;
  std::vector<std::weak_ptr<const key_value_engine>> tables_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/store/detail/impl/store_meter.ipp>
#endif
