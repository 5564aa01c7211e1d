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

#include <optional>
#include <vector>

namespace elastic::detail {

/// A message of a guard with what was attached to it.
struct received_news {
  guard_message message{};
  unique_fd attached;
};

/// Result: the next message; empty if none has come yet, or with `has_ended` none will.
ELASTIC_DECL std::optional<received_news> receive_news(int socket, bool& has_ended) noexcept;

ELASTIC_DECL exit_status as_exit_status(int waited);

/// A process behind a guard: all that it ever starts, daemons too, ends with it, with this object
/// and with this program, however they end.
///
/// Thread-safety: one strand at a time.
class guarded_child final : public child {
 public:
  /// Takes over the guard of a worker that was started: its pidfd, the socket to it, and the
  /// worker's pidfd.
  ELASTIC_DECL guarded_child(const asio::any_io_executor& executor, pid_t worker,
                             unique_fd worker_pidfd, asio::posix::stream_descriptor socket,
                             unique_fd guard_pidfd, logger log, const syscalls& calls);
  guarded_child(const guarded_child&) = delete;
  guarded_child& operator=(const guarded_child&) = delete;

  /// The guard ends the tree when the socket closes.
  ELASTIC_DECL ~guarded_child() override;

  pid_t pid() const noexcept override { return pid_; }

  ELASTIC_DECL bool signal(int number) noexcept override;
  ELASTIC_DECL task<exit_status> wait() override;
  ELASTIC_DECL task<void> end_tree() override;

  /// What lives of the tree has fallen, or will fall, to the guard.
  ELASTIC_DECL std::vector<pid_t> left() override;

 private:
  // Waits until the guard has sent something, or `look` has taken it in for another caller.
  ELASTIC_DECL task<void> news();
  ELASTIC_DECL void reap_guard() noexcept;
  ELASTIC_DECL void send(unsigned char request) noexcept;

  // Takes in all that the guard has sent, and wakes those who wait for it.
  ELASTIC_DECL void look() noexcept;

  // The guard was killed. Its worker, whose parent it was, dies with it.
  ELASTIC_DECL void lose_guard() noexcept;

  const syscalls& calls_;
  reaper& reaper_;
  asio::posix::stream_descriptor socket_;
  asio::posix::stream_descriptor guard_;
  unique_fd worker_;
  pid_t pid_;
  pid_t owner_;
  logger log_;
  std::optional<exit_status> status_;
  // Nothing of the tree is left, or the guard that could tell is gone.
  bool is_empty_ = false;
  bool is_reaped_ = false;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/impl/guarded_child.ipp>
#endif
