// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// A node whose endpoint names the port of an unrelated program.

#include <elastic/base/detail/unique_fd.hpp>
#include <support/catch.hpp>
#include <support/running_program.hpp>
#include <support/text.hpp>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace other_programs_test {

using elastic::detail::unique_fd;
using elastic::test::occurrences;
using elastic::test::running_program;

/// An unrelated program at the port of an endpoint. It treats all clients alike: it sends some
/// words, and hangs up or not.
class other_program {
 public:
  struct manner {
    std::string words;
    bool hangs_up = false;
  };

  explicit other_program(manner how)
      : how_(std::move(how)), listening_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::bind(listening_.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
    REQUIRE(::listen(listening_.get(), SOMAXCONN) == 0);
    socklen_t size = sizeof at;
    ::getsockname(listening_.get(), reinterpret_cast<sockaddr*>(&at), &size);
    port_ = ntohs(at.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~other_program() {
    // Wakes the thread that accepts.
    ::shutdown(listening_.get(), SHUT_RDWR);
    thread_.join();
  }
  other_program(const other_program&) = delete;
  other_program& operator=(const other_program&) = delete;

  std::string endpoint() const { return fmt::format("127.0.0.1:{}", port_); }

 private:
  void serve() {
    std::vector<unique_fd> clients;
    for (;;) {
      unique_fd client(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client) return;
      ::send(client.get(), how_.words.data(), how_.words.size(), MSG_NOSIGNAL);
      if (!how_.hangs_up) clients.push_back(std::move(client));
    }
  }

  manner how_;
  unique_fd listening_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

/// @param patience  how long it tries, in seconds
std::string what_a_node_says(const other_program& there, int code, int patience) {
  running_program node({ELASTIC_ELASTICRUN, "--nnodes", "2", "--rdzv-backend", "c10d",
                        "--rdzv-endpoint", there.endpoint(), "--rdzv-id", "job", "--rdzv-conf",
                        fmt::format("is_host=0,join_timeout={},keep_alive_interval=0.5", patience),
                        "--no-python", "true"});
  const auto result = node.wait();
  INFO(result.err);
  CHECK(result.code == code);
  return result.err;
}

TEST_CASE("another program at the endpoint's port ends a node with one line", "[integration]") {
  const other_program::manner manner = GENERATE(
      other_program::manner{"", true},
      other_program::manner{"SSH-2.0-OpenSSH_9.2p1\r\n", false},
      other_program::manner{"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", true});
  CAPTURE(manner.words);
  const other_program there(manner);
  const std::string text = what_a_node_says(there, 2, 120);
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
  CHECK(text.starts_with(fmt::format("elasticrun: error: the server at {} is not a rendezvous of "
                                     "elasticrun (",
                                     there.endpoint())));
}

TEST_CASE("a silent program at the endpoint's port may be a busy host: the node waits",
          "[integration]") {
  const other_program there({});
  const std::string text = what_a_node_says(there, 1, 4);
  CHECK(occurrences(text, "waiting for the rendezvous at ") == 1);
  CHECK(occurrences(
            text, fmt::format("elasticrun: error: could not reach the rendezvous at {}: it accepts "
                              "connections but does not answer\n",
                              there.endpoint())) == 1);
}

}  // namespace other_programs_test
