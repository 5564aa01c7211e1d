// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/store/versioned_store.hpp>

#include <elastic/base/error.hpp>
#include <elastic/store/detail/store_keys.hpp>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL task<void> versioned_store::set(std::string key, std::string value) {
  detail::check_store_key(key);
  detail::check_store_value(value);
  co_await keys_->put(std::move(key), std::move(value));
}

ELASTIC_DECL task<std::string> versioned_store::get(std::string key) {
  detail::check_store_key(key);
  for (;;) {
    versioned_keys::entry seen = co_await keys_->get(key);
    if (seen.value) co_return std::move(*seen.value);
    co_await keys_->wait_for_change(key, std::move(seen.version));
  }
}

ELASTIC_DECL task<std::int64_t> versioned_store::add(std::string key, std::int64_t delta) {
  detail::check_store_key(key);
  for (;;) {
    const versioned_keys::entry seen = co_await keys_->get(key);
    const std::int64_t sum = sum_of(key, seen.value, delta);
    std::string text = std::to_string(sum);
    const bool was_set = co_await keys_->put(key, std::move(text), seen.version);
    if (was_set) co_return sum;
  }
}

ELASTIC_DECL task<std::string> versioned_store::compare_set(std::string key, std::string expected,
                                                            std::string desired) {
  detail::check_store_key(key);
  detail::check_store_value(expected);
  detail::check_store_value(desired);
  for (;;) {
    versioned_keys::entry seen = co_await keys_->get(key);
    if (!seen.value && !expected.empty()) co_return expected;
    if (seen.value && *seen.value != expected) co_return std::move(*seen.value);
    const bool was_set = co_await keys_->put(key, desired, std::move(seen.version));
    if (was_set) co_return desired;
  }
}

ELASTIC_DECL task<void> versioned_store::wait(key_list keys) {
  check_keys(keys);
  for (std::string& key : keys) co_await get(std::move(key));
}

ELASTIC_DECL task<bool> versioned_store::check(key_list keys) {
  check_keys(keys);
  for (std::string& key : keys) {
    const versioned_keys::entry seen = co_await keys_->get(std::move(key));
    if (!seen.value) co_return false;
  }
  co_return true;
}

ELASTIC_DECL task<bool> versioned_store::erase(std::string key) {
  detail::check_store_key(key);
  co_return co_await keys_->erase(std::move(key));
}

ELASTIC_DECL task<void> versioned_store::append(std::string key, std::string value) {
  detail::check_store_key(key);
  for (;;) {
    versioned_keys::entry seen = co_await keys_->get(key);
    std::string whole = seen.value ? std::move(*seen.value) : std::string();
    whole += value;
    detail::check_store_value(whole);
    const bool was_set = co_await keys_->put(key, std::move(whole), std::move(seen.version));
    if (was_set) co_return;
  }
}

ELASTIC_DECL task<std::vector<std::string>> versioned_store::multi_get(key_list keys) {
  check_keys(keys);
  std::vector<std::string> values;
  values.reserve(keys.size());
  for (std::string& key : keys) values.push_back(co_await get(std::move(key)));
  co_return values;
}

ELASTIC_DECL task<void> versioned_store::multi_set(key_value_list pairs) {
  for (const auto& [key, value] : pairs) {
    detail::check_store_key(key);
    detail::check_store_value(value);
  }
  for (auto& [key, value] : pairs) co_await keys_->put(std::move(key), std::move(value));
}

ELASTIC_DECL void versioned_store::check_keys(const std::vector<std::string>& keys) {
  detail::check_store_key_count(keys.size());
  for (const std::string& key : keys) detail::check_store_key(key);
}

ELASTIC_DECL std::int64_t versioned_store::sum_of(const std::string& key,
                                                  const std::optional<std::string>& value,
                                                  std::int64_t delta) const {
  std::int64_t before = 0;
  if (value) {
    const std::optional<std::int64_t> number = detail::leading_number(*value);
    if (!number) {
      throw error(errc::store_value,
                  fmt::format("{} holds '{:.100}', which is not a number to add to",
                              keys_->place_of(key), *value));
    }
    before = *number;
  }
  // Wraps around, as in the other stores.
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(before) +
                                   static_cast<std::uint64_t>(delta));
}

}  // namespace elastic
