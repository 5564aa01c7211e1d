// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// A store server, and the client that measures any TCPStore server; see store.py.
//
//   store serve epoll|ring            serves until stdin ends; prints its port
//   store load PORT PROTOCOL OPERATION CONNECTIONS SECONDS VALUE_BYTES
//                                     prints "begin" when all are connected, and in the end how
//                                     many operations were done, and the seconds
//   store bootstrap PORT RANKS        sends the requests of so many ranks of PyTorch 2.13 that
//                                     form a gloo group; prints the number of requests, the
//                                     seconds, and those after all had connected
//
// The protocol is that of PyTorch 1.13, or 2.2 for that and later. Each connection has one request
// outstanding; the connections are served in turn by blocking calls, which costs the client less
// than to ask the kernel which of them is ready.

#include <elastic/store/detail/tcp_store_protocol.hpp>
#include <elastic/store/tcp_store_server.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using elastic::tcp_store_generation;
using elastic::detail::request_writer;
using elastic::detail::store_op;

int serve(std::string_view io) {
  asio::io_context context{1};
  elastic::tcp_store_server::options options;
  options.use_ring = io == "ring";
  elastic::tcp_store_server server(context.get_executor(), options);
  if (options.use_ring && server.io() != "io_uring") {
    std::fprintf(stderr, "io_uring is not available\n");
    return 1;
  }
  std::printf("%d\n", server.port());
  std::fflush(stdout);
  asio::posix::stream_descriptor input(context, ::dup(STDIN_FILENO));
  input.async_wait(asio::posix::stream_descriptor::wait_read,
                   [&](asio::error_code) { context.stop(); });
  context.run();
  return 0;
}

[[noreturn]] void fail(const char* call) {
  std::perror(call);
  std::exit(1);
}

int connect_to(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(static_cast<std::uint16_t>(port));
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) fail("connect");
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

void send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) fail("send");
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void receive_all(int fd, std::size_t size) {
  static std::vector<char> buffer(1 << 20);
  if (::recv(fd, buffer.data(), size, MSG_WAITALL) != static_cast<ssize_t>(size)) fail("recv");
}

// What is sent at once, how many operations that is, and how large the reply to all of it.
struct exchange {
  std::string request;
  std::size_t operations = 1;
  std::size_t reply_bytes = 0;
};

exchange exchange_of(tcp_store_generation protocol, std::string_view operation, int connection,
                     std::size_t value_bytes) {
  const request_writer write(protocol);
  const std::string key = "/key/of/connection/" + std::to_string(connection);
  const std::vector<std::string> keys = {key};
  const std::vector<std::string> no_keys;
  const std::string value(value_bytes, 'v');
  exchange made;
  std::string& out = made.request;
  if (operation == "get") {
    write.with_key(out, store_op::get, key);
    made.reply_bytes = 8 + value_bytes;
  } else if (operation == "add") {
    write.with_number(out, store_op::add, key + "/number", 1);
    made.reply_bytes = 8;
  } else if (operation == "check") {
    write.with_keys(out, store_op::check, keys);
    made.reply_bytes = 1;
  } else if (operation == "wait") {
    write.with_keys(out, store_op::wait, keys);
    made.reply_bytes = 1;
  } else if (operation == "num_keys") {
    write.operation(out, store_op::num_keys);
    made.reply_bytes = 8;
  } else if (operation == "delete_key") {
    write.with_key(out, store_op::erase, key + "/absent");
    made.reply_bytes = 8;
  } else if (operation == "compare_set") {
    write.compare_set(out, key, value, value);
    made.reply_bytes = 8 + value_bytes;
  } else if (operation == "set" || operation == "pipelined_set") {
    // SET has no reply. A CHECK of no keys behind it tells that it was executed.
    made.operations = operation == "set" ? 1 : 200;
    for (std::size_t i = 0; i < made.operations; ++i) {
      write.with_value(out, store_op::set, key, value);
    }
    write.with_keys(out, store_op::check, no_keys);
    made.reply_bytes = 1;
  } else {
    std::fprintf(stderr, "no such operation\n");
    std::exit(2);
  }
  return made;
}

// A connection's first bytes, and what is to be sent before it counts as connected.
exchange begin_of(tcp_store_generation protocol, std::string_view operation, int connection,
                  std::size_t value_bytes) {
  exchange first = exchange_of(protocol, operation, connection, value_bytes);
  std::string greeting;
  request_writer(protocol).greeting(greeting);
  first.request.insert(0, greeting);
  return first;
}

void print_result(std::size_t done, std::chrono::duration<double> elapsed) {
  std::printf("%zu %.6f\n", done, elapsed.count());
}

// One connection after the other, each of which asks once and ends.
int connect_again_and_again(int port, tcp_store_generation protocol, double seconds) {
  const exchange question = begin_of(protocol, "check", 0, 1);
  std::printf("begin\n");
  std::fflush(stdout);
  using clock = std::chrono::steady_clock;
  const auto start = clock::now();
  const auto end = start + std::chrono::duration<double>(seconds);
  std::size_t done = 0;
  while (clock::now() < end) {
    const int fd = connect_to(port);
    send_all(fd, question.request);
    receive_all(fd, question.reply_bytes);
    ::close(fd);
    ++done;
  }
  print_result(done, clock::now() - start);
  return 0;
}

int load(int port, tcp_store_generation protocol, std::string_view operation, int connections,
         double seconds, std::size_t value_bytes) {
  if (operation == "connect") return connect_again_and_again(port, protocol, seconds);
  std::vector<int> sockets;
  std::vector<exchange> exchanges;
  for (int i = 0; i < connections; ++i) {
    sockets.push_back(connect_to(port));
    exchanges.push_back(exchange_of(protocol, operation, i, value_bytes));
    const exchange first = begin_of(protocol, "set", i, value_bytes);
    send_all(sockets.back(), first.request);
    receive_all(sockets.back(), first.reply_bytes);
  }
  std::printf("begin\n");
  std::fflush(stdout);
  for (int i = 0; i < connections; ++i) send_all(sockets[i], exchanges[i].request);
  using clock = std::chrono::steady_clock;
  const auto start = clock::now();
  const auto end = start + std::chrono::duration<double>(seconds);
  std::size_t done = 0;
  auto now = start;
  while (now < end) {
    for (int i = 0; i < connections; ++i) {
      receive_all(sockets[i], exchanges[i].reply_bytes);
      done += exchanges[i].operations;
      send_all(sockets[i], exchanges[i].request);
    }
    now = clock::now();
  }
  for (int i = 0; i < connections; ++i) receive_all(sockets[i], exchanges[i].reply_bytes);
  print_result(done, now - start);
  for (const int fd : sockets) ::close(fd);
  return 0;
}

void send_to_each(const std::vector<int>& sockets, std::string_view request) {
  for (const int fd : sockets) send_all(fd, request);
}

void receive_from_each(const std::vector<int>& sockets, std::size_t size) {
  for (const int fd : sockets) receive_all(fd, size);
}

// As bootstrap.py has recorded it: a rank has one request outstanding, and asks twice whether the
// key of each rank is there before it gets it.
int bootstrap(int port, int ranks) {
  const request_writer write(tcp_store_generation::torch_2_2);
  const std::size_t value_bytes = 154 + 8 * static_cast<std::size_t>(ranks);
  const std::string value(value_bytes, 'a');
  const auto key_of = [](int rank) { return "/default_pg/0//cpu//0/" + std::to_string(rank); };
  using clock = std::chrono::steady_clock;
  const auto start = clock::now();
  std::vector<int> sockets;
  std::string hello;
  write.greeting(hello);
  write.ping(hello, 1);
  for (int rank = 0; rank < ranks; ++rank) {
    sockets.push_back(connect_to(port));
    send_all(sockets.back(), hello);
  }
  receive_from_each(sockets, 4);
  std::string arrival;
  write.with_number(arrival, store_op::add, elastic::detail::workers_key, 1);
  send_to_each(sockets, arrival);
  receive_from_each(sockets, 8);
  const auto connected = clock::now();
  for (int rank = 0; rank < ranks; ++rank) {
    std::string own;
    write.with_value(own, store_op::set, key_of(rank), value);
    send_all(sockets[static_cast<std::size_t>(rank)], own);
  }
  for (int rank = 0; rank < ranks; ++rank) {
    const std::vector<std::string> keys = {key_of(rank)};
    std::string wait;
    write.with_keys(wait, store_op::wait, keys);
    std::string get;
    write.with_key(get, store_op::get, keys.front());
    for (const auto& [request, reply_bytes] :
         {std::pair(wait, std::size_t{1}), std::pair(wait, std::size_t{1}),
          std::pair(get, 8 + value_bytes)}) {
      send_to_each(sockets, request);
      receive_from_each(sockets, reply_bytes);
    }
  }
  const auto count = static_cast<std::size_t>(ranks);
  const std::chrono::duration<double> all = clock::now() - start;
  const std::chrono::duration<double> exchange = clock::now() - connected;
  std::printf("%zu %.6f %.6f\n", count * (4 + 3 * count), all.count(), exchange.count());
  for (const int fd : sockets) ::close(fd);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count == 3 && std::string_view(words[1]) == "serve") return serve(words[2]);
  if (count == 8 && std::string_view(words[1]) == "load") {
    const auto protocol = std::string_view(words[3]) == "1.13" ? tcp_store_generation::torch_1_13
                                                               : tcp_store_generation::torch_2_2;
    return load(std::atoi(words[2]), protocol, words[4], std::atoi(words[5]), std::atof(words[6]),
                static_cast<std::size_t>(std::atoi(words[7])));
  }
  if (count == 4 && std::string_view(words[1]) == "bootstrap") {
    return bootstrap(std::atoi(words[2]), std::atoi(words[3]));
  }
  std::fprintf(stderr,
               "usage: store serve epoll|ring\n"
               "       store load PORT 1.13|2.2 OPERATION CONNECTIONS SECONDS VALUE_BYTES\n"
               "       store bootstrap PORT RANKS\n");
  return 2;
}
