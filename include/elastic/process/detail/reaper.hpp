// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_core.hpp>
#include <elastic/base/detail/asio_descriptor.hpp>
#include <elastic/base/task.hpp>
#include <elastic/process/detail/syscalls.hpp>

#include <atomic>
#include <chrono>
#include <memory>

namespace elastic::detail {

/// Adopts killed processes whose owner could not wait for them, so that no zombie stays in a host
/// that keeps running. There is one for each execution context, created on first use.
///
/// `io_context::run` does not return until the kernel has ended the processes that it waits for.
class reaper final : public asio::execution_context::service {
 public:
  using key_type = reaper;
  inline static asio::execution_context::id id;

  explicit reaper(asio::execution_context& context) : service(context) {}

  ELASTIC_DECL static reaper& of(const asio::any_io_executor& executor);

  /// Waits in the background until the process has ended, and then takes its status. If the context
  /// is shutting down, no background work survives, so it blocks instead, for at most 1 s: the
  /// process has been killed.
  ELASTIC_DECL void adopt(asio::posix::stream_descriptor pidfd, const syscalls& kernel);

  /// The same for a process that is about to end by itself, such as a helper that cleans up: it is
  /// killed if it has not ended after `patience`, during which a context that is shutting down
  /// blocks.
  ELASTIC_DECL void adopt_ending(asio::posix::stream_descriptor pidfd,
                                 std::chrono::milliseconds patience, const syscalls& kernel);

 private:
  // A process that is about to end. The last owner of this object takes its status: the wait when
  // it is over, or the context that drops the wait.
  struct dying {
    ELASTIC_DECL dying(asio::posix::stream_descriptor descriptor, const syscalls& calls);
    ELASTIC_DECL ~dying();

    ELASTIC_DECL bool ends_within(std::chrono::milliseconds time);
    ELASTIC_DECL void kill();

    asio::posix::stream_descriptor pidfd;
    const syscalls& calls;
    // How long it may take to end by itself; 0: it was killed.
    std::chrono::milliseconds patience{0};
  };

  // Waits for the end; after the patience, kills the process and waits again.
  ELASTIC_DECL static task<void> see_off(std::shared_ptr<dying> held);
  ELASTIC_DECL static task<void> wait_for_end(std::shared_ptr<dying> held);

  void shutdown() noexcept override { down_ = true; }

  std::atomic<bool> down_{false};
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/reaper.ipp>
#endif
