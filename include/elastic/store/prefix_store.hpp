// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/store/key_list.hpp>
#include <elastic/store/key_value_list.hpp>
#include <elastic/store/store.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace elastic {

/// A view of another store that adds a prefix to every key: "key" becomes "prefix/key", as with
/// PyTorch's PrefixStore. `num_keys` counts the keys of the whole store.
///
/// Errors, cancellation and thread-safety: those of the inner store.
class ELASTIC_EXPORT prefix_store final : public store {
 public:
  /// Errors: `errc::invalid_argument` if `inner` is null.
  ELASTIC_DECL prefix_store(std::string prefix, std::shared_ptr<store> inner);
  ELASTIC_DECL task<void> set(std::string key, std::string value) override;

  task<std::string> get(std::string key) override { return inner_->get(prefix_ + key); }

  ELASTIC_DECL task<std::int64_t> add(std::string key, std::int64_t delta) override;
  ELASTIC_DECL task<std::string> compare_set(std::string key, std::string expected,
                                             std::string desired) override;
  ELASTIC_DECL task<void> wait(key_list keys) override;
  ELASTIC_DECL task<bool> check(key_list keys) override;

  task<bool> erase(std::string key) override { return inner_->erase(prefix_ + key); }

  task<std::int64_t> num_keys() override { return inner_->num_keys(); }

  ELASTIC_DECL task<void> append(std::string key, std::string value) override;
  ELASTIC_DECL task<std::vector<std::string>> multi_get(key_list keys) override;
  ELASTIC_DECL task<void> multi_set(key_value_list pairs) override;

 private:
  ELASTIC_DECL std::vector<std::string> prefixed(std::vector<std::string> keys) const;

  std::string prefix_;
  std::shared_ptr<store> inner_;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/store/impl/prefix_store.ipp>
#endif
