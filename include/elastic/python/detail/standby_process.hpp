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

/// One standby and the socket to it, which is its standard input. Its standard output and standard
/// error are memory: the former begins with the hook's archive, the latter with the import record.
///
/// The destructor kills it and never waits. Thread-safety: one strand at a time.
class standby_process {
 public:
  /// Starts a standby. Ignores the streams in `spec` and the variables of an attempt.
  ///
  /// Errors: those of the launcher; `errc::start_failed`. Cancellation: as for the launcher.
  ELASTIC_DECL static task<std::unique_ptr<standby_process>> start(
      std::shared_ptr<process_launcher> launcher, process_spec spec, standby_task standby);

  ELASTIC_DECL standby_process(const asio::any_io_executor& executor, unique_fd socket,
                               std::unique_ptr<child> process);
  standby_process(const standby_process&) = delete;
  standby_process& operator=(const standby_process&) = delete;

  pid_t pid() const { return process_->pid(); }

  /// The next message.
  ///
  /// Errors: `errc::protocol_violation` if the standby ends or sends an invalid message.
  /// Cancellation: all types; throws `operation_aborted`, and no message is lost.
  ELASTIC_DECL task<standby_message> next_message();

  /// Sends a message with descriptors, which stay the caller's. Never blocks.
  /// Result: the problem; empty on success.
  ELASTIC_DECL std::string send(std::string_view bytes, const std::vector<int>& descriptors = {});

  /// Whether it has neither closed its socket nor sent anything that is still unread.
  ELASTIC_DECL bool is_silent();

  /// Waits until it is no longer silent or has ended. One call at a time, and not during
  /// `next_message` or `wait`. Cancellation: all types; throws `operation_aborted`.
  ELASTIC_DECL task<void> until_heard();

  /// Raises its priority to that of a worker, if it yielded the processors. If the kernel refuses
  /// that, nothing changes.
  ELASTIC_DECL void raise_priority();

  ELASTIC_DECL void kill() noexcept;

  /// Waits until it has ended. Cancellation: all types; throws `operation_aborted`.
  ELASTIC_DECL task<exit_status> wait();

  /// Kills what is left of its tree and waits until it is gone.
  /// Cancellation: all types; the tree has already been killed.
  ELASTIC_DECL task<void> end();

  /// Passes the process, which is a worker from now on, to the caller.
  ELASTIC_DECL std::unique_ptr<child> release();

 private:
  asio::posix::stream_descriptor socket_;
  std::unique_ptr<child> process_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/python/detail/standby_process.ipp>
#endif
