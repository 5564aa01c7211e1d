// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/store/memory_store.hpp>
#include <elastic/store/store.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace elastic::test {

/// A client of a store that records its requests as PyTorch's client would make them: one key at a
/// time, each "set key=value" or "get key".
class noting_store : public store {
 public:
  noting_store(std::shared_ptr<store> inner, std::shared_ptr<std::vector<std::string>> notes)
      : inner_(std::move(inner)), notes_(std::move(notes)) {}

  task<void> set(std::string key, std::string value) override {
    notes_->push_back("set " + key + "=" + value);
    return inner_->set(std::move(key), std::move(value));
  }
  task<std::string> get(std::string key) override {
    notes_->push_back("get " + key);
    return inner_->get(std::move(key));
  }
  task<std::int64_t> add(std::string key, std::int64_t delta) override {
    notes_->push_back("add " + key);
    return inner_->add(std::move(key), delta);
  }
  task<std::string> compare_set(std::string key, std::string expected,
                                std::string desired) override {
    notes_->push_back("compare_set " + key);
    return inner_->compare_set(std::move(key), std::move(expected), std::move(desired));
  }
  task<void> wait(key_list keys) override {
    for (const std::string& key : keys) notes_->push_back("get " + key);
    return inner_->wait(std::move(keys));
  }
  task<bool> check(key_list keys) override {
    return inner_->check(std::move(keys));
  }
  task<bool> erase(std::string key) override { return inner_->erase(std::move(key)); }
  task<std::int64_t> num_keys() override { return inner_->num_keys(); }
  task<void> append(std::string key, std::string value) override {
    return inner_->append(std::move(key), std::move(value));
  }
  task<std::vector<std::string>> multi_get(key_list keys) override {
    for (const std::string& key : keys) notes_->push_back("get " + key);
    return inner_->multi_get(std::move(keys));
  }
  task<void> multi_set(key_value_list pairs) override {
    for (const auto& [key, value] : pairs) notes_->push_back("set " + key + "=" + value);
    return inner_->multi_set(std::move(pairs));
  }

 private:
  std::shared_ptr<store> inner_;
  std::shared_ptr<std::vector<std::string>> notes_;
};

}  // namespace elastic::test
