// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <cstddef>
#include <string>
#include <unordered_map>

namespace elastic::detail {

/// What the clients of a server make it hold, together, against one bound. Above it those that hold
/// most are dropped, so that no client pays for what another does.
///
/// Thread-safety: one strand at a time.
class tcp_store_budget {
 public:
  class client {
   public:
    /// Ends the connection; nothing of it is kept.
    virtual void drop(std::string complaint) = 0;

   protected:
    ~client() = default;
  };

  explicit tcp_store_budget(std::size_t bound) : bound_(bound) {}

  /// Notes what a client holds from now on, then drops clients until the bound is kept: maybe this
  /// one. One that is gone holds 0.
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
#include <elastic/store/detail/impl/tcp_store_budget.ipp>
#endif
