// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/detail/guarded_child.hpp>

#include <elastic/base/detail/asio_tasks.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/race.hpp>
#include <elastic/base/time.hpp>
#include <elastic/process/detail/process_tree.hpp>
#include <elastic/process/detail/session_signal.hpp>

#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL std::optional<received_news> receive_news(int socket, bool& has_ended) noexcept {
  received_news news;
  alignas(cmsghdr) unsigned char control[CMSG_SPACE(sizeof(int))];
  iovec part{&news.message, sizeof news.message};
  msghdr packet{};
  packet.msg_iov = &part;
  packet.msg_iovlen = 1;
  packet.msg_control = control;
  packet.msg_controllen = sizeof control;
  const auto receive = [&] { return ::recvmsg(socket, &packet, MSG_DONTWAIT | MSG_CMSG_CLOEXEC); };
  ssize_t size = uninterrupted(receive);
  // The guard ended without reading a request. The kernel reports that once; the guard's last
  // messages can still be read.
  if (size < 0 && errno == ECONNRESET) size = uninterrupted(receive);
  if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return std::nullopt;
  constexpr auto least = static_cast<ssize_t>(offsetof(guard_message, command));
  if (size < least) {
    has_ended = true;
    return std::nullopt;
  }
  news.message.size = std::clamp(news.message.size, 0, static_cast<int>(size - least));
  for (cmsghdr* head = CMSG_FIRSTHDR(&packet); head; head = CMSG_NXTHDR(&packet, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(head), sizeof fd);
    news.attached = unique_fd(fd);
  }
  return news;
}

ELASTIC_DECL exit_status as_exit_status(int waited) {
  if (WIFSIGNALED(waited)) return exit_status::signalled(WTERMSIG(waited), WCOREDUMP(waited));
  return exit_status::exited(WEXITSTATUS(waited));
}

/// A number after its name in a file of /proc; -1 if it is not there.
inline pid_t number_in(const std::string& file, std::string_view wanted) {
  std::ifstream lines(file);
  for (std::string name; lines >> name; std::getline(lines, name)) {
    pid_t number = -1;
    if (name == wanted && lines >> number) return number;
  }
  return -1;
}

inline pid_t pid_of_guard(int pidfd) {
  return number_in(fmt::format("/proc/self/fdinfo/{}", pidfd), "Pid:");
}

ELASTIC_DECL std::string guard_standstill::text() const {
  if (tracer > 0) return fmt::format("process {} traces it", tracer);
  return is_stopped() ? "it is stopped" : fmt::format("it is in state {}", state);
}

ELASTIC_DECL guard_standstill look_at_guard(int pidfd) {
  guard_standstill why;
  const pid_t guard = pid_of_guard(pidfd);
  const auto entry = guard > 0 ? read_process(guard) : std::nullopt;
  if (!entry) return why;
  why.state = entry->state;
  why.tracer = number_in(fmt::format("/proc/{}/status", guard), "TracerPid:");
  return why;
}

ELASTIC_DECL guarded_child::guarded_child(const asio::any_io_executor& executor, pid_t worker,
                                          unique_fd worker_pidfd,
                                          asio::posix::stream_descriptor socket,
                                          asio::posix::stream_descriptor guard, logger log,
                                          const syscalls& calls)
    : calls_(calls),
      reaper_(reaper::of(executor)),
      socket_(std::move(socket)),
      guard_(std::move(guard)),
      worker_(executor),
      pid_(worker),
      owner_(::getpid()),
      log_(std::move(log)) {
  if (worker_pidfd) worker_.assign(worker_pidfd.release());
}

ELASTIC_DECL guarded_child::~guarded_child() {
  // In a fork of the host, this copy owns nothing.
  if (::getpid() != owner_) return;
  socket_.close();
  if (is_reaped_) return;
  if (!has_helpers_) {
    reaper_.adopt(std::move(guard_), calls_);
  } else {
    // The guard kills the helpers first.
    const auto patience = patience_with(guard_helper::manager) + std::chrono::seconds(1);
    reaper_.adopt_ending(std::move(guard_), patience, calls_);
  }
}

ELASTIC_DECL bool guarded_child::signal(int number) noexcept {
  look();
  if (status_) {
    if (number == SIGKILL && !is_empty_) send(guard_end_tree);
    return false;
  }
  // SIGKILL goes to the worker alone: its group may contain a helper that has yet to clean up, so
  // the guard kills the rest.
  const bool kills = number == SIGKILL;
  if (kills) send(guard_end_tree);
  // Signals the group directly, without waking the guard. Kernels before 6.9 cannot do that, and a
  // filter may refuse it.
  const unsigned target = kills ? 0 : pidfd_signal_process_group;
  wake_guard();
  if (calls_.pidfd_send_signal(worker_.native_handle(), number, target) == 0) return true;
  if (errno == ESRCH) return false;
  if (!kills) send(static_cast<unsigned char>(number));
  return true;
}

ELASTIC_DECL bool guarded_child::signal_process(int number) noexcept {
  look();
  if (status_) return false;
  wake_guard();
  if (calls_.pidfd_send_signal(worker_.native_handle(), number, 0) == 0) return true;
  // A filter may refuse the call.
  return errno != ESRCH && signal(number);
}

ELASTIC_DECL void guarded_child::signal_others(int number) noexcept {
  look();
  if (!status_) signal_session_but_leader(pid_, worker_.native_handle(), number, calls_);
}

ELASTIC_DECL task<exit_status> guarded_child::wait() {
  look();
  if (!status_) co_await race(end_told(), worker_ended());
  system_time time;
  for (int silences = 1; !status_; ++silences) {
    wake_guard();
    const time_point silence_ends = deadline_after(time.now(), limits::guard_silence);
    if (co_await with_deadline(time, silence_ends, end_told())) break;
    const guard_standstill why = look_at_guard(guard_.native_handle());
    // A sleeping guard may have reported the end while this process itself was not scheduled.
    look();
    const bool is_kept_waiting = why.state == 'R' || why.state == 'D';
    const bool is_silent = !is_kept_waiting || silences >= limits::guard_silences;
    if (!status_ && is_silent) give_up_guard(why);
  }
  co_return *status_;
}

ELASTIC_DECL task<void> guarded_child::end_tree() {
  look();
  // When the worker has ended by itself, the guard ends what lingers.
  if (!status_) send(guard_end_tree);
  system_time time;
  while (!is_empty_) {
    wake_guard();
    const time_point silence_ends = deadline_after(time.now(), limits::guard_silence);
    if (co_await with_deadline(time, silence_ends, emptiness_told())) break;
    // A guard that is not stopped waits for processes that the kernel has not ended yet.
    const guard_standstill why = look_at_guard(guard_.native_handle());
    if (why.is_stopped()) give_up_guard(why);
  }
  // The guard stays with the helpers; the destructor leaves it to the reaper.
  if (has_helpers_) co_return;
  // `empty` is its last message.
  co_await guard_.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
  reap_guard();
}

ELASTIC_DECL std::vector<pid_t> guarded_child::left() {
  const pid_t guard = pid_of_guard(guard_.native_handle());
  return guard > 0 ? read_children(guard) : std::vector<pid_t>();
}

ELASTIC_DECL task<void> guarded_child::news() {
  const auto wait_read = asio::posix::stream_descriptor::wait_read;
  auto [failure] = co_await socket_.async_wait(wait_read, as_result);
  const asio::cancellation_state request = co_await asio::this_coro::cancellation_state;
  // If there was no cancellation request, `look` ended the wait.
  if (failure && request.cancelled() != asio::cancellation_type::none) {
    throw asio_system_error(failure);
  }
}

ELASTIC_DECL task<void> guarded_child::end_told() {
  for (look(); !status_; look()) co_await news();
}

ELASTIC_DECL task<void> guarded_child::emptiness_told() {
  for (look(); !is_empty_; look()) co_await news();
}

ELASTIC_DECL task<void> guarded_child::worker_ended() {
  // Without a pidfd, only the guard reports the end.
  if (!worker_.is_open()) co_return co_await end_told();
  co_await worker_.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
}

ELASTIC_DECL void guarded_child::wake_guard() noexcept {
  calls_.pidfd_send_signal(guard_.native_handle(), SIGCONT, 0);
}

ELASTIC_DECL void guarded_child::give_up_guard(const guard_standstill& why) noexcept {
  log_.error("the guard of worker {} does not answer, since {}; it is killed", pid_, why.text());
  calls_.pidfd_send_signal(guard_.native_handle(), SIGKILL, 0);
  lose_guard();
  asio_error_code ignored;
  socket_.cancel(ignored);
}

ELASTIC_DECL void guarded_child::reap_guard() noexcept {
  siginfo_t ignored{};
  uninterrupted([&] {
    const auto guard = static_cast<id_t>(guard_.native_handle());
    return calls_.waitid(static_cast<idtype_t>(P_PIDFD), guard, &ignored, WEXITED | WNOHANG);
  });
  is_reaped_ = true;
}

ELASTIC_DECL void guarded_child::send(unsigned char request) noexcept {
  ::send(socket_.native_handle(), &request, sizeof request, MSG_DONTWAIT | MSG_NOSIGNAL);
}

ELASTIC_DECL void guarded_child::look() noexcept {
  bool has_ended = false;
  bool is_changed = false;
  while (const auto news = receive_news(socket_.native_handle(), has_ended)) {
    is_changed = true;
    const int value = news->message.value;
    switch (news->message.news) {
      case guard_news::ended: status_ = as_exit_status(value); break;
      case guard_news::empty:
        is_empty_ = true;
        has_helpers_ = value != 0;
        break;
      case guard_news::killed:
        killed_.push_back({value, shown_command(news->command())});
        break;
      case guard_news::stuck:
        log_.error("process {}, left by worker {}, cannot be killed: it runs as another user",
                   value, pid_);
        break;
      case guard_news::started:
      case guard_news::not_started: break;
    }
  }
  if (has_ended && !is_empty_) lose_guard();
  // Other waiters may wait for a readable socket, but this call has read its messages already.
  if (!is_changed && !has_ended) return;
  asio_error_code ignored;
  socket_.cancel(ignored);
}

ELASTIC_DECL void guarded_child::lose_guard() noexcept {
  is_empty_ = true;
  calls_.pidfd_send_signal(worker_.native_handle(), SIGKILL, pidfd_signal_process_group);
  calls_.pidfd_send_signal(worker_.native_handle(), SIGKILL, 0);
  log_.error("the guard of worker {} was killed: descendants of the worker may survive", pid_);
  if (!status_) status_ = exit_status::guard_lost();
}

}  // namespace elastic::detail
