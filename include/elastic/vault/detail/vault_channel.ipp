// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/vault/detail/vault_channel.hpp>

#include <elastic/base/detail/random.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/scope.hpp>

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <exception>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

/// Opens a socket of packets under an abstract name, which leaves no file.
inline unique_fd open_vault_socket(const std::string& name) {
  unique_fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  std::copy(name.begin(), name.end(), at.sun_path + 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const int on = 1;
  const bool is_open = socket &&
                       // Connections inherit this option from the socket that accepts them.
                       ::setsockopt(socket.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0 &&
                       ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&at), size) == 0 &&
                       ::listen(socket.get(), SOMAXCONN) == 0;
  if (is_open) return socket;
  throw error(errc::start_failed,
              fmt::format("cannot open the socket of the vault: {}", errno_text(errno)));
}

ELASTIC_DECL vault_channel::vault_channel(asio::any_io_executor strand, options settings)
    : strand_(std::move(strand)), options_(std::move(settings)), listener_(strand_) {
  const std::string name = "elastic-vault-" + random_uuid();
  listener_.assign(open_vault_socket(name).release());
  address_ = "@" + name;
}

ELASTIC_DECL task<void> vault_channel::serve() & {
  task_group connections(strand_);
  task<void> accepting = accept_all(connections);
  task<void> stopping = connections.stop();
  task<void> serving = with_cleanup(std::move(accepting), std::move(stopping));
  co_await std::move(serving);
}

/// Result: a descriptor, or -1 with the reason in errno.
ELASTIC_DECL int vault_channel::accept() {
  return ::accept4(listener_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

ELASTIC_DECL void vault_channel::close_waiting() {
  for (;;) {
    const unique_fd waiting(accept());
    if (!waiting && errno != EINTR && errno != ECONNABORTED) return;
  }
}

ELASTIC_DECL task<void> vault_channel::accept_all(task_group& connections) {
  for (;;) {
    co_await listener_.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
    const int accepted = accept();
    if (accepted < 0) {
      if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) continue;
      complain(fmt::format("a connection cannot be accepted: {}", errno_text(errno)));
      constexpr std::chrono::seconds pause(1);
      co_await options_.time->sleep_until(deadline_after(options_.time->now(), pause));
      continue;
    }
    asio::posix::stream_descriptor peer(strand_, accepted);
    if (connections.size() >= options_.most_connections) {
      complain(fmt::format("there are more than {} connections", options_.most_connections));
      continue;
    }
    connections.spawn(attend(std::move(peer)));
  }
}

ELASTIC_DECL task<void> vault_channel::attend(asio::posix::stream_descriptor peer) {
  try {
    for (;;) {
      co_await peer.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
      packet next;
      const reading result = read(peer.native_handle(), next);
      if (result == reading::ended) co_return;
      if (result == reading::nothing) continue;
      task<bool> taking = take(peer.native_handle(), std::move(next));
      const bool goes_on = co_await std::move(taking);
      if (!goes_on) co_return;
    }
  } catch (const error& failure) {
    complain(failure.what());
  }
}

ELASTIC_DECL vault_channel::reading vault_channel::read(int peer, packet& next) {
  std::array<char, limits::vault_message_bytes> bytes;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> control;
  iovec place{bytes.data(), bytes.size()};
  msghdr message{};
  message.msg_iov = &place;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  // There is no buffer for files that a worker sends, so the kernel closes them.
  const ssize_t size = ::recvmsg(peer, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return reading::nothing;
  if (size <= 0) return reading::ended;
  const cmsghdr* const head = CMSG_FIRSTHDR(&message);
  if (head != nullptr && head->cmsg_type == SCM_CREDENTIALS) {
    ucred sender{};
    std::memcpy(&sender, CMSG_DATA(head), sizeof sender);
    next.sender = sender.pid;
  }
  if ((message.msg_flags & MSG_TRUNC) != 0) {
    throw error(errc::protocol_violation, fmt::format("a message to the vault is longer than {} "
                                                      "bytes",
                                                      bytes.size()));
  }
  next.text.assign(bytes.data(), static_cast<std::size_t>(size));
  return reading::got;
}

/// Result: whether the connection stays open.
ELASTIC_DECL task<bool> vault_channel::take(int peer, packet next) {
  const std::optional<int> local_rank = options_.owner(next.sender);
  if (!local_rank) {
    complain(fmt::format("pid {} is not a worker of this node, and is refused", next.sender));
    send(peer, vault_answer(refused_packet("only a worker itself uses the vault, not another "
                                           "process that it has started")));
    co_return false;
  }
  vault_request request = parse_vault_request(next.text);
  task<vault_answer> working = options_.carry_out(*local_rank, std::move(request));
  const vault_answer answer = co_await std::move(working);
  co_return send(peer, answer);
}

/// Result: whether the worker can receive further answers.
ELASTIC_DECL bool vault_channel::send(int peer, const vault_answer& answer) {
  if (answer.packet.empty()) return true;
  iovec place{const_cast<char*>(answer.packet.data()), answer.packet.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &place;
  message.msg_iovlen = 1;
  if (answer.file >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof answer.file);
    std::memcpy(CMSG_DATA(head), &answer.file, sizeof answer.file);
  }
  return ::sendmsg(peer, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

ELASTIC_DECL void vault_channel::complain(const std::string& problem) {
  if (complaints_ >= limits::control_complaints) return;
  ++complaints_;
  options_.log.warning("the vault: {}{}", problem,
                       complaints_ == limits::control_complaints ? "; more is not logged" : "");
}

}  // namespace elastic::detail
