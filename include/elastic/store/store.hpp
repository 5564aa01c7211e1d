// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/task.hpp>
#include <elastic/store/key_list.hpp>
#include <elastic/store/key_value_list.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace elastic {

/// A key-value store that agents and workers share, with the operations of PyTorch's Store.
///
/// The caller limits the time: `with_deadline(time, deadline, shared.get("key"))`.
///
/// Errors of every operation: `errc::connection_failed`, `errc::protocol_violation`,
/// `errc::stopped` (this store was closed), `errc::invalid_argument` (a key or value over
/// `limits::store_key_bytes` / `limits::store_value_bytes`).
/// Cancellation of every operation: all types. A cancelled wait leaves nothing behind; a cancelled
/// change may or may not have happened.
/// A store must live until its operations have ended.
/// Thread-safety: one strand at a time, unless an implementation says otherwise.
class ELASTIC_EXPORT store {
 public:
  virtual ~store() = default;

  /// Stores `value` under `key` and wakes the operations that wait for it.
  virtual task<void> set(std::string key, std::string value) = 0;

  /// The value of `key`; waits until the key exists.
  virtual task<std::string> get(std::string key) = 0;

  /// Adds to the number that `key` holds as decimal text (0 if the key is missing).
  /// Result: the sum. Errors: `errc::store_value` if the value is not a number.
  virtual task<std::int64_t> add(std::string key, std::int64_t delta) = 0;

  /// Replaces the value if it equals `expected`; a missing key equals the empty text.
  /// Result: the value afterwards (`expected` if the key is missing and remains so). The exchange
  /// took place if it equals `desired`.
  virtual task<std::string> compare_set(std::string key, std::string expected,
                                        std::string desired) = 0;

  /// Waits until every one of the keys exists.
  virtual task<void> wait(key_list keys) = 0;

  /// Whether every one of the keys exists.
  virtual task<bool> check(key_list keys) = 0;

  /// Removes the key. Result: whether it existed.
  virtual task<bool> erase(std::string key) = 0;

  /// The number of keys in the whole store, including those under other prefixes.
  virtual task<std::int64_t> num_keys() = 0;

  /// Appends to the value of `key`, which is created if it is missing.
  /// Errors: `errc::not_supported` if the server is PyTorch's before 2.1.
  virtual task<void> append(std::string key, std::string value) = 0;

  /// The values of all keys, in the same order; waits until every key exists.
  virtual task<std::vector<std::string>> multi_get(key_list keys) = 0;

  /// Stores every pair of key and value.
  virtual task<void> multi_set(key_value_list pairs) = 0;
};

}  // namespace elastic
