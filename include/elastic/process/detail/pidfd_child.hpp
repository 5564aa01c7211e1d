// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_descriptor.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/task.hpp>
#include <elastic/process/child.hpp>
#include <elastic/process/detail/process_tree.hpp>
#include <elastic/process/detail/reaper.hpp>
#include <elastic/process/detail/syscalls.hpp>
#include <elastic/process/exit_status.hpp>

#include <sys/types.h>

#include <optional>
#include <vector>

namespace elastic::detail {

/// A process of this machine, held by its pidfd, that leads a session of its own.
///
/// What counts as its tree: its session, and those descendants outside of it that can be found:
/// seen as such before a signal was sent, or children of a process that is in the tree. A daemon
/// that had cut both ties before is not found.
///
/// No number is ever signalled that could have passed to a stranger: signals go through pidfds,
/// and a pidfd counts as a member only after its place in the tree was seen while it was held.
/// Until `end_tree` the ended process stays a zombie, which keeps its number, and with it that of
/// its session, from being given away.
///
/// Thread-safety: one strand at a time.
class pidfd_child final : public child {
 public:
  /// Takes over a direct child of this process that has called `setsid`, and its pidfd.
  /// Errors: `errc::start_failed` if the pidfd cannot be waited for; the process is killed then.
  ELASTIC_DECL pidfd_child(const asio::any_io_executor& executor, pid_t pid, int pidfd,
                           const syscalls& calls);

  pidfd_child(const pidfd_child&) = delete;
  pidfd_child& operator=(const pidfd_child&) = delete;
  ELASTIC_DECL ~pidfd_child() override;

  pid_t pid() const noexcept override { return pid_; }

  ELASTIC_DECL bool signal(int number) noexcept override;
  ELASTIC_DECL task<exit_status> wait() override;
  ELASTIC_DECL std::vector<pid_t> left() override;
  ELASTIC_DECL task<void> end_tree() override;

 private:
  // A process that cannot be mistaken for another for as long as it is held.
  struct pinned {
    pid_t pid;
    unique_fd pidfd;
  };

  ELASTIC_DECL int wait_id(int pidfd, siginfo_t& info, int options) const noexcept;

  // Takes note of the end if there is one, and leaves the zombie.
  ELASTIC_DECL void look() noexcept;
  ELASTIC_DECL void reap() noexcept;
  ELASTIC_DECL void signal_group(int number) noexcept;

  // Where one of the tree still has the number as that of its session, it is still in use.
  ELASTIC_DECL bool session_in_use() noexcept;
  ELASTIC_DECL bool alive(const pinned& held) const noexcept;
  ELASTIC_DECL bool kill(const pinned& held) const noexcept;

  // Holds a process and then reads its entry, which is its own if it is there after that, too.
  ELASTIC_DECL std::optional<process_entry> pin(pid_t pid, pinned& held) const;
  ELASTIC_DECL static bool holds(const std::vector<pinned>& members, pid_t pid);

  // A host with so many open has no two to spare for each process.
  static constexpr int most_descriptors = 1000;

  // Opened while there is time: to find them in /proc when a signal is due costs twenty times more
  // than to read them, and the others are waiting for the same signal.
  ELASTIC_DECL void open_lists() noexcept;

  // Whether it is known at once that the process has no child: it has one thread (a directory has
  // two links, and one for each directory in it), and the list of that thread is empty.
  ELASTIC_DECL bool is_childless() const noexcept;

  // Finds the descendants that have left the session. To be done before a signal: when their
  // parents have ended nobody can tell any more whose they were.
  ELASTIC_DECL void note_outsiders() noexcept;
  ELASTIC_DECL void consider(pid_t pid, pid_t parent, std::vector<pinned>& tree);

  // Sends SIGKILL to all of the tree that can be found; returns those who could be killed.
  //
  // The process itself keeps its number, and that of its session, until it is reaped. Right after
  // that the number is looked at: if it is in use and no process has it, it is that of our
  // session, since a stranger would first have to become a process of that number.
  ELASTIC_DECL std::vector<pinned> kill_members() noexcept;

  // Waits until a killed process has ended; reaps it if it has fallen to us (as it does to the
  // first process of a container).
  ELASTIC_DECL task<void> gone(unique_fd pidfd);

  const syscalls& calls_;
  asio::posix::stream_descriptor descriptor_;
  // Found at the start: the context may be on its way out at the end.
  reaper& reaper_;
  pid_t pid_;
  pid_t owner_;
  std::optional<exit_status> status_;
  bool reaped_ = false;
  bool number_lost_ = false;
  bool tree_ended_ = false;
  std::vector<pinned> outsiders_;
  unique_fd threads_;
  unique_fd children_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/impl/pidfd_child.ipp>
#endif
