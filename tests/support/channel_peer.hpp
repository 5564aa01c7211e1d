// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <support/catch.hpp>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

#include <fmt/format.h>

namespace elastic::test {

/// A worker's end of the control channel, byte by byte. No call blocks.
class channel_peer {
 public:
  /// Connects to "@name".
  explicit channel_peer(const std::string& address)
      : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    if (!address.starts_with("@") || address.size() > sizeof name.sun_path) {
      FAIL("no address of a control channel: '" << address << "'");
    }
    std::memcpy(name.sun_path, address.data(), address.size());
    name.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size());
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&name), size) != 0) {
      FAIL("nobody listens at '" << address << "': " << std::strerror(errno));
    }
  }
  /// The same, and sends hello.
  channel_peer(const std::string& address, int local_rank, bool checkpoints = false)
      : channel_peer(address) {
    say(fmt::format(R"({{"kind":"hello","version":1,"local_rank":{},"checkpoints":{}}})",
                    local_rank, checkpoints));
  }
  channel_peer(const channel_peer&) = delete;
  channel_peer& operator=(const channel_peer&) = delete;
  ~channel_peer() { close(); }

  /// Sends a line; its bytes are lost if the other side is gone.
  void say(const std::string& line) { send(line + "\n"); }

  /// Result: how many bytes were sent.
  std::size_t send(const std::string& bytes) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent > 0 ? static_cast<std::size_t>(sent) : 0;
  }

  /// Everything received so far.
  const std::string& heard() {
    char piece[4096];
    for (;;) {
      const ssize_t size = ::recv(socket_, piece, sizeof piece, MSG_DONTWAIT);
      if (size <= 0) {
        if (size == 0 || errno == ECONNRESET) is_closed_ = true;
        return text_;
      }
      text_.append(piece, static_cast<std::size_t>(size));
    }
  }
  bool hears(const std::string& part) { return heard().find(part) != std::string::npos; }

  /// Whether the other side has closed the connection.
  bool is_closed() {
    heard();
    return is_closed_;
  }

  void close() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }

 private:
  int socket_;
  std::string text_;
  bool is_closed_ = false;
};

}  // namespace elastic::test
