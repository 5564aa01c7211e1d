// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/task.hpp>
#include <elastic/store/versioned_keys.hpp>

#include <chrono>
#include <set>
#include <string>

namespace elastic::detail {

/// A place whose keys stand in directories and may end by themselves, as those of etcd's v2 API do.
/// A key names its directories: "v_1/rank_0".
///
/// Errors, cancellation, thread-safety: those of `versioned_keys`.
class leased_keys : public versioned_keys {
 public:
  using versioned_keys::erase;
  using versioned_keys::put;

  /// As `put` with a version. The key ends `life` after that; 0: it stays.
  virtual task<bool> put(std::string key, std::string value, std::string version,
                         std::chrono::seconds life) = 0;

  /// Removes the key if it is still as `version` saw it. Result: whether it was removed.
  virtual task<bool> erase(std::string key, std::string version) = 0;

  /// Has a key, of whatever value, end no sooner than `life` from now, and makes it if there is
  /// none. Nobody is told of a key that was there.
  virtual task<void> prolong(std::string key, std::chrono::seconds life) = 0;

  /// Makes a directory, also those above it, if there is none.
  virtual task<void> make_directory(std::string key) = 0;

  /// The names of what stands in a directory; none if it is missing.
  virtual task<std::set<std::string>> names_in(std::string directory) = 0;

  /// Returns when a key has changed, or ended, since `version` was seen; or earlier, as
  /// `wait_for_change`.
  virtual task<void> wait_for_any_change(std::string version) = 0;
};

}  // namespace elastic::detail
