// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/agent/worker_group.hpp>
#include <elastic/base/detail/internals.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/race.hpp>
#include <elastic/base/task_group.hpp>
#include <elastic/net/job_secret.hpp>
#include <elastic/store/detail/store_meter.hpp>
#include <elastic/store/memory_store.hpp>
#include <elastic/store/tcp_store.hpp>
#include <elastic/store/tcp_store_server.hpp>

#include <support/catch.hpp>
#include <support/co_test.hpp>
#include <support/golden_vectors.hpp>
#include <support/raw_client.hpp>
#include <support/reserved_port.hpp>

#include "store_conformance.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace elastic {
namespace {

using detail::internals;
using detail::store_meter;
using detail::tcp_store_legacy_dialect;

using namespace std::chrono_literals;
using generation = tcp_store_generation;
using test::from_hex;
using test::to_hex;

constexpr generation all_generations[] = {generation::torch_1_13, generation::torch_2_1,
                                          generation::torch_2_2, generation::probe};

std::shared_ptr<tcp_store> client_of(asio::any_io_executor executor, std::uint16_t port,
                                     generation client_generation,
                                     std::optional<job_secret> secret = {}) {
  tcp_store::options options;
  options.secret = std::move(secret);
  options.port = port;
  options.generation = client_generation;
  return std::make_shared<tcp_store>(std::move(executor), options);
}

// A client of each generation with our server.
using client_test = task<void> (*)(std::shared_ptr<tcp_store>, generation);

task<void> with_server(client_test body, generation client_generation,
                       std::optional<job_secret> secret = {}, bool use_ring = true) {
  auto executor = co_await asio::this_coro::executor;
  tcp_store_server::options options;
  options.secret = secret;
  options.use_ring = use_ring;
  // A client of 2.1 has not shown yet what it is when it first erases or appends.
  if (client_generation == generation::torch_2_1)
    internals::of(options).legacy_dialect = tcp_store_legacy_dialect::torch_2_1;
  tcp_store_server server(executor, options);
  const auto client = client_of(executor, server.port(), client_generation, secret);
  co_await body(client, client_generation);
  CHECK_BECOMES_TRUE(internals::engine_of(server)->waiters() == 0);
  client->close();
  CHECK_BECOMES_TRUE(server.connections() == 0);
  co_await server.stop();
}

void for_each_generation(client_test body) {
  for (const generation client_generation : all_generations) {
    INFO("generation " << static_cast<int>(client_generation));
    test::run_test(with_server(body, client_generation));
  }
#if defined(ELASTIC_HAS_TLS)
  for (const bool use_ring : {true, false}) {
    INFO("with a secret, " << (use_ring ? "with a ring" : "without a ring"));
    const job_secret secret("0123456789abcdef");
    test::run_test(with_server(body, generation::torch_2_2, secret, use_ring));
  }
#endif
}

TEST_CASE("tcp_store: has the operations of PyTorch's store, in every generation", "[store]") {
  for_each_generation(
      [](std::shared_ptr<tcp_store> client, generation client_generation) -> task<void> {
        const bool can_append = client_generation != generation::torch_1_13;
        co_await test::check_values(client, can_append);
      });
}

TEST_CASE("tcp_store: waits hold up no other operation", "[store]") {
  for_each_generation([](std::shared_ptr<tcp_store> client, generation) -> task<void> {
    co_await test::check_waits(client);
  });
}

TEST_CASE("tcp_store: cancelled waits leave nothing, at the server either", "[store]") {
  for_each_generation([](std::shared_ptr<tcp_store> client, generation) -> task<void> {
    co_await test::check_cancelled_waits(client);
  });
}

TEST_CASE("tcp_store: refuses what is too large or no number", "[store]") {
  for_each_generation([](std::shared_ptr<tcp_store> client, generation) -> task<void> {
    co_await test::check_refusals(client);
  });
}

TEST_CASE("tcp_store: a wait is cancelled at every moment", "[store]") {
  for_each_generation([](std::shared_ptr<tcp_store> client, generation) -> task<void> {
    system_time time;
    co_await client->connect();
    for (int microseconds = 0; microseconds < 600; microseconds += 7) {
      const std::string key = "k" + std::to_string(microseconds);
      const auto set_key = [](std::shared_ptr<tcp_store> target, std::string name) -> task<void> {
        co_await target->set(name, name);
      };
      const auto get_key = [](std::shared_ptr<tcp_store> source, std::string name,
                              int limit) -> task<void> {
        system_time clock;
        const time_point end = clock.now() + std::chrono::microseconds(limit);
        const auto value = co_await with_deadline(clock, end, source->get(name));
        if (value && *value != name) throw error(errc::protocol_violation, *value);
      };
      using namespace asio::experimental::awaitable_operators;
      task<void> get_task = get_key(client, key, microseconds);
      task<void> set_task = set_key(client, key);
      co_await (std::move(get_task) && std::move(set_task));
      CHECK_AWAITED(key, client->get(key));
    }
  });
}

/// Ends when the client can say why it is not connected.
task<void> await_problem(std::shared_ptr<tcp_store> client) {
  system_time time;
  while (client->last_problem().empty()) co_await time.sleep_until(time.now() + 1ms);
}

/// Checks that a client cannot connect.
task<void> check_not_connected(std::shared_ptr<tcp_store> client) {
  using namespace asio::experimental::awaitable_operators;
  task<void> connect_task = client->connect();
  task<void> problem_task = await_problem(client);
  const auto outcome = co_await (std::move(connect_task) || std::move(problem_task));
  CHECK(outcome.index() == 1);
}

CO_TEST("tcp_store: connects when the server comes", "[store]") {
  auto executor = co_await asio::this_coro::executor;
  const std::uint16_t port = test::reserved_port();
  const auto client = client_of(executor, port, generation::torch_2_2);
  co_await check_not_connected(client);
  CHECK_THAT(client->last_problem(), test::contains_text("127.0.0.1:" + std::to_string(port)));

  const auto serve_late = [](std::uint16_t late_port) -> task<void> {
    system_time clock;
    co_await clock.sleep_until(clock.now() + 50ms);
    tcp_store_server::options options;
    options.port = late_port;
    tcp_store_server server(co_await asio::this_coro::executor, options);
    CHECK_BECOMES_TRUE(internals::engine_of(server)->find("/there").has_value());
    co_await server.stop();
  };
  const auto connect_and_set = [](std::shared_ptr<tcp_store> target) -> task<void> {
    co_await target->connect();
    co_await target->set("there", "1");
  };
  using namespace asio::experimental::awaitable_operators;
  task<void> serve_task = serve_late(port);
  task<void> connect_task = connect_and_set(client);
  co_await (std::move(serve_task) && std::move(connect_task));
  CHECK(client->last_problem().empty());
}

errc failure_of(std::exception_ptr failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const error& exception) {
    return static_cast<errc>(exception.code().value());
  }
}

task<errc> failure_of_get(std::shared_ptr<tcp_store> client, std::string key) {
  std::exception_ptr failure;
  try {
    co_await client->get(key);
  } catch (...) {
    failure = std::current_exception();
  }
  REQUIRE(failure);
  co_return failure_of(failure);
}

CO_TEST("tcp_store: a broken connection fails its operation, the next one connects anew",
        "[store]") {
  auto executor = co_await asio::this_coro::executor;
  tcp_store_server::options options;
  std::shared_ptr<tcp_store> client;
  {
    tcp_store_server server(executor, options);
    options.port = server.port();
    client = client_of(executor, server.port(), generation::torch_2_2);
    co_await client->set("k", "v");
    const auto stop_when_waiting = [](tcp_store_server& stopped_server) -> task<void> {
      CHECK_BECOMES_TRUE(internals::engine_of(stopped_server)->waiters() == 1);
      co_await stopped_server.stop();
    };
    using namespace asio::experimental::awaitable_operators;
    task<errc> get_task = failure_of_get(client, "missing");
    task<void> stop_task = stop_when_waiting(server);
    const errc failure = co_await (std::move(get_task) && std::move(stop_task));
    CHECK(failure == errc::connection_failed);
  }
  // Nobody serves.
  const errc refusal = co_await failure_of_get(client, "k");
  CHECK(refusal == errc::connection_failed);
  tcp_store_server server(executor, options);
  co_await client->set("k", "w");
  CHECK_AWAITED("w", client->get("k"));
  client->close();
  co_await server.stop();
}

CO_TEST("tcp_store: what the clients of several servers ask for is counted together", "[store]") {
  auto executor = co_await asio::this_coro::executor;
  const auto meter = std::make_shared<store_meter>();
  CHECK(meter->keys() == std::nullopt);
  for (const std::int64_t keys : {1, 1}) {
    tcp_store_server::options options;
    internals::of(options).meter = meter;
    tcp_store_server server(executor, options);
    const auto client = client_of(executor, server.port(), generation::torch_2_2);
    co_await client->set("k", "v");
    CHECK_AWAITED("v", client->get("k"));
    CHECK(meter->keys() == keys);
    client->close();
    co_await server.stop();
  }
  CHECK(meter->keys() == 0);
  const auto requests = meter->requests();
  CHECK(requests.at("set") == 2);
  CHECK(requests.at("get") == 2);
  CHECK(requests.count("append") == 0);
}

CO_TEST("tcp_store: a connection that was cut while it was idle is made anew", "[store]") {
  auto executor = co_await asio::this_coro::executor;
  tcp_store_server::options options;
  options.table = std::make_shared<memory_store>();
  std::shared_ptr<tcp_store> client;
  {
    tcp_store_server server(executor, options);
    options.port = server.port();
    client = client_of(executor, server.port(), generation::torch_2_2);
    co_await client->add("n", 1);
    co_await server.stop();
  }
  tcp_store_server server(executor, options);
  const std::int64_t sum = co_await client->add("n", 1);
  CHECK(sum == 2);
  client->close();
  co_await server.stop();
}

// A clock that can be set ahead.
class clock_ahead final : public time_source {
 public:
  duration offset{};
  time_point now() const override { return real_.now() + offset; }
  wall_time wall_now() const override { return real_.wall_now(); }
  task<void> sleep_until(time_point deadline) override {
    return real_.sleep_until(deadline == time_point::max() ? deadline : deadline - offset);
  }

 private:
  system_time real_;
};

// Relays connections to a server. A cut lets nothing more through those that there are, and closes
// none: neither end learns of it.
class silent_cut {
 public:
  silent_cut(asio::any_io_executor executor, std::uint16_t target_port)
      : target_(asio::ip::address_v4::loopback(), target_port),
        acceptor_(executor, {asio::ip::address_v4::loopback(), 0}),
        tasks_(executor) {
    tasks_.spawn(accept_all());
  }
  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  std::size_t connections() const { return relays_.size(); }
  void cut() {
    for (const auto& entry : relays_) entry->is_cut = true;
  }
  task<void> stop() {
    co_await tasks_.stop();
    relays_.clear();
  }

 private:
  using socket = asio::ip::tcp::socket;
  struct relay {
    relay(socket client_side, socket server_side)
        : client_end(std::move(client_side)), server_end(std::move(server_side)) {}
    socket client_end;
    socket server_end;
    bool is_cut = false;
  };

  task<void> accept_all() {
    for (;;) {
      socket client_end = co_await acceptor_.async_accept(asio::use_awaitable);
      socket server_end(acceptor_.get_executor());
      co_await server_end.async_connect(target_, asio::use_awaitable);
      const auto entry = std::make_shared<relay>(std::move(client_end), std::move(server_end));
      relays_.push_back(entry);
      tasks_.spawn(copy(entry, true));
      tasks_.spawn(copy(entry, false));
    }
  }

  static task<void> copy(std::shared_ptr<relay> link, bool is_request) {
    socket& source = is_request ? link->client_end : link->server_end;
    socket& target = is_request ? link->server_end : link->client_end;
    std::array<char, 4096> piece;
    for (;;) {
      auto [failure, size] =
          co_await source.async_read_some(asio::buffer(piece), detail::as_result);
      if (failure) co_return;
      if (link->is_cut) continue;
      co_await asio::async_write(target, asio::buffer(piece.data(), size), detail::as_result);
    }
  }

  asio::ip::tcp::endpoint target_;
  asio::ip::tcp::acceptor acceptor_;
  std::vector<std::shared_ptr<relay>> relays_;
  task_group tasks_;
};

CO_TEST("tcp_store: a connection that was idle for long is not trusted", "[store]") {
  auto executor = co_await asio::this_coro::executor;
  tcp_store_server server(executor, tcp_store_server::options());
  silent_cut link(executor, server.port());
  const auto time = std::make_shared<clock_ahead>();
  tcp_store::options options;
  options.port = link.port();
  options.time = time;
  tcp_store client(executor, options);
  co_await client.set("k", "v");
  co_await client.set("k", "w");
  CHECK(link.connections() == 1);
  link.cut();
  time->offset = limits::store_idle_connection + 1s;
  const std::string value = co_await client.get("k");
  CHECK(value == "w");
  CHECK(link.connections() == 2);
  client.close();
  co_await link.stop();
  co_await server.stop();
}

CO_TEST("tcp_store: close ends what runs and what comes later", "[store]") {
  auto executor = co_await asio::this_coro::executor;
  tcp_store_server server(executor, tcp_store_server::options());
  const auto client = client_of(executor, server.port(), generation::torch_2_2);
  const auto close_when_waiting = [](tcp_store_server& busy_server,
                                     std::shared_ptr<tcp_store> closing_client) -> task<void> {
    CHECK_BECOMES_TRUE(internals::engine_of(busy_server)->waiters() == 1);
    closing_client->close();
  };
  using namespace asio::experimental::awaitable_operators;
  task<errc> get_task = failure_of_get(client, "missing");
  task<void> close_task = close_when_waiting(server, client);
  const errc failure = co_await (std::move(get_task) && std::move(close_task));
  CHECK(failure == errc::stopped);
  const errc later_failure = co_await failure_of_get(client, "missing");
  CHECK(later_failure == errc::stopped);
  CHECK_BECOMES_TRUE(internals::engine_of(server)->waiters() == 0);
  co_await server.stop();
}

CO_TEST("tcp_store: keeps as many connections as operations ran at once", "[store]") {
  auto executor = co_await asio::this_coro::executor;
  tcp_store_server server(executor, tcp_store_server::options());
  const auto client = client_of(executor, server.port(), generation::torch_2_2);
  for (int i = 0; i < 20; ++i) co_await client->add("n", 1);
  CHECK(server.connections() == 1);
  for (int i = 0; i < 20; ++i) {
    const test::store_keys never_set = {"never"};
    const bool has_ended = co_await test::ends_within(client->wait(never_set), 1ms);
    CHECK_FALSE(has_ended);
  }
  CHECK_AWAITED(21, client->add("n", 1));
  // A wait is cancelled on its own connection, which goes on.
  CHECK(server.connections() == 1);
  CHECK(internals::engine_of(server)->waiters() == 0);
  co_await test::check_waits(client);
  CHECK(server.connections() <= 5);
  client->close();
  co_await server.stop();
}

CO_TEST("tcp_store: announces itself once, and waits for others", "[store]") {
  auto executor = co_await asio::this_coro::executor;
  tcp_store_server server(executor, tcp_store_server::options());
  const auto host = client_of(executor, server.port(), generation::torch_2_2);
  tcp_store::options options;
  options.port = server.port();
  options.announce_worker = true;
  const auto announce = [](tcp_store::options worker_options) -> task<void> {
    tcp_store worker(co_await asio::this_coro::executor, worker_options);
    co_await worker.connect();
    co_await worker.add("n", 1);
    const test::store_keys never_set = {"never"};
    co_await test::ends_within(worker.wait(never_set), 1ms);
    co_await worker.add("n", 1);
  };
  using namespace asio::experimental::awaitable_operators;
  task<void> first_worker = announce(options);
  task<void> second_worker = announce(options);
  co_await (host->wait_for_workers(2) && std::move(first_worker) && std::move(second_worker));
  CHECK(internals::engine_of(server)->find("init/") == "2");
  co_await host->wait_for_workers(2);
  host->close();
  co_await server.stop();
}

// ---- a server that follows a script ---------------------------------------------------------

// Accepts one connection and plays the messages: what is sent to it must be what is written there.
task<void> play_server(asio::ip::tcp::acceptor& acceptor,
                       std::vector<test::golden_message> messages, bool then_close) {
  asio::ip::tcp::socket peer = co_await acceptor.async_accept(asio::use_awaitable);
  for (const auto& message : messages) {
    if (message.sent) {
      std::string bytes(message.bytes.size(), '\0');
      co_await asio::async_read(peer, asio::buffer(bytes), asio::use_awaitable);
      CHECK(to_hex(bytes) == to_hex(message.bytes));
    } else {
      co_await asio::async_write(peer, asio::buffer(message.bytes), asio::use_awaitable);
    }
  }
  if (then_close) co_return;
  std::string extra_byte(1, '\0');
  auto [failure, size] =
      co_await asio::async_read(peer, asio::buffer(extra_byte), detail::as_result);
  CHECK(size == 0);
}

// How a connection begins and how each set is confirmed: CHECK without keys.
std::vector<test::golden_message> greeting_of(generation client_generation) {
  const std::string check = client_generation == generation::torch_2_2 ? "00cef7853c05" : "04";
  return {{true, from_hex(check + "0000000000000000"), false}, {false, from_hex("00"), false}};
}

task<void> play(generation client_generation, std::vector<test::golden_message> messages,
                task<void> (*speak)(tcp_store&)) {
  auto executor = co_await asio::this_coro::executor;
  asio::ip::tcp::acceptor acceptor(executor, {asio::ip::address_v4::loopback(), 0});
  auto script = greeting_of(client_generation);
  script.insert(script.end(), messages.begin(), messages.end());
  const auto client = client_of(executor, acceptor.local_endpoint().port(), client_generation);
  const auto speak_and_close = [](std::shared_ptr<tcp_store> speaker,
                                  task<void> (*talk)(tcp_store&)) -> task<void> {
    co_await talk(*speaker);
    speaker->close();
  };
  using namespace asio::experimental::awaitable_operators;
  task<void> server = play_server(acceptor, script, false);
  task<void> client_task = speak_and_close(client, speak);
  co_await (std::move(server) && std::move(client_task));
}

CO_TEST("tcp_store: says and understands the bytes of PyTorch 1.13.1", "[store]") {
  const auto g = generation::torch_1_13;
  co_await play(g, test::captured("get"),
                [](tcp_store& store) -> task<void> { CHECK_AWAITED("hello", store.get("k")); });
  co_await play(g, test::captured("get_empty_value"),
                [](tcp_store& store) -> task<void> { CHECK_AWAITED("", store.get("k")); });
  co_await play(g, test::captured("add_new_key"),
                [](tcp_store& store) -> task<void> { CHECK_AWAITED(5, store.add("cnt", 5)); });
  co_await play(g, test::captured("compare_set_mismatch"), [](tcp_store& store) -> task<void> {
    CHECK_AWAITED("second", store.compare_set("cs", "wrong", "third"));
  });
  co_await play(g, test::captured("delete_key_present"),
                [](tcp_store& store) -> task<void> { CHECK_AWAITED(true, store.erase("k")); });
  co_await play(g, test::captured("num_keys"),
                [](tcp_store& store) -> task<void> { CHECK_AWAITED(5, store.num_keys()); });
  co_await play(g, test::captured("wait_blocked_then_satisfied"),
                [](tcp_store& store) -> task<void> {
                  const test::store_keys keys = {"w1", "w2"};
                  co_await store.wait(keys);
                });
  co_await play(g, test::captured("check_not_ready"), [](tcp_store& store) -> task<void> {
    const test::store_keys keys = {"a", "zz"};
    CHECK_AWAITED(false, store.check(keys));
  });
}

CO_TEST("tcp_store: says and understands the bytes of PyTorch 2.2 and later", "[store]") {
  const auto g = generation::torch_2_2;
  co_await play(g, test::derived("get"),
                [](tcp_store& store) -> task<void> { CHECK_AWAITED("v1", store.get("k")); });
  co_await play(g, test::derived("compare_set_missing_empty"), [](tcp_store& store) -> task<void> {
    CHECK_AWAITED("first", store.compare_set("cs", "", "first"));
  });
  co_await play(g, test::derived("multi_get"), [](tcp_store& store) -> task<void> {
    const test::store_keys keys = {"a", "b"};
    const std::vector<std::string> expected = {"1", "22"};
    CHECK_AWAITED(expected, store.multi_get(keys));
  });
  co_await play(g, test::derived("delete_key"),
                [](tcp_store& store) -> task<void> { CHECK_AWAITED(true, store.erase("k")); });
  // What is stored by others than clients is not a key of theirs.
  co_await play(g, test::derived("list_keys"), [](tcp_store& store) -> task<void> {
    const std::vector<std::string> expected = {"a"};
    CHECK_AWAITED(expected, store.list_keys());
  });
  // What has no reply is confirmed.
  auto set = test::derived("set");
  set.push_back({true, from_hex("050000000000000000"), false});
  set.push_back({false, from_hex("00"), false});
  co_await play(g, set, [](tcp_store& store) -> task<void> { co_await store.set("k", "v1"); });
  auto multi_set = test::derived("multi_set");
  multi_set.push_back({true, from_hex("050000000000000000"), false});
  multi_set.push_back({false, from_hex("00"), false});
  co_await play(g, multi_set, [](tcp_store& store) -> task<void> {
    const test::store_pairs pairs = {{"a", "1"}, {"b", "22"}};
    co_await store.multi_set(pairs);
  });
}

CO_TEST("tcp_store: a cancelled wait of 2.x is taken back, and its late end is not another reply",
        "[store]") {
  const auto cancel_then_count = [](tcp_store& store) -> task<void> {
    // With a connection, the wait is sent at once; without one, it may be cancelled before it is.
    CHECK_AWAITED(2, store.num_keys());
    const test::store_keys never_set = {"never"};
    const bool has_ended = co_await test::ends_within(store.wait(never_set), 20ms);
    CHECK_FALSE(has_ended);
    CHECK_AWAITED(3, store.num_keys());
  };
  for (const char* answer : {"01", "0001"}) {
    std::vector<test::golden_message> script = {{true, from_hex("07"), false},
                                                {false, from_hex("0200000000000000"), false}};
    const auto waiting = test::derived("wait_timeout_cancel");
    script.insert(script.end(), waiting.begin(), waiting.end() - 1);
    // The answer may come as late as the next request.
    script.push_back({true, from_hex("07"), false});
    script.push_back({false, from_hex(answer), false});
    script.push_back({false, from_hex("0300000000000000"), false});
    co_await play(generation::torch_2_2, script, cancel_then_count);
  }
}

CO_TEST("tcp_store: what is not a store, or says nonsense, is named", "[store]") {
  auto executor = co_await asio::this_coro::executor;
  const std::string length_bytes = "0100008000000000";
  const struct {
    const char* reply;
    errc expected;
  } rows[] = {{"48", errc::protocol_violation}, {"01", errc::protocol_violation}};
  for (const auto& row : rows) {
    for (const auto client_generation : {generation::torch_2_2, generation::probe}) {
      asio::ip::tcp::acceptor acceptor(executor, {asio::ip::address_v4::loopback(), 0});
      const auto client = client_of(executor, acceptor.local_endpoint().port(), client_generation);
      std::vector<test::golden_message> script = {{false, from_hex(row.reply), false}};
      using namespace asio::experimental::awaitable_operators;
      task<void> server = play_server(acceptor, script, true);
      task<errc> get_task = failure_of_get(client, "k");
      const errc failure = co_await (std::move(get_task) && std::move(server));
      CHECK(failure == row.expected);
    }
  }
  // A value that is larger than is taken.
  asio::ip::tcp::acceptor acceptor(executor, {asio::ip::address_v4::loopback(), 0});
  const auto client = client_of(executor, acceptor.local_endpoint().port(), generation::torch_2_2);
  auto script = greeting_of(generation::torch_2_2);
  auto get = test::derived("get");
  get.back().bytes = from_hex(length_bytes);
  script.insert(script.end(), get.begin(), get.end());
  using namespace asio::experimental::awaitable_operators;
  task<void> server = play_server(acceptor, script, true);
  task<errc> get_task = failure_of_get(client, "k");
  const errc failure = co_await (std::move(get_task) && std::move(server));
  CHECK(failure == errc::protocol_violation);
}

CO_TEST("tcp_store: finds out the generation of its server", "[store]") {
  auto executor = co_await asio::this_coro::executor;
  const std::string ping = "00cef7853c0dffffffff";
  const std::string check_1_13 = "040000000000000000";
  const std::string check_2_2 = "00cef7853c050000000000000000";
  struct exchange {
    std::string request;
    /// Empty: none.
    std::string answer;
    bool hangs_up = true;
  };
  const struct {
    std::vector<exchange> exchanges;
    generation result;
  } rows[] = {
      {{{ping, "ffffffff"}, {check_2_2, "00"}}, generation::torch_2_2},
      {{{ping, ""}, {check_1_13, "00"}, {check_1_13, "00"}}, generation::torch_1_13},
      {{{ping, ""}, {check_1_13, ""}, {check_2_2, "00"}}, generation::torch_2_2},
      {{{ping, ""}, {check_1_13, "", false}, {check_2_2, "00"}}, generation::torch_2_2},
  };
  for (const auto& row : rows) {
    asio::ip::tcp::acceptor acceptor(executor, {asio::ip::address_v4::loopback(), 0});
    tcp_store::options options;
    options.port = acceptor.local_endpoint().port();
    options.generation = generation::probe;
    options.probe_silence = row.exchanges[1].hangs_up ? 30'000ms : 1000ms;
    tcp_store client(executor, options);
    const auto serve = [](asio::ip::tcp::acceptor& listener,
                          std::vector<exchange> exchanges) -> task<void> {
      for (const exchange& each : exchanges) {
        std::vector<test::golden_message> script = {{true, from_hex(each.request), false}};
        if (!each.answer.empty()) script.push_back({false, from_hex(each.answer), false});
        co_await play_server(listener, script, each.hangs_up);
      }
    };
    using namespace asio::experimental::awaitable_operators;
    task<void> serve_task = serve(acceptor, row.exchanges);
    co_await (client.connect() && std::move(serve_task));
    CHECK(client.generation() == row.result);
  }
}

CO_TEST("tcp_store: a silent server is named while it is waited for", "[store]") {
  auto executor = co_await asio::this_coro::executor;
  asio::ip::tcp::acceptor acceptor(executor, {asio::ip::address_v4::loopback(), 0});
  const auto client = client_of(executor, acceptor.local_endpoint().port(), generation::torch_2_2);
  co_await check_not_connected(client);
  CHECK_THAT(client->last_problem(), test::contains_text("does not answer"));
}

CO_TEST("tcp_store: a name that nobody has is not a server", "[store]") {
  tcp_store::options options;
  options.host = "no-such-host.invalid";
  auto client = std::make_shared<tcp_store>(co_await asio::this_coro::executor, options);
  const errc failure = co_await failure_of_get(client, "k");
  CHECK(failure == errc::connection_failed);
}

}  // namespace
}  // namespace elastic
