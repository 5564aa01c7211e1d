// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/store/prefix_store.hpp>

#include <elastic/base/detail/required.hpp>

namespace elastic {

ELASTIC_DECL prefix_store::prefix_store(std::string prefix, std::shared_ptr<store> inner)
    : prefix_(std::move(prefix) + "/"),
      inner_(detail::required(std::move(inner), "prefix_store: the inner store")) {}

ELASTIC_DECL task<void> prefix_store::set(std::string key, std::string value) {
  return inner_->set(prefix_ + key, std::move(value));
}

ELASTIC_DECL task<std::int64_t> prefix_store::add(std::string key, std::int64_t delta) {
  return inner_->add(prefix_ + key, delta);
}

ELASTIC_DECL task<std::string> prefix_store::compare_set(std::string key, std::string expected,
                                                         std::string desired) {
  return inner_->compare_set(prefix_ + key, std::move(expected), std::move(desired));
}

ELASTIC_DECL task<void> prefix_store::wait(key_list keys) {
  return inner_->wait(prefixed(std::move(keys)));
}

ELASTIC_DECL task<bool> prefix_store::check(key_list keys) {
  return inner_->check(prefixed(std::move(keys)));
}

ELASTIC_DECL task<void> prefix_store::append(std::string key, std::string value) {
  return inner_->append(prefix_ + key, std::move(value));
}

ELASTIC_DECL task<std::vector<std::string>> prefix_store::multi_get(key_list keys) {
  return inner_->multi_get(prefixed(std::move(keys)));
}

ELASTIC_DECL task<void> prefix_store::multi_set(key_value_list pairs) {
  for (auto& pair : pairs) pair.first.insert(0, prefix_);
  return inner_->multi_set(std::move(pairs));
}

ELASTIC_DECL std::vector<std::string> prefix_store::prefixed(std::vector<std::string> keys) const {
  for (std::string& key : keys) key.insert(0, prefix_);
  return keys;
}

}  // namespace elastic
