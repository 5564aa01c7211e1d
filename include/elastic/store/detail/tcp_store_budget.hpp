// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <cstddef>
#include <string>
#include <unordered_map>

namespace elastic::detail {

/// Limits the memory that a server holds for all of its clients together. Above the limit it drops
/// those that use most, so that no client suffers for another one's use.
///
/// Thread-safety: one strand at a time.
class tcp_store_budget {
 public:
  class client {
   public:
    /// Ends the connection at once, and discards its data.
    virtual void drop(std::string complaint) = 0;

   protected:
    ~client() = default;
  };

  explicit tcp_store_budget(std::size_t bound) : bound_(bound) {}

  /// Notes how much a client uses from now on, then drops clients until the limit is met, possibly
  /// this one. Pass 0 for a client that is gone.
  ELASTIC_DECL void set(client& holder, std::size_t bytes);

  std::size_t held() const { return held_; }

 private:
  ELASTIC_DECL void drop_largest();

  const std::size_t bound_;
  std::size_t held_ = 0;
  std::unordered_map<client*, std::size_t> clients_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/store/detail/tcp_store_budget.ipp>
#endif
