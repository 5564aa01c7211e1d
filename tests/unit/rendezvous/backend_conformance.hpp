// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>
#include <elastic/rendezvous/rendezvous_backend.hpp>

#include <support/catch.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

// What every backend of a rendezvous has to do, wherever it keeps the state.
namespace elastic::test {

inline torch_state state_with(const std::string& host) {
  torch_state state;
  state.participants[{host, 1, 0}] = 0;
  state.last_heartbeats[{host, 1, 0}] = torch_time(std::chrono::hours(1));
  return state;
}

// Named outside of the coroutines: g++ 12 destroys an aggregate that is made in a co_await twice.
inline task<set_outcome> set_state(std::shared_ptr<rendezvous_backend> by, std::string host,
                                   std::string token) {
  torch_state state = state_with(host);
  co_return co_await by->set(std::move(state), std::move(token));
}

/// The first state, by a node that has looked before, as all do.
inline task<set_outcome> set_first_state(std::shared_ptr<rendezvous_backend> by) {
  co_await by->get();
  co_return co_await set_state(by, "a", "");
}

/// Where nothing is stored yet, and everything that follows from storing something.
inline task<void> check_backend(std::shared_ptr<rendezvous_backend> one,
                                std::shared_ptr<rendezvous_backend> other) {
  const std::optional<stored_state> nothing = co_await one->get();
  CHECK_FALSE(nothing);

  const set_outcome first = co_await set_state(one, "a", "");
  CHECK(first.was_set);
  REQUIRE(first.stored);
  CHECK(first.stored->state.participants == state_with("a").participants);
  CHECK_FALSE(first.stored->token.empty());

  // Who has seen nothing replaces nothing, and learns what there is.
  const set_outcome late = co_await set_state(other, "b", "");
  CHECK_FALSE(late.was_set);
  REQUIRE(late.stored);
  CHECK(late.stored->state.participants == state_with("a").participants);

  const set_outcome second = co_await set_state(other, "b", late.stored->token);
  CHECK(second.was_set);
  const set_outcome stale = co_await set_state(one, "c", first.stored->token);
  CHECK_FALSE(stale.was_set);
  REQUIRE(stale.stored);
  CHECK(stale.stored->state.participants == state_with("b").participants);

  const std::optional<stored_state> last = co_await one->get();
  REQUIRE(last);
  CHECK(last->state.participants == state_with("b").participants);
  CHECK(last->state.last_heartbeats == state_with("b").last_heartbeats);
}

/// Of several that replace the same value at once, one does.
inline task<void> check_backend_race(std::shared_ptr<rendezvous_backend> one,
                                     std::shared_ptr<rendezvous_backend> other) {
  using namespace asio::experimental::awaitable_operators;
  set_outcome before = co_await set_first_state(one);
  for (int i = 0; i < 20; ++i) {
    REQUIRE(before.stored);
    const std::string token = before.stored->token;
    const std::string host = "n" + std::to_string(i);
    task<set_outcome> mine = set_state(one, host + "mine", token);
    task<set_outcome> theirs = set_state(other, host + "theirs", token);
    auto [first, second] = co_await (std::move(mine) && std::move(theirs));
    CHECK(first.was_set != second.was_set);
    before = std::move(first.was_set ? first : second);
    const std::optional<stored_state> now = co_await one->get();
    REQUIRE(now);
    CHECK(now->state.participants == before.stored->state.participants);
    before.stored = now;
  }
}

/// Who waits is told of a change, also of one that came before the wait.
inline task<void> check_backend_wait(std::shared_ptr<rendezvous_backend> one,
                                     std::shared_ptr<rendezvous_backend> other) {
  using namespace asio::experimental::awaitable_operators;
  using namespace std::chrono_literals;
  system_time time;
  const set_outcome before = co_await set_first_state(one);
  const std::string token = before.stored->token;
  const auto change = [](std::shared_ptr<rendezvous_backend> by, std::string seen) -> task<void> {
    system_time clock;
    co_await clock.sleep_until(clock.now() + 50ms);
    co_await set_state(by, "b", std::move(seen));
  };
  const time_point begin = time.now();
  task<void> waiting = one->wait_for_change(token);
  task<void> changing = change(other, token);
  co_await (std::move(waiting) && std::move(changing));
  co_await one->wait_for_change(token);
  CHECK(time.now() - begin < 10s);
  const std::optional<stored_state> now = co_await one->get();
  REQUIRE(now);
  // Nothing happens, and the wait can be cancelled.
  task<void> idle = one->wait_for_change(now->token);
  co_await with_deadline(time, time.now() + 20ms, std::move(idle));
}

}  // namespace elastic::test
