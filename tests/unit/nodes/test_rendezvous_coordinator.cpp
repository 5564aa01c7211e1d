// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/limits.hpp>
#include <elastic/nodes/detail/rendezvous_coordinator.hpp>
#include <elastic/rendezvous/detail/gather.hpp>

#include <support/catch.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace rendezvous_coordinator_tests {

using namespace std::chrono_literals;
using namespace elastic::detail::rendezvous_messages;
// The system has one of this name.
using elastic::duration;
using elastic::rendezvous_change;
using elastic::rendezvous_handler;
using elastic::time_point;
using elastic::detail::rendezvous_coordinator;
using elastic::detail::rendezvous_messages::pause;

using texts = std::vector<std::string>;

const std::string stands_by = "on hold: it stands by until a round has a place for it";

/// An answer in words.
struct in_words {
  std::string operator()(const welcome& answer) const {
    return answer.resumed ? "welcome back" : "welcome";
  }
  std::string operator()(const refused& answer) const { return "refused: " + answer.why; }
  std::string operator()(const peers& answer) const {
    return fmt::format("round {}: peers {}", answer.round, answer.addresses);
  }
  std::string operator()(const placed& answer) const {
    return fmt::format("round {}: {} of {} at {}, {} restarts", answer.round, answer.rank,
                       answer.world, answer.master.address, answer.restarts);
  }
  std::string operator()(const on_hold& answer) const { return "on hold: " + answer.why; }
  std::string operator()(const changed& answer) const {
    return fmt::format("round {} changes: {} ({} restarts)", answer.round, answer.what.what,
                       answer.what.restarts);
  }
  std::string operator()(const all_finished& answer) const {
    return fmt::format("round {} finished", answer.round);
  }
  std::string operator()(const closed& answer) const {
    return fmt::format("closed {}: {}",
                       answer.end == rendezvous_handler::job_end::succeeded ? "well" : "badly",
                       answer.why);
  }
  std::string operator()(const alive&) const { return "alive"; }
  std::string operator()(const resigned&) const { return "resigned"; }
  std::string operator()(const report_wanted&) const { return "report wanted"; }
};

/// A coordinator and its nodes, which are called by letters.
class stage {
 public:
  stage(int min, int max) {
    settings.min_nodes = min;
    settings.max_nodes = max;
  }

  elastic::rendezvous_settings settings;
  time_point now{12h};
  rendezvous_coordinator coordinator{"job", elastic::logger(), 1000};
  /// The nodes that it excluded, as nodes report.
  std::vector<elastic::detail::exclusion> excluded;
  /// What nodes say of the last server that they were with.
  std::map<char, former_round> former;
  /// The terms of servers that have welcomed nodes without placing them.
  std::map<char, std::int64_t> most_terms;
  /// Whose own the server is.
  char host = '-';
  /// What the job of the next node is made from.
  std::string fingerprint;

  /// The node connects and says hello.
  void connect(char name, rendezvous_coordinator::addresses ends = {}) {
    links[name] = ++last_;
    names[last_] = name;
    coordinator.connected(last_, std::move(ends));
    hello greeting;
    greeting.run_id = "job";
    // Agents that are started again on a host are written in large letters.
    greeting.node = {std::string(1, name), 1, 0};
    greeting.name = std::string("gpu-") + static_cast<char>(name | 0x20);
    greeting.settings = settings;
    greeting.hosts = name == host;
    greeting.fingerprint = fingerprint;
    if (former.count(name) != 0) {
      greeting.former = former.at(name);
      greeting.highest_term = former.at(name).term;
      greeting.excluded = excluded;
    }
    if (most_terms.count(name) != 0) greeting.highest_term = most_terms.at(name);
    say(name, greeting);
    if (opens_witnesses && coordinator.knows(greeting.node)) open_witness(name);
  }

  void say(char name, elastic::detail::rendezvous_request request) {
    coordinator.received(links.at(name), request, now);
    collect();
  }

  void ask_join(char name, std::int64_t after = -1, duration timeout = 600s) {
    say(name, join{after, timeout, {std::string(1, name) + ".example", 1, true}});
  }

  /// Connects all of them, and lets them join.
  void gather(const std::string& letters) {
    for (const char name : letters) {
      connect(name);
      ask_join(name);
    }
  }

  /// All of them come from the last round for the next.
  void rejoin(const std::string& letters) {
    for (const char name : letters) ask_join(name, coordinator.state().round);
  }

  /// Both of its connections end, as when its process ends.
  void cut(char name) {
    cut_link(name);
    if (witnesses.count(name) != 0) cut_witness(name);
  }
  void cut_link(char name) {
    coordinator.disconnected(links.at(name), now);
    links.erase(name);
  }

  /// The node's second connection.
  void open_witness(char name) {
    witnesses[name] = ++last_;
    names[last_] = name;
    coordinator.connected(last_, {});
    coordinator.received(last_, witness{"job", {std::string(1, name), 1, 0, {}}}, now);
    collect();
  }
  void cut_witness(char name) {
    coordinator.disconnected(witnesses.at(name), now);
    witnesses.erase(name);
  }

  /// Time passes. Who is connected says that it is alive, unless it is one of `silent`.
  void pass(duration time, const std::string& silent = "") {
    const time_point end = now + time;
    while (now < end) {
      const time_point next = std::min({end, now + 4s, coordinator.next_deadline()});
      now = std::max(now, next);
      coordinator.advance(now);
      collect();
      for (const auto& [name, link] : std::map(links)) {
        if (silent.find(name) != std::string::npos || dropped.count(name) != 0) continue;
        coordinator.received(link, keep_alive{}, now);
        for (const auto& answer : coordinator.take_answers()) CHECK(answer.to == link);
      }
    }
  }

  /// What the node was told since it was asked last.
  texts answers_to(char name) { return std::exchange(answers_[name], {}); }
  std::string last_answer_to(char name) {
    const texts answers = answers_to(name);
    return answers.empty() ? "" : answers.back();
  }
  void forget() { answers_.clear(); }

  /// Those whose connection was to be closed.
  std::set<char> dropped;

  /// Whether a node opens its second connection when it is welcomed.
  bool opens_witnesses = true;

  std::map<char, rendezvous_coordinator::connection> links;
  std::map<char, rendezvous_coordinator::connection> witnesses;

 private:
  void collect() {
    for (const auto& answer : coordinator.take_answers()) {
      answers_[names.at(answer.to)].push_back(std::visit(in_words(), answer.what));
    }
    for (const auto id : coordinator.take_dropped()) dropped.insert(names.at(id));
    elastic::detail::round_register content = coordinator.content();
    if (content != content_) CHECK(coordinator.content_version() != content_version_);
    content_ = std::move(content);
    content_version_ = coordinator.content_version();
  }

  std::map<rendezvous_coordinator::connection, char> names;
  std::map<char, texts> answers_;
  elastic::detail::round_register content_;
  std::optional<std::uint64_t> content_version_;
  rendezvous_coordinator::connection last_ = 0;
};

TEST_CASE("coordinator: the nodes of a full round learn their places at once", "[rendezvous]") {
  stage job(1, 3);
  job.gather("ca");
  CHECK(job.answers_to('c') == texts{"welcome"});
  job.gather("b");
  CHECK(job.answers_to('a') == texts{"welcome", "round 0: 0 of 3 at a.example, 0 restarts"});
  CHECK(job.answers_to('b') == texts{"welcome", "round 0: 1 of 3 at a.example, 0 restarts"});
  CHECK(job.answers_to('c') == texts{"round 0: 2 of 3 at a.example, 0 restarts"});
}

TEST_CASE("coordinator: the first round waits out its last call", "[rendezvous]") {
  stage job(2, 4);
  job.gather("ab");
  job.forget();
  job.pass(29s);
  CHECK(job.answers_to('a').empty());
  job.pass(1s);
  CHECK(job.answers_to('a') == texts{"round 0: 0 of 2 at a.example, 0 restarts"});
  CHECK(job.answers_to('b') == texts{"round 0: 1 of 2 at a.example, 0 restarts"});
}

TEST_CASE("coordinator: a node whose time passes in the last call is in the round",
          "[rendezvous]") {
  stage job(2, 4);
  job.settings.keep_alive_interval = 1min;
  for (const char name : {'a', 'b'}) {
    job.connect(name);
    job.ask_join(name, -1, 20s);
  }
  job.forget();
  job.pass(25s);
  CHECK(job.answers_to('a').empty());
  // Nothing but the end of the last call is waited for: a silence would end later.
  CHECK(job.coordinator.next_deadline() == job.now + 5s);
  SECTION("at its end") {
    job.pass(5s);
    CHECK(job.answers_to('a') == texts{"round 0: 0 of 2 at a.example, 0 restarts"});
  }
  SECTION("unless the others go") {
    job.say('b', leave{});
    CHECK(job.last_answer_to('a').find("refused") != std::string::npos);
  }
}

TEST_CASE("coordinator: a node that joins a running round ends it for all, without a last call",
          "[rendezvous]") {
  stage job(2, 3);
  job.gather("ab");
  job.pass(30s);
  job.forget();
  job.gather("c");
  const std::string change = "round 0 changes: node c_1_0 waits to join (0 restarts)";
  CHECK(job.answers_to('a') == texts{change});
  CHECK(job.answers_to('b') == texts{change});
  CHECK(job.answers_to('c') == texts{"welcome"});
  job.rejoin("ab");
  CHECK(job.answers_to('c') == texts{"round 1: 2 of 3 at a.example, 0 restarts"});
  CHECK(job.answers_to('a') == texts{"round 1: 0 of 3 at a.example, 0 restarts"});
}

TEST_CASE("coordinator: a lost node ends the round after the grace, and the rest go on",
          "[rendezvous]") {
  stage job(1, 3);
  job.gather("abc");
  job.forget();
  job.cut('b');
  job.pass(299ms);
  CHECK(job.answers_to('a').empty());
  job.pass(1ms);
  CHECK(job.answers_to('a') == texts{"round 0 changes: node b_1_0 is gone (0 restarts)"});
  CHECK(job.answers_to('c') == texts{"round 0 changes: node b_1_0 is gone (0 restarts)"});
  job.rejoin("ca");
  CHECK(job.answers_to('c') == texts{"round 1: 1 of 2 at a.example, 0 restarts"});
  CHECK(job.answers_to('a') == texts{"round 1: 0 of 2 at a.example, 0 restarts"});
}

TEST_CASE("coordinator: a pause ends the round for all, and none begins before it is over",
          "[rendezvous]") {
  stage job(1, 3);
  job.gather("abc");
  job.forget();
  job.say('b', pause{"paused at b"});
  job.say('b', pause{"paused at b"});
  for (const char name : {'a', 'b', 'c'}) {
    CHECK(job.answers_to(name) == texts{"round 0 changes: paused at b (0 restarts)"});
  }
  job.rejoin("abc");
  // Nobody's patience ends meanwhile.
  job.pass(2h);
  for (const char name : {'a', 'b', 'c'}) CHECK(job.answers_to(name).empty());
  SECTION("by its node's word") { job.say('b', resume{}); }
  SECTION("by its node's word, twice, after a further pause") {
    job.say('a', pause{"paused at a"});
    job.say('b', resume{});
    job.say('b', resume{});
    CHECK(job.answers_to('c').empty());
    job.say('a', resume{});
  }
  CHECK(job.answers_to('a') == texts{"round 1: 0 of 3 at a.example, 0 restarts"});
  CHECK(job.answers_to('c') == texts{"round 1: 2 of 3 at a.example, 0 restarts"});
}

TEST_CASE("coordinator: a pause ends a round that some have finished, and not one that all have",
          "[rendezvous]") {
  stage job(1, 2);
  job.gather("ab");
  job.say('a', finished{0});
  const bool are_all_done = GENERATE(true, false);
  if (are_all_done) job.say('b', finished{0});
  job.forget();
  job.say('b', pause{"paused at b"});
  const texts change{"round 0 changes: paused at b (0 restarts)"};
  for (const char name : {'a', 'b'})
    CHECK(job.answers_to(name) == (are_all_done ? texts{} : change));
}

TEST_CASE("coordinator: a pause ends with the node that wanted it", "[rendezvous]") {
  stage job(1, 3);
  job.gather("abc");
  job.say('b', pause{"paused at b"});
  job.rejoin("ac");
  job.forget();
  const bool leaves = GENERATE(true, false);
  if (leaves) job.say('b', leave{});
  if (!leaves) job.cut('b');
  job.pass(1s);
  CHECK(job.answers_to('c') == texts{"round 1: 1 of 2 at a.example, 0 restarts"});
}

TEST_CASE("coordinator: a pause outlives the connection of its node", "[rendezvous]") {
  stage job(1, 2);
  job.gather("ab");
  job.say('b', pause{"paused at b"});
  job.rejoin("ab");
  job.cut('b');
  job.pass(100ms);
  job.connect('b');
  job.say('b', pause{"paused at b"});
  job.ask_join('b', 0);
  job.forget();
  job.pass(1h);
  CHECK(job.answers_to('a').empty());
  job.say('b', resume{});
  CHECK(job.answers_to('a') == texts{"round 1: 0 of 2 at a.example, 0 restarts"});
}

TEST_CASE("coordinator: a job that is over is not paused", "[rendezvous]") {
  stage job(1, 2);
  job.gather("ab");
  job.say('b', pause{"paused at b"});
  job.rejoin("ab");
  job.forget();
  job.say('a', close_job{rendezvous_handler::job_end::failed, "enough"});
  CHECK(job.answers_to('b') == texts{"closed badly: enough"});
}

TEST_CASE("coordinator: a node that was called bad stays out for its time, under its name",
          "[rendezvous]") {
  stage job(1, 3);
  job.gather("abc");
  job.say('b', leave{10min, "GPU 3 is hot"});
  job.rejoin("ac");
  job.forget();
  job.connect('B');
  job.ask_join('B');
  CHECK(job.answers_to('B') ==
        texts{"welcome", "on hold: node 'gpu-b' is excluded for another 600 s: GPU 3 is hot"});
  // It waits for longer than for a place.
  job.pass(10min - 1s);
  CHECK(job.answers_to('B').empty());
  CHECK(job.answers_to('a').empty());
  job.pass(1s);
  CHECK(job.answers_to('a') == texts{"round 1 changes: node B_1_0 waits to join (0 restarts)"});
  job.rejoin("ac");
  CHECK(job.last_answer_to('B').starts_with("round 2: "));
}

TEST_CASE("coordinator: an excluded node learns of the end of the job", "[rendezvous]") {
  stage job(1, 2);
  job.gather("ab");
  job.say('b', leave{10min, "hot"});
  job.rejoin("a");
  job.connect('B');
  job.ask_join('B');
  job.forget();
  job.say('a', close_job{rendezvous_handler::job_end::succeeded, "all workers succeeded"});
  CHECK(job.last_answer_to('B') == "closed well: all workers succeeded");
}

TEST_CASE("coordinator: if there are too few nodes, the one that was excluded first comes back",
          "[rendezvous]") {
  stage job(2, 3);
  job.gather("abc");
  job.say('c', leave{2h, "first"});
  job.rejoin("ab");
  job.say('b', leave{1h, "second"});
  job.rejoin("a");
  job.forget();
  job.gather("B");
  job.pass(20s);
  CHECK(job.answers_to('a').empty());
  SECTION("it was waited for others") {
    job.gather("C");
    // From when it could have: since the first of them came.
    job.pass(10s);
    CHECK(job.last_answer_to('C') == "round 2: 0 of 2 at C.example, 0 restarts");
    CHECK(job.last_answer_to('a') == "round 2: 1 of 2 at C.example, 0 restarts");
    CHECK(job.last_answer_to('B').starts_with("on hold: "));
  }
  SECTION("another one comes in time") {
    job.gather("d");
    CHECK(job.last_answer_to('d').starts_with("round 2: 1 of 2 "));
    job.pass(1min);
    CHECK(job.answers_to('a') == texts{"round 2: 0 of 2 at a.example, 0 restarts"});
  }
  SECTION("none would help") {
    job.cut('B');
    job.pass(1min);
    CHECK(job.answers_to('a').empty());
  }
}

TEST_CASE("coordinator: nodes report whom a former server excluded", "[rendezvous]") {
  stage before(1, 3);
  before.gather("abc");
  before.say('b', leave{10min, "hot"});
  before.rejoin("ac");
  const elastic::detail::round_register kept = before.coordinator.content();
  CHECK(kept.excluded == std::vector<elastic::detail::exclusion>{{"gpu-b", 10min, "hot"}});
  stage job(1, 3);
  SECTION("its nodes") {
    job.former['a'] = former_round{900, 1, 0, 2, -1, 0, true, ""};
    job.excluded = {{"gpu-b", 5min, "hot"}};
    job.gather("a");
  }
  SECTION("the register of a leader before it") {
    job.coordinator.inherit(kept, 0, job.settings, job.now, job.now);
    job.gather("a");
  }
  job.connect('B');
  job.ask_join('B');
  // The former world may still run.
  job.pass(20s);
  CHECK(job.last_answer_to('B').starts_with("on hold: node 'gpu-b' is excluded for another "));
}

TEST_CASE("coordinator: who was in the job before comes before a stranger", "[rendezvous]") {
  stage job(1, 2);
  job.gather("bc");
  job.say('b', pause{"paused at b"});
  job.cut('c');
  job.pass(1s);
  job.rejoin("b");
  job.gather("AC");
  job.forget();
  job.say('b', resume{});
  CHECK(job.last_answer_to('C').starts_with("round 1: 0 of 2 "));
  CHECK(job.answers_to('A') == texts{stands_by});
}

TEST_CASE("coordinator: a node that comes back within the grace has lost nothing", "[rendezvous]") {
  stage job(1, 2);
  job.gather("ab");
  job.forget();
  job.cut('b');
  job.pass(200ms);
  job.connect('b');
  CHECK(job.answers_to('b') == texts{"welcome back", "round 0: 1 of 2 at a.example, 0 restarts"});
  job.pass(2s);
  CHECK(job.answers_to('a').empty());
}

TEST_CASE(
    "coordinator: a node is gone if both of its connections end, whichever first, else silent",
    "[rendezvous]") {
  struct story {
    std::string name;
    std::string events;
    duration lost_after;
  };
  // l: the link ends, w: the witness ends, W: it is opened anew, each after a tenth of a second.
  const std::vector<story> stories = {
      {"both, at once", "(lw)", 300ms},
      {"both, the link first", "l.w", 400ms},
      {"both, the witness first", "w.l", 400ms},
      {"the link alone", "l", 15s},
      {"the witness alone", "w", duration::max()},
      {"the witness long before", "w.....l", 15500ms},
      {"the witness long after", "l.....w", 15s},
      {"the witness broke before, and was opened again", "w.....W.(lw)", 900ms},
  };
  for (const story& entry : stories) {
    INFO(entry.name);
    stage job(1, 2);
    job.gather("ab");
    job.forget();
    const time_point begin = job.now;
    for (const char event : entry.events) {
      if (event == 'l') job.cut_link('b');
      if (event == 'w') job.cut_witness('b');
      if (event == 'W') job.open_witness('b');
      if (event == '.') job.pass(100ms);
    }
    if (entry.lost_after == duration::max()) {
      job.pass(60s);
      CHECK(job.answers_to('a').empty());
      continue;
    }
    job.pass(begin + entry.lost_after - 1ns - job.now);
    CHECK(job.answers_to('a').empty());
    job.pass(1ns);
    CHECK(job.answers_to('a') == texts{"round 0 changes: node b_1_0 is gone (0 restarts)"});
  }
}

TEST_CASE("coordinator: who comes back with one of two connections broken has lost nothing",
          "[rendezvous]") {
  stage job(1, 2);
  job.gather("ab");
  job.forget();
  job.cut_link('b');
  job.pass(5s);
  job.connect('b');
  CHECK(job.answers_to('b').front() == "welcome back");
  // The second connection of before has ended with the first, on the node's side.
  CHECK(job.dropped == std::set<char>{'b'});
  job.dropped.clear();
  job.cut_witness('b');
  job.open_witness('b');
  job.pass(60s);
  CHECK(job.answers_to('a').empty());
  CHECK(job.dropped.empty());
}

TEST_CASE("coordinator: a node whose second connection is still to come is not gone with the first",
          "[rendezvous]") {
  const bool comes_back = GENERATE(false, true);
  CAPTURE(comes_back);
  stage job(1, 2);
  job.opens_witnesses = comes_back;
  job.gather("ab");
  job.opens_witnesses = false;
  if (comes_back) {
    job.connect('b');
    // The former one ends late.
    job.cut_witness('b');
  }
  job.forget();
  job.cut_link('b');
  job.pass(15s - 1ns);
  CHECK(job.answers_to('a').empty());
  job.pass(1ns);
  CHECK(job.answers_to('a') == texts{"round 0 changes: node b_1_0 is gone (0 restarts)"});
}

TEST_CASE("coordinator: a second connection is that of a node that was welcomed, and its only word",
          "[rendezvous]") {
  stage job(1, 2);
  job.gather("a");
  job.open_witness('b');
  CHECK(job.dropped == std::set<char>{'b'});
  job.dropped.clear();
  job.coordinator.received(job.witnesses.at('a'), keep_alive{}, job.now);
  CHECK(job.coordinator.take_dropped().size() == 1);
  // Another one takes its place, and both go when the node leaves.
  job.open_witness('a');
  CHECK(job.dropped == std::set<char>{'a'});
  job.dropped.clear();
  job.say('a', leave{});
  CHECK(job.dropped == std::set<char>{'a'});
  CHECK(job.coordinator.is_idle());
}

TEST_CASE("coordinator: what a node missed while it was away it is told when it is back",
          "[rendezvous]") {
  stage job(1, 3);
  job.gather("abc");
  job.cut('c');
  job.say('a', failed{0, "rank 1 ended: SIGKILL"});
  job.forget();
  job.connect('c');
  CHECK(job.answers_to('c').back() == "round 0 changes: node c_1_0 is gone (0 restarts)");
}

TEST_CASE("coordinator: a place that is told again is that of the whole round", "[rendezvous]") {
  stage job(1, 3);
  job.gather("abc");
  job.cut('c');
  job.say('a', failed{0, "x"});
  job.rejoin("ab");
  job.forget();
  job.connect('c');
  CHECK(job.answers_to('c') == texts{"welcome back", "round 0: 2 of 3 at a.example, 0 restarts",
                                     "round 0 changes: node c_1_0 is gone (0 restarts)"});
}

TEST_CASE("coordinator: a new connection of a node takes the place of its former one",
          "[rendezvous]") {
  stage job(1, 2);
  job.gather("ab");
  job.forget();
  job.connect('b');
  CHECK(job.dropped == std::set<char>{'b'});
  CHECK(job.answers_to('b').front() == "welcome back");
  job.pass(2s);
  CHECK(job.answers_to('a').empty());
}

TEST_CASE("coordinator: a silent node is lost, one that says that it is alive is not",
          "[rendezvous]") {
  stage job(1, 2);
  job.gather("ab");
  job.forget();
  job.say('a', keep_alive{});
  CHECK(job.answers_to('a') == texts{"alive"});
  job.pass(14s, "b");
  CHECK(job.answers_to('a').empty());
  job.pass(1s, "b");
  CHECK(job.answers_to('a') == texts{"round 0 changes: node b_1_0 is silent (0 restarts)"});
  CHECK(job.dropped == std::set<char>{'b'});
}

TEST_CASE("coordinator: failed workers of one node end the round for all, and count once",
          "[rendezvous]") {
  stage job(1, 3);
  job.gather("abc");
  job.forget();
  job.say('b', failed{0, "rank 1 ended: SIGKILL"});
  const std::string change = "round 0 changes: node b_1_0: rank 1 ended: SIGKILL (1 restarts)";
  for (const char name : {'a', 'b', 'c'}) CHECK(job.answers_to(name) == texts{change});
  // Those that fail because of it are told why, and cost nothing.
  job.say('c', failed{0, "rank 2 ended: exit code 1"});
  CHECK(job.answers_to('c') == texts{change});
  CHECK(job.answers_to('a').empty());
  job.rejoin("abc");
  CHECK(job.answers_to('a') == texts{"round 1: 0 of 3 at a.example, 1 restarts"});
}

TEST_CASE("coordinator: the count of restarts is the job's, also for a node that comes anew",
          "[rendezvous]") {
  stage job(1, 2);
  job.gather("ab");
  job.say('a', failed{0, "x"});
  job.rejoin("ab");
  job.say('b', failed{1, "x"});
  job.rejoin("ab");
  job.cut('b');
  job.pass(1s);
  job.forget();
  job.rejoin("a");
  CHECK(job.answers_to('a') == texts{"round 3: 0 of 1 at a.example, 2 restarts"});
  job.gather("d");
  job.rejoin("a");
  CHECK(job.last_answer_to('d') == "round 4: 1 of 2 at a.example, 2 restarts");
}

TEST_CASE("coordinator: workers that fail while a node is missing are not to blame",
          "[rendezvous]") {
  stage job(1, 2);
  job.gather("ab");
  job.forget();
  job.cut('b');
  job.say('a', failed{0, "rank 0 ended: exit code 1"});
  CHECK(job.answers_to('a') == texts{"round 0 changes: node b_1_0 is gone (0 restarts)"});
}

TEST_CASE("coordinator: a failure of a round that is over changes nothing", "[rendezvous]") {
  stage job(1, 2);
  job.gather("ab");
  job.say('a', failed{0, "x"});
  job.rejoin("ab");
  job.forget();
  job.say('a', failed{0, "late"});
  CHECK(job.answers_to('a') == texts{"round 0 changes: round 0 is over (1 restarts)"});
  CHECK(job.answers_to('b').empty());
}

TEST_CASE("coordinator: a repeated word has its effect once", "[rendezvous]") {
  stage job(1, 2);
  job.gather("ab");
  job.say('a', failed{0, "x"});
  job.forget();
  job.say('a', failed{0, "x"});
  CHECK(job.answers_to('a') == texts{"round 0 changes: node a_1_0: x (1 restarts)"});
  job.rejoin("ab");
  job.forget();
  // The node had not heard of its place in round 1, and asks again.
  job.ask_join('a', 0);
  CHECK(job.answers_to('a') == texts{"round 1: 0 of 2 at a.example, 1 restarts"});
  CHECK(job.answers_to('b').empty());
}

TEST_CASE("coordinator: all are told when the workers of all have succeeded", "[rendezvous]") {
  stage job(1, 3);
  job.gather("abc");
  job.forget();
  job.say('a', finished{0});
  job.say('b', finished{0});
  CHECK(job.answers_to('a').empty());
  job.say('c', finished{0});
  for (const char name : {'a', 'b', 'c'}) CHECK(job.answers_to(name).front() == "round 0 finished");
}

TEST_CASE("coordinator: one that is lost after its success holds up nobody", "[rendezvous]") {
  stage job(1, 2);
  job.gather("ab");
  job.forget();
  job.say('b', finished{0});
  job.cut('b');
  job.pass(1s);
  CHECK(job.answers_to('a').empty());
  job.say('a', finished{0});
  CHECK(job.answers_to('a').front() == "round 0 finished");
}

TEST_CASE("coordinator: one that is lost before its success takes the others back to work",
          "[rendezvous]") {
  stage job(1, 2);
  job.gather("ab");
  job.say('a', finished{0});
  job.forget();
  job.cut('b');
  job.pass(1s);
  CHECK(job.answers_to('a') == texts{"round 0 changes: node b_1_0 is gone (0 restarts)"});
  job.rejoin("a");
  CHECK(job.answers_to('a') == texts{"round 1: 0 of 1 at a.example, 0 restarts"});
  job.say('a', finished{1});
  CHECK(job.last_answer_to('a') == "round 1 finished");
}

TEST_CASE("coordinator: one that meets again before its success takes the others back to work",
          "[rendezvous]") {
  // It took itself for lost, and was not.
  const bool others_finish_first = GENERATE(true, false);
  stage job(3, 3);
  job.gather("abc");
  job.say('a', finished{0});
  if (others_finish_first) job.say('c', finished{0});
  job.forget();
  job.rejoin("b");
  const std::string change =
      "round 0 changes: node b_1_0 meets again before its workers have succeeded (0 restarts)";
  CHECK(job.answers_to('a') == texts{change});
  CHECK(job.answers_to('c') == texts{change});
  // Those whose workers were done just now hear nothing else.
  job.say('c', finished{0});
  CHECK(job.answers_to('a').empty());
  job.forget();
  job.rejoin("ac");
  for (const char name : {'a', 'b', 'c'}) {
    CHECK(job.last_answer_to(name).substr(0, 8) == "round 1:");
  }
  job.say('b', finished{1});
  job.say('c', finished{1});
  CHECK(job.answers_to('a').empty());
  job.say('a', finished{1});
  CHECK(job.last_answer_to('b') == "round 1 finished");
}

TEST_CASE("coordinator: one that meets again after its success stops nobody", "[rendezvous]") {
  stage job(2, 2);
  job.gather("ab");
  job.say('a', finished{0});
  job.forget();
  job.rejoin("a");
  CHECK(job.answers_to('b').empty());
  job.say('b', finished{0});
  CHECK(job.last_answer_to('b') == "round 0 finished");
}

TEST_CASE("coordinator: nobody is stopped for a node that comes when some have succeeded",
          "[rendezvous]") {
  stage job(1, 3);
  job.gather("ab");
  job.pass(30s);
  job.say('a', finished{0});
  job.forget();
  job.gather("c");
  CHECK(job.answers_to('a').empty());
  CHECK(job.answers_to('b').empty());
  job.say('b', finished{0});
  job.say('a', close_job{rendezvous_handler::job_end::succeeded, "all done"});
  CHECK(job.last_answer_to('c') == "closed well: all done");
}

TEST_CASE("coordinator: who comes after the end is told how it was", "[rendezvous]") {
  for (const rendezvous_handler::job_end end :
       {rendezvous_handler::job_end::succeeded, rendezvous_handler::job_end::failed}) {
    stage job(1, 2);
    job.gather("ab");
    job.say('a', close_job{end, "it is over"});
    job.say('b', close_job{rendezvous_handler::job_end::failed, "a later word"});
    job.connect('c');
    CHECK(job.last_answer_to('c') == (end == rendezvous_handler::job_end::succeeded
                                          ? "closed well: it is over"
                                          : "closed badly: it is over"));
    job.ask_join('b', 0);
    CHECK(job.last_answer_to('b').substr(0, 6) == "closed");
  }
}

TEST_CASE("coordinator: one that leaves does not close, and is missed at once", "[rendezvous]") {
  stage job(1, 2);
  job.gather("ab");
  job.forget();
  job.say('b', leave{});
  CHECK(job.answers_to('a') == texts{"round 0 changes: node b_1_0 left (0 restarts)"});
  CHECK(job.dropped == std::set<char>{'b'});
  job.rejoin("a");
  CHECK(job.answers_to('a') == texts{"round 1: 0 of 1 at a.example, 0 restarts"});
}

TEST_CASE("coordinator: too few that are left wait for more, up to their join timeout",
          "[rendezvous]") {
  stage job(2, 3);
  job.gather("abc");
  job.cut('b');
  job.cut('c');
  job.pass(1s);
  job.forget();
  job.ask_join('a', 0, 10s);
  CHECK(job.answers_to('a').empty());
  job.pass(9s);
  CHECK(job.answers_to('a').empty());
  job.pass(2s);
  CHECK(job.answers_to('a') == texts{"refused: 1 of at least 2 nodes had joined"});
}

TEST_CASE("coordinator: a node that waits in vain for a running round learns who stayed in it",
          "[rendezvous]") {
  stage job(2, 3);
  job.gather("ab");
  job.pass(30s);
  job.connect('c');
  job.ask_join('c', -1, 10s);
  job.rejoin("a");
  job.pass(11s);
  CHECK(job.last_answer_to('c') ==
        "refused: enough nodes had joined, but node b_1_0 had not left round 0");
}

TEST_CASE("coordinator: of many that stay in a running round, some are named", "[rendezvous]") {
  stage job(1, 6);
  job.gather("abcde");
  job.pass(30s);
  job.connect('f');
  job.ask_join('f', -1, 10s);
  job.pass(11s);
  CHECK(job.last_answer_to('f') ==
        "refused: enough nodes had joined, but node a_1_0, node b_1_0, node c_1_0 and 2 more had "
        "not left round 0");
}

TEST_CASE("coordinator: the node that was missing completes the round at once", "[rendezvous]") {
  stage job(2, 3);
  job.gather("abc");
  job.cut('b');
  job.cut('c');
  job.pass(1s);
  job.rejoin("a");
  job.forget();
  job.gather("d");
  CHECK(job.answers_to('a') == texts{"round 1: 0 of 2 at a.example, 0 restarts"});
}

TEST_CASE("coordinator: a spare takes the place of one that is lost", "[rendezvous]") {
  stage job(2, 2);
  job.gather("ab");
  job.gather("c");
  CHECK(job.answers_to('c') == texts{"welcome", stands_by});
  job.forget();
  // Longer than any join timeout.
  job.pass(700s);
  CHECK(job.answers_to('c').empty());
  job.say('b', leave{});
  job.rejoin("a");
  CHECK(job.last_answer_to('c') == "round 1: 1 of 2 at a.example, 0 restarts");
  CHECK(job.last_answer_to('a') == "round 1: 0 of 2 at a.example, 0 restarts");
}

TEST_CASE("coordinator: a round of named sizes leaves some standing by, until they fit",
          "[rendezvous]") {
  stage job(2, 4);
  job.settings.node_counts = {2, 4};
  job.gather("abc");
  job.pass(31s);
  CHECK(job.last_answer_to('a') == "round 0: 0 of 2 at a.example, 0 restarts");
  CHECK(job.last_answer_to('b') == "round 0: 1 of 2 at a.example, 0 restarts");
  CHECK(job.answers_to('c') == texts{"welcome", stands_by});
  job.gather("d");
  CHECK(job.last_answer_to('a') == "round 0 changes: node d_1_0 waits to join (0 restarts)");
  job.rejoin("ab");
  for (const char name : std::string("abcd")) {
    CHECK(job.last_answer_to(name).find("of 4 at") != std::string::npos);
  }
  // One is lost: two run, one stands by, and has no end of its patience.
  job.cut('b');
  job.pass(1s);
  job.forget();
  job.rejoin("acd");
  CHECK(job.last_answer_to('a').find("of 2 at") != std::string::npos);
  job.pass(3600s);
  CHECK(job.answers_to('d') == texts{stands_by});
  CHECK(job.dropped.empty());
}

TEST_CASE("coordinator: a node that joins ends the round after the delay", "[rendezvous]") {
  stage job(1, 4);
  job.settings.scale_up_delay = 60s;
  job.gather("a");
  job.pass(31s);
  job.gather("b");
  job.pass(59s);
  job.gather("c");
  job.forget();
  job.pass(999ms);
  CHECK(job.answers_to('a').empty());
  job.pass(1ms);
  CHECK(job.answers_to('a') == texts{"round 0 changes: node b_1_0 waits to join (0 restarts)"});
  job.rejoin("a");
  CHECK(job.last_answer_to('c').find("round 1: 2 of 3") == 0);
}

TEST_CASE("coordinator: nodes with other numbers of nodes are refused", "[rendezvous]") {
  stage job(2, 4);
  job.connect('a');
  job.settings.node_counts = {2, 4};
  job.connect('b');
  CHECK(job.last_answer_to('b') ==
        "refused: the job 'job' was started with 2:4 nodes, but this node with 2,4: another job "
        "has this run id, or the numbers of nodes differ");
}

TEST_CASE("coordinator: nodes with other sizes are refused, both named", "[rendezvous]") {
  stage job(1, 2);
  job.gather("a");
  job.settings.max_nodes = 3;
  job.connect('b');
  CHECK(job.answers_to('b') ==
        texts{"refused: the job 'job' was started with 1:2 nodes, but this node with 1:3: another "
              "job has this run id, or the numbers of nodes differ"});
  // Where nobody is left, the next one decides.
  job.say('a', leave{});
  job.connect('b');
  CHECK(job.answers_to('b') == texts{"welcome"});
}

TEST_CASE("coordinator: nodes with another job file are refused, with what differs",
          "[rendezvous]") {
  struct row {
    std::string fingerprint;
    std::string answer;
  };
  const auto refusal = [](const std::string& names) {
    return "refused: the job 'job' was started with a different job file than this node: they "
           "differ in " +
           names + "; start all nodes with the same file";
  };
  for (const row& each : std::vector<row>{
           {"nodes=1 role.eval=2 role.trainer=3", "welcome"},
           {"role.trainer=3 role.eval=2 nodes=1", "welcome"},
           {"", "welcome"},
           {"nodes=1 role.eval=2 role.trainer=4", refusal("role.trainer")},
           {"nodes=1 role.trainer=3", refusal("role.eval")},
           {"nodes=2 role.eval=2 role.trainer=3 role.x=1", refusal("nodes, role.x")},
           {"a=1 b=1 c=1 d=1 nodes=2", refusal("nodes, role.eval, role.trainer, a, b and more")},
           {"\n=1 nodes=1 role.eval=2 role.trainer=3", refusal("a nameless part")}}) {
    CAPTURE(each.fingerprint);
    stage job(1, 2);
    job.fingerprint = "nodes=1 role.eval=2 role.trainer=3";
    job.connect('a');
    job.fingerprint = each.fingerprint;
    job.connect('b');
    CHECK(job.last_answer_to('b') == each.answer);
  }
}

TEST_CASE("coordinator: where nobody is left, a node may come with another job file",
          "[rendezvous]") {
  stage job(1, 2);
  job.connect('a');
  job.fingerprint = "nodes=1";
  job.connect('b');
  job.fingerprint = "nodes=2";
  job.connect('c');
  CHECK(job.last_answer_to('c').starts_with("refused: "));
  job.say('a', leave{});
  job.say('b', leave{});
  job.connect('c');
  CHECK(job.last_answer_to('c') == "welcome");
}

TEST_CASE("coordinator: another version of the protocol is refused, both named", "[rendezvous]") {
  rendezvous_coordinator coordinator("job");
  coordinator.connected(1, {});
  hello greeting;
  greeting.version = 1;
  coordinator.received(1, greeting, time_point(1h));
  const auto answers = coordinator.take_answers();
  REQUIRE(answers.size() == 1);
  CHECK(std::visit(in_words(), answers[0].what) ==
        "refused: this node speaks version 1 of the rendezvous, the server version 3");
}

TEST_CASE("coordinator: every node goes by the keep-alives of the first", "[rendezvous]") {
  rendezvous_coordinator coordinator("job");
  hello greeting;
  for (const std::int64_t pid : {1, 2}) {
    const auto link = static_cast<rendezvous_coordinator::connection>(pid);
    coordinator.connected(link, {});
    greeting.node = {"a", pid, 0, {}};
    greeting.settings.keep_alive_interval = std::chrono::seconds(pid);
    greeting.settings.keep_alive_max_attempt = static_cast<int>(pid) + 1;
    coordinator.received(link, greeting, time_point(1h));
    const auto answers = coordinator.take_answers();
    REQUIRE(answers.size() == 1);
    const auto& settings = std::get<welcome>(answers[0].what).settings;
    CHECK(settings.silence() == 2s);
  }
}

TEST_CASE("coordinator: nodes with a host name and a pid in common are two nodes", "[rendezvous]") {
  rendezvous_coordinator coordinator("job");
  const time_point now(1h);
  hello greeting;
  greeting.node = {"container", 1, 0, {}};
  greeting.settings.min_nodes = 2;
  greeting.settings.max_nodes = 2;
  for (const int link : {1, 2}) {
    coordinator.connected(link, {});
    greeting.node.number = {0, 10 - static_cast<std::uint64_t>(link)};
    coordinator.received(link, greeting, now);
    coordinator.received(link, join{-1, 600s, {"a.example", 1, true}}, now);
  }
  CHECK(coordinator.take_dropped().empty());
  texts placements;
  for (const auto& answer : coordinator.take_answers()) {
    if (std::holds_alternative<placed>(answer.what)) {
      placements.push_back(fmt::format("{}: {}", answer.to, std::visit(in_words(), answer.what)));
    }
  }
  std::sort(placements.begin(), placements.end());
  CHECK(placements == texts{"1: round 0: 1 of 2 at a.example, 0 restarts",
                            "2: round 0: 0 of 2 at a.example, 0 restarts"});
  // Who comes with the number takes up its own connection, and no other.
  coordinator.connected(3, {});
  coordinator.received(3, greeting, now);
  CHECK(coordinator.take_dropped() == std::vector<rendezvous_coordinator::connection>{2});
}

TEST_CASE("coordinator: who says anything before hello, or hello twice, is dropped",
          "[rendezvous]") {
  rendezvous_coordinator coordinator("job");
  coordinator.connected(1, {});
  coordinator.received(1, keep_alive{}, time_point(1h));
  CHECK(coordinator.take_dropped() == std::vector<rendezvous_coordinator::connection>{1});
  stage job(1, 2);
  job.connect('a');
  job.say('a', hello{});
  CHECK(job.dropped == std::set<char>{'a'});
}

TEST_CASE("coordinator: the host of rank 0 is named by the address at which others reach it",
          "[rendezvous]") {
  stage job(1, 2);
  job.connect('a', {"127.0.0.1", "127.0.0.1", true});
  job.connect('b', {"10.0.0.1", "10.0.0.2", false});
  job.say('a', join{-1, 600s, {"127.0.0.1", 7, true}});
  job.say('b', join{-1, 600s, {"10.0.0.2", 8, true}});
  CHECK(job.last_answer_to('b') == "round 0: 1 of 2 at 10.0.0.1, 0 restarts");
  // An address that the user chose stays.
  stage chosen(1, 2);
  chosen.connect('a', {"127.0.0.1", "127.0.0.1", true});
  chosen.connect('b', {"10.0.0.1", "10.0.0.2", false});
  chosen.say('a', join{-1, 600s, {"head.example", 7, true}});
  chosen.say('b', join{-1, 600s, {"10.0.0.2", 8, true}});
  CHECK(chosen.last_answer_to('b') == "round 0: 1 of 2 at head.example, 0 restarts");
}

TEST_CASE("coordinator: the node of rank 0 is told all addresses of the round before its place",
          "[rendezvous]") {
  stage job(2, 2);
  job.connect('a', {"10.0.0.1", "10.0.0.1", true});
  job.connect('b', {"10.0.0.1", "172.16.0.9", false});
  job.answers_to('a');
  job.answers_to('b');
  job.say('a', join{-1, 600s, {"10.0.0.1", 7, true}, "10.0.0.1"});
  job.say('b', join{-1, 600s, {"10.0.0.2", 8, true}, "10.0.0.2 10.1.0.2"});
  CHECK(job.answers_to('a') ==
        texts{"round 0: peers 10.0.0.1 10.0.0.1 10.0.0.2 10.1.0.2 172.16.0.9 ",
              "round 0: 0 of 2 at 10.0.0.1, 0 restarts"});
  CHECK(job.answers_to('b') == texts{"round 0: 1 of 2 at 10.0.0.1, 0 restarts"});
}

TEST_CASE("coordinator: many addresses go in messages that are within their bound",
          "[rendezvous]") {
  constexpr int nodes = 100;
  rendezvous_coordinator coordinator("job");
  hello greeting;
  greeting.settings.min_nodes = nodes;
  greeting.settings.max_nodes = nodes;
  std::string many;
  while (many.size() < 2000) many += "fd00:1111:2222:3333:4444:5555:6666:7777 ";
  for (int i = 1; i <= nodes; ++i) {
    const auto link = static_cast<rendezvous_coordinator::connection>(i);
    coordinator.connected(link, {});
    greeting.node = {"node", i, 0, {}};
    coordinator.received(link, greeting, time_point(1h));
    coordinator.received(link, join{-1, 600s, {"a", 1, true}, many}, time_point(1h));
  }
  std::size_t parts = 0;
  bool is_placed = false;
  for (const auto& answer : coordinator.take_answers()) {
    const bool is_of_first = answer.to == 1;
    is_placed = is_placed || (is_of_first && std::holds_alternative<placed>(answer.what));
    if (!std::holds_alternative<peers>(answer.what)) continue;
    ++parts;
    CHECK(is_of_first);
    CHECK(!is_placed);
    CHECK(elastic::detail::to_text(answer.what).size() < elastic::limits::rendezvous_message_bytes);
  }
  CHECK(parts > 1);
  CHECK(is_placed);
}

// ---- a server that takes up the job of a former one --------------------------------------------

/// Of nodes that were in round 4 of a former server, at this address, which is to be node h's.
stage after_host_loss(int min, int max, const std::string& survivors, int world, int host_rank) {
  stage job(min, max);
  job.host = 'h';
  int rank = 0;
  for (const char name : survivors) {
    if (rank == host_rank) ++rank;
    job.former[name] = former_round{900, 4, rank++, world, host_rank, 2, true, ""};
  }
  return job;
}

TEST_CASE("coordinator: when all of a former world are there, they go on at once, and count on",
          "[rendezvous]") {
  const std::string order = GENERATE("abh", "hba", "ahb");
  CAPTURE(order);
  // With room for more, too: they know of each other.
  const int max = GENERATE(3, 5);
  stage job = after_host_loss(2, max, "ab", 3, 1);
  job.gather(order.substr(0, 2));
  job.forget();
  job.pass(1s);
  for (const char name : {'a', 'b', 'h'}) CHECK(job.answers_to(name).empty());
  job.gather(order.substr(2));
  CHECK(job.last_answer_to('a') == "round 5: 0 of 3 at a.example, 2 restarts");
  CHECK(job.last_answer_to('b') == "round 5: 1 of 3 at a.example, 2 restarts");
  CHECK(job.last_answer_to('h') == "round 5: 2 of 3 at a.example, 2 restarts");
}

TEST_CASE("coordinator: while a node of a former world is missing, nobody goes on without it",
          "[rendezvous]") {
  stage job = after_host_loss(2, 3, "abc", 4, 1);
  // Two that say hello; the third is not heard of, and may still run its workers.
  job.gather("ah");
  job.connect('b');
  job.ask_join('b', 4);
  job.forget();
  job.pass(15s - 1ns);
  for (const char name : {'a', 'b', 'h'}) CHECK(job.answers_to(name).empty());
  job.pass(1ns);
  CHECK(job.last_answer_to('b') == "round 5: 1 of 3 at a.example, 2 restarts");
}

TEST_CASE(
    "coordinator: a node of a former world that says hello is waited for, although a round "
    "would be full without it",
    "[rendezvous]") {
  stage job = after_host_loss(2, 2, "a", 2, 1);
  job.connect('a');
  job.gather("hb");
  CHECK(job.last_answer_to('b') == "welcome");
  job.ask_join('a', 4);
  CHECK(job.last_answer_to('b') == "round 5: 1 of 2 at a.example, 2 restarts");
}

TEST_CASE(
    "coordinator: one from a former world that comes when others work ends their round as any "
    "other",
    "[rendezvous]") {
  stage job = after_host_loss(1, 2, "a", 2, 1);
  job.gather("h");
  job.pass(30s);
  CHECK(job.last_answer_to('h') == "round 0: 0 of 1 at h.example, 0 restarts");
  job.connect('a');
  job.ask_join('a', 4);
  CHECK(job.last_answer_to('h') == "round 0 changes: node a_1_0 waits to join (2 restarts)");
  job.rejoin("h");
  CHECK(job.last_answer_to('a') == "round 5: 0 of 2 at a.example, 2 restarts");
  CHECK(job.last_answer_to('h') == "round 5: 1 of 2 at a.example, 2 restarts");
}

TEST_CASE("coordinator: a node that stood by at a former server holds the first round, too",
          "[rendezvous]") {
  stage job(1, 2);
  job.most_terms['s'] = 900;
  job.gather("sh");
  CHECK(job.last_answer_to('h') == "welcome");
  job.pass(15s - 1ns);
  CHECK(job.last_answer_to('h').empty());
  job.pass(1ns);
  CHECK(job.last_answer_to('h') == "round 0: 0 of 2 at h.example, 0 restarts");
}

TEST_CASE("coordinator: a node that takes up its connection to this server holds up nobody",
          "[rendezvous]") {
  stage job(2, 2);
  job.gather("a");
  job.cut('a');
  // The server's own term.
  job.most_terms['a'] = 1000;
  job.gather("ab");
  CHECK(job.last_answer_to('b') == "round 0: 1 of 2 at a.example, 0 restarts");
}

TEST_CASE("coordinator: the join timeout runs out only when no former world is waited for",
          "[rendezvous]") {
  stage job = after_host_loss(2, 2, "a", 3, 1);
  job.connect('a');
  job.ask_join('a', 4, 10s);
  job.pass(15s - 1ns);
  CHECK(job.last_answer_to('a') == "welcome");
  job.pass(1s);
  CHECK(job.last_answer_to('a') == "refused: 1 of at least 2 nodes had joined");
}

TEST_CASE("coordinator: a node whose time passes while a former world is waited for learns that",
          "[rendezvous]") {
  stage job = after_host_loss(1, 2, "a", 3, 1);
  job.connect('a');
  job.ask_join('a', 4, 10s);
  job.pass(16s);
  CHECK(job.last_answer_to('a') ==
        "refused: enough nodes had joined, but nodes of a former round were waited for");
}

TEST_CASE("coordinator: a last call that began before a former world was heard of is forgotten",
          "[rendezvous]") {
  stage job = after_host_loss(1, 3, "a", 3, 1);
  job.gather("h");
  job.connect('a');
  job.pass(15s - 1ns);
  CHECK(job.last_answer_to('h') == "welcome");
  CHECK(job.coordinator.next_deadline() > job.now);
  job.pass(1ns);
  CHECK(job.last_answer_to('h') == "round 5: 0 of 1 at h.example, 2 restarts");
}

TEST_CASE("coordinator: a job that is closed is so for those who wait for a former world's end",
          "[rendezvous]") {
  stage job = after_host_loss(2, 2, "a", 3, 1);
  job.gather("ah");
  job.say('h', close_job{rendezvous_handler::job_end::failed, "enough"});
  CHECK(job.last_answer_to('a') == "closed badly: enough");
}

TEST_CASE("coordinator: its term is greater than any that a node tells", "[rendezvous]") {
  rendezvous_coordinator coordinator("job", elastic::logger(), 1000);
  const auto term_after = [&](rendezvous_coordinator::connection link, std::int64_t highest_term) {
    hello greeting;
    greeting.node = {"a", static_cast<std::int64_t>(link), 0, {}};
    greeting.highest_term = highest_term;
    coordinator.connected(link, {});
    coordinator.received(link, greeting, time_point(1h));
    return std::get<welcome>(coordinator.take_answers().back().what).term;
  };
  CHECK(term_after(1, 0) == 1000);
  CHECK(term_after(2, 999) == 1000);
  // Its own.
  CHECK(term_after(3, 1000) == 1000);
  CHECK(term_after(4, 1500) == 1501);
}

TEST_CASE("coordinator: who tells of numbers that cannot be is refused, and the others go on",
          "[rendezvous]") {
  constexpr std::int64_t most = elastic::limits::rendezvous_told_number;
  stage job(2, 2);
  job.former['x'] = {1, most + 1, 0, 2, -1, 0, true, ""};
  job.former['y'] = {most + 1, 1, 0, 2, -1, 0, true, ""};
  for (const char stranger : {'x', 'y'}) {
    job.connect(stranger);
    const std::string sentence = job.last_answer_to(stranger);
    CHECK(sentence.rfind("refused: this node reports round ", 0) == 0);
  }
  job.connect('z');
  job.ask_join('z', std::numeric_limits<std::int64_t>::max() - 1);
  CHECK(job.last_answer_to('z') ==
        "refused: this node reports round 9223372036854775806, which never existed");
  job.gather("ab");
  CHECK(job.last_answer_to('a') == "round 0: 0 of 2 at a.example, 0 restarts");
  CHECK(job.coordinator.term() == 1000);
}

TEST_CASE("coordinator: the largest numbers that can be told are counted on", "[rendezvous]") {
  constexpr std::int64_t most = elastic::limits::rendezvous_told_number;
  constexpr int restarts = elastic::limits::job_restarts;
  stage job(1, 1);
  job.former['a'] = {most, most, 0, 1, -1, restarts, true, ""};
  job.gather("a");
  job.pass(20s);
  CHECK(job.last_answer_to('a') ==
        fmt::format("round {}: 0 of 1 at a.example, {} restarts", most + 1, restarts));
  job.say('a', failed{most + 1, "rank 0 ended: exit code 1"});
  job.rejoin("a");
  CHECK(job.last_answer_to('a') ==
        fmt::format("round {}: 0 of 1 at a.example, {} restarts", most + 2, restarts));
  // Also by those that tell what this server has told them.
  job.former['b'] = {job.coordinator.term(), most + 2, 0, 1, -1, restarts, true, ""};
  job.connect('b');
  CHECK(job.last_answer_to('b').rfind("welcome", 0) == 0);
}

TEST_CASE("coordinator: of the reason for the end as much is kept as a register can hold",
          "[rendezvous]") {
  stage job(1, 2);
  job.gather("ab");
  job.say('a', close_job{rendezvous_handler::job_end::failed, std::string(50'000, 'x')});
  CHECK(job.last_answer_to('b') ==
        "closed badly: " + std::string(elastic::limits::ending_text_bytes, 'x'));
}

TEST_CASE("coordinator: a place names its term and the rank of the host", "[rendezvous]") {
  stage job(2, 2);
  job.host = 'b';
  job.connect('a');
  job.connect('b');
  for (const char name : {'a', 'b'}) {
    const auto link = job.links.at(name);
    job.coordinator.received(link, join{-1, 600s, {"x", 1, true}}, job.now);
  }
  int places = 0;
  for (const auto& answer : job.coordinator.take_answers()) {
    const auto* place = std::get_if<placed>(&answer.what);
    if (place == nullptr) continue;
    ++places;
    CHECK(place->term == 1000);
    CHECK(place->host_rank == 1);
  }
  CHECK(places == 2);
}

TEST_CASE("coordinator: nothing is to be woken for if nobody takes part", "[rendezvous]") {
  stage job(1, 2);
  job.gather("ab");
  CHECK(job.coordinator.next_deadline() < time_point::max());
  CHECK_FALSE(job.coordinator.is_idle());
  job.say('a', leave{});
  job.say('b', leave{});
  job.pass(60s);
  CHECK(job.coordinator.is_idle());
  CHECK(job.coordinator.next_deadline() == time_point::max());
}

}  // namespace rendezvous_coordinator_tests
