// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/detail/internals.hpp>
#include <elastic/torch/detail/dynamic_rendezvous.hpp>

#include <elastic/base/time.hpp>
#include <elastic/store/memory_store.hpp>
#include <elastic/store/tcp_store.hpp>
#include <elastic/store/tcp_store_server.hpp>
#include <elastic/torch/detail/store_rendezvous_backend.hpp>
#include <support/catch.hpp>
#include <support/log_recorder.hpp>
#include <support/manual_time.hpp>
#include <support/noting_store.hpp>
#include <support/reserved_port.hpp>
#include <support/task_outcome.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dynamic_rendezvous_tests {

using namespace std::chrono_literals;
using elastic::duration;
using elastic::errc;
using elastic::rendezvous_change;
using elastic::rendezvous_round;
using elastic::task;
using elastic::detail::dynamic_rendezvous;
using elastic::detail::store_rendezvous_backend;
using elastic::detail::torch_dialect;
using elastic::detail::torch_state;
using elastic::test::manual_time;
using elastic::test::passed;
using elastic::test::start;
using elastic::test::task_outcome;

// Nodes that share their state in one table; each is named by a letter.
class town {
 public:
  explicit town(manual_time& clock) : time(clock) {
    parameters.run_id = "j";
    parameters.min_nodes = 2;
    parameters.max_nodes = 4;
    parameters.time = std::shared_ptr<elastic::time_source>(std::shared_ptr<void>(), &clock);
    parameters.log = log->log();
  }

  std::shared_ptr<dynamic_rendezvous> node(const std::string& name) {
    elastic::detail::dynamic_rendezvous_options options;
    options.parameters = parameters;
    options.dialect = dialect;
    options.backend = own_backend ? own_backend : backend();
    options.agents = agents;
    options.node = {name, 1, 0};
    return std::make_shared<dynamic_rendezvous>(std::move(options));
  }

  std::shared_ptr<store_rendezvous_backend> backend() {
    return std::make_shared<store_rendezvous_backend>(agents, "j", dialect, parameters.time,
                                                      watched_engine);
  }

  // A node of torchrun, which writes its state by itself.
  task<torch_state> state() {
    const auto place = backend();
    const auto entry = co_await place->get();
    co_return entry ? entry->state : torch_state();
  }
  task<void> put(torch_state state) {
    const auto place = backend();
    auto entry = co_await place->get();
    const std::string token = entry ? entry->token : "";
    const auto result = co_await place->set(std::move(state), token);
    REQUIRE(result.was_set);
  }

  task<void> settle() { return time.sleep_until(time.now()); }
  task<void> pass(duration span) { return time.sleep_until(time.now() + span); }

  manual_time& time;
  std::shared_ptr<elastic::detail::key_value_engine> engine =
      std::make_shared<elastic::detail::key_value_engine>();
  // Null: nodes look again and again, as at a store that is elsewhere.
  std::shared_ptr<elastic::detail::key_value_engine> watched_engine = engine;
  std::shared_ptr<elastic::store> agents =
      elastic::detail::internals::make<elastic::memory_store>(engine);
  torch_dialect dialect = torch_dialect::torch_1_13;
  // Where nodes keep the state, if that is not the store.
  std::shared_ptr<elastic::detail::rendezvous_backend> own_backend;
  elastic::rendezvous_parameters parameters;
  std::shared_ptr<elastic::test::log_recorder> log =
      std::make_shared<elastic::test::log_recorder>();
};

// A backend of one's own: the state is a value in memory, and cannot be reached at times.
class fragile_backend final : public elastic::detail::rendezvous_backend {
 public:
  explicit fragile_backend(manual_time& clock) : time_(clock) {}

  bool is_reachable = true;
  bool is_answering = true;
  bool watches_break = false;
  // How long each request takes.
  duration request_time{};
  // When a node has stored what the others can see.
  elastic::time_point changed_at{};

  task<std::optional<elastic::detail::stored_state>> get() override {
    co_await reach();
    co_return stored_;
  }
  task<elastic::detail::set_outcome> set(torch_state state, std::string token) override {
    co_await reach();
    elastic::detail::set_outcome outcome;
    outcome.was_set = token == (stored_ ? stored_->token : "");
    if (outcome.was_set) {
      stored_ = elastic::detail::stored_state{std::move(state), std::to_string(++version_)};
      changed_at = time_.now();
    }
    outcome.stored = stored_;
    co_return outcome;
  }
  task<void> wait_for_change(std::string) override {
    if (watches_break) throw elastic::error(errc::connection_failed, "the vault does not talk");
    co_await time_.sleep_until(time_.now() + 1s);
  }

 private:
  task<void> reach() {
    if (request_time > duration::zero()) co_await time_.sleep_until(time_.now() + request_time);
    if (!is_answering) co_await time_.sleep_until(elastic::time_point::max());
    if (!is_reachable) throw elastic::error(errc::connection_failed, "the vault is locked");
  }

  manual_time& time_;
  std::optional<elastic::detail::stored_state> stored_;
  int version_ = 0;
};

using node_pointer = std::shared_ptr<dynamic_rendezvous>;

task<void> shut_down(std::vector<node_pointer> nodes) {
  for (const node_pointer& node : nodes) co_await node->shutdown();
}

// The nodes as members of one round.
task<std::vector<node_pointer>> met_nodes(town& place, std::vector<std::string> names) {
  std::vector<node_pointer> nodes;
  std::vector<std::shared_ptr<task_outcome<rendezvous_round>>> rounds;
  for (const std::string& name : names) {
    nodes.push_back(place.node(name));
    rounds.push_back(start(place.time, nodes.back()->next_round()));
  }
  co_await place.pass(place.parameters.settings().last_call_timeout + 2s);
  for (const auto& round : rounds) {
    INFO(round->what());
    REQUIRE(round->value);
  }
  co_return nodes;
}

TIME_TEST("dynamic rendezvous: a round is complete at the most nodes, ranks are in their order",
          "[rendezvous]") {
  town place(time);
  place.parameters.max_nodes = 3;
  std::map<std::string, node_pointer> nodes;
  std::map<std::string, std::shared_ptr<task_outcome<rendezvous_round>>> rounds;
  for (const std::string name : {"c", "a", "b"}) {
    nodes[name] = place.node(name);
    rounds[name] = start(time, nodes[name]->next_round());
    co_await place.settle();
  }
  CHECK(time.elapsed() == 0s);
  int rank = 0;
  for (const auto& [name, round] : rounds) {
    REQUIRE(round->value);
    CHECK(round->value->group_rank == rank++);
    CHECK(round->value->group_world_size == 3);
    CHECK(round->value->round == 0);
    CHECK(round->value->dialect == elastic::rendezvous_round::agent_dialect::gather);
    CHECK_FALSE(round->value->master.served_by_agent);
  }
  CHECK(rounds["a"]->value->master.address == "127.0.0.1");
  CHECK(rounds["a"]->value->master.port != 0);
  for (const auto& [name, node] : nodes) co_await node->shutdown();
}

TIME_TEST("dynamic rendezvous: with enough nodes a round waits for the last call, and not longer",
          "[rendezvous]") {
  town place(time);
  const bool is_watched = GENERATE(true, false);
  if (!is_watched) place.watched_engine = nullptr;
  const auto a = place.node("a");
  const auto b = place.node("b");
  const auto first = start(time, a->next_round());
  co_await place.pass(100s);
  CHECK_FALSE(first->ended);
  const auto second = start(time, b->next_round());
  co_await place.pass(29s);
  CHECK_FALSE(first->ended);
  CHECK_FALSE(second->ended);
  co_await place.pass(3s);
  REQUIRE(first->value);
  REQUIRE(second->value);
  CHECK(first->value->group_rank == 0);
  CHECK(second->value->group_rank == 1);
  const torch_state state = co_await place.state();
  CHECK(state.complete);
  CHECK_FALSE(state.deadline);
  CHECK(state.last_heartbeats.size() == 2);
  co_await a->shutdown();
  co_await b->shutdown();
}

TIME_TEST("dynamic rendezvous: a node without a round gives up after the join timeout",
          "[rendezvous]") {
  town place(time);
  place.parameters.join_timeout = 20s;
  const auto a = place.node("a");
  const auto round = start(time, a->next_round());
  co_await place.pass(19s);
  CHECK_FALSE(round->ended);
  co_await place.pass(2s);
  CHECK(round->code() == errc::rendezvous_timeout);
  CHECK(round->what() ==
        "no place in a round of 'j' within 20 s (rendezvous_parameters::join_timeout): round "
        "0 has 0 of 2 to 4 nodes");
  const torch_state state = co_await place.state();
  CHECK(state.participants.empty());
  CHECK(state.last_heartbeats.empty());
  co_await a->shutdown();
}

TIME_TEST("dynamic rendezvous: a node that comes late makes the others meet again",
          "[rendezvous]") {
  town place(time);
  const std::vector<std::string> names = {"a", "b"};
  const auto nodes = co_await met_nodes(place, names);
  const auto change = start(time, nodes[0]->wait_for_change());
  co_await place.pass(60s);
  CHECK_FALSE(change->ended);
  const auto c = place.node("c");
  const auto third = start(time, c->next_round());
  co_await place.settle();
  REQUIRE(change->value);
  CHECK(change->value->kind == rendezvous_change::cause::node_waiting);
  CHECK(change->value->reason == "node c_1_0 waits to join");
  const auto first = start(time, nodes[0]->next_round());
  co_await place.settle();
  // The one that has left shows to the last one, too.
  const rendezvous_change second_change = co_await nodes[1]->wait_for_change();
  CHECK(second_change.kind == rendezvous_change::cause::node_waiting);
  CHECK(second_change.reason == "node a_1_0 has left the round to meet again");
  const auto second = start(time, nodes[1]->next_round());
  co_await place.pass(31s);
  REQUIRE(first->value);
  REQUIRE(second->value);
  REQUIRE(third->value);
  CHECK(third->value->group_rank == 2);
  CHECK(third->value->group_world_size == 3);
  CHECK(third->value->round == 1);
  CHECK(third->value->restarts == 0);
  co_await shut_down(nodes);
  co_await c->shutdown();
}

TIME_TEST("dynamic rendezvous: a node that is silent is lost, one whose clock is wrong is not",
          "[rendezvous]") {
  town place(time);
  const std::vector<std::string> names = {"a", "b"};
  place.parameters.max_nodes = 3;
  // A node of torchrun whose clock is hours behind, which says so again and again.
  const auto a = place.node("a");
  const auto b = place.node("b");
  torch_state state;
  const elastic::detail::node_id torch{"t", 7, 0};
  elastic::detail::torch_time torch_clock{1'000'000h};
  state.participants[torch] = 0;
  state.last_heartbeats[torch] = torch_clock;
  co_await place.put(state);
  const auto first = start(time, a->next_round());
  const auto second = start(time, b->next_round());
  co_await place.settle();
  REQUIRE(first->value);
  CHECK(first->value->group_world_size == 3);
  const auto change = start(time, a->wait_for_change());
  for (int i = 0; i < 10; ++i) {
    co_await place.pass(5s);
    state = co_await place.state();
    state.last_heartbeats[torch] = torch_clock += 5s;
    co_await place.put(state);
  }
  CHECK_FALSE(change->ended);
  co_await place.pass(14s);
  CHECK_FALSE(change->ended);
  co_await place.pass(7s);
  REQUIRE(change->value);
  CHECK(change->value->kind == rendezvous_change::cause::node_lost);
  // Each of the two finds it out, and the first one tells the other.
  const std::string& reason = change->value->reason;
  CHECK(
      (reason == "node t_7_0 does not answer" || reason == "node t_7_0 has left or was given up"));
  co_await a->shutdown();
  co_await b->shutdown();
}

TIME_TEST("dynamic rendezvous: who waits at the exit barrier is silent and not lost",
          "[rendezvous]") {
  town place(time);
  place.parameters.max_nodes = 2;
  const elastic::detail::node_id torch{"t", 7, 0};
  torch_state state;
  state.participants[torch] = 0;
  state.last_heartbeats[torch] = elastic::detail::torch_time{1'000'000h};
  place.dialect = GENERATE(torch_dialect::torch_1_13, torch_dialect::torch_2_6);
  co_await place.put(state);
  const auto a = place.node("a");
  const rendezvous_round round = co_await a->next_round();
  CHECK(round.group_rank == 0);
  if (place.dialect == torch_dialect::torch_2_6) {
    co_await round.agents->add("torchelastic/agent/terminal_state/num_members", 1);
  } else {
    co_await round.agents->set("torchelastic/agent/terminal_state1", "1");
  }
  const auto change = start(time, a->wait_for_change());
  co_await place.pass(200s);
  CHECK_FALSE(change->ended);
  change->cancel.emit(asio::cancellation_type::terminal);
  co_await place.settle();
  CHECK(change->code() == asio::error::operation_aborted);
  co_await a->shutdown();
}

TIME_TEST("dynamic rendezvous: a new round does not wait for who waits at the exit barrier",
          "[rendezvous]") {
  town place(time);
  place.parameters.max_nodes = 3;
  place.dialect = GENERATE(torch_dialect::torch_1_13, torch_dialect::torch_2_6);
  place.parameters.share_worker_store = false;
  const elastic::detail::node_id torch{"t", 7, 0};
  torch_state state;
  state.participants[torch] = 0;
  state.last_heartbeats[torch] = elastic::detail::torch_time{1'000'000h};
  co_await place.put(state);
  const auto a = place.node("a");
  const auto b = place.node("b");
  auto first = start(time, a->next_round());
  auto second = start(time, b->next_round());
  co_await place.settle();
  REQUIRE(first->value);
  const auto agents = first->value->agents;
  co_await agents->add("torchelastic/agent/terminal_state/num_members", 1);
  co_await agents->set("torchelastic/agent/terminal_state2", "2");
  co_await a->report_failure("rank 0 ended: exit code 1");
  first = start(time, a->next_round());
  second = start(time, b->next_round());
  // Until the other is lost, and then the last call.
  co_await place.pass(15s + 5s + 31s);
  REQUIRE(first->value);
  CHECK(first->value->group_world_size == 2);
  CHECK(first->value->round == 1);
  co_await a->shutdown();
  co_await b->shutdown();
}

TIME_TEST("dynamic rendezvous: who looks at a round that some have left meets again",
          "[rendezvous]") {
  town place(time);
  place.watched_engine = nullptr;
  place.dialect = GENERATE(torch_dialect::torch_1_13, torch_dialect::torch_2_6);
  const elastic::detail::node_id own_id{"a", 1, 0};
  const elastic::detail::node_id torch{"t", 7, 0};
  const auto a = place.node("a");
  const auto first = start(time, a->next_round());
  co_await place.pass(100ms);
  torch_state state = co_await place.state();
  state.complete = true;
  SECTION("its rank is beyond those who are left") {
    state.participants = {{own_id, 2}, {torch, 0}};
    state.last_heartbeats[torch] = elastic::detail::torch_time{1'000'000h};
  }
  SECTION("they are too few") { state.participants = {{own_id, 0}}; }
  co_await place.put(state);
  co_await place.pass(2s);
  CHECK_FALSE(first->ended);
  state = co_await place.state();
  CHECK(state.participants.count(own_id) == (state.complete ? 0 : 1));
  CHECK(state.wait_list.count(own_id) == (state.complete ? 1 : 0));
  first->cancel.emit(asio::cancellation_type::terminal);
  co_await place.settle();
  co_await a->shutdown();
}

TIME_TEST(
    "dynamic rendezvous: if the node of rank 0 dies before it says where workers meet, "
    "the others meet again",
    "[rendezvous]") {
  town place(time);
  place.dialect = torch_dialect::torch_2_6;
  place.parameters.share_worker_store = false;
  place.parameters.max_nodes = 3;
  const elastic::detail::node_id torch{"A", 7, 0};
  torch_state state;
  state.participants[torch] = 0;
  state.last_heartbeats[torch] = elastic::detail::torch_time{1'000'000h};
  co_await place.put(state);
  const auto a = place.node("a");
  const auto b = place.node("b");
  const auto first = start(time, a->next_round());
  const auto second = start(time, b->next_round());
  co_await place.pass(14s);
  state = co_await place.state();
  CHECK(state.round == 0);
  CHECK(state.complete);
  // Until it is given up, and the last call.
  co_await place.pass(7s + 31s);
  REQUIRE(first->value);
  REQUIRE(second->value);
  CHECK(first->value->round == 1);
  CHECK(first->value->group_world_size == 2);
  CHECK(second->value->master.port == first->value->master.port);
  co_await a->shutdown();
  co_await b->shutdown();
}

TIME_TEST("dynamic rendezvous: a full round goes on although a node waits", "[rendezvous]") {
  town place(time);
  place.parameters.max_nodes = 2;
  const std::vector<std::string> names = {"a", "b"};
  const auto nodes = co_await met_nodes(place, names);
  const auto change = start(time, nodes[0]->wait_for_change());
  // It asked for a place when there was one, and others came first.
  torch_state state = co_await place.state();
  state.wait_list.insert({"t", 7, 0});
  co_await place.put(state);
  co_await place.pass(10s);
  CHECK_FALSE(change->ended);
  co_await nodes[1]->shutdown();
  co_await place.settle();
  CHECK(change->value);
  co_await nodes[0]->shutdown();
}

TIME_TEST("dynamic rendezvous: a state that comes back in time is waited for", "[rendezvous]") {
  town place(time);
  const auto vault = std::make_shared<fragile_backend>(time);
  place.own_backend = vault;
  const std::vector<std::string> names = {"a", "b"};
  const auto nodes = co_await met_nodes(place, names);
  const auto change = start(time, nodes[0]->wait_for_change());
  co_await place.pass(10s);
  vault->is_reachable = false;
  co_await place.pass(4s);
  vault->is_reachable = true;
  co_await place.pass(60s);
  CHECK_FALSE(change->ended);
  SECTION("one that hangs up for long") {
    vault->is_reachable = false;
    co_await place.pass(7s);
    CHECK(change->code() == errc::connection_failed);
    CHECK(change->what() == "the vault is locked");
  }
  SECTION("one that is silent for long") {
    vault->is_answering = false;
    co_await place.pass(40s);
    REQUIRE(change->value);
    CHECK(change->value->kind == rendezvous_change::cause::node_lost);
  }
  // Leaving does not wait for it.
  const duration begin = time.elapsed();
  co_await shut_down(nodes);
  CHECK(time.elapsed() - begin <= 1s);
}

TIME_TEST("dynamic rendezvous: a node that is cut off gives up the others before they go on",
          "[rendezvous]") {
  town place(time);
  const auto vault = std::make_shared<fragile_backend>(time);
  place.own_backend = vault;
  // The second for less time than the place is looked for, the third with nothing to spare.
  const auto [interval, attempts] =
      GENERATE(table<duration, int>({{5s, 3}, {1s, 3}, {5s, 2}}));
  place.parameters.keep_alive_interval = interval;
  place.parameters.keep_alive_max_attempt = attempts;
  const duration silence = place.parameters.settings().silence();
  const std::vector<std::string> names = {"a", "b"};
  const auto nodes = co_await met_nodes(place, names);
  const auto change = start(time, nodes[0]->wait_for_change());
  const auto fence = start(time, passed(nodes[0]->wait_for_fence()));
  co_await place.pass(3 * silence);
  CHECK_FALSE(change->ended);
  CHECK_FALSE(fence->ended);
  SECTION("of a place that does not answer") {
    vault->is_answering = false;
    const auto report = start(time, nodes[1]->report_failure("rank 1 ended: exit code 1"));
    while (!change->ended) co_await place.pass(50ms);
    REQUIRE(change->value);
    REQUIRE(report->value);
    CHECK(report->value->kind == rendezvous_change::cause::node_lost);
  }
  SECTION("of one that refuses") {
    vault->is_reachable = false;
    while (!change->ended) co_await place.pass(50ms);
    // It refuses for longer than it is looked for, or not.
    CHECK(change->value.has_value() == (silence * 3 / 4 < 5s));
    CHECK((change->value ? change->value->reason : change->what()).find("the vault is locked") !=
          std::string::npos);
  }
  if (change->value) {
    CHECK(change->value->kind == rendezvous_change::cause::node_lost);
    CHECK(change->value->reason.find("this node could not send keep-alives for ") == 0);
    CHECK(change->value->grace <= silence / 4);
  }
  CHECK_FALSE(fence->ended);
  CHECK(time.now() < vault->changed_at + silence * 4 / 5);
  while (!fence->ended) co_await place.pass(50ms);
  CHECK(time.now() < vault->changed_at + silence);
  if (change->value) {
    // It looks for them once more.
    const auto next_round = start(time, nodes[0]->next_round());
    co_await place.pass(3s);
    CHECK(next_round->code() == errc::connection_failed);
    CHECK(next_round->what().find("this node could not send keep-alives for ") == 0);
  }
  co_await shut_down(nodes);
}

TIME_TEST("dynamic rendezvous: of a job that was closed nobody is fenced", "[rendezvous]") {
  town place(time);
  const auto vault = std::make_shared<fragile_backend>(time);
  place.own_backend = vault;
  const std::vector<std::string> names = {"a", "b"};
  const auto nodes = co_await met_nodes(place, names);
  const auto change = start(time, nodes[0]->wait_for_change());
  const auto fence = start(time, passed(nodes[0]->wait_for_fence()));
  co_await nodes[1]->close(elastic::rendezvous_handler::job_end::failed, "the host has left");
  co_await place.pass(2s);
  CHECK(change->what() == "the host has left");
  vault->is_reachable = false;
  co_await place.pass(60s);
  CHECK_FALSE(fence->ended);
  fence->cancel.emit(asio::cancellation_type::terminal);
  co_await shut_down(nodes);
}

TIME_TEST("dynamic rendezvous: of two heartbeats at once, the one that was stored counts",
          "[rendezvous]") {
  const town place(time);
  const auto vault = std::make_shared<fragile_backend>(time);
  const auto node = std::make_shared<elastic::detail::torch_round>(
      "j", elastic::detail::node_id{"a", 1, 0}, place.parameters.settings(), place.dialect, vault,
      place.agents, place.parameters.time, place.parameters.log);
  elastic::detail::torch_round::view current_view = co_await node->look();
  co_await node->carry_out(std::move(current_view), elastic::detail::round_action::enter_round);
  co_await time.sleep_until(time.now() + 8s);
  vault->request_time = 10ms;
  const auto first_refresh = start(time, passed(node->refresh_sign()));
  const auto second_refresh = start(time, passed(node->refresh_sign()));
  co_await time.sleep_until(time.now() + 1s);
  CHECK(first_refresh->value.has_value());
  CHECK(second_refresh->value.has_value());
  CHECK(node->sign().age() <= 1s);
}

TIME_TEST("dynamic rendezvous: a node that stood still meets the others again", "[rendezvous]") {
  town place(time);
  const auto vault = std::make_shared<fragile_backend>(time);
  place.own_backend = vault;
  const std::vector<std::string> names = {"a", "b"};
  const auto nodes = co_await met_nodes(place, names);
  const auto change = start(time, nodes[0]->wait_for_change());
  vault->is_answering = false;
  while (!change->ended) co_await place.pass(50ms);
  vault->is_answering = true;
  const auto first = start(time, nodes[0]->next_round());
  const auto second = start(time, nodes[1]->next_round());
  co_await place.pass(40s);
  REQUIRE(first->value);
  REQUIRE(second->value);
  CHECK(first->value->group_world_size == 2);
  CHECK(first->value->round == second->value->round);
  co_await place.pass(60s);
  const auto next_change = start(time, nodes[0]->wait_for_change());
  co_await place.pass(60s);
  CHECK_FALSE(next_change->ended);
  next_change->cancel.emit(asio::cancellation_type::terminal);
  co_await shut_down(nodes);
}

TIME_TEST("dynamic rendezvous: if no changes are told, the state is looked at", "[rendezvous]") {
  town place(time);
  const auto vault = std::make_shared<fragile_backend>(time);
  place.own_backend = vault;
  vault->watches_break = true;
  const std::vector<std::string> names = {"a", "b"};
  const auto nodes = co_await met_nodes(place, names);
  const auto change = start(time, nodes[0]->wait_for_change());
  co_await place.pass(60s);
  CHECK_FALSE(change->ended);
  co_await nodes[1]->shutdown();
  co_await place.pass(1s);
  CHECK(change->value);
  co_await nodes[0]->shutdown();
}

TIME_TEST("dynamic rendezvous: a node that ended and died holds up nobody at the exit barrier",
          "[rendezvous]") {
  town place(time);
  place.parameters.max_nodes = 2;
  const elastic::detail::node_id torch{"t", 7, 0};
  torch_state state;
  state.participants[torch] = 0;
  state.last_heartbeats[torch] = elastic::detail::torch_time{1'000'000h};
  co_await place.put(state);
  const auto a = place.node("a");
  const rendezvous_round round = co_await a->next_round();
  CHECK(round.group_rank == 0);
  // It told that it had come, and never read that all have.
  co_await round.agents->set("torchelastic/agent/terminal_state1", "1");
  const auto barrier = start(time, passed(a->exit_barrier()));
  co_await place.pass(14s);
  CHECK_FALSE(barrier->ended);
  co_await place.pass(2s);
  CHECK(barrier->value);
  co_await a->shutdown();
}

TIME_TEST("dynamic rendezvous: who waits at the exit barrier and lives hides no dead node",
          "[rendezvous]") {
  town place(time);
  place.dialect = torch_dialect::torch_2_6;
  place.parameters.max_nodes = 3;
  place.parameters.share_worker_store = false;
  const elastic::detail::node_id torch{"t", 7, 0};
  torch_state state;
  state.participants[torch] = 0;
  state.last_heartbeats[torch] = elastic::detail::torch_time{1'000'000h};
  co_await place.put(state);
  const auto a = place.node("a");
  const auto b = place.node("b");
  const auto first = start(time, a->next_round());
  const auto second = start(time, b->next_round());
  co_await place.settle();
  REQUIRE(first->value);
  const auto barrier = start(time, passed(a->exit_barrier()));
  const auto change = start(time, b->wait_for_change());
  SECTION("one that has not come there") {
    co_await place.pass(21s);
    REQUIRE(change->value);
    CHECK(change->value->kind == rendezvous_change::cause::node_lost);
    CHECK(change->value->reason.find("node t_7_0 ") == 0);
  }
  SECTION("but one that has is not lost") {
    co_await first->value->agents->add("torchelastic/agent/terminal_state/num_members", 1);
    co_await place.pass(200s);
    CHECK_FALSE(change->ended);
    change->cancel.emit(asio::cancellation_type::terminal);
  }
  barrier->cancel.emit(asio::cancellation_type::terminal);
  co_await place.settle();
  co_await a->shutdown();
  co_await b->shutdown();
}

TIME_TEST("dynamic rendezvous: one that may be lost at the exit barrier hides no dead node",
          "[rendezvous]") {
  town place(time);
  place.dialect = torch_dialect::torch_2_6;
  const auto notes = std::make_shared<std::vector<std::string>>();
  place.agents = std::make_shared<elastic::test::noting_store>(place.agents, notes);
  const std::vector<std::string> names = {"a", "b"};
  const auto nodes = co_await met_nodes(place, names);
  const auto barrier = start(time, passed(nodes[0]->exit_barrier()));
  co_await place.settle();
  // The others take an arrival that was not counted for one of torchrun.
  const std::string own = "torch.rendezvous.j.0/elastic/terminal_state/";
  const auto counted = std::find(notes->begin(), notes->end(), "add " + own + "num_members");
  const auto named = std::find(notes->begin(), notes->end(), "set " + own + "0=1");
  CHECK(counted < named);
  CHECK(named != notes->end());
  barrier->cancel.emit(asio::cancellation_type::terminal);
  co_await place.settle();
  co_await shut_down(nodes);
}

TIME_TEST("dynamic rendezvous: who stops waiting at the exit barrier has come there all the same",
          "[rendezvous]") {
  town place(time);
  const std::vector<std::string> names = {"a", "b"};
  const auto nodes = co_await met_nodes(place, names);
  const auto first = start(time, passed(nodes[0]->exit_barrier()));
  co_await place.pass(1s);
  first->cancel.emit(asio::cancellation_type::terminal);
  co_await place.settle();
  CHECK(first->code() == asio::error::operation_aborted);
  std::vector<std::string> keys(1, "torch.rendezvous.j.0/torchelastic/agent/terminal_state0");
  const bool has_come = co_await place.agents->check(keys);
  CHECK(has_come);
  co_await shut_down(nodes);
}

TIME_TEST("dynamic rendezvous: a round whose nodes are all dead makes way", "[rendezvous]") {
  town place(time);
  torch_state state;
  state.complete = true;
  state.round = 4;
  for (const char* name : {"x", "y"}) {
    state.participants[{name, 1, 0}] = name[0] - 'x';
    state.last_heartbeats[{name, 1, 0}] = elastic::detail::torch_time{1'000'000h};
  }
  co_await place.put(state);
  const auto a = place.node("a");
  const auto b = place.node("b");
  const auto first = start(time, a->next_round());
  const auto second = start(time, b->next_round());
  co_await place.pass(60s);
  REQUIRE(first->value);
  CHECK(first->value->round == 5);
  CHECK(first->value->group_world_size == 2);
  co_await a->shutdown();
  co_await b->shutdown();
}

// All nodes as members of their next round, which meets when its last call is over.
task<std::vector<rendezvous_round>> next_rounds(town& place, std::vector<node_pointer> nodes) {
  std::vector<std::shared_ptr<task_outcome<rendezvous_round>>> outcomes;
  for (const node_pointer& node : nodes) outcomes.push_back(start(place.time, node->next_round()));
  co_await place.pass(place.parameters.settings().last_call_timeout + 2s);
  std::vector<rendezvous_round> rounds;
  for (const auto& outcome : outcomes) {
    INFO(outcome->what());
    REQUIRE(outcome->value);
    rounds.push_back(*outcome->value);
  }
  co_return rounds;
}

TIME_TEST("dynamic rendezvous: a failure is counted for the job, and told to all", "[rendezvous]") {
  town place(time);
  place.dialect = GENERATE(torch_dialect::torch_1_13, torch_dialect::torch_2_6);
  place.parameters.share_worker_store = false;
  const std::vector<std::string> names = {"a", "b"};
  std::vector<node_pointer> nodes = co_await met_nodes(place, names);
  // Whichever node it is on.
  const std::size_t failed_node = GENERATE(0, 1);
  const std::string reason = failed_node == 0 ? "node a_1_0: rank 0 ended: exit code 3"
                                              : "node b_1_0: rank 0 ended: exit code 3";
  const rendezvous_change own_change = co_await nodes[failed_node]->report_failure(
      "rank 0 ended: exit code "
      "3");
  CHECK(own_change.kind == rendezvous_change::cause::worker_failed);
  CHECK(own_change.reason == reason);
  CHECK(own_change.restarts == 1);
  CHECK_FALSE(own_change.on_other_node);
  // The change of a round stays.
  const rendezvous_change same_change = co_await nodes[failed_node]->wait_for_change();
  CHECK(same_change.reason == own_change.reason);
  const auto first = start(time, nodes[failed_node]->next_round());
  co_await place.settle();
  const rendezvous_change other_change = co_await nodes[1 - failed_node]->wait_for_change();
  CHECK(other_change.kind == rendezvous_change::cause::worker_failed);
  CHECK(other_change.reason == reason);
  CHECK(other_change.restarts == 1);
  // What fails now is taken for a consequence.
  const rendezvous_change later_change =
      co_await nodes[1 - failed_node]->report_failure("rank 1 ended: exit code 1");
  CHECK(later_change.reason == reason);
  CHECK(later_change.restarts == 1);
  CHECK(later_change.on_other_node);
  const auto second = start(time, nodes[1 - failed_node]->next_round());
  co_await place.pass(32s);
  REQUIRE(first->value);
  REQUIRE(second->value);
  CHECK(first->value->restarts == 1);
  CHECK(second->value->restarts == 1);
  // A node that joins learns it, and costs nothing.
  nodes.push_back(place.node("0"));
  std::vector<rendezvous_round> rounds = co_await next_rounds(place, nodes);
  for (const rendezvous_round& round : rounds) {
    CHECK(round.group_world_size == 3);
    CHECK(round.restarts == 1);
  }
  // So does the loss of one; the next failure is the second.
  co_await nodes[2]->shutdown();
  nodes.pop_back();
  rounds = co_await next_rounds(place, nodes);
  for (const rendezvous_round& round : rounds) CHECK(round.restarts == 1);
  const rendezvous_change next_change =
      co_await nodes[1]->report_failure("rank 1 ended: exit code 1");
  CHECK(next_change.restarts == 2);
  rounds = co_await next_rounds(place, nodes);
  for (const rendezvous_round& round : rounds) CHECK(round.restarts == 2);
  co_await shut_down(nodes);
}

TIME_TEST("dynamic rendezvous: failures at the same time count once", "[rendezvous]") {
  town place(time);
  const std::vector<std::string> names = {"a", "b", "c"};
  const std::vector<node_pointer> nodes = co_await met_nodes(place, names);
  std::vector<std::shared_ptr<task_outcome<rendezvous_change>>> changes;
  for (const node_pointer& node : nodes) {
    changes.push_back(start(time, node->report_failure("a rank ended: exit code 1")));
  }
  co_await place.settle();
  for (const auto& change : changes) {
    REQUIRE(change->value);
    CHECK(change->value->kind == rendezvous_change::cause::worker_failed);
    CHECK(change->value->restarts == 1);
    CHECK(change->value->reason == changes[0]->value->reason);
  }
  const std::vector<rendezvous_round> rounds = co_await next_rounds(place, nodes);
  for (const rendezvous_round& round : rounds) CHECK(round.restarts == 1);
  co_await shut_down(nodes);
}

TIME_TEST("dynamic rendezvous: a failure early in a round changes its count for nobody",
          "[rendezvous]") {
  town place(time);
  place.parameters.max_nodes = 2;
  const auto a = place.node("a");
  const auto b = place.node("b");
  const auto late_round = start(time, b->next_round());
  co_await place.settle();
  const rendezvous_round first = co_await a->next_round();
  const rendezvous_change change = co_await a->report_failure("rank 0 ended: exit code 1");
  CHECK(first.restarts == 0);
  CHECK(change.restarts == 1);
  co_await place.settle();
  REQUIRE(late_round->value);
  CHECK(late_round->value->restarts == 0);
  co_await a->shutdown();
  co_await b->shutdown();
}

// Two nodes of elasticrun, `a` and `b`, in a round with one of torchrun.
struct mixed_round {
  explicit mixed_round(town& place) : place_(place) {}

  task<void> meet() {
    torch_state state;
    state.participants[torch] = 0;
    state.last_heartbeats[torch] = elastic::detail::torch_time{1'000'000h};
    co_await place_.put(state);
    first = start(place_.time, a->next_round());
    second = start(place_.time, b->next_round());
    co_await pass(place_.parameters.settings().last_call_timeout + 2s);
    REQUIRE(first->value);
    REQUIRE(second->value);
  }

  // Time in which the node of torchrun says again and again that it is alive.
  task<void> pass(duration span) {
    const auto end = place_.time.now() + span;
    while (place_.time.now() < end) {
      torch_state state = co_await place_.state();
      state.last_heartbeats[torch] = elastic::detail::torch_time{1'000'000h + ++beats * 1s};
      co_await place_.put(state);
      co_await place_.pass(std::min<duration>(1s, end - place_.time.now()));
    }
  }

  // The node of torchrun leaves the round, and waits to meet again.
  task<void> leave_and_wait() {
    torch_state state = co_await place_.state();
    state.participants.erase(torch);
    state.wait_list.insert(torch);
    co_await place_.put(state);
  }

  // The next round, in which it is the first.
  task<void> begin_next() {
    torch_state state = co_await place_.state();
    ++state.round;
    state.complete = false;
    state.participants = {{torch, 0}};
    state.wait_list.clear();
    co_await place_.put(state);
  }

  task<bool> is_member(std::string name) {
    const elastic::detail::node_id node{std::move(name), 1, 0};
    const torch_state state = co_await place_.state();
    co_return state.participants.count(node) != 0;
  }

  town& place_;
  // In the order of ranks first, in the middle or last.
  const elastic::detail::node_id torch{GENERATE("A", "aa", "t"), 7, 0};
  node_pointer a = place_.node("a");
  node_pointer b = place_.node("b");
  std::shared_ptr<task_outcome<rendezvous_round>> first;
  std::shared_ptr<task_outcome<rendezvous_round>> second;
  int beats = 0;
};

TIME_TEST("dynamic rendezvous: with a node of torchrun a failure counts at each node by itself",
          "[rendezvous]") {
  town place(time);
  place.parameters.max_nodes = 3;
  mixed_round mixed(place);
  co_await mixed.meet();
  const rendezvous_change own_change =
      co_await mixed.a->report_failure("rank 0 ended: exit code 3");
  CHECK(own_change.kind == rendezvous_change::cause::worker_failed);
  CHECK(own_change.reason == "rank 0 ended: exit code 3");
  CHECK(own_change.restarts == 1);
  CHECK_FALSE(own_change.on_other_node);
  // It stays until torchrun's workers have failed, too: that node would not count else.
  mixed.first = start(time, mixed.a->next_round());
  co_await place.pass(1s);
  const bool is_member = co_await mixed.is_member("a");
  CHECK(is_member);
  co_await mixed.leave_and_wait();
  // So does the other node of elasticrun, which sees that one leave.
  const rendezvous_change other_change = co_await mixed.b->wait_for_change();
  CHECK(other_change.kind == rendezvous_change::cause::worker_failed);
  CHECK(other_change.on_other_node);
  CHECK(other_change.restarts == 1);
  // Its own worker's failure is a consequence.
  const rendezvous_change same_change =
      co_await mixed.b->report_failure("rank 1 ended: exit code 1");
  CHECK(same_change.reason == other_change.reason);
  CHECK(same_change.restarts == 1);
  mixed.second = start(time, mixed.b->next_round());
  co_await place.pass(1s);
  co_await mixed.begin_next();
  co_await place.pass(2s);
  REQUIRE(mixed.first->value);
  REQUIRE(mixed.second->value);
  CHECK(mixed.first->value->group_world_size == 3);
  CHECK(mixed.first->value->restarts == 1);
  CHECK(mixed.second->value->restarts == 1);
  co_await mixed.a->shutdown();
  co_await mixed.b->shutdown();
}

TIME_TEST("dynamic rendezvous: a node of torchrun that leaves to meet another counts nowhere",
          "[rendezvous]") {
  town place(time);
  place.parameters.max_nodes = 4;
  mixed_round mixed(place);
  co_await mixed.meet();
  torch_state state = co_await place.state();
  state.wait_list.insert({"new", 9, 0});
  co_await place.put(state);
  co_await mixed.leave_and_wait();
  const rendezvous_change change = co_await mixed.a->wait_for_change();
  CHECK(change.kind == rendezvous_change::cause::node_waiting);
  CHECK(change.restarts == 0);
  co_await mixed.a->shutdown();
  co_await mixed.b->shutdown();
}

TIME_TEST("dynamic rendezvous: a node of torchrun whose workers go on is left after a while",
          "[rendezvous]") {
  town place(time);
  place.parameters.max_nodes = 3;
  mixed_round mixed(place);
  co_await mixed.meet();
  co_await mixed.a->report_failure("rank 0 ended: exit code 3");
  mixed.first = start(time, mixed.a->next_round());
  co_await mixed.pass(elastic::limits::mixed_failure_patience - 1s);
  const bool was_member = co_await mixed.is_member("a");
  CHECK(was_member);
  co_await mixed.pass(2s);
  const bool is_member = co_await mixed.is_member("a");
  CHECK_FALSE(is_member);
  co_await mixed.leave_and_wait();
  mixed.second = start(time, mixed.b->next_round());
  co_await place.pass(1s);
  co_await mixed.begin_next();
  co_await place.pass(2s);
  REQUIRE(mixed.first->value);
  REQUIRE(mixed.second->value);
  co_await mixed.a->shutdown();
  co_await mixed.b->shutdown();
}

TIME_TEST("dynamic rendezvous: a job that its node of torchrun left goes on from what was counted",
          "[rendezvous]") {
  town place(time);
  place.parameters.max_nodes = 3;
  mixed_round mixed(place);
  co_await mixed.meet();
  co_await mixed.leave_and_wait();
  const rendezvous_change change = co_await mixed.a->report_failure("rank 0 ended: exit code 3");
  CHECK(change.restarts == 1);
  torch_state state = co_await place.state();
  state.wait_list.clear();
  state.last_heartbeats.erase(mixed.torch);
  co_await place.put(state);
  const std::vector<node_pointer> nodes = {mixed.a, mixed.b};
  const std::vector<rendezvous_round> rounds = co_await next_rounds(place, nodes);
  for (const rendezvous_round& round : rounds) {
    CHECK(round.group_world_size == 2);
    CHECK(round.restarts == 1);
  }
  co_await mixed.a->shutdown();
  co_await mixed.b->shutdown();
}

TIME_TEST("dynamic rendezvous: a count that is none is told", "[rendezvous]") {
  town place(time);
  const std::string key = "torch.rendezvous.j.elastic/failures";
  const std::string nonsense = GENERATE("many", "-1 0 0\nx", "1 0 0", "1 0\nx",
                                        "99999999999 0 0\nx", "1\n0 0 x");
  co_await place.agents->set(key, nonsense);
  const auto a = place.node("a");
  const auto b = place.node("b");
  const auto first = start(time, a->next_round());
  const auto second = start(time, b->next_round());
  co_await place.pass(32s);
  CHECK(first->code() == errc::protocol_violation);
  CHECK(first->what().find("where it counts failures of the job") != std::string::npos);
  second->cancel.emit(asio::cancellation_type::terminal);
  co_await place.settle();
  co_await a->shutdown();
  co_await b->shutdown();
}

TIME_TEST("dynamic rendezvous: a node that leaves is noticed, and does not close", "[rendezvous]") {
  town place(time);
  const std::vector<std::string> names = {"a", "b"};
  const auto nodes = co_await met_nodes(place, names);
  const auto change = start(time, nodes[0]->wait_for_change());
  co_await nodes[1]->shutdown();
  co_await place.settle();
  REQUIRE(change->value);
  CHECK(change->value->kind == rendezvous_change::cause::node_lost);
  CHECK(change->value->reason == "node b_1_0 has left or was given up");
  const torch_state state = co_await place.state();
  CHECK_FALSE(state.closed);
  CHECK(state.participants.size() == 1);
  CHECK(state.last_heartbeats.size() == 1);
  co_await nodes[0]->shutdown();
}

TIME_TEST("dynamic rendezvous: the others are told how the job has ended", "[rendezvous]") {
  town place(time);
  const bool succeeds = GENERATE(true, false);
  const std::vector<std::string> names = {"a", "b"};
  const auto nodes = co_await met_nodes(place, names);
  const auto change = start(time, nodes[1]->wait_for_change());
  co_await nodes[0]->close(succeeds ? elastic::rendezvous_handler::job_end::succeeded
                                    : elastic::rendezvous_handler::job_end::failed,
                           "it is over");
  co_await place.settle();
  const errc expected_code = succeeds ? errc::rendezvous_finished : errc::rendezvous_closed;
  CHECK(change->code() == expected_code);
  CHECK(change->what() == "it is over");
  const auto late_node = place.node("c");
  const auto refusal = start(time, late_node->next_round());
  co_await place.settle();
  CHECK(refusal->code() == expected_code);
  co_await shut_down(nodes);
  co_await late_node->shutdown();
}

TIME_TEST("dynamic rendezvous: a node of torchrun that closes does not say why", "[rendezvous]") {
  town place(time);
  const std::vector<std::string> names = {"a", "b"};
  const auto nodes = co_await met_nodes(place, names);
  const auto change = start(time, nodes[1]->wait_for_change());
  torch_state state = co_await place.state();
  state.closed = true;
  co_await place.put(state);
  co_await place.settle();
  CHECK(change->code() == errc::rendezvous_closed);
  CHECK(change->what() ==
        "the rendezvous 'j' was closed by a node of torchrun, which does not say "
        "how the job has ended");
  co_await shut_down(nodes);
}

TIME_TEST("dynamic rendezvous: all pass the exit barrier when the last one has come",
          "[rendezvous]") {
  town place(time);
  place.dialect = GENERATE(torch_dialect::torch_1_13, torch_dialect::torch_2_0);
  const std::vector<std::string> names = {"a", "b", "c"};
  const auto nodes = co_await met_nodes(place, names);
  std::vector<std::shared_ptr<task_outcome<bool>>> barriers;
  for (const auto& node : nodes) {
    for (const auto& barrier : barriers) CHECK_FALSE(barrier->ended);
    barriers.push_back(start(time, passed(node->exit_barrier())));
    co_await place.pass(100s);
  }
  for (const auto& barrier : barriers) CHECK(barrier->value);
  // The first that passes closes: who still waits for a change is not told so.
  const auto change = start(time, nodes[1]->wait_for_change());
  co_await nodes[0]->close(elastic::rendezvous_handler::job_end::succeeded, "done");
  co_await nodes[0]->shutdown();
  co_await place.pass(10s);
  CHECK_FALSE(change->ended);
  change->cancel.emit(asio::cancellation_type::terminal);
  co_await place.settle();
  co_await nodes[1]->shutdown();
  co_await nodes[2]->shutdown();
}

TIME_TEST("dynamic rendezvous: all pass the exit barrier if the last one was lost there",
          "[rendezvous]") {
  town place(time);
  place.dialect = torch_dialect::torch_2_6;
  const std::vector<std::string> names = {"a", "b"};
  const auto nodes = co_await met_nodes(place, names);
  const auto barrier = start(time, passed(nodes[0]->exit_barrier()));
  co_await place.pass(1s);
  // The other one was counted, and was lost before it could let this one pass.
  const std::string count = "torch.rendezvous.j.0/torchelastic/agent/terminal_state/num_members";
  co_await place.agents->add(count, 1);
  co_await place.pass(13s);
  CHECK_FALSE(barrier->ended);
  co_await place.pass(2s);
  CHECK(barrier->value);
  co_await shut_down(nodes);
}

TIME_TEST("dynamic rendezvous: a node whose round another one has ended waits for nobody there",
          "[rendezvous]") {
  town place(time);
  const std::vector<std::string> names = {"a", "b"};
  const auto nodes = co_await met_nodes(place, names);
  const auto barrier = start(time, passed(nodes[0]->exit_barrier()));
  const auto change = start(time, nodes[0]->wait_for_change());
  co_await place.pass(1s);
  // As a node of the round before, which all but that node have given up.
  co_await nodes[1]->close(elastic::rendezvous_handler::job_end::succeeded, "done");
  co_await place.pass(14s);
  CHECK_FALSE(change->ended);
  co_await place.pass(7s);
  CHECK(change->code() == errc::rendezvous_finished);
  barrier->cancel.emit(asio::cancellation_type::terminal);
  co_await place.settle();
  co_await shut_down(nodes);
}

TIME_TEST("dynamic rendezvous: a node that fails lets nobody wait at the exit barrier",
          "[rendezvous]") {
  town place(time);
  const std::vector<std::string> names = {"a", "b"};
  const auto nodes = co_await met_nodes(place, names);
  const auto barrier = start(time, passed(nodes[0]->exit_barrier()));
  const auto change = start(time, nodes[0]->wait_for_change());
  co_await place.pass(1s);
  co_await nodes[1]->close(elastic::rendezvous_handler::job_end::failed,
                           "rank 1 ended: exit code 1");
  co_await place.settle();
  CHECK(barrier->code() == errc::rendezvous_closed);
  CHECK(change->code() == errc::rendezvous_closed);
  CHECK(change->what() == "rank 1 ended: exit code 1");
  co_await shut_down(nodes);
}

TIME_TEST("dynamic rendezvous: in 2.6 a node too many stands by until a place is free",
          "[rendezvous]") {
  town place(time);
  place.dialect = torch_dialect::torch_2_6;
  place.parameters.max_nodes = 2;
  place.parameters.share_worker_store = false;
  std::vector<std::string> names = {"a", "b"};
  const auto nodes = co_await met_nodes(place, names);
  const auto c = place.node("c");
  const auto spare_round = start(time, c->next_round());
  const auto change = start(time, nodes[1]->wait_for_change());
  // Longer than the join timeout.
  co_await place.pass(1000s);
  CHECK_FALSE(spare_round->ended);
  CHECK_FALSE(change->ended);
  torch_state state = co_await place.state();
  CHECK(state.redundancy_list.size() == 1);
  co_await nodes[0]->shutdown();
  co_await place.settle();
  REQUIRE(change->value);
  const auto second = start(time, nodes[1]->next_round());
  co_await place.pass(31s);
  REQUIRE(spare_round->value);
  REQUIRE(second->value);
  CHECK(second->value->group_rank == 0);
  CHECK(spare_round->value->dialect == elastic::rendezvous_round::agent_dialect::assign);
  // The node of rank 0 has told where the workers meet.
  CHECK(spare_round->value->master.port == second->value->master.port);
  co_await nodes[1]->shutdown();
  co_await c->shutdown();
}

// Agents of PyTorch 2.13 remember where the workers of their first round met, and say it but once.
TIME_TEST("dynamic rendezvous: in 2.6 the node of rank 0 serves each round at the same port",
          "[rendezvous]") {
  town place(time);
  place.dialect = torch_dialect::torch_2_6;
  place.parameters.max_nodes = 2;
  const auto a = place.node("a");
  const auto b = place.node("b");
  std::uint16_t port = 0;
  for (int round = 0; round < 3; ++round) {
    const auto first = start(time, a->next_round());
    const auto second = start(time, b->next_round());
    co_await place.pass(2s);
    REQUIRE(first->value);
    REQUIRE(second->value);
    CHECK(first->value->round == round);
    CHECK(first->value->master.served_by_agent);
    CHECK(second->value->master.port == first->value->master.port);
    if (round > 0) CHECK(first->value->master.port == port);
    port = first->value->master.port;
  }
  co_await a->shutdown();
  co_await b->shutdown();
}

TIME_TEST("dynamic rendezvous: who joins later is told where the workers meet by an earlier round",
          "[rendezvous]") {
  town place(time);
  place.dialect = torch_dialect::torch_2_6;
  place.parameters.max_nodes = 2;
  // A node of torchrun is in round 3 already, and said in round 1 where it serves.
  const elastic::detail::node_id torch{"a", 7, 0};
  torch_state state;
  state.round = 3;
  state.participants[torch] = 0;
  state.last_heartbeats[torch] = elastic::detail::torch_time{1'000'000h};
  co_await place.put(state);
  // Nobody answers there, so its old keys stay.
  const std::uint16_t port = elastic::test::reserved_port();
  co_await place.agents->set("torch.rendezvous.j.1/MASTER_ADDR", "127.0.0.1");
  co_await place.agents->set("torch.rendezvous.j.1/MASTER_PORT", std::to_string(port));
  const auto b = place.node("b");
  const auto late_round = start(time, b->next_round());
  co_await place.pass(4s);
  CHECK_FALSE(late_round->ended);
  co_await place.pass(4s);
  INFO(late_round->what());
  REQUIRE(late_round->value);
  CHECK(late_round->value->round == 3);
  CHECK(late_round->value->group_rank == 1);
  CHECK(late_round->value->master.address == "127.0.0.1");
  CHECK(late_round->value->master.port == port);
  co_await b->shutdown();
}

TIME_TEST("dynamic rendezvous: who joins as rank 0 lets the workers meet where torchrun's do",
          "[rendezvous]") {
  const bool is_served = GENERATE(true, false);
  // A real store.
  time.heed_world(std::chrono::milliseconds(20));
  town place(time);
  place.dialect = torch_dialect::torch_2_6;
  place.parameters.max_nodes = 2;
  elastic::tcp_store_server torch_server(co_await asio::this_coro::executor,
                                         elastic::tcp_store_server::options());
  const std::uint16_t port = torch_server.port();
  elastic::tcp_store::options options;
  options.port = port;
  elastic::tcp_store worker_store(co_await asio::this_coro::executor, options);
  co_await worker_store.set("of an earlier round", "1");
  // The store of the agents themselves is left alone.
  const bool is_of_agents = GENERATE(false, true);
  if (is_of_agents) co_await worker_store.set("torch.rendezvous.j", "the state");
  if (!is_served) co_await torch_server.stop();
  const elastic::detail::node_id torch{"z", 7, 0};
  torch_state state;
  state.round = 2;
  state.participants[torch] = 0;
  state.last_heartbeats[torch] = elastic::detail::torch_time{1'000'000h};
  co_await place.put(state);
  co_await place.agents->set("torch.rendezvous.j.0/MASTER_ADDR", "127.0.0.1");
  co_await place.agents->set("torch.rendezvous.j.0/MASTER_PORT", std::to_string(port));
  const auto a = place.node("a");
  const auto late_round = start(time, a->next_round());
  for (int second = 0; second < 5 && !late_round->ended; ++second) co_await place.pass(1s);
  INFO(late_round->what());
  REQUIRE(late_round->value);
  CHECK(late_round->value->group_rank == 0);
  CHECK(late_round->value->master.served_by_agent);
  CHECK((late_round->value->master.port == port) == is_served);
  const std::string published_port = co_await place.agents->get("torch.rendezvous.j.2/MASTER_PORT");
  CHECK(published_port == std::to_string(late_round->value->master.port));
  if (is_served) {
    // No worker of the new round is to take it for one of its own.
    const std::int64_t remaining_keys = co_await worker_store.num_keys();
    CHECK(remaining_keys == (is_of_agents ? 2 : 0));
  }
  co_await a->shutdown();
  if (is_served) co_await torch_server.stop();
}

TIME_TEST("dynamic rendezvous: in 1.13 a node too many asks until the join timeout",
          "[rendezvous]") {
  town place(time);
  place.parameters.max_nodes = 2;
  std::vector<std::string> names = {"a", "b"};
  const auto nodes = co_await met_nodes(place, names);
  const auto c = place.node("c");
  const auto spare_round = start(time, c->next_round());
  co_await place.pass(599s);
  CHECK_FALSE(spare_round->ended);
  co_await place.pass(7s);
  CHECK(spare_round->code() == errc::rendezvous_timeout);
  co_await shut_down(nodes);
  co_await c->shutdown();
}

TIME_TEST("dynamic rendezvous: a state that cannot be read is named and stays", "[rendezvous]") {
  town place(time);
  const std::string corrupt_state = GENERATE("bm8gcGlja2xl", "???");
  co_await place.agents->set("torch.rendezvous.j", corrupt_state);
  const auto a = place.node("a");
  const auto refusal = start(time, a->next_round());
  co_await place.settle();
  CHECK(refusal->code() == errc::rendezvous_state);
  CHECK(refusal->what().find("(the store's key 'torch.rendezvous.j')") != std::string::npos);
  co_await a->shutdown();
  const std::string kept_state = co_await place.agents->get("torch.rendezvous.j");
  CHECK(kept_state == corrupt_state);
}

TIME_TEST("dynamic rendezvous: nodes of two dialects do not mix", "[rendezvous]") {
  town place(time);
  const auto a = place.node("a");
  const auto first = start(time, a->next_round());
  co_await place.settle();
  place.dialect = torch_dialect::torch_2_6;
  const auto b = place.node("b");
  const auto refusal = start(time, b->next_round());
  co_await place.settle();
  CHECK(refusal->code() == errc::rendezvous_state);
  CHECK(refusal->what() ==
        "the state in the store's key 'torch.rendezvous.j' is in the dialect 1.13 and this node "
        "speaks 2.6: all nodes of a job need one dialect (the setting dialect=1.13)");
  CHECK_FALSE(first->ended);
  first->cancel.emit(asio::cancellation_type::terminal);
  co_await place.settle();
  co_await a->shutdown();
  co_await b->shutdown();
}

TIME_TEST("dynamic rendezvous: who stops waiting is in no round", "[rendezvous]") {
  town place(time);
  const bool is_watched = GENERATE(true, false);
  if (!is_watched) place.watched_engine = nullptr;
  const auto a = place.node("a");
  const auto round = start(time, a->next_round());
  co_await place.pass(3s);
  torch_state state = co_await place.state();
  CHECK(state.participants.size() == 1);
  round->cancel.emit(asio::cancellation_type::terminal);
  co_await place.settle();
  CHECK(round->code() == asio::error::operation_aborted);
  state = co_await place.state();
  CHECK(state.participants.empty());
  co_await a->shutdown();
}

TIME_TEST("dynamic rendezvous: a node says that it lives as long as it has a place",
          "[rendezvous]") {
  town place(time);
  const std::vector<std::string> names = {"a", "b"};
  const auto nodes = co_await met_nodes(place, names);
  const elastic::detail::node_id a{"a", 1, 0};
  torch_state earlier_state = co_await place.state();
  co_await place.pass(6s);
  torch_state later_state = co_await place.state();
  CHECK(later_state.last_heartbeats[a] > earlier_state.last_heartbeats[a]);
  co_await shut_down(nodes);
  earlier_state = co_await place.state();
  co_await place.pass(20s);
  later_state = co_await place.state();
  CHECK(earlier_state == later_state);
}

}  // namespace dynamic_rendezvous_tests
