// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/base/detail/internals.hpp>
#include <elastic/base/detail/random.hpp>
#include <elastic/base/time.hpp>
#include <elastic/nodes/detail/rendezvous_message.hpp>
#include <elastic/store/memory_store.hpp>
#include <elastic/store/prefix_store.hpp>
#include <elastic/store/tcp_store.hpp>
#include <elastic/store/tcp_store_server.hpp>

#include <support/background_store.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>
#include <support/golden_vectors.hpp>
#include <support/raw_client.hpp>
#include <support/run_program.hpp>
#include <unit/store/store_conformance.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>

namespace elastic {
namespace {

using detail::internals;

using namespace std::chrono_literals;
using test::background_store;
using test::comes_true;
using test::from_hex;
using test::raw_client;
using test::to_hex;

tcp_store_server::options chosen_io() {
  const char* io = std::getenv("ELASTIC_IO");
  tcp_store_server::options options;
  options.use_ring = io == nullptr || std::string_view(io) != "epoll";
  return options;
}

// ---- bytes captured from PyTorch, over real sockets -----------------------------------------

// Sends the bytes in pieces, each in a segment of its own.
void send_in_pieces(raw_client& client, std::string_view bytes, std::size_t piece) {
  for (std::size_t at = 0; at < bytes.size(); at += piece) client.send(bytes.substr(at, piece));
}

// A request behind which a client knows that all before it was executed.
void settle(raw_client& client, bool is_modern) {
  const std::string check = from_hex(is_modern ? "050000000000000000" : "040000000000000000");
  CHECK(to_hex(client.ask(check, 1)) == "00");
}

void replay(const std::vector<test::golden_message>& messages, const std::string& greeting,
            const std::vector<std::pair<std::string, std::string>>& before, std::size_t piece) {
  background_store server(chosen_io());
  for (const auto& [key, value] : before) internals::engine_of(*server)->set(key, value);
  raw_client client(server->port());
  send_in_pieces(client, greeting, piece);
  bool has_ended = false;
  for (const auto& message : messages) {
    if (message.is_end) {
      CHECK(client.is_closed());
      has_ended = true;
    } else if (message.sent) {
      send_in_pieces(client, message.bytes, piece);
    } else {
      CHECK(to_hex(client.receive(message.bytes.size())) == to_hex(message.bytes));
    }
  }
  const bool is_modern =
      detail::classify(greeting + messages.front().bytes) == detail::first_bytes::modern;
  if (!has_ended) settle(client, is_modern);
}

TEST_CASE("tcp_store_server: answers the requests captured from PyTorch, in pieces of any size",
          "[integration][io]") {
  for (const std::size_t piece : {1, 2, 3, 5, 8, 9, 13, 4096}) {
    INFO("pieces of " << piece << " bytes");
    for (const test::captured_case& row : test::captured_cases()) {
      INFO("vector " << row.name);
      replay(test::captured(row.name), "", row.before, piece);
    }
    const std::string greeting = test::all_sent(test::derived("connect_2.2-2.4"), true);
    replay(test::derived("connect_2.5+"), "", {}, piece);
    for (const char* name : {"set", "add", "append", "multi_set", "queue_len", "queue_push",
                             "queue_pop_empty_nonblocking", "compare_set_missing_empty",
                             "wait_for_workers", "wait_timeout_cancel"}) {
      INFO("vector " << name);
      replay(test::derived(name), greeting, {}, piece);
    }
    replay(test::derived("get"), greeting, {{"/k", "v1"}}, piece);
    replay(test::derived("delete_key"), greeting, {{"/k", "v1"}}, piece);
    replay(test::derived("multi_get"), greeting, {{"/a", "1"}, {"/b", "22"}}, piece);
  }
}

// ---- many clients, many threads -------------------------------------------------------------

TEST_CASE("tcp_store_server: a thousand clients wait and are woken by one change",
          "[integration][io]") {
  constexpr std::size_t count = 1000;
  background_store server(chosen_io());
  std::vector<std::unique_ptr<raw_client>> clients;
  for (std::size_t i = 0; i < count; ++i) {
    clients.push_back(std::make_unique<raw_client>(server->port()));
    clients.back()->send(from_hex("05010000000000000002000000000000002f6b"));
  }
  REQUIRE(comes_true([&] { return internals::engine_of(*server)->waiters() == count; }));
  CHECK(server->connections() == count);
  raw_client other(server->port());
  other.send(
      from_hex("0002000000000000002f6b0100000000000000"
               "76"));
  for (auto& client : clients) REQUIRE(to_hex(client->receive(1)) == "00");
  CHECK(internals::engine_of(*server)->waiters() == 0);
  // Half of them leave without a word.
  clients.resize(count / 2);
  CHECK(comes_true([&] { return server->connections() == count / 2 + 1; }));
  for (auto& client : clients) settle(*client, false);
  server.stop();
  CHECK(server->connections() == 0);
}

// What one of several participants does in each round: counts itself, then waits for the others.
task<void> meet_often(std::shared_ptr<store> shared, int participants, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const std::string name = std::to_string(round);
    const auto arrived = co_await shared->add("arrived" + name, 1);
    if (arrived == participants) co_await shared->set("all" + name, "x");
    co_await shared->get("all" + name);
  }
}

TEST_CASE("tcp_store_server: clients of all kinds on several threads meet in one table",
          "[integration][sanitize][io]") {
  constexpr int threads = 4;
  constexpr int participants = 24;
  constexpr int rounds = 30;
  asio::io_context context;
  auto options = chosen_io();
  options.table = std::make_shared<memory_store>();
  tcp_store_server server(context.get_executor(), options);
  std::atomic<int> rest = participants;
  std::atomic<int> failed = 0;
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work;
  work.emplace(context.get_executor());
  for (int i = 0; i < participants; ++i) {
    const asio::any_io_executor strand = asio::make_strand(context);
    std::shared_ptr<store> shared;
    if (i % 3 == 0) {
      shared = options.table;
    } else {
      tcp_store::options client;
      client.port = server.port();
      client.generation =
          i % 3 == 1 ? tcp_store_generation::torch_1_13 : tcp_store_generation::torch_2_2;
      shared = std::make_shared<tcp_store>(strand, client);
    }
    asio::co_spawn(strand, meet_often(shared, participants, rounds),
                   [&](std::exception_ptr failure) {
                     if (failure) ++failed;
                     if (--rest == 0) work.reset();
                   });
  }
  // Watched from the outside, and stopped while clients are still connected.
  asio::co_spawn(asio::make_strand(context),
                 with_cleanup(
                     [](std::atomic<int>& running) -> task<void> {
                       system_time time;
                       while (running > 0) co_await time.sleep_until(time.now() + 1ms);
                     }(rest),
                     server.stop()),
                 [&](std::exception_ptr failure) {
                   if (failure) ++failed;
                 });
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) running.emplace_back([&] { context.run(); });
  for (auto& thread : running) thread.join();
  CHECK(failed == 0);
  CHECK(rest == 0);
  CHECK(internals::engine_of(*options.table)->find("/arrived" + std::to_string(rounds - 1)) ==
        std::to_string(participants));
  CHECK(internals::engine_of(*options.table)->waiters() == 0);
  CHECK(server.connections() == 0);
}

// ---- PyTorch 1.13 ---------------------------------------------------------------------------

std::vector<std::string> python_command(const std::string& python, const std::string& script,
                                        const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {python,
                                      ELASTIC_SOURCE_DIR "/tests/integration/python/" + script};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

TEST_CASE("tcp_store_server: serves every operation to clients of PyTorch", "[integration][io]") {
  const std::string python = test::torch_python();
  if (python.empty()) return;
  background_store server(chosen_io());
  const auto result = test::run_program(
      python_command(python, "torch_store_client.py", {std::to_string(server->port())}));
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(result.out == "all operations are as expected\n");
  CHECK(comes_true([&] { return server->connections() == 0; }));
  CHECK(internals::engine_of(*server)->waiters() == 0);
  CHECK(internals::engine_of(*server)->find("/inner/outer/n") == "1");
}

TEST_CASE("tcp_store_server: processes of PyTorch form a group over it", "[integration][io]") {
  const std::string python = test::torch_python();
  if (python.empty()) return;
  const std::string processes = "4";
  background_store server(chosen_io());
  const auto result = test::run_program(
      python_command(python, "torch_store_group.py", {std::to_string(server->port()), processes}));
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(result.out == "all processes agree\n");
  CHECK(internals::engine_of(*server)->find("init/") == processes);
  CHECK(comes_true([&] { return server->connections() == 0; }));
  CHECK(internals::engine_of(*server)->waiters() == 0);
}

// Every operation of our client against a store that PyTorch serves.
task<void> use_torch_server(tcp_store::options options) {
  const auto client = std::make_shared<tcp_store>(co_await asio::this_coro::executor, options);
  co_await client->connect();
  CHECK_AWAITED("hello", client->get("from torch"));
  CHECK(client->generation() == tcp_store_generation::torch_1_13);

  co_await test::check_values(client, false);
  co_await test::check_waits(client);
  co_await test::check_cancelled_waits(client);
  co_await test::check_refusals(client);
  const auto prefixed = std::make_shared<prefix_store>("some/prefix", client);
  CHECK_AWAITED(7, prefixed->add("n", 7));
  CHECK_AWAITED("7", client->get("some/prefix/n"));
  if (options.announce_worker) co_await client->wait_for_workers(2);

  co_await client->set("from elastic", "goodbye");
  co_await client->set("stop", "");
  client->close();
}

void check_against_torch_server(tcp_store_generation generation, bool is_announced) {
  const std::string python = test::torch_python();
  if (python.empty()) return;
  const test::temporary_directory directory;
  const std::string port_file = directory / "port";
  std::vector<std::string> arguments = {port_file};
  // That server counts itself, and waits for one more.
  if (is_announced) arguments.push_back("2");

  test::program_result result;
  std::atomic<bool> has_ended = false;
  std::thread serving([&] {
    try {
      result = test::run_program(python_command(python, "torch_store_server.py", arguments));
    } catch (...) {
      result.code = -1;
    }
    has_ended = true;
  });
  while (!std::filesystem::exists(port_file) && !has_ended) ::poll(nullptr, 0, 5);
  tcp_store::options options;
  options.port = static_cast<std::uint16_t>(std::atoi(test::file_text(port_file).c_str()));
  options.generation = generation;
  options.announce_worker = is_announced;
  std::exception_ptr failure;
  try {
    if (!has_ended) test::run_test(use_torch_server(options));
  } catch (...) {
    failure = std::current_exception();
  }
  serving.join();
  INFO(result.out << result.err);
  CHECK(result.out == "serving\ngoodbye\n");
  CHECK(result.code == 0);
  if (failure) std::rethrow_exception(failure);
}

TEST_CASE("tcp_store: every operation against a store that PyTorch serves", "[integration]") {
  check_against_torch_server(tcp_store_generation::torch_1_13, false);
}

TEST_CASE("tcp_store: finds out that PyTorch 1.13 serves", "[integration]") {
  check_against_torch_server(tcp_store_generation::probe, false);
}

TEST_CASE("tcp_store: is the worker that PyTorch's server waits for", "[integration]") {
  check_against_torch_server(tcp_store_generation::torch_1_13, true);
}

}  // namespace
}  // namespace elastic
