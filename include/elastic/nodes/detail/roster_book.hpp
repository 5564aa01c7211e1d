// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/limits.hpp>
#include <elastic/telemetry/detail/report_exchange.hpp>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>

namespace elastic::detail {

/// A server's data for the viewers of a job, besides its nodes: the keys by which viewers identify
/// nodes, and the nodes that were lost and not replaced.
class roster_book {
 public:
  /// Changes whenever the roster may have changed.
  std::uint64_t version() const { return version_; }
  void mark_changed() { ++version_; }

  /// A key for a new node. If a node of its host was lost, the new one replaces it.
  std::int64_t enter(const std::string& host) {
    const auto former = std::find_if(lost_.begin(), lost_.end(),
                                     [&](const auto& gone) { return gone.host == host; });
    if (former != lost_.end()) lost_.erase(former);
    return ++last_key_;
  }

  /// Remembers a lost node, and forgets the oldest one if there are more than `limits::lost_nodes`.
  void lose(job_roster::entry node) {
    if (lost_.size() >= limits::lost_nodes) lost_.pop_front();
    lost_.push_back(std::move(node));
  }

  /// No node is missing any more.
  void forget_lost() { lost_.clear(); }

  const std::deque<job_roster::entry>& lost() const { return lost_; }

 private:
  std::int64_t last_key_ = 0;
  std::deque<job_roster::entry> lost_;
  std::uint64_t version_ = 0;
};

}  // namespace elastic::detail
