// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/native/detail/candidate_marker.hpp>

#include <support/reserved_port.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace elastic::test {

/// Three endpoints on this host for a job whose id is "job". Agents that were killed leave markers,
/// which are removed with it.
class candidate_endpoints {
 public:
  static constexpr int count = 3;

  candidate_endpoints() {
    for (int place = 0; place < count; ++place) {
      ports_[static_cast<std::size_t>(place)] = reserved_port();
      list_ += fmt::format("{}127.0.0.1:{}", place == 0 ? "" : ",", port(place));
    }
  }
  candidate_endpoints(const candidate_endpoints&) = delete;
  candidate_endpoints& operator=(const candidate_endpoints&) = delete;
  ~candidate_endpoints() {
    for (int place = 0; place < count; ++place) marker(place).remove();
  }

  /// As `--rdzv-endpoint` has them.
  const std::string& list() const { return list_; }

  std::uint16_t port(int place) const { return ports_[static_cast<std::size_t>(place)]; }

  /// Of the candidates, those whose agents were killed and did not end in order.
  int count_killed() const {
    int killed = 0;
    for (int place = 0; place < count; ++place) killed += marker(place).exists() ? 1 : 0;
    return killed;
  }

 private:
  detail::candidate_marker marker(int place) const { return {"job", list_, place}; }

  std::array<std::uint16_t, count> ports_{};
  std::string list_;
};

}  // namespace elastic::test
