// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/required.hpp>
#include <elastic/base/task.hpp>
#include <elastic/store/key_list.hpp>
#include <elastic/store/key_value_list.hpp>
#include <elastic/store/store.hpp>
#include <elastic/store/versioned_keys.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace elastic {

/// A store in a service that supports compare-and-set, such as a directory or etcd.
///
/// Errors: those of a store and of `keys`. Thread-safety: one strand at a time.
class ELASTIC_EXPORT versioned_store final : public store {
 public:
  /// Errors: `errc::invalid_argument` if `keys` is null.
  explicit versioned_store(std::shared_ptr<versioned_keys> keys)
      : keys_(detail::required(std::move(keys), "versioned_store: the place of the keys")) {}

  ELASTIC_DECL task<void> set(std::string key, std::string value) override;
  ELASTIC_DECL task<std::string> get(std::string key) override;
  ELASTIC_DECL task<std::int64_t> add(std::string key, std::int64_t delta) override;
  ELASTIC_DECL task<std::string> compare_set(std::string key, std::string expected,
                                             std::string desired) override;
  ELASTIC_DECL task<void> wait(key_list keys) override;
  ELASTIC_DECL task<bool> check(key_list keys) override;
  ELASTIC_DECL task<bool> erase(std::string key) override;

  task<std::int64_t> num_keys() override { return keys_->count(); }

  ELASTIC_DECL task<void> append(std::string key, std::string value) override;
  ELASTIC_DECL task<std::vector<std::string>> multi_get(key_list keys) override;
  ELASTIC_DECL task<void> multi_set(key_value_list pairs) override;

 private:
  ELASTIC_DECL static void check_keys(const std::vector<std::string>& keys);
  ELASTIC_DECL std::int64_t sum_of(const std::string& key, const std::optional<std::string>& value,
                                   std::int64_t delta) const;

  std::shared_ptr<versioned_keys> keys_;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/store/impl/versioned_store.ipp>
#endif
