// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// The ring with real sockets, pipes and processes. On a machine with io_uring, the library must
// find it.

#include <elastic/base/detail/ring.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/control/detail/control_message.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/nodes/detail/rendezvous_message.hpp>
#include <elastic/process/detail/spawn.hpp>
#include <elastic/process/detail/syscalls.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>
#include <support/io_uring.hpp>
#include <support/run_program.hpp>

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace elastic {
namespace {

using namespace std::chrono_literals;
using asio::ip::tcp;
using detail::ring;

// Null, and the test is skipped, if this machine has none to give.
std::shared_ptr<ring> try_ring(asio::any_io_executor executor, detail::ring_options options = {}) {
  std::string why_not;
  auto made = ring::try_make(std::move(executor), options, &why_not);
  INFO(why_not);
  REQUIRE((made != nullptr) == test::is_io_uring_here());
  CHECK(why_not.empty() == (made != nullptr));
  if (!made) test::skip("no io_uring: " + why_not);
  return made;
}

// Two connected stream sockets: one for the ring, one to play its peer.
struct connected_pair {
  connected_pair() {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    mine = ends[0];
    theirs = ends[1];
  }
  ~connected_pair() {
    ::close(mine);
    if (theirs >= 0) ::close(theirs);
  }
  connected_pair(const connected_pair&) = delete;
  connected_pair& operator=(const connected_pair&) = delete;

  void write(std::string_view text) const {
    REQUIRE(::write(theirs, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  void hang_up() { ::close(std::exchange(theirs, -1)); }

  int mine = -1;
  int theirs = -1;
};

// An operation and everything that it was told.
class witness : public std::enable_shared_from_this<witness> {
 public:
  std::string data;
  std::vector<int> results;
  bool ended = false;
  int last_result = 0;
  // Called after each completion.
  std::function<void()> then = [] {};

  void take(const ring::completion& done) noexcept {
    data += done.data;
    results.push_back(done.result);
    if (done.last) {
      ended = true;
      last_result = done.result;
    }
    then();
  }

  ring::member_operation<&witness::take> operation{*this};
};

// Echoes what it receives on one connection, as the ring's documentation shows.
class echo : public std::enable_shared_from_this<echo> {
 public:
  echo(std::shared_ptr<ring> io, int socket) : io_(std::move(io)), socket_(socket) {}
  ~echo() { ::close(socket_); }
  void start() { io_->receive(receiving_, socket_, shared_from_this()); }

 private:
  void received(const ring::completion& done) noexcept {
    if (!done.last) waiting_ += done.data;
    if (!sending_.running()) send_next();
  }
  void sent(const ring::completion& done) noexcept {
    if (done.error()) {
      io_->cancel(receiving_);
    } else {
      send_next();
    }
  }
  void send_next() {
    on_the_way_ = std::exchange(waiting_, {});
    if (!on_the_way_.empty()) io_->send(sending_, socket_, on_the_way_, shared_from_this());
  }

  std::shared_ptr<ring> io_;
  int socket_;
  std::string waiting_;
  std::string on_the_way_;
  ring::member_operation<&echo::received> receiving_{*this};
  ring::member_operation<&echo::sent> sending_{*this};
};

class echo_server : public std::enable_shared_from_this<echo_server> {
 public:
  explicit echo_server(std::shared_ptr<ring> io)
      : io_(std::move(io)),
        acceptor_(io_->get_executor(), tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {}
  void start() { io_->accept(accepting_, acceptor_.native_handle(), shared_from_this()); }
  void stop() { io_->cancel(accepting_); }
  tcp::endpoint endpoint() const { return acceptor_.local_endpoint(); }
  int accepted() const { return accepted_; }

 private:
  void take(const ring::completion& done) noexcept {
    if (done.last) return;
    ++accepted_;
    std::make_shared<echo>(io_, done.result)->start();
  }

  std::shared_ptr<ring> io_;
  tcp::acceptor acceptor_;
  int accepted_ = 0;
  ring::member_operation<&echo_server::take> accepting_{*this};
};

std::string numbered_text(std::size_t size, int seed) {
  std::string text(size, ' ');
  for (std::size_t i = 0; i < size; ++i) {
    text[i] = static_cast<char>('a' + (i / 7 + static_cast<std::size_t>(seed)) % 26);
  }
  return text;
}

// Sends without waiting for what comes back, and compares that with what was sent.
task<void> write_all(tcp::socket& socket, const std::string& text) {
  co_await asio::async_write(socket, asio::buffer(text), asio::use_awaitable);
}

task<void> talk(tcp::endpoint to, std::size_t size, int rounds, int seed, int& right) {
  using namespace asio::experimental::awaitable_operators;
  tcp::socket socket(co_await asio::this_coro::executor);
  co_await socket.async_connect(to, asio::use_awaitable);
  for (int round = 0; round < rounds; ++round) {
    const std::string text = numbered_text(size, seed + round);
    std::string back(size, '\0');
    co_await (write_all(socket, text) &&
              asio::async_read(socket, asio::buffer(back), asio::use_awaitable));
    if (back != text) co_return;
  }
  ++right;
}

task<void> talk_all(tcp::endpoint to, int count, std::size_t size, int rounds, int& right) {
  auto executor = co_await asio::this_coro::executor;
  int ended = 0;
  event_flag all_ended(executor);
  for (int i = 0; i < count; ++i) {
    asio::co_spawn(executor, talk(to, size, rounds, i, right), [&](std::exception_ptr) {
      if (++ended == count) all_ended.set();
    });
  }
  co_await all_ended.wait();
}

CO_TEST("ring: serves many connections at once, with every byte in its place",
        "[integration][sanitize]") {
  auto io = try_ring(co_await asio::this_coro::executor);
  if (!io) co_return;
  auto server = std::make_shared<echo_server>(io);
  server->start();
  int right = 0;
  co_await talk_all(server->endpoint(), 50, 64, 40, right);
  CHECK(right == 50);
  CHECK(server->accepted() == 50);
  server->stop();
}

CO_TEST("ring: megabytes pass whole in both directions", "[integration][sanitize]") {
  auto io = try_ring(co_await asio::this_coro::executor);
  if (!io) co_return;
  auto server = std::make_shared<echo_server>(io);
  server->start();
  int right = 0;
  co_await talk_all(server->endpoint(), 4, 4'000'000, 2, right);
  CHECK(right == 4);
  server->stop();
}

CO_TEST("ring: one that is much too small is slow and right", "[integration][sanitize]") {
  // The queue of requests, that of answers and the buffers are all overrun again and again.
  auto io = try_ring(co_await asio::this_coro::executor, {2, 2, 16});
  if (!io) co_return;
  auto server = std::make_shared<echo_server>(io);
  server->start();
  int right = 0;
  co_await talk_all(server->endpoint(), 60, 500, 3, right);
  CHECK(right == 60);
  server->stop();
}

CO_TEST("ring: an accepted socket is not inherited by a program", "[integration][sanitize]") {
  auto io = try_ring(co_await asio::this_coro::executor);
  if (!io) co_return;
  tcp::acceptor acceptor(io->get_executor(), tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  event_flag accepted(io->get_executor());
  auto on = std::make_shared<witness>();
  on->then = [&] { accepted.set(); };
  io->accept(on->operation, acceptor.native_handle(), on);
  tcp::socket peer(io->get_executor());
  co_await peer.async_connect(acceptor.local_endpoint(), asio::use_awaitable);
  co_await accepted.wait();
  REQUIRE(on->results.size() == 1);
  REQUIRE(on->results[0] >= 0);
  CHECK((::fcntl(on->results[0], F_GETFD) & FD_CLOEXEC) != 0);
  ::close(on->results[0]);
  on->then = [] {};
  io->cancel(on->operation);
}

// Lowers how many descriptors this process may have to those that it has.
class no_more_descriptors {
 public:
  no_more_descriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int next = ::dup(0);
    ::close(next);
    rlimit now = before_;
    now.rlim_cur = static_cast<rlim_t>(next);
    ::setrlimit(RLIMIT_NOFILE, &now);
  }
  ~no_more_descriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  no_more_descriptors(const no_more_descriptors&) = delete;
  no_more_descriptors& operator=(const no_more_descriptors&) = delete;

 private:
  rlimit before_{};
};

CO_TEST("ring: accepting ends without descriptors and can be started again", "[integration]") {
  auto io = try_ring(co_await asio::this_coro::executor);
  if (!io) co_return;
  tcp::acceptor acceptor(io->get_executor(), tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  tcp::socket peer(io->get_executor());
  co_await peer.async_connect(acceptor.local_endpoint(), asio::use_awaitable);
  event_flag refused(io->get_executor());
  event_flag accepted(io->get_executor());
  auto on = std::make_shared<witness>();
  on->then = [&] { on->results.back() < 0 ? refused.set() : accepted.set(); };
  {
    no_more_descriptors limit;
    io->accept(on->operation, acceptor.native_handle(), on);
    co_await refused.wait();
  }
  CHECK(on->last_result == -EMFILE);
  io->accept(on->operation, acceptor.native_handle(), on);
  co_await accepted.wait();
  CHECK(on->results.back() >= 0);
  ::close(on->results.back());
  on->then = [] {};
  io->cancel(on->operation);
}

TEST_CASE("ring: receiving ends with 0 at the end of the stream", "[integration][sanitize]") {
  asio::io_context context;
  auto io = try_ring(context.get_executor());
  if (!io) return;
  connected_pair sockets;
  auto on = std::make_shared<witness>();
  io->receive(on->operation, sockets.mine, on);
  sockets.write("all there is");
  sockets.hang_up();
  context.run();
  CHECK(on->data == "all there is");
  CHECK(on->ended);
  CHECK(on->last_result == 0);
  CHECK(io->running() == 0);
}

TEST_CASE("ring: sending to who has hung up is an error and no signal", "[integration][sanitize]") {
  asio::io_context context;
  auto io = try_ring(context.get_executor());
  if (!io) return;
  connected_pair sockets;
  sockets.hang_up();
  auto on = std::make_shared<witness>();
  io->send(on->operation, sockets.mine, "to nobody", on);
  context.run();
  CHECK(on->last_result == -EPIPE);
}

TEST_CASE("ring: of many operations the first are under way before the last are started",
          "[integration][sanitize]") {
  asio::io_context context;
  auto io = try_ring(context.get_executor());
  if (!io) return;
  std::vector<std::unique_ptr<connected_pair>> sockets;
  std::vector<std::shared_ptr<witness>> sending;
  for (int number = 0; number < 100; ++number) {
    sockets.push_back(std::make_unique<connected_pair>());
    sending.push_back(std::make_shared<witness>());
    io->send(sending.back()->operation, sockets.back()->mine, "now", sending.back());
  }
  // The loop has not run yet.
  char bytes[4];
  CHECK(::recv(sockets.front()->theirs, bytes, sizeof bytes, MSG_DONTWAIT) == 3);
  CHECK(::recv(sockets.back()->theirs, bytes, sizeof bytes, MSG_DONTWAIT) == -1);
  CHECK_FALSE(sending.front()->ended);
  context.run();
  for (const auto& each : sending) CHECK(each->last_result == 3);
  CHECK(io->running() == 0);
}

TEST_CASE("ring: an operation on a closed descriptor fails alone", "[integration][sanitize]") {
  asio::io_context context;
  auto io = try_ring(context.get_executor());
  if (!io) return;
  connected_pair sockets;
  auto bad = std::make_shared<witness>();
  auto good = std::make_shared<witness>();
  io->receive(bad->operation, 1'000'000, bad);
  io->send(good->operation, sockets.mine, "fine", good);
  context.run();
  CHECK(bad->last_result == -EBADF);
  CHECK(good->last_result == 4);
}

TEST_CASE("ring: a cancelled operation completes once more, and never again",
          "[integration][sanitize]") {
  asio::io_context context;
  auto io = try_ring(context.get_executor());
  if (!io) return;
  connected_pair sockets;
  auto on = std::make_shared<witness>();
  io->receive(on->operation, sockets.mine, on);
  context.run_for(5ms);
  CHECK_FALSE(on->ended);
  io->cancel(on->operation);
  io->cancel(on->operation);
  context.restart();
  context.run();
  CHECK(on->last_result == -ECANCELED);
  CHECK(on->results.size() == 1);
  sockets.write("too late");
  context.restart();
  context.run_for(5ms);
  CHECK(on->results.size() == 1);
}

TEST_CASE("ring: cancelled before the kernel had it", "[integration][sanitize]") {
  asio::io_context context;
  auto io = try_ring(context.get_executor());
  if (!io) return;
  connected_pair sockets;
  auto on = std::make_shared<witness>();
  io->receive(on->operation, sockets.mine, on);
  io->cancel(on->operation);
  CHECK_FALSE(on->ended);
  context.run();
  CHECK(on->results == std::vector<int>{-ECANCELED});
}

TEST_CASE("ring: who gets its number next does not race with its end", "[integration][sanitize]") {
  asio::io_context context;
  if (!try_ring(context.get_executor())) return;
  // Seen by ThreadSanitizer alone.
  std::atomic<bool> is_over = false;
  std::thread other([&] {
    while (!is_over) std::filesystem::directory_iterator("/");
  });
  for (int i = 0; i < 50; ++i) ring::try_make(context.get_executor());
  is_over = true;
  other.join();
}

TEST_CASE("ring: to cancel what does not run does nothing", "[integration][sanitize]") {
  asio::io_context context;
  auto io = try_ring(context.get_executor());
  if (!io) return;
  auto on = std::make_shared<witness>();
  io->cancel(on->operation);
  context.run();
  CHECK(on->results.empty());
}

TEST_CASE("ring: cancelled from its own completion", "[integration][sanitize]") {
  asio::io_context context;
  auto io = try_ring(context.get_executor());
  if (!io) return;
  connected_pair sockets;
  auto on = std::make_shared<witness>();
  on->then = [&] { io->cancel(on->operation); };
  io->receive(on->operation, sockets.mine, on);
  sockets.write("one");
  context.run();
  CHECK(on->data == "one");
  CHECK(on->last_result == -ECANCELED);
}

TEST_CASE("ring: started again from its own last completion", "[integration][sanitize]") {
  asio::io_context context;
  auto io = try_ring(context.get_executor());
  if (!io) return;
  connected_pair sockets;
  auto on = std::make_shared<witness>();
  int sends = 0;
  on->then = [&] {
    if (++sends < 1000) io->send(on->operation, sockets.mine, "x", on);
    char taken;
    REQUIRE(::read(sockets.theirs, &taken, 1) == 1);
  };
  io->send(on->operation, sockets.mine, "x", on);
  context.run();
  CHECK(sends == 1000);
}

TEST_CASE("ring: a cancel that crosses the end does not hit the next start",
          "[integration][sanitize]") {
  asio::io_context context;
  auto io = try_ring(context.get_executor());
  if (!io) return;
  for (int i = 0; i < 300; ++i) {
    connected_pair sockets;
    auto on = std::make_shared<witness>();
    bool again = true;
    on->then = [&] {
      if (!on->ended || !std::exchange(again, false)) return;
      on->ended = false;
      io->receive(on->operation, sockets.mine, on);
    };
    io->receive(on->operation, sockets.mine, on);
    context.restart();
    context.poll();
    // The end is in the queue of answers when the cancel is asked for.
    ::shutdown(sockets.theirs, SHUT_WR);
    io->cancel(on->operation);
    context.restart();
    context.run();
    CHECK(on->last_result == 0);
  }
}

TEST_CASE("ring: an idle one does not keep the loop running, a running operation does",
          "[integration][sanitize]") {
  asio::io_context context;
  auto io = try_ring(context.get_executor());
  if (!io) return;
  context.run();
  connected_pair sockets;
  auto on = std::make_shared<witness>();
  io->receive(on->operation, sockets.mine, on);
  context.restart();
  context.run_for(5ms);
  CHECK_FALSE(context.stopped());
  sockets.hang_up();
  context.run();
  CHECK(on->ended);
}

TEST_CASE("ring: lives as long as an operation runs, though nobody holds it",
          "[integration][sanitize]") {
  asio::io_context context;
  auto io = try_ring(context.get_executor());
  if (!io) return;
  connected_pair sockets;
  auto on = std::make_shared<witness>();
  io->receive(on->operation, sockets.mine, on);
  std::weak_ptr<ring> weak_io = io;
  io.reset();
  context.run_for(5ms);
  CHECK_FALSE(weak_io.expired());
  sockets.write("heard");
  sockets.hang_up();
  context.run();
  CHECK(on->data == "heard");
  CHECK(on->last_result == 0);
  CHECK(weak_io.expired());
}

// Waits until an operation has ended. Result: that of its last completion.
task<int> end_of(std::shared_ptr<witness> on) {
  event_flag ended(co_await asio::this_coro::executor);
  on->then = [&] {
    if (on->ended) ended.set();
  };
  co_await ended.wait();
  on->then = [] {};
  co_return on->last_result;
}

TEST_CASE("ring: a context that is destroyed frees everything that still runs",
          "[integration][sanitize]") {
  std::weak_ptr<witness> receiving;
  std::weak_ptr<witness> not_yet_started;
  std::weak_ptr<ring> weak_io;
  std::weak_ptr<witness> reading;
  char byte = 0;
  connected_pair sockets;
  int pipe[2];
  REQUIRE(::pipe2(pipe, O_CLOEXEC) == 0);
  {
    asio::io_context context;
    auto io = try_ring(context.get_executor());
    if (!io) return;
    weak_io = io;
    auto on = std::make_shared<witness>();
    receiving = on;
    // What is held here holds the ring: the circle is broken by the end of the context.
    on->then = [io] {};
    io->receive(on->operation, sockets.mine, on);
    auto reader = std::make_shared<witness>();
    reading = reader;
    io->read(reader->operation, pipe[0], {&byte, 1}, reader);
    context.run_for(5ms);
    auto late = std::make_shared<witness>();
    not_yet_started = late;
    io->receive(late->operation, sockets.theirs, late);
  }
  CHECK(receiving.expired());
  CHECK(not_yet_started.expired());
  CHECK(weak_io.expired());
  CHECK(reading.expired());
  ::close(pipe[0]);
  ::close(pipe[1]);
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator entries("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

TEST_CASE("ring: a connection accepted at the very end is closed", "[integration][sanitize]") {
  const std::size_t before = open_descriptors();
  {
    asio::io_context context;
    auto io = try_ring(context.get_executor());
    if (!io) return;
    tcp::acceptor acceptor(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    auto on = std::make_shared<witness>();
    io->accept(on->operation, acceptor.native_handle(), on);
    context.run_for(5ms);
    tcp::socket peer(context);
    peer.connect(acceptor.local_endpoint());
    // The kernel has its answer ready, and nobody runs the loop any more.
  }
  CHECK(open_descriptors() == before);
}

CO_TEST("ring: a pipe is read to its end", "[integration][sanitize]") {
  auto io = try_ring(co_await asio::this_coro::executor);
  if (!io) co_return;
  int pipe[2];
  REQUIRE(::pipe2(pipe, O_CLOEXEC) == 0);
  const std::string sent = numbered_text(1'000'000, 3);
  std::thread writer([&] {
    for (std::size_t at = 0; at < sent.size();) {
      at += static_cast<std::size_t>(::write(pipe[1], sent.data() + at, sent.size() - at));
    }
    ::close(pipe[1]);
  });
  std::string got;
  std::vector<char> buffer(10'000);
  for (;;) {
    auto on = std::make_shared<witness>();
    io->read(on->operation, pipe[0], buffer, on);
    const int count = co_await end_of(on);
    if (count <= 0) break;
    got.append(buffer.data(), static_cast<std::size_t>(count));
  }
  writer.join();
  ::close(pipe[0]);
  CHECK(got == sent);
}

CO_TEST("ring: waits that were cancelled take nothing", "[integration][sanitize]") {
  auto io = try_ring(co_await asio::this_coro::executor);
  if (!io) co_return;
  connected_pair sockets;
  for (int i = 0; i < 5; ++i) {
    auto on = std::make_shared<witness>();
    io->poll(on->operation, sockets.mine, POLLIN, on);
    asio::post(io->get_executor(), [io, on] { io->cancel(on->operation); });
    const int result = co_await end_of(on);
    CHECK(result == -ECANCELED);
  }
  CHECK(io->running() == 0);
  sockets.write("now");
  auto readable = std::make_shared<witness>();
  io->poll(readable->operation, sockets.mine, POLLIN, readable);
  const int events = co_await end_of(readable);
  CHECK((events & POLLIN) != 0);
  char text[8];
  auto reading = std::make_shared<witness>();
  io->read(reading->operation, sockets.mine, text, reading);
  const int count = co_await end_of(reading);
  REQUIRE(count == 3);
  CHECK(std::string_view(text, 3) == "now");
}

CO_TEST("ring: a send continues until the socket has taken everything", "[integration][sanitize]") {
  auto io = try_ring(co_await asio::this_coro::executor);
  if (!io) co_return;
  connected_pair sockets;
  const std::string sent = numbered_text(3'000'000, 5);
  std::string got;
  std::thread reader([&] {
    std::vector<char> buffer(100'000);
    for (;;) {
      const ssize_t count = ::read(sockets.theirs, buffer.data(), buffer.size());
      if (count <= 0) break;
      got.append(buffer.data(), static_cast<std::size_t>(count));
    }
  });
  auto on = std::make_shared<witness>();
  io->send(on->operation, sockets.mine, sent, on);
  const int count = co_await end_of(on);
  CHECK(count == static_cast<int>(sent.size()));
  ::shutdown(sockets.mine, SHUT_WR);
  reader.join();
  CHECK(got == sent);
}

CO_TEST("ring: the death of a process is seen by its pidfd", "[integration][sanitize]") {
  auto io = try_ring(co_await asio::this_coro::executor);
  if (!io) co_return;
  char name[] = "sleep";
  char span[] = "1000";
  char* arguments[] = {name, span, nullptr};
  pid_t pid = 0;
  REQUIRE(::posix_spawnp(&pid, name, nullptr, nullptr, arguments, environ) == 0);
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  REQUIRE(pidfd >= 0);
  auto death = std::make_shared<witness>();
  io->poll(death->operation, pidfd, POLLIN, death);
  ::kill(pid, SIGKILL);
  const int events = co_await end_of(death);
  CHECK((events & POLLIN) != 0);
  int status = 0;
  CHECK(::waitpid(pid, &status, WNOHANG) == pid);
  ::close(pidfd);
}

TEST_CASE("ring: what a thread started goes on after its end", "[integration][sanitize]") {
  asio::io_context context;
  auto io = try_ring(context.get_executor());
  if (!io) return;
  connected_pair first;
  connected_pair second;
  auto receiving = std::make_shared<witness>();
  auto polling = std::make_shared<witness>();
  std::thread([&] {
    io->receive(receiving->operation, first.mine, receiving);
    io->poll(polling->operation, second.mine, POLLIN, polling);
    context.run_for(5ms);
  }).join();
  CHECK_FALSE(receiving->ended);
  CHECK_FALSE(polling->ended);
  first.write("still there");
  first.hang_up();
  second.write("too");
  context.restart();
  context.run_for(20s);
  CHECK(receiving->data == "still there");
  CHECK(receiving->last_result == 0);
  CHECK((polling->last_result & POLLIN) != 0);
}

TEST_CASE("ring: works on a strand of a pool of threads", "[integration][sanitize]") {
  asio::io_context context;
  auto strand = asio::make_strand(context);
  auto io = try_ring(strand);
  if (!io) return;
  std::shared_ptr<echo_server> server;
  int right = 0;
  std::exception_ptr failure;
  auto serve = [](std::shared_ptr<ring> on, int& count) -> task<void> {
    auto serving = std::make_shared<echo_server>(on);
    serving->start();
    co_await talk_all(serving->endpoint(), 20, 3000, 20, count);
    serving->stop();
  };
  asio::co_spawn(strand, serve(io, right), [&](std::exception_ptr thrown) { failure = thrown; });
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { context.run(); });
  for (std::thread& thread : threads) thread.join();
  CHECK_FALSE(failure);
  CHECK(right == 20);
}

// Runs this test program again under a filter, for the hidden case below.
std::string reason_under(const std::string& denied) {
  const std::string itself = std::filesystem::read_symlink("/proc/self/exe").string();
  const test::program_result result = test::run_program(
      {ELASTIC_DENY_SYSCALLS, denied, "--", itself, "ring: prints why there is none"});
  const std::size_t begin = result.out.find("reason: ");
  if (begin == std::string::npos) return result.out + result.err;
  return result.out.substr(begin + 8, result.out.find('\n', begin) - begin - 8);
}

TEST_CASE("ring: prints why there is none", "[.]") {
  asio::io_context context;
  std::string why_not;
  CHECK_FALSE(ring::try_make(context.get_executor(), {}, &why_not));
  std::printf("reason: %s\n", why_not.c_str());
}

TEST_CASE("ring: if it is forbidden the reason is said", "[integration]") {
  asio::io_context context;
  if (!try_ring(context.get_executor())) return;
  CHECK(reason_under("io_uring_setup") == "io_uring_setup: Operation not permitted");
  CHECK(reason_under("io_uring_setup=ENOSYS") == "io_uring_setup: Function not implemented");
  CHECK(reason_under("io_uring_setup=ENOMEM") == "io_uring_setup: Cannot allocate memory");
  CHECK(reason_under("io_uring_enter") == "io_uring_enter: Operation not permitted");
  CHECK(reason_under("io_uring_register") == "io_uring_register: Operation not permitted");
}

TEST_CASE("ring: out of descriptors there is none, and none is lost", "[integration]") {
  asio::io_context context;
  if (!try_ring(context.get_executor())) return;
  std::string why_not;
  {
    no_more_descriptors limit;
    CHECK_FALSE(ring::try_make(context.get_executor(), {}, &why_not));
  }
  CHECK(why_not == "io_uring_setup: Too many open files");
  CHECK(try_ring(context.get_executor()));
}

TEST_CASE("ring: nonsensical options are refused", "[integration][sanitize]") {
  asio::io_context context;
  if (!try_ring(context.get_executor())) return;
  std::string why_not;
  CHECK_FALSE(ring::try_make(context.get_executor(), {256, 100, 4096}, &why_not));
  CHECK(why_not == "io_uring_register: Invalid argument");
}

}  // namespace
}  // namespace elastic
