// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/nodes/detail/candidate_marker.hpp>

#include <support/reserved_port.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace elastic::test {

/// Three endpoints on this host for a job with the id "job". The destructor removes the markers
/// that killed agents leave.
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

  /// The value for `--rdzv-endpoint`.
  const std::string& list() const { return list_; }

  std::uint16_t port(int place) const { return ports_[static_cast<std::size_t>(place)]; }

  /// The number of candidates whose agents were killed instead of ending cleanly.
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
