// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/store/store.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace elastic {

/// A view of another store in which every key stands under a prefix: "key" is "prefix/key" there,
/// as PyTorch's PrefixStore has it. `num_keys` counts the whole store.
///
/// Errors, cancellation and thread-safety: those of the store within.
class prefix_store final : public store {
 public:
  prefix_store(std::string prefix, std::shared_ptr<store> inner)
      : prefix_(std::move(prefix) + "/"), inner_(std::move(inner)) {}

  task<void> set(std::string key, std::string value) override {
    return inner_->set(prefix_ + key, std::move(value));
  }

  task<std::string> get(std::string key) override { return inner_->get(prefix_ + key); }

  task<std::int64_t> add(std::string key, std::int64_t delta) override {
    return inner_->add(prefix_ + key, delta);
  }

  task<std::string> compare_set(std::string key, std::string expected,
                                std::string desired) override {
    return inner_->compare_set(prefix_ + key, std::move(expected), std::move(desired));
  }

  task<void> wait(std::vector<std::string> keys) override {
    return inner_->wait(prefixed(std::move(keys)));
  }

  task<bool> check(std::vector<std::string> keys) override {
    return inner_->check(prefixed(std::move(keys)));
  }

  task<bool> erase(std::string key) override { return inner_->erase(prefix_ + key); }

  task<std::int64_t> num_keys() override { return inner_->num_keys(); }

  task<void> append(std::string key, std::string value) override {
    return inner_->append(prefix_ + key, std::move(value));
  }

  task<std::vector<std::string>> multi_get(std::vector<std::string> keys) override {
    return inner_->multi_get(prefixed(std::move(keys)));
  }

  task<void> multi_set(std::vector<std::pair<std::string, std::string>> pairs) override {
    for (auto& pair : pairs) pair.first.insert(0, prefix_);
    return inner_->multi_set(std::move(pairs));
  }

 private:
  std::vector<std::string> prefixed(std::vector<std::string> keys) const {
    for (std::string& key : keys) key.insert(0, prefix_);
    return keys;
  }

  std::string prefix_;
  std::shared_ptr<store> inner_;
};

}  // namespace elastic
