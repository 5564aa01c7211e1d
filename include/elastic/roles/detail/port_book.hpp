// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <cstdint>
#include <mutex>
#include <set>

namespace elastic::detail {

/// The ports that workers of a job have on this node. Each is free on all addresses of the host
/// when it is taken, and no other worker has it: one that was chosen may not be in use for a while.
///
/// Thread-safety: any thread.
class port_book {
 public:
  /// Errors: `errc::connection_failed` if no port is free.
  ELASTIC_DECL std::uint16_t take();

  ELASTIC_DECL void give_back(std::uint16_t port);

 private:
  std::mutex mutex_;
  std::set<std::uint16_t> taken_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/roles/detail/impl/port_book.ipp>
#endif
