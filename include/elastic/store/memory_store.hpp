// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/internals.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/task.hpp>
#include <elastic/store/detail/key_value_engine.hpp>
#include <elastic/store/key_list.hpp>
#include <elastic/store/key_value_list.hpp>
#include <elastic/store/store.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace elastic {

/// A store in this process. If a `tcp_store_server` serves its table, it sees the same keys and
/// values as the server's clients, without a socket.
///
/// Thread-safety: different strands may use it at once; each wait resumes on its own.
class ELASTIC_EXPORT memory_store final : public store {
 public:
  /// A store with a new table.
  memory_store() : memory_store(detail::new_shared<detail::key_value_engine>()) {}

  ELASTIC_DECL task<void> set(std::string key, std::string value) override;
  ELASTIC_DECL task<std::string> get(std::string key) override;
  ELASTIC_DECL task<std::int64_t> add(std::string key, std::int64_t delta) override;
  ELASTIC_DECL task<std::string> compare_set(std::string key, std::string expected,
                                             std::string desired) override;
  ELASTIC_DECL task<void> wait(key_list keys) override;
  ELASTIC_DECL task<bool> check(key_list keys) override;
  ELASTIC_DECL task<bool> erase(std::string key) override;
  ELASTIC_DECL task<std::int64_t> num_keys() override;
  ELASTIC_DECL task<void> append(std::string key, std::string value) override;
  ELASTIC_DECL task<std::vector<std::string>> multi_get(key_list keys) override;
  ELASTIC_DECL task<void> multi_set(key_value_list pairs) override;

 private:
  friend detail::internals;

  /// A store on a table that others use as well.
  explicit memory_store(std::shared_ptr<detail::key_value_engine> engine)
      : engine_(std::move(engine)) {}

  const std::shared_ptr<detail::key_value_engine>& engine() const { return engine_; }

  ELASTIC_DECL static std::vector<std::string> wire_keys_of(
      const std::vector<std::pair<std::string, std::string>>& pairs);
  ELASTIC_DECL static std::vector<std::string_view> views_of(const std::vector<std::string>& texts);

  // The views must outlive the call: the engine reads them only before the first suspension.
  ELASTIC_DECL task<void> wait_for(std::vector<std::string_view> keys);

  std::shared_ptr<detail::key_value_engine> engine_;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/store/impl/memory_store.ipp>
#endif
