// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/process/child.hpp>
#include <elastic/process/detail/reaper.hpp>
#include <elastic/process/detail/syscalls.hpp>
#include <elastic/process/detail/unique_fd.hpp>
#include <elastic/process/process_tree.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic {

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
  /// Errors: `errc::start_failed` where the pidfd cannot be waited for; the process is killed then.
  pidfd_child(const asio::any_io_executor& executor, pid_t pid, int pidfd,
              const detail::syscalls& calls)
      : calls_(calls),
        descriptor_(executor),
        reaper_(detail::reaper::of(executor)),
        pid_(pid),
        owner_(::getpid()) {
    asio::error_code failure;
    descriptor_.assign(pidfd, failure);
    if (!failure) return;
    calls_.pidfd_send_signal(pidfd, SIGKILL, 0);
    siginfo_t ignored{};
    detail::uninterrupted([&] { return wait_id(pidfd, ignored, WEXITED); });
    ::close(pidfd);
    throw error(errc::start_failed,
                fmt::format("process {} cannot be waited for: {}", pid, failure.message()));
  }

  pidfd_child(const pidfd_child&) = delete;
  pidfd_child& operator=(const pidfd_child&) = delete;

  ~pidfd_child() override {
    // The copy that a fork of the host leaves behind owns nothing.
    if (::getpid() != owner_ || tree_ended_) return;
    if (!status_) note_outsiders();
    signal_group(SIGKILL);
    look();
    if (status_) reap();
    kill_members();
    if (!reaped_) reaper_.adopt(std::move(descriptor_), calls_);
  }

  pid_t pid() const noexcept override { return pid_; }

  bool signal(int number) noexcept override {
    look();
    if (status_) return false;
    if (number != SIGCONT) note_outsiders();
    signal_group(number);
    return true;
  }

  task<exit_status> wait() override {
    look();
    if (!status_) open_lists();
    while (!status_) {
      co_await descriptor_.async_wait(asio::posix::stream_descriptor::wait_read,
                                      asio::use_awaitable);
      look();
    }
    co_return *status_;
  }

  std::vector<pid_t> left() override {
    std::vector<pid_t> found;
    for (const process_entry& entry : select_tree(read_processes(), pid_, {pid_})) {
      found.push_back(entry.pid);
    }
    return found;
  }

  task<void> end_tree() override {
    if (!status_) {
      note_outsiders();
      signal_group(SIGKILL);
      co_await wait();
    }
    reap();
    for (;;) {
      std::vector<pinned> dying = kill_members();
      if (dying.empty()) break;
      for (pinned& one : dying) co_await gone(std::move(one.pidfd));
    }
    outsiders_.clear();
    threads_.reset();
    children_.reset();
    tree_ended_ = true;
  }

 private:
  // A process that cannot be mistaken for another for as long as it is held.
  struct pinned {
    pid_t pid;
    detail::unique_fd pidfd;
  };

  int wait_id(int pidfd, siginfo_t& info, int options) const noexcept {
    return calls_.waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd), &info, options);
  }

  // Takes note of the end where there is one, and leaves the zombie.
  void look() noexcept {
    if (status_) return;
    siginfo_t info{};
    const int result = detail::uninterrupted([&] {
      return wait_id(descriptor_.native_handle(), info, WEXITED | WNOHANG | WNOWAIT);
    });
    if (result != 0) {
      // Somebody else has taken the status, and with it the number is free.
      status_ = exit_status::unknown();
      reaped_ = number_lost_ = true;
    } else if (info.si_pid != 0) {
      status_ = info.si_code == CLD_EXITED
                    ? exit_status::exited(info.si_status)
                    : exit_status::signalled(info.si_status, info.si_code == CLD_DUMPED);
    }
  }

  void reap() noexcept {
    if (reaped_) return;
    siginfo_t ignored{};
    const int result = detail::uninterrupted(
        [&] { return wait_id(descriptor_.native_handle(), ignored, WEXITED | WNOHANG); });
    reaped_ = true;
    number_lost_ = result != 0;
  }

  void signal_group(int number) noexcept {
    const int pidfd = descriptor_.native_handle();
    if (calls_.pidfd_send_signal(pidfd, number, detail::pidfd_signal_process_group) == 0) return;
    if (errno == ESRCH || reaped_) return;
    // A kernel before 6.9, or a filter. While it is our child that nobody has reaped, its number
    // is that of its group and of no other.
    siginfo_t info{};
    if (wait_id(pidfd, info, WEXITED | WNOHANG | WNOWAIT) == 0) calls_.kill(-pid_, number);
  }

  // Where one of the tree still has the number as that of its session, it is still in use.
  bool session_in_use() noexcept {
    if (number_lost_) return false;
    return calls_.set_owner(descriptor_.native_handle(), -pid_) == 0 || errno != ESRCH;
  }

  bool alive(const pinned& one) const noexcept {
    return calls_.pidfd_send_signal(one.pidfd.get(), 0, 0) == 0 || errno == EPERM;
  }

  bool kill(const pinned& one) const noexcept {
    return calls_.pidfd_send_signal(one.pidfd.get(), SIGKILL, 0) == 0;
  }

  // Holds a process and then reads its entry, which is its own if it is there after that, too.
  std::optional<process_entry> pin(pid_t pid, pinned& held) const {
    held.pid = pid;
    held.pidfd = detail::unique_fd(calls_.pidfd_open(pid));
    if (!held.pidfd) return std::nullopt;
    const std::optional<process_entry> entry = read_process(pid);
    if (!entry || !alive(held)) return std::nullopt;
    return entry;
  }

  static bool holds(const std::vector<pinned>& all, pid_t pid) {
    return std::any_of(all.begin(), all.end(), [&](const pinned& one) { return one.pid == pid; });
  }

  // A host with so many open has no two to spare for each process.
  static constexpr int most_descriptors = 1000;

  // Opened while there is time: to find them in /proc when a signal is due costs twenty times more
  // than to read them, and the others are waiting for the same signal.
  void open_lists() noexcept try {
    if (threads_ || descriptor_.native_handle() > most_descriptors) return;
    const std::string threads = fmt::format("/proc/{}/task", pid_);
    const std::string children = fmt::format("{}/{}/children", threads, pid_);
    threads_ = detail::unique_fd(::open(threads.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    children_ = detail::unique_fd(::open(children.c_str(), O_RDONLY | O_CLOEXEC));
  } catch (...) {
    // Without them it takes longer.
  }

  // Whether it is known at once that the process has no child: it has one thread (a directory has
  // two links, and one for each directory in it), and the list of that thread is empty.
  bool is_childless() const noexcept {
    struct stat status {};
    char byte;
    return threads_ && children_ && ::fstat(threads_.get(), &status) == 0 &&
           status.st_nlink == 3 && ::pread(children_.get(), &byte, 1, 0) == 0;
  }

  // Finds the descendants that have left the session. To be done before a signal: when their
  // parents have ended nobody can tell any more whose they were.
  void note_outsiders() noexcept try {
    if (is_childless()) return;
    std::vector<pinned> tree;
    for (pid_t next : read_children(pid_)) consider(next, pid_, tree);
    for (std::size_t i = 0; i < tree.size(); ++i) {
      const pid_t parent = tree[i].pid;
      for (pid_t next : read_children(parent)) consider(next, parent, tree);
    }
    std::erase_if(outsiders_, [&](const pinned& one) {
      return holds(tree, one.pid) || !alive(one);
    });
    for (pinned& one : tree) {
      const auto entry = read_process(one.pid);
      if (entry && entry->session != pid_) outsiders_.push_back(std::move(one));
    }
  } catch (...) {
    // Without memory for the list the session alone is ended.
  }

  void consider(pid_t pid, pid_t parent, std::vector<pinned>& tree) {
    pinned held{pid, {}};
    const auto entry = pin(pid, held);
    if (entry && entry->parent == parent && !holds(tree, pid)) tree.push_back(std::move(held));
  }

  // Sends SIGKILL to all of the tree that can be found; returns those who could be killed.
  //
  // The process itself keeps its number, and that of its session, until it is reaped. Right after
  // that the number is looked at: if it is in use and no process has it, it is that of our
  // session, since a stranger would first have to become a process of that number.
  std::vector<pinned> kill_members() noexcept try {
    signal_group(SIGKILL);
    std::erase_if(outsiders_, [&](const pinned& one) { return !alive(one); });
    const bool in_use = session_in_use();
    if (!in_use && outsiders_.empty()) return {};

    const std::vector<process_entry> all = read_processes();
    const bool taken_over =
        reaped_ && std::any_of(all.begin(), all.end(),
                               [&](const process_entry& one) { return one.pid == pid_; });
    const pid_t session = in_use && !taken_over ? pid_ : 0;
    std::vector<pid_t> roots;
    for (const pinned& one : outsiders_) roots.push_back(one.pid);

    std::vector<pinned> members;
    for (const process_entry& found : select_tree(all, session, roots)) {
      pinned held{found.pid, {}};
      const auto entry = pin(found.pid, held);
      if (!entry || entry->start_time != found.start_time) continue;
      const bool is_ours = (session != 0 && entry->session == session) ||
                           holds(outsiders_, entry->pid) || holds(members, entry->parent);
      if (is_ours) members.push_back(std::move(held));
    }
    std::erase_if(members, [&](const pinned& one) { return !kill(one); });
    return members;
  } catch (...) {
    return {};
  }

  // Waits until a killed process has ended; reaps it where it has fallen to us (as it does to the
  // first process of a container).
  task<void> gone(detail::unique_fd pidfd) {
    asio::posix::stream_descriptor ending(descriptor_.get_executor());
    ending.assign(pidfd.get());
    pidfd.release();
    co_await ending.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
    siginfo_t ignored{};
    wait_id(ending.native_handle(), ignored, WEXITED | WNOHANG);
  }

  const detail::syscalls& calls_;
  asio::posix::stream_descriptor descriptor_;
  // Found at the start: the context may be on its way out at the end.
  detail::reaper& reaper_;
  pid_t pid_;
  pid_t owner_;
  std::optional<exit_status> status_;
  bool reaped_ = false;
  bool number_lost_ = false;
  bool tree_ended_ = false;
  std::vector<pinned> outsiders_;
  detail::unique_fd threads_;
  detail::unique_fd children_;
};

}  // namespace elastic
