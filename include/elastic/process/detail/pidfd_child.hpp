// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_descriptor.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/process/child.hpp>
#include <elastic/process/detail/process_tree.hpp>
#include <elastic/process/detail/reaper.hpp>
#include <elastic/process/detail/syscalls.hpp>
#include <elastic/process/exit_status.hpp>

#include <sys/types.h>

#include <optional>
#include <vector>

namespace elastic::detail {

/// A process of this machine, held by its pidfd, that leads its own session.
///
/// Its tree consists of its session and of the descendants outside of the session that can be
/// found: they were seen before a signal was sent, or are children of a process in the tree. A
/// daemon that had already left the session and lost its parent is not found.
///
/// It never signals a pid that may have been reused: signals go through pidfds, and a pidfd becomes
/// a member only once its process was seen in the tree while the pidfd was held. Until `end_tree`,
/// the ended process stays a zombie, so the kernel reuses neither its pid nor its session id.
///
/// Thread-safety: one strand at a time.
class pidfd_child final : public child {
 public:
  /// Takes over a direct child of this process that has called `setsid`, and its pidfd.
  /// @param linger  the time that processes which it leaves behind may take to end by themselves
  /// Errors: `errc::start_failed` if the pidfd cannot be waited on; the process is then killed.
  ELASTIC_DECL pidfd_child(const asio::any_io_executor& executor, pid_t pid, int pidfd,
                           const syscalls& calls, duration linger = duration::zero());

  pidfd_child(const pidfd_child&) = delete;
  pidfd_child& operator=(const pidfd_child&) = delete;
  ELASTIC_DECL ~pidfd_child() override;

  pid_t pid() const noexcept override { return pid_; }

  ELASTIC_DECL bool signal(int number) noexcept override;
  ELASTIC_DECL bool signal_process(int number) noexcept override;
  ELASTIC_DECL void signal_others(int number) noexcept override;
  ELASTIC_DECL task<exit_status> wait() override;
  ELASTIC_DECL std::vector<pid_t> left() override;
  ELASTIC_DECL task<void> end_tree() override;
  std::vector<leftover> killed_leftovers() const override { return killed_; }

 private:
  // A process whose pidfd is held, so that it cannot be confused with another.
  struct pinned {
    pid_t pid;
    unique_fd pidfd;
  };

  ELASTIC_DECL int wait_id(int pidfd, siginfo_t& info, int options) const noexcept;

  // Records the end if there is one, and leaves the zombie.
  ELASTIC_DECL void look() noexcept;
  ELASTIC_DECL void reap() noexcept;
  ELASTIC_DECL void signal_group(int number) noexcept;

  // Whether the number is still in use, as it is while a process of the tree has it as its session
  // id.
  ELASTIC_DECL bool session_in_use() noexcept;
  ELASTIC_DECL bool alive(const pinned& held) const noexcept;
  ELASTIC_DECL bool kill(const pinned& held) const noexcept;

  // Opens a pidfd and then reads the process's entry. If the process still exists after that, the
  // entry is its own.
  ELASTIC_DECL std::optional<process_entry> pin(pid_t pid, pinned& held) const;
  ELASTIC_DECL static bool holds(const std::vector<pinned>& members, pid_t pid);

  // A host with this many open descriptors cannot spare two more for each process.
  static constexpr int most_descriptors = 1000;

  // The processes of the tree that were found: helpers, which end by themselves once the others
  // have, and these others.
  struct found_members {
    std::vector<pinned> others;
    std::vector<pinned> trackers;
    std::vector<pinned> managers;

    bool has_helper() const { return !trackers.empty() || !managers.empty(); }
  };

  // How often members are killed one by one, because a helper is among them, before the helper is
  // killed with its group: otherwise members that fork could outrun the kills.
  static constexpr int most_rounds_with_helpers = 8;

  // Opens the lists early. Finding them in /proc when a signal is due takes twenty times longer
  // than reading them, while the other processes wait for the same signal.
  ELASTIC_DECL void open_lists() noexcept;

  // Whether the process certainly has no child: it has one thread (a directory has two links, plus
  // one for each subdirectory), and the list of that thread is empty.
  ELASTIC_DECL bool is_childless() const noexcept;

  // Finds the descendants that have left the session. Must run before a signal: once their parents
  // have ended, nothing shows whose they were. Result: whether a descendant is a helper that cleans
  // up.
  ELASTIC_DECL bool find_outsiders() noexcept;
  ELASTIC_DECL void consider(pid_t pid, pid_t parent, std::vector<pinned>& tree);

  // Kills the process and its group if the group has no helper; otherwise, only those members that
  // are not helpers.
  ELASTIC_DECL void kill_all() noexcept;

  // Finds the processes of the tree; helpers are among the others unless they are to be spared.
  //
  // The process keeps its pid and its session id until it is reaped. Right after that, the number
  // is checked: if it is in use but no process has it as its pid, it is our session's, since a
  // foreign session would first need a process with that pid.
  ELASTIC_DECL found_members find_members(bool spares_helpers);

  // Sends SIGKILL to them. Result: those that could be killed.
  ELASTIC_DECL found_members kill_members(bool spares_helpers) noexcept;
  ELASTIC_DECL void add_killed(pid_t pid);

  // Waits until all processes that it left behind have ended, their time is over, or SIGKILL is
  // requested.
  ELASTIC_DECL task<void> linger();

  // Waits until a killed process has ended; reaps it if it was reparented to us (as happens to the
  // first process of a container).
  ELASTIC_DECL task<void> gone(unique_fd pidfd);

  // Leaves helpers to end in the background.
  ELASTIC_DECL void leave(std::vector<pinned> helpers, guard_helper kind) noexcept;
  ELASTIC_DECL task<void> all_gone(std::vector<pinned> members);

  const syscalls& calls_;
  asio::posix::stream_descriptor descriptor_;
  // Looked up at the start: the execution context may be shutting down at the end.
  reaper& reaper_;
  pid_t pid_;
  pid_t owner_;
  duration linger_;
  event_flag hurried_;
  std::optional<exit_status> status_;
  // Its owner has killed it.
  bool was_killed_ = false;
  std::vector<leftover> killed_;
  bool reaped_ = false;
  bool number_lost_ = false;
  bool tree_ended_ = false;
  std::vector<pinned> outsiders_;
  unique_fd threads_;
  unique_fd children_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/pidfd_child.ipp>
#endif
