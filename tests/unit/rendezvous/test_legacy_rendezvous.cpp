// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/rendezvous/etcd/detail/legacy_rendezvous.hpp>

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
using elastic::change_kind;
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

// A node, and its way to the others.
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
    node made;
    made.keys = std::make_shared<leased_table_keys>(table);
    elastic::detail::legacy_rendezvous_options options;
    options.parameters = parameters;
    options.dialect = dialect;
    options.keys = made.keys;
    options.path = "/p";
    const auto all = stores;
    options.store_of = [all](const std::string& version) {
      auto& engine = (*all)[version];
      if (!engine) engine = std::make_shared<elastic::key_value_engine>();
      return std::make_shared<elastic::memory_store>(engine);
    };
    made.meeting = std::make_shared<legacy_rendezvous>(std::move(options));
    return made;
  }

  // Two nodes that are in a round.
  task<std::pair<node, node>> met_pair() {
    const node one = make();
    const node two = make();
    const auto first = start(time, one->next_round());
    const auto second = start(time, two->next_round());
    co_await pass(parameters.settings().last_call_timeout + 1s);
    REQUIRE(first->value);
    REQUIRE(second->value);
    co_return std::pair<node, node>(one, two);
  }

  std::string stored() { return table->get("active_version").value.value_or("(none)"); }
  std::optional<legacy_state> state() {
    const auto seen = table->get("active_version").value;
    if (!seen) return std::nullopt;
    return elastic::detail::parse_legacy_state(*seen);
  }

  // As a node of torchrun writes.
  void write(const std::string& text, std::chrono::seconds life = 0s) {
    table->put("active_version", text, "", life);
  }

  task<void> quiet() { return time.sleep_until(time.now()); }
  // What is due then has happened, too.
  task<void> pass(duration span) { return time.sleep_until(time.now() + span + 1ms); }

  manual_time& time;
  std::shared_ptr<leased_table> table;
  std::shared_ptr<std::map<std::string, std::shared_ptr<elastic::key_value_engine>>> stores =
      std::make_shared<std::map<std::string, std::shared_ptr<elastic::key_value_engine>>>();
  elastic::torch_dialect dialect = elastic::torch_dialect::torch_1_13;
  elastic::rendezvous_parameters parameters;
  std::shared_ptr<elastic::test::log_recorder> log =
      std::make_shared<elastic::test::log_recorder>();
};

task<void> shut_down(std::vector<node> nodes) {
  for (const node& each : nodes) co_await each->shutdown();
}

template <class... Nodes>
task<void> leave(const Nodes&... nodes) {
  return shut_down(std::vector<node>{nodes...});
}

TIME_TEST("legacy rendezvous: as many nodes as there may be meet at once", "[rendezvous]") {
  town place(time);
  const node one = place.make();
  const node two = place.make();
  const auto begin = time.now();
  const auto first = start(time, one->next_round());
  const auto second = start(time, two->next_round());
  co_await place.quiet();
  REQUIRE(first->value);
  REQUIRE(second->value);
  CHECK(time.now() == begin);
  CHECK(first->value->group_rank + second->value->group_rank == 1);
  for (const auto& each : {first, second}) {
    CHECK(each->value->round == 1);
    CHECK(each->value->group_world_size == 2);
    CHECK(each->value->restarts == 0);
    CHECK(each->value->dialect == elastic::agent_dialect::gather);
    CHECK_FALSE(each->value->master.served_by_agent);
  }
  const std::string key = "who";
  const std::string value = "one";
  co_await first->value->agents->set(key, value);
  const std::string read = co_await second->value->agents->get(key);
  CHECK(read == "one");
  // They stay.
  co_await place.pass(1min);
  CHECK(place.table->names_in("v_1").count("rank_0") == 1);
  CHECK(place.table->names_in("v_1").count("rank_1") == 1);
  co_await leave(one, two);
  // Who has left says so.
  CHECK(place.table->names_in("v_1").empty());
}

TIME_TEST("legacy rendezvous: enough nodes wait for more until the last call is over",
          "[rendezvous]") {
  town place(time);
  place.parameters.max_nodes = 4;
  const node one = place.make();
  const node two = place.make();
  const node three = place.make();
  const auto first = start(time, one->next_round());
  const auto second = start(time, two->next_round());
  co_await place.pass(29s);
  CHECK_FALSE(first->ended);
  CHECK(place.state()->status == legacy_status::joinable);
  const auto third = start(time, three->next_round());
  co_await place.pass(1s);
  for (const auto& each : {first, second, third}) {
    REQUIRE(each->value);
    CHECK(each->value->group_world_size == 3);
  }
  co_await leave(one, two, three);
}

TIME_TEST("legacy rendezvous: the others of a node that is lost in the last call begin anew",
          "[rendezvous]") {
  town place(time);
  place.parameters.max_nodes = 3;
  const node one = place.make();
  const node two = place.make();
  const auto first = start(time, one->next_round());
  co_await place.quiet();
  const auto lost = start(time, two->next_round());
  co_await place.pass(6s);
  two.keys->cut();
  // What it had promised to keep up ends.
  co_await place.pass(10s);
  CHECK_FALSE(first->ended);
  REQUIRE(place.state());
  CHECK(place.state()->version == "2");
  CHECK(place.state()->participants == 1);
  CHECK(lost->code() == errc::connection_failed);
  const node three = place.make();
  const auto third = start(time, three->next_round());
  co_await place.pass(31s);
  REQUIRE(first->value);
  REQUIRE(third->value);
  CHECK(first->value->group_rank == 0);
  co_await leave(one, two, three);
}

TIME_TEST("legacy rendezvous: a node that comes late has the others meet again, at once",
          "[rendezvous]") {
  town place(time);
  place.parameters.max_nodes = 3;
  const auto [one, two] = co_await place.met_pair();
  const auto first = start(time, one->wait_for_change());
  const auto second = start(time, two->wait_for_change());
  co_await place.pass(1min);
  CHECK_FALSE(first->ended);
  const auto begin = time.now();
  const node three = place.make();
  const auto third = start(time, three->next_round());
  co_await place.quiet();
  for (const auto& each : {first, second}) {
    REQUIRE(each->value);
    CHECK(each->value->kind == change_kind::node_waiting);
    CHECK(each->value->what == "1 node waits for the next round");
  }
  const int waiting = co_await one->num_nodes_waiting();
  CHECK(waiting == 1);
  const auto first_again = start(time, one->next_round());
  co_await place.quiet();
  // The other one, which may look every few seconds only, is not left behind.
  CHECK(place.state()->status == legacy_status::complete);
  const auto second_again = start(time, two->next_round());
  co_await place.quiet();
  for (const auto& each : {first_again, second_again, third}) {
    REQUIRE(each->value);
    CHECK(each->value->group_world_size == 3);
    CHECK(each->value->round == 2);
  }
  CHECK(time.now() == begin);
  co_await leave(one, two, three);
}

TIME_TEST("legacy rendezvous: failed workers have all nodes meet again, and count here",
          "[rendezvous]") {
  town place(time);
  const auto [one, two] = co_await place.met_pair();
  const auto told = start(time, two->wait_for_change());
  const std::string what = "rank 0 ended";
  const rendezvous_change change = co_await one->report_failure(what);
  CHECK(change.kind == change_kind::worker_failed);
  CHECK(change.what == "rank 0 ended");
  CHECK(change.restarts == 1);
  const auto first = start(time, one->next_round());
  co_await place.quiet();
  REQUIRE(told->value);
  CHECK(told->value->kind == change_kind::node_waiting);
  const rendezvous_change later = co_await two->report_failure(what);
  CHECK(later.kind == change_kind::node_waiting);
  const auto second = start(time, two->next_round());
  co_await place.quiet();
  REQUIRE(first->value);
  REQUIRE(second->value);
  CHECK(first->value->restarts == 1);
  CHECK(second->value->restarts == 0);
  co_await leave(one, two);
}

TIME_TEST("legacy rendezvous: a node that falls silent is lost, and its place free",
          "[rendezvous]") {
  town place(time);
  place.parameters.min_nodes = 1;
  const auto [one, two] = co_await place.met_pair();
  const auto told = start(time, one->wait_for_change());
  two.keys->cut();
  co_await place.pass(6s);
  CHECK_FALSE(told->ended);
  co_await place.pass(5s);
  REQUIRE(told->value);
  CHECK(told->value->kind == change_kind::node_lost);
  CHECK(told->value->what.find("has left or does not answer") != std::string::npos);
  const auto again = start(time, one->next_round());
  co_await place.pass(31s);
  REQUIRE(again->value);
  CHECK(again->value->group_world_size == 1);
  co_await leave(one, two);
}

TIME_TEST("legacy rendezvous: a node that is cut off gives up the others before they go on",
          "[rendezvous]") {
  town place(time);
  const auto [one, two] = co_await place.met_pair();
  const auto lost = start(time, one->wait_for_change());
  const auto cut_off = start(time, two->wait_for_change());
  const auto fence = start(time, passed(two->wait_for_fence()));
  two.keys->cut();
  while (!cut_off->ended) co_await place.pass(50ms);
  REQUIRE(cut_off->value);
  CHECK(cut_off->value->kind == change_kind::node_lost);
  while (!fence->ended) co_await place.pass(50ms);
  CHECK_FALSE(lost->ended);
  const auto again = start(time, two->next_round());
  co_await place.pass(3s);
  CHECK(again->code() == errc::connection_failed);
  CHECK(again->what().find("this node could not tell the others for ") == 0);
  co_await leave(one, two);
}

TIME_TEST("legacy rendezvous: a node that was cut off for a while learns that it was lost",
          "[rendezvous]") {
  town place(time);
  const auto [one, two] = co_await place.met_pair();
  place.table->erase("active_version", "");
  const rendezvous_change change = co_await one->wait_for_change();
  CHECK(change.kind == change_kind::node_lost);
  CHECK(change.what == "the other nodes have gone on without this one");
  co_await leave(one, two);
}

TIME_TEST("legacy rendezvous: who leaves is seen at once", "[rendezvous]") {
  town place(time);
  const auto [one, two] = co_await place.met_pair();
  const auto told = start(time, one->wait_for_change());
  co_await two->shutdown();
  co_await place.quiet();
  REQUIRE(told->value);
  CHECK(told->value->kind == change_kind::node_lost);
  co_await leave(one);
}

TIME_TEST("legacy rendezvous: meets with a node of torchrun, step by step", "[rendezvous]") {
  town place(time);
  const node ours = place.make();
  place.table->put("version_counter", "4", "", 0s);
  place.write(R"({"status": "joinable", "version": "5", "participants": [0]})");
  const auto met = start(time, ours->next_round());
  co_await place.quiet();
  CHECK(place.stored() ==
        R"({"keep_alives":["/p/v_5/rank_1"],"participants":[0,1],"status":"frozen",)"
        R"("version":"5"})");
  CHECK_FALSE(met->ended);
  place.table->prolong("v_5/rank_0", 10s);
  place.write(R"({"status": "final", "version": "5", "participants": [0, 1], "keep_alives": )"
              R"(["/p/v_5/rank_1", "/p/v_5/rank_0"], "num_workers_waiting": 0})");
  co_await place.quiet();
  REQUIRE(met->value);
  CHECK(met->value->round == 5);
  CHECK(met->value->group_rank == 1);
  // It fails there: it counts itself, and its key ends in its time.
  const auto told = start(time, ours->wait_for_change());
  place.write(R"({"status": "final", "version": "5", "participants": [0, 1], "keep_alives": )"
              R"(["/p/v_5/rank_1", "/p/v_5/rank_0"], "num_workers_waiting": 1})");
  co_await place.quiet();
  REQUIRE(told->value);
  CHECK(told->value->kind == change_kind::node_waiting);
  const auto again = start(time, ours->next_round());
  co_await place.quiet();
  CHECK(place.state()->waiting == 2);
  // When its key has gone there is a new version, which it joins.
  co_await place.pass(10s);
  CHECK(place.stored() == R"({"participants":[0],"status":"joinable","version":"5"})");
  again->cancel.emit(asio::cancellation_type::terminal);
  co_await place.quiet();
  co_await leave(ours);
}

TIME_TEST("legacy rendezvous: a maker that is lost is waited for no longer than its time",
          "[rendezvous]") {
  town place(time);
  place.parameters.min_nodes = place.parameters.max_nodes = 1;
  place.write(R"({"status": "setup"})", 5s);
  const node ours = place.make();
  const auto met = start(time, ours->next_round());
  co_await place.pass(4s);
  CHECK_FALSE(met->ended);
  co_await place.pass(1s);
  CHECK(met->value);
  co_await leave(ours);
}

TIME_TEST("legacy rendezvous: who is cancelled on its way leaves nothing behind", "[rendezvous]") {
  town place(time);
  const node one = place.make();
  const auto type = GENERATE(asio::cancellation_type::terminal, asio::cancellation_type::partial,
                             asio::cancellation_type::total);
  SECTION("joining") {
    const auto met = start(time, one->next_round());
    co_await place.quiet();
    CHECK(place.state()->participants == 1);
    met->cancel.emit(asio::cancellation_type::terminal | type);
    co_await place.quiet();
    CHECK(met->code() == asio::error::operation_aborted);
    CHECK_FALSE(place.state());
  }
  SECTION("waiting for another version") {
    place.table->prolong("v_1/rank_0", 30s);
    place.write(R"({"status": "final", "version": "1", "participants": [0], "keep_alives": )"
                R"(["/p/v_1/rank_0"], "num_workers_waiting": 2})");
    const auto met = start(time, one->next_round());
    co_await place.quiet();
    CHECK(place.state()->waiting == 3);
    met->cancel.emit(asio::cancellation_type::terminal | type);
    co_await place.quiet();
    CHECK(met->code() == asio::error::operation_aborted);
    CHECK(place.state()->waiting == 2);
  }
  co_await leave(one);
}

TIME_TEST("legacy rendezvous: without enough nodes it gives up, and says how many there were",
          "[rendezvous]") {
  town place(time);
  const node one = place.make();
  const auto met = start(time, one->next_round());
  co_await place.pass(601s);
  CHECK(met->code() == errc::rendezvous_timeout);
  CHECK(met->what() ==
        "no place in a round of 'j' within 600 s (--rdzv-conf join_timeout): "
        "version 1 has 1 of 2 to 2 nodes");
  CHECK_FALSE(place.state());
  co_await leave(one);
}

TIME_TEST("legacy rendezvous: all hear how the job has ended", "[rendezvous]") {
  town place(time);
  const auto [one, two] = co_await place.met_pair();
  const auto told = start(time, two->wait_for_change());
  const std::string why = "rank 0 has failed";
  SECTION("it failed") {
    co_await one->close(elastic::job_end::failed, why);
    co_await place.quiet();
    CHECK(told->code() == errc::rendezvous_closed);
    CHECK(told->what() == "rank 0 has failed");
    // Nodes that have succeeded do not wait for it.
    const auto end = start(time, passed(two->exit_barrier()));
    co_await place.quiet();
    CHECK(end->code() == errc::rendezvous_closed);
  }
  SECTION("it succeeded") {
    const auto first_end = start(time, passed(one->exit_barrier()));
    co_await place.quiet();
    CHECK_FALSE(first_end->ended);
    const auto second_end = start(time, passed(two->exit_barrier()));
    co_await place.quiet();
    CHECK(first_end->value);
    CHECK(second_end->value);
    const std::string well = "all is well";
    co_await one->close(elastic::job_end::succeeded, well);
    co_await place.quiet();
    CHECK_FALSE(told->ended);
    told->cancel.emit(asio::cancellation_type::terminal);
    co_await place.quiet();
    const node late = place.make();
    const auto met = start(time, late->next_round());
    co_await place.quiet();
    CHECK(met->code() == errc::rendezvous_finished);
    co_await leave(late);
  }
  SECTION("a node of torchrun says no more than that") {
    place.write(R"({"status": "closed", "version": "1"})");
    co_await place.quiet();
    CHECK(told->code() == errc::rendezvous_closed);
    CHECK(told->what() ==
          "the rendezvous 'j' was closed by a node of torchrun, which does not "
          "say how the job has ended");
  }
  co_await leave(one, two);
}

TIME_TEST("legacy rendezvous: a state that cannot be understood is told and left", "[rendezvous]") {
  town place(time);
  const auto [one, two] = co_await place.met_pair();
  const auto told = start(time, one->wait_for_change());
  const std::string text = GENERATE("", "[", R"({"status": "final"})", "{\"status\": \"\xff\"}");
  place.write(text);
  co_await place.quiet();
  CHECK(told->code() == errc::rendezvous_state);
  CHECK(told->what().find("(the key 'active_version')") != std::string::npos);
  const node late = place.make();
  const auto met = start(time, late->next_round());
  co_await place.quiet();
  CHECK(met->code() == errc::rendezvous_state);
  const std::string why = "over";
  const auto closing = start(time, passed(one->close(elastic::job_end::failed, why)));
  co_await place.quiet();
  CHECK(closing->code() == errc::rendezvous_state);
  co_await leave(one, two, late);
  CHECK(place.stored() == text);
}

TIME_TEST("legacy rendezvous: agents of PyTorch 2.6 agree first where the workers meet",
          "[rendezvous]") {
  town place(time);
  place.dialect = elastic::torch_dialect::torch_2_6;
  const node one = place.make();
  const node two = place.make();
  const auto first = start(time, one->next_round());
  const auto second = start(time, two->next_round());
  co_await place.quiet();
  REQUIRE(first->value);
  REQUIRE(second->value);
  CHECK(first->value->dialect == elastic::agent_dialect::assign);
  CHECK(first->value->master.port != 0);
  CHECK(first->value->master.port == second->value->master.port);
  CHECK_FALSE(first->value->master.served_by_agent);
  co_await leave(one, two);
}

}  // namespace legacy_rendezvous_tests
