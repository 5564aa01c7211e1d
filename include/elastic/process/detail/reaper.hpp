// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_core.hpp>
#include <elastic/base/detail/asio_descriptor.hpp>
#include <elastic/base/task.hpp>
#include <elastic/process/detail/syscalls.hpp>

#include <atomic>

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

  ELASTIC_DECL static reaper& of(const asio::any_io_executor& executor);

  /// Waits in the background until the process has ended, and then takes its status. Where the
  /// context is on its way out, which no background outlives, it waits here, for 1 s at most: the
  /// process was killed.
  ELASTIC_DECL void adopt(asio::posix::stream_descriptor pidfd, const syscalls& calls);

 private:
  // The last owner to release it takes the status: the wait when it is over, or the context that
  // drops the wait.
  struct dying {
    ELASTIC_DECL dying(asio::posix::stream_descriptor descriptor, const syscalls& with);
    ELASTIC_DECL ~dying();

    asio::posix::stream_descriptor pidfd;
    const syscalls& calls;
  };

  void shutdown() noexcept override { down_ = true; }

  std::atomic<bool> down_{false};
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/impl/reaper.ipp>
#endif
