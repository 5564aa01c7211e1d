// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <program/chaos/network_cut.hpp>

#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/error.hpp>
#include <support/catch.hpp>
#include <support/skip.hpp>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <string>

namespace network_cut_tests {

using elastic::detail::unique_fd;
using elasticrun::cut_new_socket;
using elasticrun::network_cut;

// 127.0.0.1 or ::, which takes IPv4, too.
sockaddr_storage loopback(int family, in_port_t port = 0) {
  sockaddr_storage address{};
  if (family == AF_INET) {
    auto& v4 = reinterpret_cast<sockaddr_in&>(address);
    v4 = {};
    v4.sin_family = AF_INET;
    v4.sin_port = port;
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  } else {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(address);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = port;
  }
  return address;
}

struct port {
  explicit port(int family) : listener(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_storage address = loopback(family);
    REQUIRE(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
            0);
    REQUIRE(::listen(listener.get(), 5) == 0);
    sockaddr_storage bound_address{};
    socklen_t size = sizeof bound_address;
    ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&bound_address), &size);
    number = family == AF_INET ? reinterpret_cast<sockaddr_in&>(bound_address).sin_port
                               : reinterpret_cast<sockaddr_in6&>(bound_address).sin6_port;
  }

  unique_fd listener;
  in_port_t number = 0;
};

struct link {
  explicit link(const port& target) : client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    cut_new_socket(client.get());
    const sockaddr_storage address = loopback(AF_INET, target.number);
    REQUIRE(::connect(client.get(), reinterpret_cast<const sockaddr*>(&address),
                      sizeof(sockaddr_in)) == 0);
    server = unique_fd(::accept4(target.listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    cut_new_socket(server.get());
  }

  unique_fd client;
  unique_fd server;
};

void send(const unique_fd& socket, const std::string& text) {
  REQUIRE(::send(socket.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
}

// What has arrived; empty if nothing does for so long.
std::string receive(const unique_fd& socket, int patience_ms = 100'000) {
  pollfd poll_entry{socket.get(), POLLIN, 0};
  if (::poll(&poll_entry, 1, patience_ms) == 0) return "";
  char text[100];
  const ssize_t size = ::recv(socket.get(), text, sizeof text, 0);
  return size < 0 ? std::string("error: ") + std::strerror(errno)
                  : std::string(text, static_cast<std::size_t>(size));
}

std::optional<network_cut> cut;

bool can_cut() {
  try {
    cut.emplace();
  } catch (const elastic::error&) {
    return false;
  }
  cut.reset();
  return true;
}

/// A socket that is another process's for as long as it is on its way to this one.
class other_process {
 public:
  explicit other_process(unique_fd socket) {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    in_ = unique_fd(ends[0]);
    out_ = unique_fd(ends[1]);
    char byte = 'x';
    iovec content{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message = message_of(content, control, sizeof control);
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    const int fd = socket.get();
    std::memcpy(CMSG_DATA(head), &fd, sizeof fd);
    REQUIRE(::sendmsg(in_.get(), &message, 0) == 1);
  }

  unique_fd take() {
    char byte = 0;
    iovec content{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message = message_of(content, control, sizeof control);
    REQUIRE(::recvmsg(out_.get(), &message, MSG_CMSG_CLOEXEC) == 1);
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
    return unique_fd(fd);
  }

 private:
  static msghdr message_of(iovec& content, char* control, std::size_t size) {
    msghdr message{};
    message.msg_iov = &content;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = size;
    return message;
  }

  unique_fd in_;
  unique_fd out_;
};

TEST_CASE("cut links: nothing arrives from another process until the end, and nothing is lost",
          "[program]") {
  if (!can_cut()) return elastic::test::skip("this kernel has no signatures for TCP");
  const int family = GENERATE(AF_INET, AF_INET6);
  CAPTURE(family);
  const port listener_port(family);
  link connection(listener_port);
  other_process process(std::move(connection.client));
  cut.emplace();
  CHECK(cut->count() >= 2);
  const unique_fd moved_socket = process.take();
  send(moved_socket, "question");
  send(connection.server, "news");
  CHECK(receive(connection.server, 20) == "");
  CHECK(receive(moved_socket, 20) == "");
  cut.reset();
  CHECK(receive(connection.server) == "question");
  CHECK(receive(moved_socket) == "news");
}

TEST_CASE("cut links: what a process says to itself goes on, and so does all of it afterwards",
          "[program]") {
  if (!can_cut()) return elastic::test::skip("this kernel has no signatures for TCP");
  const int family = GENERATE(AF_INET, AF_INET6);
  CAPTURE(family);
  const port listener_port(family);
  const link first_link(listener_port);
  cut.emplace();
  const link second_link(listener_port);
  const auto check = [](const link& connection) {
    send(connection.client, "question");
    CHECK(receive(connection.server) == "question");
    send(connection.server, "answer");
    CHECK(receive(connection.client) == "answer");
  };
  for (const link* connection : {&first_link, &second_link}) check(*connection);
  // Another one, which ends before the first.
  std::optional<network_cut> second_cut(std::in_place);
  cut.reset();
  for (const link* connection : {&first_link, &second_link}) check(*connection);
  second_cut.reset();
  const link third_link(listener_port);
  for (const link* connection : {&first_link, &second_link, &third_link}) check(*connection);
}

}  // namespace network_cut_tests
