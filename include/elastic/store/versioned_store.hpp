// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/base/task.hpp>
#include <elastic/store/detail/store_keys.hpp>
#include <elastic/store/store.hpp>
#include <elastic/store/versioned_keys.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic {

/// A store in a place that can compare and set, such as a directory or etcd.
///
/// Errors: those of a store and of the place. Thread-safety: one strand at a time.
class versioned_store final : public store {
 public:
  explicit versioned_store(std::shared_ptr<versioned_keys> keys) : keys_(std::move(keys)) {}

  task<void> set(std::string key, std::string value) override {
    detail::check_store_key(key);
    detail::check_store_value(value);
    co_await keys_->put(std::move(key), std::move(value));
  }

  task<std::string> get(std::string key) override {
    detail::check_store_key(key);
    for (;;) {
      versioned_value seen = co_await keys_->get(key);
      if (seen.value) co_return std::move(*seen.value);
      co_await keys_->wait_for_change(key, std::move(seen.version));
    }
  }

  task<std::int64_t> add(std::string key, std::int64_t delta) override {
    detail::check_store_key(key);
    for (;;) {
      const versioned_value seen = co_await keys_->get(key);
      const std::int64_t sum = sum_of(key, seen.value, delta);
      std::string text = std::to_string(sum);
      const bool was_set = co_await keys_->put(key, std::move(text), seen.version);
      if (was_set) co_return sum;
    }
  }

  task<std::string> compare_set(std::string key, std::string expected,
                                std::string desired) override {
    detail::check_store_key(key);
    detail::check_store_value(expected);
    detail::check_store_value(desired);
    for (;;) {
      versioned_value seen = co_await keys_->get(key);
      if (!seen.value && !expected.empty()) co_return expected;
      if (seen.value && *seen.value != expected) co_return std::move(*seen.value);
      const bool was_set = co_await keys_->put(key, desired, std::move(seen.version));
      if (was_set) co_return desired;
    }
  }

  task<void> wait(std::vector<std::string> keys) override {
    check_keys(keys);
    for (std::string& key : keys) co_await get(std::move(key));
  }

  task<bool> check(std::vector<std::string> keys) override {
    check_keys(keys);
    for (std::string& key : keys) {
      const versioned_value seen = co_await keys_->get(std::move(key));
      if (!seen.value) co_return false;
    }
    co_return true;
  }

  task<bool> erase(std::string key) override {
    detail::check_store_key(key);
    co_return co_await keys_->erase(std::move(key));
  }

  task<std::int64_t> num_keys() override { return keys_->count(); }

  task<void> append(std::string key, std::string value) override {
    detail::check_store_key(key);
    for (;;) {
      versioned_value seen = co_await keys_->get(key);
      std::string whole = seen.value ? std::move(*seen.value) : std::string();
      whole += value;
      detail::check_store_value(whole);
      const bool was_set = co_await keys_->put(key, std::move(whole), std::move(seen.version));
      if (was_set) co_return;
    }
  }

  task<std::vector<std::string>> multi_get(std::vector<std::string> keys) override {
    check_keys(keys);
    std::vector<std::string> values;
    values.reserve(keys.size());
    for (std::string& key : keys) values.push_back(co_await get(std::move(key)));
    co_return values;
  }

  task<void> multi_set(std::vector<std::pair<std::string, std::string>> pairs) override {
    for (const auto& [key, value] : pairs) {
      detail::check_store_key(key);
      detail::check_store_value(value);
    }
    for (auto& [key, value] : pairs) co_await keys_->put(std::move(key), std::move(value));
  }

 private:
  static void check_keys(const std::vector<std::string>& keys) {
    detail::check_store_key_count(keys.size());
    for (const std::string& key : keys) detail::check_store_key(key);
  }

  std::int64_t sum_of(const std::string& key, const std::optional<std::string>& value,
                      std::int64_t delta) const {
    std::int64_t before = 0;
    if (value) {
      const std::optional<std::int64_t> number = detail::leading_number(*value);
      if (!number) {
        throw error(errc::store_value,
                    fmt::format("{} holds '{:.100}', which is no number to add to",
                                keys_->place_of(key), *value));
      }
      before = *number;
    }
    // Over the end it goes on at the other, as the other stores do.
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(before) +
                                     static_cast<std::uint64_t>(delta));
  }

  std::shared_ptr<versioned_keys> keys_;
};

}  // namespace elastic
