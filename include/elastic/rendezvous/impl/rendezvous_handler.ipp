// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/rendezvous_handler.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/event_flag.hpp>

namespace elastic {

ELASTIC_DECL task<void> rendezvous_handler::wait_for_fence() {
  event_flag never(co_await asio::this_coro::executor);
  co_await never.wait();
}

}  // namespace elastic
