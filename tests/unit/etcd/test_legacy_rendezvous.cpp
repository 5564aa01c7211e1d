// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/detail/internals.hpp>
#include <elastic/etcd/detail/legacy_rendezvous.hpp>

#include <elastic/base/time.hpp>
#include <elastic/store/memory_store.hpp>
#include <support/catch.hpp>
#include <support/leased_table.hpp>
#include <support/log_recorder.hpp>
#include <support/manual_time.hpp>
#include <support/task_outcome.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace legacy_rendezvous_tests {

using namespace std::chrono_literals;
using elastic::duration;
using elastic::errc;
using elastic::rendezvous_change;
using elastic::rendezvous_round;
using elastic::task;
using elastic::detail::legacy_rendezvous;
using elastic::detail::legacy_state;
using elastic::detail::legacy_status;
using elastic::test::leased_table;
using elastic::test::leased_table_keys;
using elastic::test::manual_time;
using elastic::test::passed;
using elastic::test::start;
using elastic::test::task_outcome;

// A node and its connection to the others.
struct node {
  std::shared_ptr<leased_table_keys> keys;
  std::shared_ptr<legacy_rendezvous> meeting;
  legacy_rendezvous* operator->() const { return meeting.get(); }
};

// Nodes that share a table, those of torchrun among them, whose steps a test takes.
class town {
 public:
  explicit town(manual_time& clock) : time(clock), table(std::make_shared<leased_table>(clock)) {
    parameters.backend = "etcd";
    parameters.run_id = "j";
    parameters.min_nodes = 2;
    parameters.max_nodes = 2;
    parameters.time = std::shared_ptr<elastic::time_source>(std::shared_ptr<void>(), &clock);
    parameters.log = log->log();
  }

  node make() {
    node new_node;
    new_node.keys = std::make_shared<leased_table_keys>(table);
    elastic::detail::legacy_rendezvous_options options;
    options.parameters = parameters;
    options.dialect = dialect;
    options.keys = new_node.keys;
    options.path = "/p";
    const auto engines = stores;
    options.store_of = [engines](const std::string& version) {
      auto& engine = (*engines)[version];
      if (!engine) engine = std::make_shared<elastic::detail::key_value_engine>();
      return elastic::detail::internals::make<elastic::memory_store>(engine);
    };
    new_node.meeting = std::make_shared<legacy_rendezvous>(std::move(options));
    return new_node;
  }

  // Two nodes that are in a round.
  task<std::pair<node, node>> met_pair() {
    const node first_node = make();
    const node second_node = make();
    const auto first = start(time, first_node->next_round());
    const auto second = start(time, second_node->next_round());
    co_await pass(parameters.settings().last_call_timeout + 1s);
    REQUIRE(first->value);
    REQUIRE(second->value);
    co_return std::pair<node, node>(first_node, second_node);
  }

  std::string stored_text() { return table->get("active_version").value.value_or("(none)"); }
  std::optional<legacy_state> state() {
    const auto text = table->get("active_version").value;
    if (!text) return std::nullopt;
    return elastic::detail::parse_legacy_state(*text);
  }

  // As a node of torchrun writes.
  void write(const std::string& text, std::chrono::seconds ttl = 0s) {
    table->put("active_version", text, "", ttl);
  }

  task<void> settle() { return time.sleep_until(time.now()); }
  // What is due then has happened, too.
  task<void> pass(duration span) { return time.sleep_until(time.now() + span + 1ms); }

  manual_time& time;
  std::shared_ptr<leased_table> table;
  std::shared_ptr<std::map<std::string, std::shared_ptr<elastic::detail::key_value_engine>>>
      stores = std::make_shared<
          std::map<std::string, std::shared_ptr<elastic::detail::key_value_engine>>>();
  elastic::detail::torch_dialect dialect = elastic::detail::torch_dialect::torch_1_13;
  elastic::rendezvous_parameters parameters;
  std::shared_ptr<elastic::test::log_recorder> log =
      std::make_shared<elastic::test::log_recorder>();
};

task<void> shut_down(std::vector<node> nodes) {
  for (const node& entry : nodes) co_await entry->shutdown();
}

template <class... Nodes>
task<void> leave(const Nodes&... nodes) {
  return shut_down(std::vector<node>{nodes...});
}

TIME_TEST("legacy rendezvous: as many nodes as there may be meet at once", "[rendezvous]") {
  town place(time);
  const node first_node = place.make();
  const node second_node = place.make();
  const auto begin = time.now();
  const auto first = start(time, first_node->next_round());
  const auto second = start(time, second_node->next_round());
  co_await place.settle();
  REQUIRE(first->value);
  REQUIRE(second->value);
  CHECK(time.now() == begin);
  CHECK(first->value->group_rank + second->value->group_rank == 1);
  for (const auto& outcome : {first, second}) {
    CHECK(outcome->value->round == 1);
    CHECK(outcome->value->group_world_size == 2);
    CHECK(outcome->value->restarts == 0);
    CHECK(outcome->value->dialect == elastic::rendezvous_round::agent_dialect::gather);
    CHECK_FALSE(outcome->value->master.served_by_agent);
  }
  const std::string key = "who";
  const std::string value = "one";
  co_await first->value->agents->set(key, value);
  const std::string stored_value = co_await second->value->agents->get(key);
  CHECK(stored_value == "one");
  // They stay.
  co_await place.pass(1min);
  CHECK(place.table->names_in("v_1").count("rank_0") == 1);
  CHECK(place.table->names_in("v_1").count("rank_1") == 1);
  co_await leave(first_node, second_node);
  // Who has left says so.
  CHECK(place.table->names_in("v_1").empty());
}

TIME_TEST("legacy rendezvous: enough nodes wait for more until the last call is over",
          "[rendezvous]") {
  town place(time);
  place.parameters.max_nodes = 4;
  const node first_node = place.make();
  const node second_node = place.make();
  const node third_node = place.make();
  const auto first = start(time, first_node->next_round());
  const auto second = start(time, second_node->next_round());
  co_await place.pass(29s);
  CHECK_FALSE(first->ended);
  CHECK(place.state()->status == legacy_status::joinable);
  const auto third = start(time, third_node->next_round());
  co_await place.pass(1s);
  for (const auto& outcome : {first, second, third}) {
    REQUIRE(outcome->value);
    CHECK(outcome->value->group_world_size == 3);
  }
  co_await leave(first_node, second_node, third_node);
}

TIME_TEST("legacy rendezvous: the others of a node that is lost in the last call begin anew",
          "[rendezvous]") {
  town place(time);
  place.parameters.max_nodes = 3;
  const node first_node = place.make();
  const node second_node = place.make();
  const auto first = start(time, first_node->next_round());
  co_await place.settle();
  const auto second = start(time, second_node->next_round());
  co_await place.pass(6s);
  second_node.keys->cut();
  // What it had promised to keep up ends.
  co_await place.pass(10s);
  CHECK_FALSE(first->ended);
  REQUIRE(place.state());
  CHECK(place.state()->version == "2");
  CHECK(place.state()->participants == 1);
  CHECK(second->code() == errc::connection_failed);
  const node third_node = place.make();
  const auto third = start(time, third_node->next_round());
  co_await place.pass(31s);
  REQUIRE(first->value);
  REQUIRE(third->value);
  CHECK(first->value->group_rank == 0);
  co_await leave(first_node, second_node, third_node);
}

TIME_TEST("legacy rendezvous: a node that comes late has the others meet again, at once",
          "[rendezvous]") {
  town place(time);
  place.parameters.max_nodes = 3;
  const auto [first_node, second_node] = co_await place.met_pair();
  const auto first_change = start(time, first_node->wait_for_change());
  const auto second_change = start(time, second_node->wait_for_change());
  co_await place.pass(1min);
  CHECK_FALSE(first_change->ended);
  const auto begin = time.now();
  const node third_node = place.make();
  const auto third = start(time, third_node->next_round());
  co_await place.settle();
  for (const auto& outcome : {first_change, second_change}) {
    REQUIRE(outcome->value);
    CHECK(outcome->value->kind == rendezvous_change::cause::node_waiting);
    CHECK(outcome->value->reason == "1 node waits for the next round");
  }
  const auto first = start(time, first_node->next_round());
  co_await place.settle();
  // The other one, which may look every few seconds only, is not left behind.
  CHECK(place.state()->status == legacy_status::complete);
  const auto second = start(time, second_node->next_round());
  co_await place.settle();
  for (const auto& outcome : {first, second, third}) {
    REQUIRE(outcome->value);
    CHECK(outcome->value->group_world_size == 3);
    CHECK(outcome->value->round == 2);
  }
  CHECK(time.now() == begin);
  co_await leave(first_node, second_node, third_node);
}

TIME_TEST("legacy rendezvous: failed workers have all nodes meet again, and count here",
          "[rendezvous]") {
  town place(time);
  const auto [first_node, second_node] = co_await place.met_pair();
  const auto second_change = start(time, second_node->wait_for_change());
  const std::string reason = "rank 0 ended";
  const rendezvous_change first_change = co_await first_node->report_failure(reason);
  CHECK(first_change.kind == rendezvous_change::cause::worker_failed);
  CHECK(first_change.reason == "rank 0 ended");
  CHECK(first_change.restarts == 1);
  const auto first = start(time, first_node->next_round());
  co_await place.settle();
  REQUIRE(second_change->value);
  CHECK(second_change->value->kind == rendezvous_change::cause::node_waiting);
  const rendezvous_change reported_change = co_await second_node->report_failure(reason);
  CHECK(reported_change.kind == rendezvous_change::cause::node_waiting);
  const auto second = start(time, second_node->next_round());
  co_await place.settle();
  REQUIRE(first->value);
  REQUIRE(second->value);
  CHECK(first->value->restarts == 1);
  CHECK(second->value->restarts == 0);
  co_await leave(first_node, second_node);
}

TIME_TEST("legacy rendezvous: a node that falls silent is lost, and its place free",
          "[rendezvous]") {
  town place(time);
  place.parameters.min_nodes = 1;
  const auto [first_node, second_node] = co_await place.met_pair();
  const auto change = start(time, first_node->wait_for_change());
  second_node.keys->cut();
  co_await place.pass(6s);
  CHECK_FALSE(change->ended);
  co_await place.pass(5s);
  REQUIRE(change->value);
  CHECK(change->value->kind == rendezvous_change::cause::node_lost);
  CHECK(change->value->reason.find("has left or does not answer") != std::string::npos);
  const auto next_round = start(time, first_node->next_round());
  co_await place.pass(31s);
  REQUIRE(next_round->value);
  CHECK(next_round->value->group_world_size == 1);
  co_await leave(first_node, second_node);
}

TIME_TEST("legacy rendezvous: a node that is cut off gives up the others before they go on",
          "[rendezvous]") {
  town place(time);
  const auto [first_node, second_node] = co_await place.met_pair();
  const auto first_change = start(time, first_node->wait_for_change());
  const auto second_change = start(time, second_node->wait_for_change());
  const auto fence = start(time, passed(second_node->wait_for_fence()));
  second_node.keys->cut();
  while (!second_change->ended) co_await place.pass(50ms);
  REQUIRE(second_change->value);
  CHECK(second_change->value->kind == rendezvous_change::cause::node_lost);
  while (!fence->ended) co_await place.pass(50ms);
  CHECK_FALSE(first_change->ended);
  const auto next_round = start(time, second_node->next_round());
  co_await place.pass(3s);
  CHECK(next_round->code() == errc::connection_failed);
  CHECK(next_round->what().find("this node could not send keep-alives for ") == 0);
  co_await leave(first_node, second_node);
}

TIME_TEST("legacy rendezvous: a node that was cut off for a while learns that it was lost",
          "[rendezvous]") {
  town place(time);
  const auto [first_node, second_node] = co_await place.met_pair();
  place.table->erase("active_version", "");
  const rendezvous_change change = co_await first_node->wait_for_change();
  CHECK(change.kind == rendezvous_change::cause::node_lost);
  CHECK(change.reason == "the other nodes have gone on without this one");
  co_await leave(first_node, second_node);
}

TIME_TEST("legacy rendezvous: who leaves is seen at once", "[rendezvous]") {
  town place(time);
  const auto [first_node, second_node] = co_await place.met_pair();
  const auto change = start(time, first_node->wait_for_change());
  co_await second_node->shutdown();
  co_await place.settle();
  REQUIRE(change->value);
  CHECK(change->value->kind == rendezvous_change::cause::node_lost);
  co_await leave(first_node);
}

TIME_TEST("legacy rendezvous: meets with a node of torchrun, step by step", "[rendezvous]") {
  town place(time);
  const node own_node = place.make();
  place.table->put("version_counter", "4", "", 0s);
  place.write(R"({"status": "joinable", "version": "5", "participants": [0]})");
  const auto round = start(time, own_node->next_round());
  co_await place.settle();
  CHECK(place.stored_text() ==
        R"({"keep_alives":["/p/v_5/rank_1"],"participants":[0,1],"status":"frozen",)"
        R"("version":"5"})");
  CHECK_FALSE(round->ended);
  place.table->refresh("v_5/rank_0", 10s);
  place.write(R"({"status": "final", "version": "5", "participants": [0, 1], "keep_alives": )"
              R"(["/p/v_5/rank_1", "/p/v_5/rank_0"], "num_workers_waiting": 0})");
  co_await place.settle();
  REQUIRE(round->value);
  CHECK(round->value->round == 5);
  CHECK(round->value->group_rank == 1);
  // It fails there: it counts itself, and its key ends in its time.
  const auto change = start(time, own_node->wait_for_change());
  place.write(R"({"status": "final", "version": "5", "participants": [0, 1], "keep_alives": )"
              R"(["/p/v_5/rank_1", "/p/v_5/rank_0"], "num_workers_waiting": 1})");
  co_await place.settle();
  REQUIRE(change->value);
  CHECK(change->value->kind == rendezvous_change::cause::node_waiting);
  const auto next_round = start(time, own_node->next_round());
  co_await place.settle();
  CHECK(place.state()->waiting == 2);
  // When its key has gone there is a new version, which it joins.
  co_await place.pass(10s);
  CHECK(place.stored_text() == R"({"participants":[0],"status":"joinable","version":"5"})");
  next_round->cancel.emit(asio::cancellation_type::terminal);
  co_await place.settle();
  co_await leave(own_node);
}

TIME_TEST("legacy rendezvous: a maker that is lost is waited for no longer than its time",
          "[rendezvous]") {
  town place(time);
  place.parameters.min_nodes = place.parameters.max_nodes = 1;
  place.write(R"({"status": "setup"})", 5s);
  const node own_node = place.make();
  const auto round = start(time, own_node->next_round());
  co_await place.pass(4s);
  CHECK_FALSE(round->ended);
  co_await place.pass(1s);
  CHECK(round->value);
  co_await leave(own_node);
}

TIME_TEST("legacy rendezvous: who is cancelled on its way leaves nothing behind", "[rendezvous]") {
  town place(time);
  const node own_node = place.make();
  const auto type = GENERATE(asio::cancellation_type::terminal, asio::cancellation_type::partial,
                             asio::cancellation_type::total);
  SECTION("joining") {
    const auto round = start(time, own_node->next_round());
    co_await place.settle();
    CHECK(place.state()->participants == 1);
    round->cancel.emit(asio::cancellation_type::terminal | type);
    co_await place.settle();
    CHECK(round->code() == asio::error::operation_aborted);
    CHECK_FALSE(place.state());
  }
  SECTION("waiting for another version") {
    place.table->refresh("v_1/rank_0", 30s);
    place.write(R"({"status": "final", "version": "1", "participants": [0], "keep_alives": )"
                R"(["/p/v_1/rank_0"], "num_workers_waiting": 2})");
    const auto round = start(time, own_node->next_round());
    co_await place.settle();
    CHECK(place.state()->waiting == 3);
    round->cancel.emit(asio::cancellation_type::terminal | type);
    co_await place.settle();
    CHECK(round->code() == asio::error::operation_aborted);
    CHECK(place.state()->waiting == 2);
  }
  co_await leave(own_node);
}

TIME_TEST("legacy rendezvous: without enough nodes it gives up, and says how many there were",
          "[rendezvous]") {
  town place(time);
  const node own_node = place.make();
  const auto round = start(time, own_node->next_round());
  co_await place.pass(601s);
  CHECK(round->code() == errc::rendezvous_timeout);
  CHECK(round->what() ==
        "no place in a round of 'j' within 600 s (rendezvous_parameters::join_timeout): "
        "version 1 has 1 of 2 to 2 nodes");
  CHECK_FALSE(place.state());
  co_await leave(own_node);
}

TIME_TEST("legacy rendezvous: all hear how the job has ended", "[rendezvous]") {
  town place(time);
  const auto [first_node, second_node] = co_await place.met_pair();
  const auto change = start(time, second_node->wait_for_change());
  const std::string failure_reason = "rank 0 has failed";
  SECTION("it failed") {
    co_await first_node->close(elastic::rendezvous_handler::job_end::failed, failure_reason);
    co_await place.settle();
    CHECK(change->code() == errc::rendezvous_closed);
    CHECK(change->what() == "rank 0 has failed");
    // Nodes that have succeeded do not wait for it.
    const auto barrier = start(time, passed(second_node->exit_barrier()));
    co_await place.settle();
    CHECK(barrier->code() == errc::rendezvous_closed);
  }
  SECTION("it succeeded") {
    const auto first_barrier = start(time, passed(first_node->exit_barrier()));
    co_await place.settle();
    CHECK_FALSE(first_barrier->ended);
    const auto second_barrier = start(time, passed(second_node->exit_barrier()));
    co_await place.settle();
    CHECK(first_barrier->value);
    CHECK(second_barrier->value);
    const std::string success_reason = "all is well";
    co_await first_node->close(elastic::rendezvous_handler::job_end::succeeded, success_reason);
    co_await place.settle();
    CHECK_FALSE(change->ended);
    change->cancel.emit(asio::cancellation_type::terminal);
    co_await place.settle();
    const node late_node = place.make();
    const auto round = start(time, late_node->next_round());
    co_await place.settle();
    CHECK(round->code() == errc::rendezvous_finished);
    co_await leave(late_node);
  }
  SECTION("a node of torchrun says no more than that") {
    place.write(R"({"status": "closed", "version": "1"})");
    co_await place.settle();
    CHECK(change->code() == errc::rendezvous_closed);
    CHECK(change->what() ==
          "the rendezvous 'j' was closed by a node of torchrun, which does not "
          "say how the job has ended");
  }
  co_await leave(first_node, second_node);
}

TIME_TEST("legacy rendezvous: a state that cannot be understood is told and left", "[rendezvous]") {
  town place(time);
  const auto [first_node, second_node] = co_await place.met_pair();
  const auto change = start(time, first_node->wait_for_change());
  const std::string text = GENERATE("", "[", R"({"status": "final"})", "{\"status\": \"\xff\"}");
  place.write(text);
  co_await place.settle();
  CHECK(change->code() == errc::rendezvous_state);
  CHECK(change->what().find("(the key 'active_version')") != std::string::npos);
  const node late_node = place.make();
  const auto round = start(time, late_node->next_round());
  co_await place.settle();
  CHECK(round->code() == errc::rendezvous_state);
  const std::string reason = "over";
  const auto closing =
      start(time, passed(first_node->close(elastic::rendezvous_handler::job_end::failed, reason)));
  co_await place.settle();
  CHECK(closing->code() == errc::rendezvous_state);
  co_await leave(first_node, second_node, late_node);
  CHECK(place.stored_text() == text);
}

TIME_TEST("legacy rendezvous: agents of PyTorch 2.6 agree first where the workers meet",
          "[rendezvous]") {
  town place(time);
  place.dialect = elastic::detail::torch_dialect::torch_2_6;
  const node first_node = place.make();
  const node second_node = place.make();
  const auto first = start(time, first_node->next_round());
  const auto second = start(time, second_node->next_round());
  co_await place.settle();
  REQUIRE(first->value);
  REQUIRE(second->value);
  CHECK(first->value->dialect == elastic::rendezvous_round::agent_dialect::assign);
  CHECK(first->value->master.port != 0);
  CHECK(first->value->master.port == second->value->master.port);
  CHECK_FALSE(first->value->master.served_by_agent);
  co_await leave(first_node, second_node);
}

}  // namespace legacy_rendezvous_tests
