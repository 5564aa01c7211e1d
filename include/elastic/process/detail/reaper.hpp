// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/task.hpp>
#include <elastic/process/detail/syscalls.hpp>

#include <asio/execution_context.hpp>

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

  /// Waits in the background until the process has ended, and then takes its status.
  void adopt(asio::posix::stream_descriptor pidfd, const syscalls& calls) {
    // The context is on its way out: nothing may be started on it any more.
    if (down_) return;
    auto shared = std::make_shared<asio::posix::stream_descriptor>(std::move(pidfd));
    shared->async_wait(asio::posix::stream_descriptor::wait_read,
                       [shared, &calls](asio::error_code) {
                         siginfo_t ignored{};
                         calls.waitid(static_cast<idtype_t>(P_PIDFD),
                                      static_cast<id_t>(shared->native_handle()), &ignored,
                                      WEXITED | WNOHANG);
                       });
  }

 private:
  void shutdown() noexcept override { down_ = true; }

  std::atomic<bool> down_{false};
};

}  // namespace elastic::detail
