// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/store/detail/tcp_store_budget.hpp>

#include <elastic/base/assert.hpp>

#include <algorithm>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL void tcp_store_budget::set(client& holder, std::size_t bytes) {
  const auto position = clients_.try_emplace(&holder, 0).first;
  ELASTIC_ASSERT(held_ >= position->second);
  held_ = held_ - position->second + bytes;
  position->second = bytes;
  if (bytes == 0) clients_.erase(position);
  while (held_ > bound_) drop_largest();
}

ELASTIC_DECL void tcp_store_budget::drop_largest() {
  const auto largest =
      std::max_element(clients_.begin(), clients_.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  ELASTIC_ASSERT(largest != clients_.end());
  client& holder = *largest->first;
  held_ -= largest->second;
  clients_.erase(largest);
  holder.drop(fmt::format("makes the server hold most, when all clients exceed {} bytes", bound_));
}

}  // namespace elastic::detail
