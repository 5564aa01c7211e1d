// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/python/detail/standby_process.hpp>

#include <elastic/python/detail/hook_archive.hpp>
#include <elastic/python/detail/embedded.hpp>
#include <elastic/python/detail/stored_archive.hpp>
#include <elastic/base/asio.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/race.hpp>

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

inline unique_fd open_standby_file(std::string_view content) {
  unique_fd file(::memfd_create("elastic-standby", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const auto size = static_cast<ssize_t>(content.size());
  if (file && ::write(file.get(), content.data(), content.size()) == size) return file;
  throw error(errc::start_failed,
              fmt::format("cannot create a memory file for a standby: {}", errno_text(errno)));
}

ELASTIC_DECL task<std::unique_ptr<standby_process>> standby_process::start(
    std::shared_ptr<process_launcher> launcher, process_spec spec, standby_task standby) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    throw error(errc::start_failed,
                fmt::format("cannot create a socket to a standby: {}", errno_text(errno)));
  }
  unique_fd ours(ends[0]);
  const unique_fd theirs(ends[1]);
  const std::string archive = stored_archive(
      "sitecustomize.py", std::string(hook_prelude_py) + import_recorder_py + standby_hook_py);
  const unique_fd out = open_standby_file(archive);
  const unique_fd err = open_standby_file(standby.record);
  standby.archive_size = archive.size();
  spec.environment = standby_environment(spec, standby);
  spec.stdin_fd = theirs.get();
  spec.stdout_fd = out.get();
  spec.stderr_fd = err.get();
  std::unique_ptr<child> process = co_await launcher->launch(spec);
  co_return std::make_unique<standby_process>(executor, std::move(ours), std::move(process));
}

ELASTIC_DECL standby_process::standby_process(const asio::any_io_executor& executor,
                                              unique_fd socket, std::unique_ptr<child> process)
    : socket_(executor, socket.release()), process_(std::move(process)) {}

inline task<void> wait_for_input(asio::posix::stream_descriptor& socket) {
  return socket.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
}

inline task<void> wait_for_end(child& process) { co_await process.wait(); }

ELASTIC_DECL task<standby_message> standby_process::next_message() {
  std::string bytes(limits::standby_message_bytes + 1, '\0');
  for (;;) {
    iovec part{bytes.data(), bytes.size()};
    msghdr packet{};
    packet.msg_iov = &part;
    packet.msg_iovlen = 1;
    ssize_t size = -1;
    do {
      size = ::recvmsg(socket_.native_handle(), &packet, MSG_DONTWAIT);
    } while (size < 0 && errno == EINTR);
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      co_await until_heard();
      if (!is_silent()) continue;
    }
    if (size <= 0) throw error(errc::protocol_violation, "it ended before it answered");
    // The buffer has no room for attached descriptors, so the kernel closes them.
    if ((packet.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
      throw error(errc::protocol_violation, "a message of a standby is too long, or holds files");
    }
    bytes.resize(static_cast<std::size_t>(size));
    co_return parse_standby_message(bytes);
  }
}

ELASTIC_DECL std::string standby_process::send(std::string_view bytes,
                                               const std::vector<int>& descriptors) {
  if (bytes.size() > limits::standby_message_bytes) {
    return "the changes of its environment are too large for a message";
  }
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) unsigned char control[CMSG_SPACE(3 * sizeof(int))] = {};
  msghdr packet{};
  packet.msg_iov = &part;
  packet.msg_iovlen = 1;
  if (!descriptors.empty()) {
    const std::size_t size = descriptors.size() * sizeof(int);
    packet.msg_control = control;
    packet.msg_controllen = CMSG_SPACE(size);
    cmsghdr* const head = CMSG_FIRSTHDR(&packet);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(size);
    std::memcpy(CMSG_DATA(head), descriptors.data(), size);
  }
  ssize_t size = -1;
  do {
    size = ::sendmsg(socket_.native_handle(), &packet, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (size < 0 && errno == EINTR);
  if (size == static_cast<ssize_t>(bytes.size())) return {};
  return fmt::format("it cannot be reached: {}", errno_text(errno));
}

ELASTIC_DECL bool standby_process::is_silent() {
  char byte = 0;
  const auto size = ::recv(socket_.native_handle(), &byte, 1, MSG_DONTWAIT | MSG_PEEK);
  return size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

ELASTIC_DECL task<void> standby_process::until_heard() {
  // A process forked by an import may keep the other end of the socket open, so this also waits for
  // the end of the standby.
  co_await race(wait_for_input(socket_), wait_for_end(*process_));
}

ELASTIC_DECL void standby_process::raise_priority() {
  std::ofstream(fmt::format("/proc/{}/autogroup", pid())) << 0;
}

ELASTIC_DECL void standby_process::kill() noexcept {
  if (process_) process_->signal(SIGKILL);
}

ELASTIC_DECL task<exit_status> standby_process::wait() { return process_->wait(); }

ELASTIC_DECL task<void> standby_process::end() { return process_->end_tree(); }

ELASTIC_DECL std::unique_ptr<child> standby_process::release() {
  asio_error_code ignored;
  socket_.close(ignored);
  return std::move(process_);
}

}  // namespace elastic::detail
