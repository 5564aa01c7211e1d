// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace elastic {

/// The operations that a service must offer so that nodes can share a store (`versioned_store`) or
/// the state of a rendezvous (`keyed_rendezvous_backend`) in it. Implement it for your own service.
///
/// Errors of every member: `errc::connection_failed` if the service cannot be reached, and those of
/// the implementation; a message names the service.
/// Cancellation of every member: all types; a cancelled change may or may not have happened.
/// Thread-safety: one strand at a time; operations may run at the same time.
class ELASTIC_EXPORT versioned_keys {
 public:
  /// The state of a key.
  struct entry {
    /// Empty if the key was missing.
    std::optional<std::string> value = {};
    /// Identifies this state, including the absence of a key: a value that is stored later has
    /// another version, even if it has the same bytes. One state may have several versions: those
    /// of etcd change with every other key. Never empty.
    std::string version = {};
  };

  virtual ~versioned_keys() = default;

  /// The name of a key's location for messages, such as "the file /shared/job/key".
  virtual std::string place_of(const std::string& key) const = 0;

  /// The value and version of a key.
  virtual task<entry> get(std::string key) = 0;

  /// Stores `value` if the key still has `version`. Result: whether it was stored.
  virtual task<bool> put(std::string key, std::string value, std::string version) = 0;

  /// Stores `value` unconditionally.
  virtual task<void> put(std::string key, std::string value) = 0;

  /// Removes the key. Result: whether there was one.
  virtual task<bool> erase(std::string key) = 0;

  /// How many keys there are.
  virtual task<std::int64_t> count() = 0;

  /// Returns when the key no longer has `version`, or may no longer have it. If the service cannot
  /// report changes, it returns when it is time to read the key again.
  virtual task<void> wait_for_change(std::string key, std::string version) = 0;
};

}  // namespace elastic
