// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/store/tcp_store_server.hpp>
#include <elastic/worker/worker_store.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>
#include <support/reserved_port.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace {

using namespace std::chrono_literals;

elastic::worker_context worker_store_context(int restart_count, std::uint16_t port) {
  elastic::worker_context context;
  context.master_addr = "127.0.0.1";
  context.master_port = port;
  context.use_agent_store = true;
  context.restart_count = restart_count;
  return context;
}

CO_TEST("worker store: workers of one attempt share keys, those of another do not", "[worker]") {
  elastic::tcp_store_server::options options;
  options.address = "127.0.0.1";
  elastic::tcp_store_server server(co_await asio::this_coro::executor, options);
  auto first_store = co_await elastic::connect_worker_store(worker_store_context(0, server.port()));
  auto peer_store = co_await elastic::connect_worker_store(worker_store_context(0, server.port()));
  auto later_store = co_await elastic::connect_worker_store(worker_store_context(1, server.port()));
  co_await first_store->set("key", "value");
  const std::string value = co_await peer_store->get("key");
  CHECK(value == "value");
  std::vector<std::string> keys{"key"};
  const bool has_leaked = co_await later_store->check(keys);
  CHECK_FALSE(has_leaked);
  first_store.reset();
  peer_store.reset();
  later_store.reset();
  co_await server.stop();
}

CO_TEST("worker store: the prefix is that of PyTorch 1.13's workers", "[worker]") {
  CHECK(elastic::worker_store_prefix(worker_store_context(3, 1)) == "/worker/attempt_3");
  co_return;
}

CO_TEST("worker store: if nothing listens, the error names the address", "[worker]") {
  const std::uint16_t port = elastic::test::reserved_port();
  std::string sentence;
  elastic::errc code{};
  try {
    co_await elastic::connect_worker_store(worker_store_context(0, port), 100ms);
  } catch (const elastic::error& failure) {
    sentence = failure.what();
    code = static_cast<elastic::errc>(failure.code().value());
  }
  CHECK(code == elastic::errc::timed_out);
  CHECK_THAT(sentence, elastic::test::contains_text("no store answered at 127.0.0.1:" +
                                                    std::to_string(port) + " within 100 ms: "));
}

}  // namespace
