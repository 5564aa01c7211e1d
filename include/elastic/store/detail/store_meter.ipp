// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/store/detail/store_meter.hpp>

#include <elastic/store/detail/key_value_engine.hpp>
#include <elastic/store/detail/tcp_store_protocol.hpp>

namespace elastic::detail {

ELASTIC_DECL void store_meter::add(const std::shared_ptr<const key_value_engine>& table) {
  const std::lock_guard lock(mutex_);
  std::erase_if(tables_, [&](const auto& kept) {
    const auto served = kept.lock();
    return !served || served == table;
  });
  tables_.push_back(table);
}

ELASTIC_DECL std::map<std::string, std::uint64_t> store_meter::requests() const {
  static_assert(operations >= store_ops);
  std::map<std::string, std::uint64_t> counts;
  for (std::size_t index = 0; index < counts_.size(); ++index) {
    const std::uint64_t count = counts_[index].load(std::memory_order_relaxed);
    if (count != 0) counts.emplace(name_of(static_cast<store_op>(index)), count);
  }
  return counts;
}

ELASTIC_DECL std::optional<std::int64_t> store_meter::keys() const {
  const std::lock_guard lock(mutex_);
  if (tables_.empty()) return std::nullopt;
  std::int64_t keys = 0;
  for (const auto& kept : tables_) {
    if (const auto table = kept.lock()) keys += table->num_keys();
  }
  return keys;
}

}  // namespace elastic::detail
