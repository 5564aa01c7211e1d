// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/detail/internals.hpp>
#include <elastic/torch/detail/store_rendezvous_backend.hpp>

#include <elastic/store/memory_store.hpp>
#include <elastic/torch/detail/torch_agent_watch.hpp>
#include <support/catch.hpp>
#include <support/golden_vectors.hpp>
#include <support/log_recorder.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace store_rendezvous_backend_tests {

using namespace std::chrono_literals;
using elastic::task;
using elastic::detail::set_outcome;
using elastic::detail::store_rendezvous_backend;
using elastic::detail::stored_state;
using elastic::detail::torch_dialect;
using elastic::detail::torch_state;

const std::string key = "torch.rendezvous.j";

struct place {
  explicit place(elastic::test::manual_time& clock, bool is_watched = true)
      : backend(agents, "j", torch_dialect::torch_1_13,
                std::shared_ptr<elastic::time_source>(std::shared_ptr<void>(), &clock),
                is_watched ? engine : nullptr) {}

  std::shared_ptr<elastic::detail::key_value_engine> engine =
      std::make_shared<elastic::detail::key_value_engine>();
  std::shared_ptr<elastic::memory_store> agents =
      elastic::detail::internals::make<elastic::memory_store>(engine);
  store_rendezvous_backend backend;
};

torch_state round_with(const std::string& host) {
  torch_state state;
  state.participants[{host, 1, 0}] = 0;
  state.last_heartbeats[{host, 1, 0}] = elastic::detail::torch_time(1h);
  return state;
}

TIME_TEST("store rendezvous backend: begins as PyTorch's does", "[rendezvous]") {
  place here(time);
  const std::optional<stored_state> nothing = co_await here.backend.get();
  CHECK_FALSE(nothing);
  const std::string kept = co_await here.agents->get(key);
  CHECK(kept == "Y2FuaW1hZGFt");
}

TIME_TEST("store rendezvous backend: only who has seen a state replaces it", "[rendezvous]") {
  place here(time);
  co_await here.backend.get();
  const set_outcome first = co_await here.backend.set(round_with("a"), "");
  CHECK(first.was_set);
  REQUIRE(first.stored);
  const set_outcome late = co_await here.backend.set(round_with("b"), "");
  CHECK_FALSE(late.was_set);
  REQUIRE(late.stored);
  CHECK(late.stored->token == first.stored->token);
  CHECK(late.stored->state.participants.begin()->first.host == "a");
  const set_outcome next = co_await here.backend.set(round_with("b"), late.stored->token);
  CHECK(next.was_set);
  const std::optional<stored_state> now = co_await here.backend.get();
  REQUIRE(now);
  CHECK(now->token == next.stored->token);
  CHECK(now->state.seen_dialect == torch_dialect::torch_1_13);
}

TIME_TEST("store rendezvous backend: a key that is gone is made anew", "[rendezvous]") {
  place here(time);
  co_await here.backend.get();
  const set_outcome first = co_await here.backend.set(round_with("a"), "");
  co_await here.agents->erase(key);
  const set_outcome lost = co_await here.backend.set(round_with("b"), first.stored->token);
  CHECK_FALSE(lost.was_set);
  CHECK_FALSE(lost.stored);
  const set_outcome again = co_await here.backend.set(round_with("b"), "");
  CHECK(again.was_set);
}

TIME_TEST("store rendezvous backend: reads what PyTorch 1.13.1 has written", "[rendezvous]") {
  place here(time);
  const auto vectors = elastic::test::load_vectors("rendezvous_pickles.json");
  int count = 0;
  for (const auto& vector : vectors) {
    if (!vector.contains("base64")) continue;
    const std::string text = vector.at("base64");
    co_await here.agents->set(key, text);
    const std::optional<stored_state> stored = co_await here.backend.get();
    REQUIRE(stored);
    CHECK(stored->token == text);
    const auto seen = co_await store_rendezvous_backend::seen_dialect(here.agents, "j");
    CHECK(seen == stored->state.seen_dialect);
    ++count;
  }
  CHECK(count > 0);
}

task<void> wait(store_rendezvous_backend& backend, std::string token, bool& is_over) {
  co_await backend.wait_for_change(std::move(token));
  is_over = true;
}

TIME_TEST("store rendezvous backend: a change in this process is told at once", "[rendezvous]") {
  place here(time);
  co_await here.backend.get();
  bool is_over = false;
  asio::co_spawn(time.context(), wait(here.backend, "", is_over), asio::detached);
  co_await time.sleep_until(time.now() + 100s);
  CHECK_FALSE(is_over);
  const set_outcome first = co_await here.backend.set(round_with("a"), "");
  co_await time.sleep_until(time.now());
  CHECK(is_over);
  // It has changed already.
  co_await here.backend.wait_for_change("");
  // The same value is not a change.
  is_over = false;
  asio::co_spawn(time.context(), wait(here.backend, first.stored->token, is_over), asio::detached);
  co_await time.sleep_until(time.now());
  co_await here.agents->set(key, first.stored->token);
  co_await time.sleep_until(time.now());
  CHECK_FALSE(is_over);
  co_await here.agents->set(key, "Y2FuaW1hZGFt");
  co_await time.sleep_until(time.now());
  CHECK(is_over);
}

TIME_TEST("store rendezvous backend: a store elsewhere is looked at once a second",
          "[rendezvous]") {
  place here(time, false);
  co_await here.backend.wait_for_change("");
  CHECK(time.elapsed() == 1s);
}

TIME_TEST("torch agent watch: agents of PyTorch are turned away, which is said once",
          "[rendezvous]") {
  place here(time);
  const auto log = std::make_shared<elastic::test::log_recorder>();
  const auto watch =
      std::make_shared<elastic::detail::torch_agent_watch>(here.engine, "j", "dialect", log->log());
  watch->begin();
  co_await here.backend.get();
  co_await here.agents->set(key, "not a state");
  CHECK(log->text().empty());
  std::string token = "not a state";
  for (const char* host : {"a", "b"}) {
    const set_outcome done = co_await here.backend.set(round_with(host), token);
    CHECK(done.was_set);
    const std::optional<stored_state> now = co_await here.backend.get();
    REQUIRE(now);
    CHECK(now->state.closed);
    CHECK(now->state.participants == round_with(host).participants);
    CHECK(now->state.seen_dialect == torch_dialect::torch_1_13);
    token = now->token;
  }
  CHECK(log->count("dialect=1.13", elastic::log_level::warning) == 1);
}

}  // namespace store_rendezvous_backend_tests
