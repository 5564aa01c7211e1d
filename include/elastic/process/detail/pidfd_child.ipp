// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/detail/pidfd_child.hpp>

#include <elastic/base/detail/asio_tasks.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/race.hpp>
#include <elastic/base/time.hpp>
#include <elastic/process/detail/session_signal.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL pidfd_child::pidfd_child(const asio::any_io_executor& executor, pid_t pid, int pidfd,
                                      const syscalls& calls, duration linger)
    : calls_(calls),
      descriptor_(executor),
      reaper_(reaper::of(executor)),
      pid_(pid),
      owner_(::getpid()),
      linger_(linger),
      hurried_(executor) {
  asio_error_code failure;
  descriptor_.assign(pidfd, failure);
  if (!failure) return;
  calls_.pidfd_send_signal(pidfd, SIGKILL, 0);
  siginfo_t ignored{};
  uninterrupted([&] { return wait_id(pidfd, ignored, WEXITED); });
  ::close(pidfd);
  throw error(errc::start_failed,
              fmt::format("process {} cannot be waited for: {}", pid, failure.message()));
}

ELASTIC_DECL pidfd_child::~pidfd_child() {
  // In a fork of the host, this copy owns nothing.
  if (::getpid() != owner_ || tree_ended_) return;
  if (!status_) kill_all();
  look();
  if (status_) reap();
  found_members found = kill_members(true);
  leave(std::move(found.trackers), guard_helper::tracker);
  leave(std::move(found.managers), guard_helper::manager);
  if (!reaped_) reaper_.adopt(std::move(descriptor_), calls_);
}

ELASTIC_DECL bool pidfd_child::signal(int number) noexcept {
  look();
  if (status_ && number == SIGKILL) hurried_.set();
  if (status_) return false;
  if (number == SIGKILL) {
    kill_all();
    return true;
  }
  if (number != SIGCONT) find_outsiders();
  signal_group(number);
  return true;
}

ELASTIC_DECL bool pidfd_child::signal_process(int number) noexcept {
  look();
  if (status_) return false;
  find_outsiders();
  const int pidfd = descriptor_.native_handle();
  if (calls_.pidfd_send_signal(pidfd, number, 0) == 0 || errno == ESRCH) return true;
  // A filter of system calls may refuse that call.
  return signal(number);
}

ELASTIC_DECL void pidfd_child::signal_others(int number) noexcept {
  look();
  if (status_) return;
  find_outsiders();
  signal_session_but_leader(pid_, descriptor_.native_handle(), number, calls_);
}

ELASTIC_DECL task<exit_status> pidfd_child::wait() {
  look();
  if (!status_) open_lists();
  while (!status_) {
    co_await descriptor_.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
    look();
  }
  co_return *status_;
}

ELASTIC_DECL std::vector<pid_t> pidfd_child::left() {
  std::vector<pid_t> pids;
  for (const process_entry& entry : select_tree(read_processes(), pid_, {pid_})) {
    pids.push_back(entry.pid);
  }
  return pids;
}

ELASTIC_DECL task<void> pidfd_child::end_tree() {
  if (!status_) {
    kill_all();
    co_await wait();
  }
  reap();
  if (!was_killed_ && linger_ > duration::zero()) co_await linger();
  system_time time;
  bool spares_helpers = true;
  for (int round = 0;; ++round) {
    found_members found = kill_members(spares_helpers && round < most_rounds_with_helpers);
    if (!found.others.empty()) {
      co_await all_gone(std::move(found.others));
    } else if (!found.trackers.empty()) {
      const time_point patience_ends =
          deadline_after(time.now(), patience_with(guard_helper::tracker));
      task<void> ending = all_gone(std::move(found.trackers));
      spares_helpers = co_await with_deadline(time, patience_ends, std::move(ending));
    } else {
      leave(std::move(found.managers), guard_helper::manager);
      break;
    }
  }
  outsiders_.clear();
  threads_.reset();
  children_.reset();
  tree_ended_ = true;
}

ELASTIC_DECL int pidfd_child::wait_id(int pidfd, siginfo_t& info, int options) const noexcept {
  return calls_.waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd), &info, options);
}

ELASTIC_DECL void pidfd_child::look() noexcept {
  if (status_) return;
  siginfo_t info{};
  const int result = uninterrupted(
      [&] { return wait_id(descriptor_.native_handle(), info, WEXITED | WNOHANG | WNOWAIT); });
  if (result != 0) {
    // Other code has taken the status, so the pid may be reused.
    status_ = exit_status::unknown();
    reaped_ = number_lost_ = true;
  } else if (info.si_pid != 0) {
    status_ = info.si_code == CLD_EXITED
                  ? exit_status::exited(info.si_status)
                  : exit_status::signalled(info.si_status, info.si_code == CLD_DUMPED);
  }
}

ELASTIC_DECL void pidfd_child::reap() noexcept {
  if (reaped_) return;
  siginfo_t ignored{};
  const int result = uninterrupted(
      [&] { return wait_id(descriptor_.native_handle(), ignored, WEXITED | WNOHANG); });
  reaped_ = true;
  number_lost_ = result != 0;
}

ELASTIC_DECL void pidfd_child::signal_group(int number) noexcept {
  const int pidfd = descriptor_.native_handle();
  if (calls_.pidfd_send_signal(pidfd, number, pidfd_signal_process_group) == 0) return;
  if (errno == ESRCH || reaped_) return;
  // The kernel is older than 6.9, or a filter refused the call. As long as our child is not reaped,
  // its pid cannot name any other process group.
  siginfo_t info{};
  if (wait_id(pidfd, info, WEXITED | WNOHANG | WNOWAIT) == 0) calls_.kill(-pid_, number);
}

ELASTIC_DECL bool pidfd_child::session_in_use() noexcept {
  if (number_lost_) return false;
  return calls_.set_owner(descriptor_.native_handle(), -pid_) == 0 || errno != ESRCH;
}

ELASTIC_DECL bool pidfd_child::alive(const pinned& held) const noexcept {
  return calls_.pidfd_send_signal(held.pidfd.get(), 0, 0) == 0 || errno == EPERM;
}

ELASTIC_DECL bool pidfd_child::kill(const pinned& held) const noexcept {
  return calls_.pidfd_send_signal(held.pidfd.get(), SIGKILL, 0) == 0;
}

ELASTIC_DECL std::optional<process_entry> pidfd_child::pin(pid_t pid, pinned& held) const {
  held.pid = pid;
  held.pidfd = unique_fd(calls_.pidfd_open(pid));
  if (!held.pidfd) return std::nullopt;
  const std::optional<process_entry> entry = read_process(pid);
  if (!entry || !alive(held)) return std::nullopt;
  return entry;
}

ELASTIC_DECL bool pidfd_child::holds(const std::vector<pinned>& members, pid_t pid) {
  return std::any_of(members.begin(), members.end(),
                     [&](const pinned& held) { return held.pid == pid; });
}

ELASTIC_DECL void pidfd_child::open_lists() noexcept try {
  if (threads_ || descriptor_.native_handle() > most_descriptors) return;
  const std::string threads = fmt::format("/proc/{}/task", pid_);
  const std::string children = fmt::format("{}/{}/children", threads, pid_);
  threads_ = unique_fd(::open(threads.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  children_ = unique_fd(::open(children.c_str(), O_RDONLY | O_CLOEXEC));
} catch (...) {
  // Without the lists, finding the children takes longer.
}

ELASTIC_DECL bool pidfd_child::is_childless() const noexcept {
  struct stat status{};
  char byte;
  return threads_ && children_ && ::fstat(threads_.get(), &status) == 0 && status.st_nlink == 3 &&
         ::pread(children_.get(), &byte, 1, 0) == 0;
}

ELASTIC_DECL bool pidfd_child::find_outsiders() noexcept try {
  if (is_childless()) return false;
  std::vector<pinned> tree;
  for (pid_t next : read_children(pid_)) consider(next, pid_, tree);
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const pid_t parent = tree[i].pid;
    for (pid_t next : read_children(parent)) consider(next, parent, tree);
  }
  std::erase_if(outsiders_,
                [&](const pinned& held) { return holds(tree, held.pid) || !alive(held); });
  bool has_helper = false;
  for (pinned& held : tree) {
    has_helper = has_helper || kind_of_helper(held.pid);
    const auto entry = read_process(held.pid);
    if (entry && entry->session != pid_) outsiders_.push_back(std::move(held));
  }
  return has_helper;
} catch (...) {
  // Without memory for the list, only the session is killed.
  return false;
}

ELASTIC_DECL void pidfd_child::consider(pid_t pid, pid_t parent, std::vector<pinned>& tree) {
  pinned held{pid, {}};
  const auto entry = pin(pid, held);
  if (entry && entry->parent == parent && !holds(tree, pid)) tree.push_back(std::move(held));
}

ELASTIC_DECL task<void> pidfd_child::linger() {
  system_time time;
  const time_point linger_ends = deadline_after(time.now(), linger_);
  while (!hurried_.is_set()) {
    found_members found = find_members(false);
    if (found.others.empty()) co_return;
    task<std::size_t> ending = race(all_gone(std::move(found.others)), hurried_.wait());
    const auto ended = co_await with_deadline(time, linger_ends, std::move(ending));
    if (!ended) co_return;
  }
}

ELASTIC_DECL void pidfd_child::kill_all() noexcept {
  was_killed_ = true;
  if (!find_outsiders()) return signal_group(SIGKILL);
  calls_.pidfd_send_signal(descriptor_.native_handle(), SIGKILL, 0);
  kill_members(true);
}

ELASTIC_DECL auto pidfd_child::find_members(bool spares_helpers) -> found_members {
  std::erase_if(outsiders_, [&](const pinned& held) { return !alive(held); });
  const bool in_use = session_in_use();
  if (!in_use && outsiders_.empty()) return {};

  const std::vector<process_entry> entries = read_processes();
  const bool taken_over =
      reaped_ && std::any_of(entries.begin(), entries.end(),
                             [&](const process_entry& other) { return other.pid == pid_; });
  const pid_t session = in_use && !taken_over ? pid_ : 0;
  std::vector<pid_t> roots;
  for (const pinned& held : outsiders_) roots.push_back(held.pid);

  found_members found;
  std::vector<pinned> members;
  for (const process_entry& candidate : select_tree(entries, session, roots)) {
    pinned held{candidate.pid, {}};
    const auto entry = pin(candidate.pid, held);
    if (!entry || entry->start_time != candidate.start_time) continue;
    const bool is_ours = (session != 0 && entry->session == session) ||
                         holds(outsiders_, entry->pid) || holds(members, entry->parent);
    if (is_ours) members.push_back(std::move(held));
  }
  for (pinned& held : members) {
    const bool may_be_helper = spares_helpers && held.pid != pid_;
    const auto kind = may_be_helper ? kind_of_helper(held.pid) : std::nullopt;
    std::vector<pinned>& kin = !kind ? found.others
                               : *kind == guard_helper::tracker ? found.trackers
                                                                : found.managers;
    kin.push_back(std::move(held));
  }
  return found;
}

ELASTIC_DECL auto pidfd_child::kill_members(bool spares_helpers) noexcept -> found_members try {
  found_members found = find_members(spares_helpers);
  // Continues the helpers, since a stopped one could not end.
  for (const auto* helpers : {&found.trackers, &found.managers}) {
    for (const pinned& held : *helpers) {
      calls_.pidfd_send_signal(held.pidfd.get(), SIGCONT, 0);
    }
  }
  if (!was_killed_) {
    for (const pinned& held : found.others) add_killed(held.pid);
  }
  // A signal to the group also reaches processes that are forked meanwhile.
  if (!found.has_helper()) signal_group(SIGKILL);
  std::erase_if(found.others, [&](const pinned& held) { return !kill(held); });
  return found;
} catch (...) {
  signal_group(SIGKILL);
  return {};
}

ELASTIC_DECL void pidfd_child::add_killed(pid_t pid) {
  const bool is_noted = std::any_of(killed_.begin(), killed_.end(),
                                    [&](const child::leftover& one) { return one.pid == pid; });
  if (is_noted || pid == pid_ || killed_.size() > limits::named_leftovers) return;
  const bool is_more = killed_.size() == limits::named_leftovers;
  killed_.push_back(is_more ? child::leftover{} : child::leftover{pid, shown_command_of(pid)});
}

ELASTIC_DECL void pidfd_child::leave(std::vector<pinned> helpers, guard_helper kind) noexcept try {
  for (pinned& helper : helpers) {
    asio::posix::stream_descriptor ending(descriptor_.get_executor());
    ending.assign(helper.pidfd.get());
    helper.pidfd.release();
    reaper_.adopt_ending(std::move(ending), patience_with(kind), calls_);
  }
} catch (...) {
  // Without the means to wait for them, they end by themselves.
}

ELASTIC_DECL task<void> pidfd_child::all_gone(std::vector<pinned> members) {
  for (pinned& held : members) co_await gone(std::move(held.pidfd));
}

ELASTIC_DECL task<void> pidfd_child::gone(unique_fd pidfd) {
  asio::posix::stream_descriptor ending(descriptor_.get_executor());
  ending.assign(pidfd.get());
  pidfd.release();
  co_await ending.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
  siginfo_t ignored{};
  wait_id(ending.native_handle(), ignored, WEXITED | WNOHANG);
}

}  // namespace elastic::detail
