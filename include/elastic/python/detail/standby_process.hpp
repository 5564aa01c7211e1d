// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_descriptor.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/task.hpp>
#include <elastic/process/child.hpp>
#include <elastic/process/exit_status.hpp>
#include <elastic/process/process_launcher.hpp>
#include <elastic/process/process_spec.hpp>
#include <elastic/python/detail/standby_environment.hpp>
#include <elastic/python/detail/standby_message.hpp>

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// One standby with the socket to it, which is its standard input. Its standard output begins with
/// the hook, its standard error is empty; both are memory.
///
/// The destructor kills it and never waits. Thread-safety: one strand at a time.
class standby_process {
 public:
  /// Starts one. What `spec` says of streams and the variables of an attempt is not for it.
  ///
  /// Errors: those of the launcher; `errc::start_failed`. Cancellation: as of the launcher.
  ELASTIC_DECL static task<std::unique_ptr<standby_process>> start(
      std::shared_ptr<process_launcher> launcher, process_spec spec, standby_task standby);

  ELASTIC_DECL standby_process(const asio::any_io_executor& executor, unique_fd socket,
                               std::unique_ptr<child> process);
  standby_process(const standby_process&) = delete;
  standby_process& operator=(const standby_process&) = delete;

  pid_t pid() const { return process_->pid(); }

  /// The next message.
  ///
  /// Errors: `errc::protocol_violation` if it ends, or says what no standby says.
  /// Cancellation: all types; throws `operation_aborted`, and no message is lost.
  ELASTIC_DECL task<standby_message> next_message();

  /// Sends a message with descriptors, which stay the caller's. Never blocks.
  /// Result: what is wrong; empty: it was sent.
  ELASTIC_DECL std::string send(std::string_view bytes, const std::vector<int>& descriptors = {});

  /// Whether it has neither closed its socket nor said anything that was not read.
  ELASTIC_DECL bool is_silent();

  /// Until it is no longer silent, or has ended. One at a time, and not beside `next_message` and
  /// `wait`. Cancellation: all types; throws `operation_aborted`.
  ELASTIC_DECL task<void> until_heard();

  ELASTIC_DECL void kill() noexcept;

  /// Until it has ended. Cancellation: all types; throws `operation_aborted`.
  ELASTIC_DECL task<exit_status> wait();

  /// Kills what is left of its tree and waits until it is gone.
  /// Cancellation: all types; the kill was sent already.
  ELASTIC_DECL task<void> end();

  /// The process, which is a worker from now on.
  ELASTIC_DECL std::unique_ptr<child> release();

 private:
  asio::posix::stream_descriptor socket_;
  std::unique_ptr<child> process_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/python/detail/impl/standby_process.ipp>
#endif
