// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/rendezvous_handler.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/event_flag.hpp>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL task<void> rendezvous_handler::wait_for_fence() {
  event_flag never(co_await asio::this_coro::executor);
  co_await never.wait();
}

ELASTIC_DECL void rendezvous_handler::pause(std::string, bool) {
  throw error(errc::invalid_argument,
              fmt::format("nodes that meet by '{}' cannot pause; those of c10d, etcd-v3 and file "
                          "can, without nodes of torchrun",
                          backend()));
}

}  // namespace elastic
