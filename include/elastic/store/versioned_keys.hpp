// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/task.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace elastic {

/// The least that a place has to offer so that nodes can share a store (`versioned_store`) and the
/// state of a rendezvous (`keyed_rendezvous_backend`) in it. Implement it to use a place of your
/// own.
///
/// Errors of every member: `errc::connection_failed` if the place cannot be reached, and those
/// of the implementation; a message names the place.
/// Cancellation of every member: all types; a change that was cancelled may or may not have
/// happened.
/// Thread-safety: one strand at a time; operations may run at the same time.
class versioned_keys {
 public:
  /// What was seen of a key.
  struct entry {
    /// None if the key was missing.
    std::optional<std::string> value;
    /// Names what was seen, the absence of a key included: another value that is stored later has
    /// another version, also if it is made of the same bytes. Never empty.
    std::string version;
  };

  virtual ~versioned_keys() = default;

  /// What people call the place of a key, as in "the file /shared/job/key".
  virtual std::string place_of(const std::string& key) const = 0;

  /// What is there.
  virtual task<entry> get(std::string key) = 0;

  /// Stores `value` if the key is still as `version` saw it. Result: whether it was stored.
  virtual task<bool> put(std::string key, std::string value, std::string version) = 0;

  /// Stores `value`, whatever there is.
  virtual task<void> put(std::string key, std::string value) = 0;

  /// Removes the key. Result: whether there was one.
  virtual task<bool> erase(std::string key) = 0;

  /// How many keys there are.
  virtual task<std::int64_t> count() = 0;

  /// Returns when the key is not as `version` saw it, or may not be: at the latest when it is time
  /// to look again, if the place cannot tell by itself.
  virtual task<void> wait_for_change(std::string key, std::string version) = 0;
};

}  // namespace elastic
