// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_descriptor.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/process/child.hpp>
#include <elastic/process/detail/guard_protocol.hpp>
#include <elastic/process/detail/reaper.hpp>
#include <elastic/process/detail/syscalls.hpp>
#include <elastic/process/exit_status.hpp>

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// A message from a guard, with the descriptor attached to it.
struct received_news {
  guard_message message{};
  unique_fd attached;

  std::string_view command() const {
    return {message.command, static_cast<std::size_t>(message.size)};
  }
};

/// Receives the next message. Result: empty if none has arrived. `has_ended` then says whether the
/// socket is closed, so that none will arrive.
ELASTIC_DECL std::optional<received_news> receive_news(int socket, bool& has_ended) noexcept;

ELASTIC_DECL exit_status as_exit_status(int waited);

/// The state of a guard that does not answer.
struct guard_standstill {
  /// 'T', 'S', … as in `ps`; '?': unknown.
  char state = '?';
  /// The debugger or tracer; 0: none.
  pid_t tracer = 0;

  bool is_stopped() const { return state == 'T' || state == 't'; }

  /// "it is stopped", "process 7 traces it", "it is in state S".
  ELASTIC_DECL std::string text() const;
};

ELASTIC_DECL guard_standstill look_at_guard(int pidfd);

/// A process behind a guard. Everything that it starts, daemons included, ends when it ends, when
/// this object is destroyed, or when this program ends in any way.
///
/// Thread-safety: one strand at a time.
class guarded_child final : public child {
 public:
  /// Takes over the guard of a started worker: the guard's socket and pidfd, and the worker's
  /// pidfd.
  ELASTIC_DECL guarded_child(const asio::any_io_executor& executor, pid_t worker,
                             unique_fd worker_pidfd, asio::posix::stream_descriptor socket,
                             asio::posix::stream_descriptor guard, logger log,
                             const syscalls& calls);
  guarded_child(const guarded_child&) = delete;
  guarded_child& operator=(const guarded_child&) = delete;

  /// The guard ends the tree when the socket closes.
  ELASTIC_DECL ~guarded_child() override;

  pid_t pid() const noexcept override { return pid_; }

  ELASTIC_DECL bool signal(int number) noexcept override;
  ELASTIC_DECL bool signal_process(int number) noexcept override;
  ELASTIC_DECL void signal_others(int number) noexcept override;
  ELASTIC_DECL task<exit_status> wait() override;
  ELASTIC_DECL task<void> end_tree() override;

  /// The children of the guard: the worker, and the survivors of its tree, which the kernel
  /// reparents to the guard.
  ELASTIC_DECL std::vector<pid_t> left() override;
  std::vector<leftover> killed_leftovers() const override { return killed_; }

 private:
  // Waits until the guard has sent something, or until another caller's `look` has received it.
  ELASTIC_DECL task<void> news();
  ELASTIC_DECL task<void> end_told();
  ELASTIC_DECL task<void> emptiness_told();

  // Waits for the end of the worker itself, which the guard has yet to report.
  ELASTIC_DECL task<void> worker_ended();

  // Continues the guard in case it was stopped, by the worker or by a signal that was meant for the
  // worker.
  ELASTIC_DECL void wake_guard() noexcept;

  // Kills a guard that does not answer, and says why.
  ELASTIC_DECL void give_up_guard(const guard_standstill& why) noexcept;
  ELASTIC_DECL void reap_guard() noexcept;
  ELASTIC_DECL void send(unsigned char request) noexcept;

  // Receives everything that the guard has sent, and wakes all waiters.
  ELASTIC_DECL void look() noexcept;

  // Handles a killed guard. The worker was its child and dies with it.
  ELASTIC_DECL void lose_guard() noexcept;

  const syscalls& calls_;
  reaper& reaper_;
  asio::posix::stream_descriptor socket_;
  asio::posix::stream_descriptor guard_;
  asio::posix::stream_descriptor worker_;
  pid_t pid_;
  pid_t owner_;
  logger log_;
  std::optional<exit_status> status_;
  std::vector<leftover> killed_;
  // No process of the tree is left, or the guard is gone, so that this is unknown.
  bool is_empty_ = false;
  // Helpers are left, but only the guard waits for them.
  bool has_helpers_ = false;
  bool is_reaped_ = false;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/guarded_child.ipp>
#endif
