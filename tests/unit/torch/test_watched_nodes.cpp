// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/torch/detail/torch_round.hpp>

#include <elastic/store/memory_store.hpp>
#include <support/catch.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

// Places that watch over nodes themselves, as etcd does by leases.
namespace watched_nodes_tests {

using namespace std::chrono_literals;
using elastic::node_id;
using elastic::task;
using elastic::detail::set_outcome;
using elastic::detail::stored_state;
using elastic::detail::torch_round;
using elastic::detail::torch_state;

const node_id here{"a", 1, 0};
const node_id there{"b", 1, 0};

class watching_backend final : public elastic::detail::rendezvous_backend {
 public:
  task<std::optional<stored_state>> get() override {
    stored_state stored;
    stored.state = state;
    stored.token = std::to_string(writes);
    stored.living = living;
    co_return stored;
  }
  task<set_outcome> set(torch_state wanted, std::string) override {
    state = std::move(wanted);
    ++writes;
    set_outcome outcome;
    outcome.was_set = true;
    outcome.stored = co_await get();
    co_return outcome;
  }
  task<void> wait_for_change(std::string) override { co_return; }
  bool watches_over_nodes() const override { return true; }
  task<void> say_alive(node_id node) override {
    living.insert(node);
    ++signs;
    co_return;
  }
  task<void> say_gone() override {
    living.erase(here);
    co_return;
  }

  torch_state state;
  std::set<node_id> living;
  int writes = 0;
  int signs = 0;
};

struct stage {
  explicit stage(elastic::test::manual_time& clock) {
    backend->state.participants = {{here, 0}, {there, 1}};
    for (const node_id& node : {here, there}) {
      backend->state.last_heartbeats[node] = elastic::detail::torch_time(1h);
    }
    backend->state.complete = true;
    round = std::make_shared<torch_round>(
        "j", here, elastic::rendezvous_settings(), elastic::detail::torch_dialect::torch_2_6,
        backend, std::make_shared<elastic::memory_store>(),
        std::shared_ptr<elastic::time_source>(std::shared_ptr<void>(), &clock), elastic::logger());
  }

  std::shared_ptr<watching_backend> backend = std::make_shared<watching_backend>();
  std::shared_ptr<torch_round> round;
};

TIME_TEST("watched nodes: one that the place does not know is lost at once, a silent one is not",
          "[rendezvous]") {
  stage set(time);
  set.backend->living = {here, there};
  torch_round::view seen = co_await set.round->look();
  CHECK(seen.dead.empty());
  // Its heartbeat has not changed for long.
  co_await time.sleep_until(time.now() + 1h);
  seen = co_await set.round->look();
  CHECK(seen.dead.empty());
  set.backend->living = {here};
  seen = co_await set.round->look();
  CHECK(seen.dead == std::vector<node_id>{there});
  CHECK(seen.state.participants.count(there) == 0);
}

TIME_TEST("watched nodes: a node says that it lives, and writes no heartbeats", "[rendezvous]") {
  stage set(time);
  co_await set.round->announce();
  CHECK(set.backend->living.count(here) == 1);
  set.round->start_heartbeats(co_await asio::this_coro::executor);
  co_await time.sleep_until(time.now() + 26s);
  co_await set.round->stop_heartbeats();
  CHECK(set.backend->signs == 6);
  CHECK(set.backend->writes == 0);
  co_await set.round->withdraw();
  CHECK(set.backend->living.empty());
}

}  // namespace watched_nodes_tests
