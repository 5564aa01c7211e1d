// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <support/catch.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace elastic::test {

/// A TCP client that sends exactly the given bytes, and blocks until it is answered, for at most 60
/// s. The return value shows if something was missing then.
///
/// Every call is repeated after EINTR, which occurs even without a signal handler: pending kernel
/// work for a ring that this thread created interrupts it.
class raw_client {
 public:
  raw_client() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval limit{60, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  explicit raw_client(std::uint16_t port) : raw_client() { connect(port); }
  ~raw_client() { ::close(socket_); }
  raw_client(const raw_client&) = delete;
  raw_client& operator=(const raw_client&) = delete;

  void connect(std::uint16_t port) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int failed = ::connect(socket_, reinterpret_cast<const sockaddr*>(&at), sizeof at);
    if (failed != 0 && errno == EINTR) {
      pollfd wait{socket_, POLLOUT, 0};
      again([&] { return ::poll(&wait, 1, 60'000); });
      int problem = 0;
      socklen_t size = sizeof problem;
      ::getsockopt(socket_, SOL_SOCKET, SO_ERROR, &problem, &size);
      REQUIRE(problem == 0);
      return;
    }
    REQUIRE(failed == 0);
  }

  /// Result: whether everything was sent.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent =
          again([&] { return ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL); });
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  /// Receives `size` bytes; fewer if the stream ends before or nothing arrives.
  std::string receive(std::size_t size) {
    std::string bytes(size, '\0');
    std::size_t there = 0;
    while (there < size) {
      const auto received =
          again([&] { return ::recv(socket_, bytes.data() + there, size - there, 0); });
      if (received <= 0) break;
      there += static_cast<std::size_t>(received);
    }
    bytes.resize(there);
    return bytes;
  }

  /// Sends a request and receives `reply_size` bytes.
  std::string ask(std::string_view request, std::size_t reply_size) {
    return send(request) ? receive(reply_size) : std::string();
  }

  /// Waits for the server to close the connection; false if it sends something first or does not
  /// close.
  bool is_closed() {
    char byte = 0;
    const auto received = again([&] { return ::recv(socket_, &byte, 1, 0); });
    return received == 0 || (received < 0 && errno == ECONNRESET);
  }

  /// Whether nothing has arrived so far.
  bool is_silent() {
    pollfd wait{socket_, POLLIN, 0};
    return ::poll(&wait, 1, 0) == 0;
  }

  /// How long a send may take.
  void limit_send(std::chrono::milliseconds limit) {
    const timeval value{limit.count() / 1000, (limit.count() % 1000) * 1000};
    ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &value, sizeof value);
  }

  int socket() const { return socket_; }

 private:
  template <class Call>
  static auto again(Call call) -> decltype(call()) {
    auto result = call();
    while (result < 0 && errno == EINTR) result = call();
    return result;
  }

  int socket_;
};

/// Waits until `condition()` holds, for at most 60 s. Result: whether it does.
template <class Condition>
bool comes_true(Condition condition) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition() && std::chrono::steady_clock::now() < limit) ::poll(nullptr, 0, 1);
  return condition();
}

}  // namespace elastic::test
