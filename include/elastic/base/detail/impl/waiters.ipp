// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/waiters.hpp>

#include <elastic/base/asio.hpp>

#include <asio/execution_context.hpp>

namespace elastic::detail {

ELASTIC_DECL waiting_room& waiting_room::of(const asio::any_io_executor& executor) {
  return asio::use_service<waiting_room>(asio::query(executor, asio::execution::context));
}

ELASTIC_DECL void waiting_room::enter(std::shared_ptr<abandonable> holder) {
  const std::lock_guard lock(mutex_);
  holders_.insert(std::move(holder));
}

ELASTIC_DECL void waiting_room::leave(const std::shared_ptr<abandonable>& holder) {
  const std::lock_guard lock(mutex_);
  holders_.erase(holder);
}

ELASTIC_DECL void waiting_room::shutdown() noexcept {
  std::set<std::shared_ptr<abandonable>> holders;
  {
    const std::lock_guard lock(mutex_);
    holders.swap(holders_);
  }
  for (const auto& holder : holders) holder->abandon();
}

}  // namespace elastic::detail
