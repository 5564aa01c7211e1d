// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/asio.hpp>
#include <elastic/base/time.hpp>
#include <elastic/torch/detail/rendezvous_backend.hpp>

#include <support/catch.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

// The requirements on every rendezvous backend, wherever it keeps the state.
namespace elastic::test {

inline detail::torch_state state_with(const std::string& host) {
  detail::torch_state state;
  state.participants[{host, 1, 0}] = 0;
  state.last_heartbeats[{host, 1, 0}] = detail::torch_time(std::chrono::hours(1));
  return state;
}

// Outside of the coroutines, which are slow to compile with assertions in them.
inline void expect(bool holds, const char* condition) {
  INFO(condition);
  CHECK(holds);
}

// That there is a state, with the participants of `state_with(host)`.
inline void expect_state(const std::optional<detail::stored_state>& seen, const std::string& host) {
  INFO("the state with " << host);
  REQUIRE(seen);
  CHECK(seen->state.participants == state_with(host).participants);
  CHECK_FALSE(seen->token.empty());
}

// Named outside of the coroutines: g++ 12 destroys an aggregate that is made in a co_await twice.
inline task<detail::set_outcome> set_state(std::shared_ptr<detail::rendezvous_backend> by,
                                           std::string host, std::string token) {
  detail::torch_state state = state_with(host);
  co_return co_await by->set(std::move(state), std::move(token));
}

/// The first state, by a node that has looked before, as all do.
inline task<detail::set_outcome> set_first_state(std::shared_ptr<detail::rendezvous_backend> by) {
  co_await by->get();
  co_return co_await set_state(by, "a", "");
}

/// Where nothing is stored yet, and everything that follows from storing something.
inline task<void> check_backend(std::shared_ptr<detail::rendezvous_backend> backend,
                                std::shared_ptr<detail::rendezvous_backend> other) {
  const std::optional<detail::stored_state> nothing = co_await backend->get();
  expect(!nothing, "at first there is nothing");

  const detail::set_outcome first = co_await set_state(backend, "a", "");
  expect(first.was_set, "who comes first sets a state");
  expect_state(first.stored, "a");

  // Who has seen nothing replaces nothing, and learns what there is.
  const detail::set_outcome late = co_await set_state(other, "b", "");
  expect(!late.was_set, "who has seen nothing sets nothing");
  expect_state(late.stored, "a");

  const detail::set_outcome second = co_await set_state(other, "b", late.stored->token);
  expect(second.was_set, "who has seen a state replaces it");
  const detail::set_outcome stale = co_await set_state(backend, "c", first.stored->token);
  expect(!stale.was_set, "who has seen an older state does not");
  expect_state(stale.stored, "b");

  const std::optional<detail::stored_state> last = co_await backend->get();
  expect_state(last, "b");
  expect(last->state.last_heartbeats == state_with("b").last_heartbeats, "heartbeats are kept");
}

/// Of several that replace the same value at once, one does.
inline task<void> check_backend_race(std::shared_ptr<detail::rendezvous_backend> backend,
                                     std::shared_ptr<detail::rendezvous_backend> other) {
  using namespace asio::experimental::awaitable_operators;
  const detail::set_outcome before = co_await set_first_state(backend);
  std::string token = before.stored->token;
  for (int i = 0; i < 20; ++i) {
    const std::string host = "n" + std::to_string(i);
    task<detail::set_outcome> mine = set_state(backend, host + "mine", token);
    task<detail::set_outcome> theirs = set_state(other, host + "theirs", token);
    const auto [first, second] = co_await (std::move(mine) && std::move(theirs));
    expect(first.was_set != second.was_set, "one of two is first");
    const std::optional<detail::stored_state> now = co_await backend->get();
    expect_state(now, host + (first.was_set ? "mine" : "theirs"));
    token = now->token;
  }
}

/// Who waits is told of a change, also of one that came before the wait.
inline task<void> check_backend_wait(std::shared_ptr<detail::rendezvous_backend> backend,
                                     std::shared_ptr<detail::rendezvous_backend> other) {
  using namespace asio::experimental::awaitable_operators;
  using namespace std::chrono_literals;
  system_time time;
  const detail::set_outcome before = co_await set_first_state(backend);
  const std::string token = before.stored->token;
  const auto change = [](std::shared_ptr<detail::rendezvous_backend> by,
                         std::string seen) -> task<void> {
    system_time clock;
    co_await clock.sleep_until(clock.now() + 50ms);
    co_await set_state(by, "b", std::move(seen));
  };
  const time_point begin = time.now();
  task<void> waiting = backend->wait_for_change(token);
  task<void> changing = change(other, token);
  co_await (std::move(waiting) && std::move(changing));
  co_await backend->wait_for_change(token);
  expect(time.now() - begin < 10s, "the change is told");
  const std::optional<detail::stored_state> now = co_await backend->get();
  expect_state(now, "b");
  // Nothing happens, and the wait can be cancelled.
  task<void> idle = backend->wait_for_change(now->token);
  co_await with_deadline(time, time.now() + 20ms, std::move(idle));
}

}  // namespace elastic::test
