// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/detail/reaper.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/asio_core.hpp>
#include <elastic/base/detail/new_shared.hpp>

#include <poll.h>

#include <memory>
#include <utility>

namespace elastic::detail {

ELASTIC_DECL reaper& reaper::of(const asio::any_io_executor& executor) {
  return asio::use_service<reaper>(asio::query(executor, asio::execution::context));
}

ELASTIC_DECL void reaper::adopt(asio::posix::stream_descriptor pidfd, const syscalls& calls) {
  const auto held = new_shared<dying>(std::move(pidfd), calls);
  if (down_) return;
  held->pidfd.async_wait(asio::posix::stream_descriptor::wait_read, [held](asio_error_code) {});
}

ELASTIC_DECL reaper::dying::dying(asio::posix::stream_descriptor descriptor, const syscalls& kernel)
    : pidfd(std::move(descriptor)), calls(kernel) {}

ELASTIC_DECL reaper::dying::~dying() {
  pollfd end{pidfd.native_handle(), POLLIN, 0};
  uninterrupted([&] { return ::poll(&end, 1, 1000); });
  siginfo_t ignored{};
  calls.waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd.native_handle()), &ignored,
               WEXITED | WNOHANG);
}

}  // namespace elastic::detail
