// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <support/catch.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace elastic::test {

/// An HTTP server on its own thread that follows a script, whatever the requests are. Each script
/// serves one connection, in order: it has an answer for each request, and then the server closes
/// the connection. The last script also serves all further connections.
class scripted_server {
 public:
  /// An answer that never comes.
  inline static const std::string silence = "(silence)";

  explicit scripted_server(std::vector<std::vector<std::string>> scripts)
      : scripts_(std::move(scripts)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::bind(listener_, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
    REQUIRE(::listen(listener_, 16) == 0);
    socklen_t size = sizeof at;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &size);
    port_ = ntohs(at.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~scripted_server() {
    is_over_ = true;
    thread_.join();
    ::close(listener_);
  }
  scripted_server(const scripted_server&) = delete;
  scripted_server& operator=(const scripted_server&) = delete;

  std::uint16_t port() const { return port_; }

  /// Everything that it has received so far.
  std::string heard() const {
    const std::lock_guard lock(mutex_);
    return heard_;
  }

 private:
  void serve() {
    for (std::size_t next = 0; await(listener_); ++next) {
      const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (client < 0) continue;
      const std::size_t script = std::min(next, scripts_.size() - 1);
      for (const std::string& answer : scripts_[script]) {
        if (!hear_request(client)) break;
        if (answer == silence) {
          hear_request(client);
          break;
        }
        ::send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
      }
      ::close(client);
    }
  }

  // Waits until there is something to read; false at the end of the test.
  bool await(int socket) const {
    pollfd wait{socket, POLLIN, 0};
    while (!is_over_) {
      if (::poll(&wait, 1, 5) > 0) return true;
    }
    return false;
  }

  // Reads one request with its body; false if the client closes the connection.
  bool hear_request(int client) {
    std::string text;
    for (;;) {
      const std::size_t end = text.find("\r\n\r\n");
      if (end != std::string::npos && text.size() >= end + 4 + body_size(text)) break;
      if (!await(client)) return false;
      char part[4096];
      const ssize_t size = ::recv(client, part, sizeof part, 0);
      if (size <= 0) return false;
      text.append(part, static_cast<std::size_t>(size));
    }
    const std::lock_guard lock(mutex_);
    heard_ += text;
    return true;
  }

  static std::size_t body_size(const std::string& head) {
    const std::string name = "Content-Length: ";
    const std::size_t at = head.find(name);
    return at == std::string::npos ? 0 : std::stoul(head.substr(at + name.size()));
  }

  std::vector<std::vector<std::string>> scripts_;
  int listener_;
  std::uint16_t port_ = 0;
  std::atomic<bool> is_over_ = false;
  mutable std::mutex mutex_;
  std::string heard_;
  std::thread thread_;
};

}  // namespace elastic::test
