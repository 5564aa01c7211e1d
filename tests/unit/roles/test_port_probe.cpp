// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// When a worker is ready because its port is open.

#include <elastic/roles/detail/port_probe.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/task_group.hpp>
#include <support/asio.hpp>
#include <support/catch.hpp>
#include <support/log_recorder.hpp>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace port_probe_tests {

using asio::ip::tcp;
using elastic::detail::await_served_port;
using elastic::detail::served_port;

/// A clock that goes ten times as fast.
class fast_time final : public elastic::time_source {
 public:
  elastic::time_point now() const override { return begin_ + (clock_.now() - begin_) * rate; }
  elastic::wall_time wall_now() const override { return clock_.wall_now(); }
  elastic::task<void> sleep_until(elastic::time_point deadline) override {
    if (deadline == elastic::time_point::max()) return clock_.sleep_until(deadline);
    return clock_.sleep_until(begin_ + (deadline - begin_) / rate);
  }

 private:
  static constexpr int rate = 10;
  mutable elastic::system_time clock_;
  elastic::time_point begin_ = clock_.now();
};

/// A process that has no port.
class bystander {
 public:
  bystander() : pid_(::fork()) {
    if (pid_ != 0) return;
    for (;;) ::pause();
  }
  ~bystander() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  bystander(const bystander&) = delete;
  bystander& operator=(const bystander&) = delete;

  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

/// A port of this process, and somebody who waits for it.
struct stage {
  stage() { acceptor.bind(tcp::endpoint(asio::ip::address_v4::loopback(), 0)); }

  void listen() {
    acceptor.listen();
    accept();
  }

  void await(pid_t pid) {
    served_port port;
    port.whose = "role 'rollout': worker 0";
    port.pid = pid;
    port.address = {"127.0.0.1", acceptor.local_endpoint().port()};
    asio::co_spawn(context, await_served_port(std::move(port), time, log->log()),
                   asio::bind_cancellation_slot(cancel.slot(), [this](std::exception_ptr thrown) {
                     has_ended = true;
                     failure = thrown;
                     acceptor.close();
                   }));
  }

  void accept() {
    acceptor.async_accept([this](auto problem, tcp::socket socket) {
      if (problem) return;
      ++accepted;
      // As a server does: it reads until the client has gone.
      const auto held = std::make_shared<tcp::socket>(std::move(socket));
      asio::async_read(*held, asio::dynamic_buffer(read),
                       [held](auto, std::size_t) {});
      accept();
    });
  }

  /// Until the log says it.
  void run_until(const std::string& line) {
    while (log->text().find(line) == std::string::npos && !has_ended) context.run_one();
  }

  asio::io_context context;
  tcp::acceptor acceptor{context, tcp::v4()};
  asio::cancellation_signal cancel;
  std::shared_ptr<fast_time> time = std::make_shared<fast_time>();
  std::shared_ptr<elastic::test::log_recorder> log =
      std::make_shared<elastic::test::log_recorder>();
  std::string read;
  int accepted = 0;
  bool has_ended = false;
  std::exception_ptr failure;
};

TEST_CASE("port probe: a worker is ready when it has accepted a connection", "[roles]") {
  stage stage;
  SECTION("it listens already") { stage.listen(); }
  SECTION("it listens later") {
    // The first attempts are refused.
    asio::co_spawn(stage.context,
                   stage.time->sleep_until(stage.time->now() + std::chrono::seconds(1)),
                   [&stage](std::exception_ptr) { stage.listen(); });
  }
  stage.await(::getpid());
  stage.context.run();
  CHECK(stage.has_ended);
  CHECK_FALSE(stage.failure);
  CHECK(stage.accepted >= 1);
  CHECK(stage.read.empty());
}

TEST_CASE("port probe: another program at the port makes nobody ready", "[roles]") {
  const bystander worker;
  stage stage;
  stage.listen();
  stage.await(worker.pid());
  stage.run_until("is not ready");
  CHECK_FALSE(stage.has_ended);
  CHECK_THAT(stage.log->text(),
             elastic::test::contains_text(" is not ready: after 30 s, another program accepts "
                                          "connections at 127.0.0.1:"));
  stage.cancel.emit(asio::cancellation_type::all);
  stage.context.run();
  CHECK(stage.has_ended);
}

TEST_CASE("port probe: a port that does not open is warned of, and waited for", "[roles]") {
  stage stage;
  stage.await(::getpid());
  stage.run_until("nobody accepts connections at 127.0.0.1:");
  CHECK_FALSE(stage.has_ended);
  stage.cancel.emit(asio::cancellation_type::all);
  stage.context.run();
  CHECK(stage.has_ended);
}

}  // namespace port_probe_tests
