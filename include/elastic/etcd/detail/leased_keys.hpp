// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/task.hpp>
#include <elastic/store/versioned_keys.hpp>

#include <chrono>
#include <set>
#include <string>

namespace elastic::detail {

/// Keys that are in directories and may expire, like those of etcd's v2 API. The name of a key
/// contains its directories: "v_1/rank_0".
///
/// Errors, cancellation, thread-safety: those of `versioned_keys`.
class leased_keys : public versioned_keys {
 public:
  using versioned_keys::erase;
  using versioned_keys::put;

  /// Like `put` with a version. The key expires after `ttl`; 0: never.
  virtual task<bool> put(std::string key, std::string value, std::string version,
                         std::chrono::seconds ttl) = 0;

  /// Removes the key if it still has `version`. Result: whether it was removed.
  virtual task<bool> erase(std::string key, std::string version) = 0;

  /// Makes a key expire `ttl` from now, whatever its value, and creates it if it is missing. A
  /// watch does not report the refresh of an existing key.
  virtual task<void> refresh(std::string key, std::chrono::seconds ttl) = 0;

  /// Makes a directory and its parents if they are missing.
  virtual task<void> make_directory(std::string key) = 0;

  /// The names in a directory; empty if it is missing.
  virtual task<std::set<std::string>> names_in(std::string directory) = 0;

  /// Returns when a key has changed or expired since `version` was read, or earlier, like
  /// `wait_for_change`.
  virtual task<void> wait_for_any_change(std::string version) = 0;
};

}  // namespace elastic::detail
