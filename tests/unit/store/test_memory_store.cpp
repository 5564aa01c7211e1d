// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/base/detail/internals.hpp>
#include <elastic/base/time.hpp>
#include <elastic/store/memory_store.hpp>

#include <support/catch.hpp>
#include <support/co_test.hpp>

#include "store_conformance.hpp"

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace elastic {
namespace {

using detail::key_value_engine;

CO_TEST("memory_store: has the operations of PyTorch's store", "[store]") {
  co_await test::check_values(std::make_shared<memory_store>(), true);
}

CO_TEST("memory_store: waits end when the keys come", "[store]") {
  const auto engine = std::make_shared<key_value_engine>();
  co_await test::check_waits(elastic::detail::internals::make<memory_store>(engine));
  CHECK(engine->waiters() == 0);
}

CO_TEST("memory_store: cancelled waits leave nothing", "[store]") {
  const auto engine = std::make_shared<key_value_engine>();
  co_await test::check_cancelled_waits(elastic::detail::internals::make<memory_store>(engine));
  CHECK(engine->waiters() == 0);
}

CO_TEST("memory_store: refuses what is too large or no number", "[store]") {
  co_await test::check_refusals(std::make_shared<memory_store>());
}

CO_TEST("memory_store: its keys in a shared table are those of PyTorch's clients", "[store]") {
  const auto engine = std::make_shared<key_value_engine>();
  memory_store first_store(*detail::internals::make<memory_store>(engine));
  memory_store second_store(*detail::internals::make<memory_store>(engine));
  co_await first_store.set("k", "v");
  CHECK(engine->find("/k") == "v");
  CHECK_AWAITED("v", second_store.get("k"));
}

TEST_CASE("memory_store: a context that ends while somebody waits leaves a sound table",
          "[store]") {
  const auto engine = std::make_shared<key_value_engine>();
  {
    asio::io_context context;
    auto store = elastic::detail::internals::make<memory_store>(engine);
    task<std::string> get_task = store->get("k");
    const auto ignore = [store](std::exception_ptr, const std::string&) {};
    asio::co_spawn(context, std::move(get_task), ignore);
    context.poll();
    CHECK(engine->waiters() == 1);
  }
  CHECK(engine->waiters() == 0);
  engine->set("/k", "v");
}

TEST_CASE("memory_store: strands of several threads share one table", "[store][threads]") {
  const auto engine = std::make_shared<key_value_engine>();
  asio::io_context context;
  constexpr int pairs = 20;
  constexpr int rounds = 50;
  const auto ping = [](std::shared_ptr<key_value_engine> table, int id, int side) -> task<void> {
    memory_store store(*detail::internals::make<memory_store>(table));
    for (int i = 0; i < rounds; ++i) {
      const std::string round = std::to_string(id) + "." + std::to_string(i);
      if (side == 0) {
        co_await store.set("ping" + round, "x");
        co_await store.get("pong" + round);
      } else {
        co_await store.get("ping" + round);
        co_await store.set("pong" + round, "x");
      }
    }
  };
  std::atomic<int> failures = 0;
  for (int id = 0; id < pairs; ++id) {
    for (int side = 0; side < 2; ++side) {
      task<void> ping_task = ping(engine, id, side);
      const auto strand = asio::make_strand(context);
      asio::co_spawn(strand, std::move(ping_task), [&](std::exception_ptr failure) {
        if (failure) ++failures;
      });
    }
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back([&] { context.run(); });
  for (auto& thread : threads) thread.join();
  CHECK(failures == 0);
  CHECK(engine->num_keys() == 2 * pairs * rounds);
  CHECK(engine->waiters() == 0);
}

}  // namespace
}  // namespace elastic
