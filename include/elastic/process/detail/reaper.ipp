// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/detail/reaper.hpp>

#include <elastic/base/detail/asio_tasks.hpp>
#include <elastic/base/detail/asio_core.hpp>
#include <elastic/base/detail/executor_work.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/time.hpp>

#include <poll.h>

#include <csignal>
#include <exception>
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

ELASTIC_DECL void reaper::adopt_ending(asio::posix::stream_descriptor pidfd,
                                       std::chrono::milliseconds patience, const syscalls& calls) {
  const auto held = new_shared<dying>(std::move(pidfd), calls);
  held->patience = patience;
  if (down_) return;
  start_task(held->pidfd.get_executor(), see_off(held), [](std::exception_ptr) {});
}

ELASTIC_DECL task<void> reaper::see_off(std::shared_ptr<dying> held) {
  system_time time;
  const time_point patience_ends = deadline_after(time.now(), held->patience);
  if (!co_await with_deadline(time, patience_ends, wait_for_end(held))) held->kill();
  held->patience = std::chrono::milliseconds(0);
  co_await wait_for_end(held);
}

ELASTIC_DECL task<void> reaper::wait_for_end(std::shared_ptr<dying> held) {
  co_await held->pidfd.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
}

ELASTIC_DECL reaper::dying::dying(asio::posix::stream_descriptor descriptor, const syscalls& kernel)
    : pidfd(std::move(descriptor)), calls(kernel) {}

ELASTIC_DECL reaper::dying::~dying() {
  if (patience.count() > 0 && !ends_within(patience)) kill();
  ends_within(std::chrono::seconds(1));
  siginfo_t ignored{};
  calls.waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd.native_handle()), &ignored,
               WEXITED | WNOHANG);
}

ELASTIC_DECL bool reaper::dying::ends_within(std::chrono::milliseconds time) {
  pollfd end{pidfd.native_handle(), POLLIN, 0};
  return uninterrupted([&] { return ::poll(&end, 1, static_cast<int>(time.count())); }) == 1;
}

ELASTIC_DECL void reaper::dying::kill() {
  calls.pidfd_send_signal(pidfd.native_handle(), SIGKILL, 0);
}

}  // namespace elastic::detail
