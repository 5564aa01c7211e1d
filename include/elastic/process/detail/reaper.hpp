// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/task.hpp>
#include <elastic/process/detail/syscalls.hpp>

#include <asio/execution_context.hpp>

#include <poll.h>

#include <atomic>
#include <memory>
#include <utility>

namespace elastic::detail {

/// Takes in processes that were killed and whose owner could not wait for them, so that no zombie
/// stays in a host that lives on. One for each execution context, made on first use.
///
/// What it waits for keeps `io_context::run` going until the kernel has ended that process.
class reaper final : public asio::execution_context::service {
 public:
  using key_type = reaper;
  inline static asio::execution_context::id id;

  explicit reaper(asio::execution_context& context) : service(context) {}

  static reaper& of(const asio::any_io_executor& executor) {
    return asio::use_service<reaper>(asio::query(executor, asio::execution::context));
  }

  /// Waits in the background until the process has ended, and then takes its status. Where the
  /// context is on its way out, which no background outlives, it waits here, for 1 s at most: the
  /// process was killed.
  void adopt(asio::posix::stream_descriptor pidfd, const syscalls& calls) {
    const auto held = std::make_shared<dying>(std::move(pidfd), calls);
    if (down_) return;
    held->pidfd.async_wait(asio::posix::stream_descriptor::wait_read,
                           [held](asio::error_code) {});
  }

 private:
  // Whoever lets go of it last takes the status: the wait when it is over, or the context that
  // drops the wait.
  struct dying {
    dying(asio::posix::stream_descriptor descriptor, const syscalls& with)
        : pidfd(std::move(descriptor)), calls(with) {}
    ~dying() {
      pollfd end{pidfd.native_handle(), POLLIN, 0};
      uninterrupted([&] { return ::poll(&end, 1, 1000); });
      siginfo_t ignored{};
      calls.waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd.native_handle()),
                   &ignored, WEXITED | WNOHANG);
    }

    asio::posix::stream_descriptor pidfd;
    const syscalls& calls;
  };

  void shutdown() noexcept override { down_ = true; }

  std::atomic<bool> down_{false};
};

}  // namespace elastic::detail
