// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <support/catch.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace elastic::test {

/// An HTTP client that sends exactly the given bytes, and blocks for at most 60 s until it is
/// answered.
class http_peer {
 public:
  explicit http_peer(std::uint16_t port)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connect(reinterpret_cast<const sockaddr*>(&at), sizeof at);
  }
  explicit http_peer(const std::string& path)
      : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    REQUIRE(path.size() < sizeof at.sun_path);
    std::memcpy(at.sun_path, path.data(), path.size());
    connect(reinterpret_cast<const sockaddr*>(&at), sizeof at);
  }
  ~http_peer() { ::close(socket_); }
  http_peer(const http_peer&) = delete;
  http_peer& operator=(const http_peer&) = delete;

  bool send(std::string_view bytes) {
    return ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }

  /// Everything up to and including `end`, or up to the end of the connection.
  std::string read_to(std::string_view end) {
    for (;;) {
      const std::size_t at = received_.find(end);
      if (at != std::string::npos) return take(at + end.size());
      char piece[4096];
      const ssize_t size = ::recv(socket_, piece, sizeof piece, 0);
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) return take(received_.size());
      received_.append(piece, static_cast<std::size_t>(size));
    }
  }

  /// Everything up to the end of the connection.
  std::string rest() { return read_to(std::string_view("\0no such thing\0", 15)); }

  /// The head and the body of one answer.
  std::string answer(bool has_body = true) {
    std::string text = read_to("\r\n\r\n");
    const std::size_t at = text.find("Content-Length: ");
    if (at == std::string::npos || !has_body) return text;
    const auto size = static_cast<std::size_t>(std::atol(text.c_str() + at + 16));
    while (received_.size() < size) {
      char piece[4096];
      const ssize_t count = ::recv(socket_, piece, sizeof piece, 0);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      received_.append(piece, static_cast<std::size_t>(count));
    }
    return text + take(size);
  }

  /// @param headers  each with its line end
  std::string get(std::string_view target, std::string_view headers = {}) {
    send(fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n{}\r\n", target, headers));
    return answer();
  }

 private:
  void connect(const sockaddr* at, socklen_t size) {
    const timeval limit{60, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    REQUIRE(::connect(socket_, at, size) == 0);
  }

  std::string take(std::size_t size) {
    std::string bytes = received_.substr(0, size);
    received_.erase(0, bytes.size());
    return bytes;
  }

  int socket_;
  std::string received_;
};

}  // namespace elastic::test
