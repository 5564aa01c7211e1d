// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/endless.hpp>

#include <elastic/base/detail/asio_tasks.hpp>
#include <elastic/base/event_flag.hpp>

#include <utility>

namespace elastic::detail {

ELASTIC_DECL task<void> endless(task<void> work) {
  auto executor = co_await asio::this_coro::executor;
  co_await std::move(work);
  event_flag never(executor);
  co_await never.wait();
}

}  // namespace elastic::detail
