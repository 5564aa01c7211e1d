// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/nodes/detail/rendezvous_link.hpp>

#include <elastic/base/error.hpp>
#include <support/catch.hpp>
#include <support/log_recorder.hpp>
#include <support/manual_time.hpp>
#include <support/scripted_channel.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

// A node's connection to the servers of its job, one after the other.
namespace rendezvous_link_tests {

using namespace std::chrono_literals;
using elastic::task;
using elastic::detail::rendezvous_link;
namespace messages = elastic::detail::rendezvous_messages;

/// Welcomes each hello by the next of `welcomes`, as long as there is one, and notes it.
struct servers {
  std::deque<messages::welcome> welcomes;
  /// The first words of what follows a hello: "pause", "resume".
  std::vector<std::string> words;
  std::vector<messages::hello> hellos;
  std::vector<messages::join> joins;
  /// Nobody serves any more.
  bool are_gone = false;
  /// They end each connection when they hear a hello.
  bool hang_up = false;
  /// Before a handshake is complete.
  bool are_busy = false;
  /// How many words were none of those.
  int others = 0;
};

class server_channel final : public elastic::test::scripted_channel {
 public:
  server_channel(servers& of, asio::any_io_executor executor)
      : scripted_channel(std::move(executor)), servers_(of) {}

  void send(std::string message) override {
    const elastic::detail::rendezvous_request request =
        elastic::detail::parse_rendezvous_request(message);
    const auto* hello = std::get_if<messages::hello>(&request);
    if (std::holds_alternative<messages::pause>(request)) servers_.words.push_back("pause");
    if (std::holds_alternative<messages::resume>(request)) servers_.words.push_back("resume");
    if (const auto* wish = std::get_if<messages::join>(&request)) servers_.joins.push_back(*wish);
    if (hello == nullptr) {
      ++servers_.others;
      return;
    }
    is_first_ = true;
    servers_.hellos.push_back(*hello);
    in_handshake = servers_.are_busy;
    if (servers_.hang_up) close();
    if (servers_.welcomes.empty()) return;
    answer(servers_.welcomes.front());
    servers_.welcomes.pop_front();
  }
  /// Not a witness.
  bool is_first() const { return is_first_; }

 private:
  servers& servers_;
  bool is_first_ = false;
};

class server_connector final : public elastic::detail::message_connector {
 public:
  explicit server_connector(servers& of) : servers_(of) {}

  task<std::shared_ptr<elastic::detail::message_channel>> connect() override {
    if (servers_.are_gone) throw elastic::error(elastic::errc::connection_failed, "nobody");
    channels.push_back(
        std::make_shared<server_channel>(servers_, co_await asio::this_coro::executor));
    co_return channels.back();
  }
  std::string name() const override { return "host0:29400"; }
  bool knows_other_side() const override { return is_leader; }
  bool reaches_own_process() const override { return is_own; }

  /// It was found by asking several servers who leads.
  bool is_leader = false;
  /// It belongs to this node's agent.
  bool is_own = false;

  server_channel& first() const {
    for (auto channel = channels.rbegin(); channel != channels.rend(); ++channel) {
      if ((*channel)->is_first()) return **channel;
    }
    throw std::logic_error("no node has said hello");
  }

  std::vector<std::shared_ptr<server_channel>> channels;

 private:
  servers& servers_;
};

messages::welcome welcome(std::int64_t term, bool resumed, elastic::duration keep_alive_interval) {
  messages::welcome reply;
  reply.term = term;
  reply.resumed = resumed;
  reply.settings.keep_alive_interval = keep_alive_interval;
  return reply;
}

/// A second after it has begun.
task<std::shared_ptr<rendezvous_link>> begun_link(std::shared_ptr<server_connector> connector,
                                                  elastic::test::manual_time& time,
                                                  bool tells_ends = false) {
  messages::hello greeting;
  greeting.run_id = "job";
  greeting.name = "node0";
  auto clock = std::shared_ptr<elastic::time_source>(&time, [](elastic::time_source*) {});
  auto link = std::make_shared<rendezvous_link>(connector, greeting, 60s, clock, elastic::logger());
  if (tells_ends) link->tell_ends();
  link->start(co_await asio::this_coro::executor, 10s);
  co_await time.sleep_until(time.now() + 1s);
  co_return link;
}

task<void> place(std::shared_ptr<rendezvous_link> link, std::shared_ptr<server_connector> connector,
                 elastic::test::manual_time& time) {
  link->begin_join({});
  messages::placed reply;
  reply.world = 2;
  reply.excluded = {{"gpu7", 10s, "hot"}};
  connector->first().answer(reply);
  co_await time.sleep_until(time.now() + 1s);
  REQUIRE(link->known().placed);
}

task<std::shared_ptr<rendezvous_link>> placed_link(std::shared_ptr<server_connector> connector,
                                                   elastic::test::manual_time& time,
                                                   bool tells_ends = false) {
  auto link = co_await begun_link(connector, time, tells_ends);
  co_await place(link, connector, time);
  co_return link;
}

TIME_TEST("rendezvous link: tells a new server how long this node can be silent",
          "[rendezvous][native]") {
  servers job;
  job.welcomes = {welcome(5, false, 20s), welcome(6, false, 5s)};
  const auto connector = std::make_shared<server_connector>(job);
  const auto link = co_await placed_link(connector, time);
  CHECK(job.hellos.at(0).settings.keep_alive_interval == 5s);
  connector->first().close();
  co_await time.sleep_until(time.now() + 1s);
  REQUIRE(job.hellos.size() == 2);
  CHECK(job.hellos[1].settings.keep_alive_interval == 20s);
  co_await link->stop();
}

TIME_TEST("rendezvous link: it says why it is not connected", "[rendezvous][native]") {
  servers job;
  job.welcomes = {welcome(5, false, 20s)};
  const auto connector = std::make_shared<server_connector>(job);
  job.are_gone = true;
  const auto link = co_await begun_link(connector, time);
  CHECK(link->obstacle() == "the rendezvous at host0:29400 is not reached (nobody)");
  job.are_gone = false;
  co_await time.sleep_until(time.now() + 2s);
  CHECK(link->obstacle().empty());
  job.are_gone = true;
  connector->first().close();
  co_await time.sleep_until(time.now() + 1s);
  CHECK(link->obstacle() == "the rendezvous at host0:29400 is gone (nobody)");
  co_await link->stop();
}

TIME_TEST("rendezvous link: a pause is told each server, and its end too", "[rendezvous][native]") {
  servers job;
  job.welcomes = {welcome(5, false, 5s), welcome(5, true, 5s), welcome(5, true, 5s)};
  const auto connector = std::make_shared<server_connector>(job);
  const auto link = co_await placed_link(connector, time);
  link->hold(messages::pause{"paused at a", true});
  CHECK(job.words == std::vector<std::string>{"pause"});
  connector->first().close();
  co_await time.sleep_until(time.now() + 100ms);
  CHECK(job.words == std::vector<std::string>{"pause", "pause"});
  connector->first().close();
  // The word is lost with the connection.
  link->hold(std::nullopt);
  co_await time.sleep_until(time.now() + 100ms);
  REQUIRE(job.hellos.size() == 3);
  CHECK(job.words.back() == "resume");
  co_await link->stop();
}

TIME_TEST("rendezvous link: reports to a new server whom the former one excluded",
          "[rendezvous][native]") {
  servers job;
  job.welcomes = {welcome(5, false, 5s), welcome(6, false, 5s)};
  const auto connector = std::make_shared<server_connector>(job);
  const auto link = co_await placed_link(connector, time);
  CHECK(job.hellos.at(0).excluded.empty());
  connector->first().close();
  co_await time.sleep_until(time.now() + 1s);
  REQUIRE(job.hellos.size() == 2);
  REQUIRE(job.hellos[1].excluded.size() == 1);
  CHECK(job.hellos[1].excluded[0].name == "gpu7");
  CHECK(job.hellos[1].excluded[0].remaining < 10s);
  co_await link->stop();
}

TIME_TEST("rendezvous link: a leader may be silent for as long as it may lead",
          "[rendezvous][native]") {
  servers job;
  const auto connector = std::make_shared<server_connector>(job);
  messages::hello greeting;
  greeting.run_id = "job";
  greeting.name = "node0";
  auto clock = std::shared_ptr<elastic::time_source>(&time, [](elastic::time_source*) {});
  auto link = std::make_shared<rendezvous_link>(connector, greeting, 60s, clock, elastic::logger());
  SECTION("one that was found by asking who leads") {
    connector->is_leader = true;
    link->start(co_await asio::this_coro::executor, 600s);
    co_await time.sleep_until(time.now() + 14s);
    CHECK(job.hellos.size() == 1);
    co_await time.sleep_until(time.now() + 60s);
    CHECK_FALSE(link->known().broken);
    job.welcomes = {welcome(5, false, 5s)};
    co_await time.sleep_until(time.now() + 3s);
    CHECK(link->is_connected());
  }
  SECTION("any other is asked again sooner, and as long as the node may wait") {
    link->start(co_await asio::this_coro::executor, 600s);
    co_await time.sleep_until(time.now() + 14s);
    CHECK(job.hellos.size() == 3);
    co_await time.sleep_until(time.now() + 500s);
    CHECK_FALSE(link->known().broken);
    co_await time.sleep_until(time.now() + 100s);
    CHECK(link->known().broken);
  }
  co_await link->stop();
}

/// A link to a server that has not been known before, and what it says to its log.
struct stranger_link {
  explicit stranger_link(elastic::test::manual_time& time)
      : connector(std::make_shared<server_connector>(job)) {
    messages::hello greeting;
    greeting.run_id = "job";
    greeting.name = "node0";
    auto clock = std::shared_ptr<elastic::time_source>(&time, [](elastic::time_source*) {});
    link = std::make_shared<rendezvous_link>(connector, greeting, 60s, clock, log->log());
    link->examine_by([this]() -> task<void> {
      ++examinations;
      if (is_torch) throw elastic::error(elastic::errc::not_supported, "a store of PyTorch");
      return nothing();
    });
  }
  static task<void> nothing() { co_return; }

  std::shared_ptr<elastic::test::log_recorder> log =
      std::make_shared<elastic::test::log_recorder>();
  servers job;
  std::shared_ptr<server_connector> connector;
  std::shared_ptr<rendezvous_link> link;
  bool is_torch = false;
  int examinations = 0;
};

TIME_TEST("rendezvous link: a server that hears nothing is named once after a second",
          "[rendezvous][native]") {
  stranger_link to(time);
  to.link->start(co_await asio::this_coro::executor, 600s);
  co_await time.sleep_until(time.now() + 900ms);
  CHECK(to.log->text().empty());
  co_await time.sleep_until(time.now() + 200ms);
  CHECK(to.log->count("waiting for the rendezvous at host0:29400 (it accepts connections but does "
                     "not answer)") == 1);
  co_await time.sleep_until(time.now() + 60s);
  CHECK(to.log->count("waiting for") == 1);
  CHECK_FALSE(to.link->known().broken);
  to.job.welcomes = {welcome(5, false, 5s)};
  co_await time.sleep_until(time.now() + 7s);
  CHECK(to.link->is_connected());
  co_await to.link->stop();
}

TIME_TEST("rendezvous link: a server that is silent until the second word is examined at once",
          "[rendezvous][native]") {
  stranger_link to(time);
  to.is_torch = true;
  to.link->start(co_await asio::this_coro::executor, 600s);
  co_await time.sleep_until(time.now() + 50ms);
  CHECK(to.job.others == 0);
  co_await time.sleep_until(time.now() + 70ms);
  CHECK(to.job.others == 1);
  to.connector->first().close();
  co_await time.sleep_until(time.now() + 10ms);
  CHECK(to.examinations == 1);
  CHECK(to.link->known().broken);
  CHECK(to.log->text().empty());
  co_await to.link->stop();
}

TIME_TEST("rendezvous link: a busy server that hears the second word welcomes the node",
          "[rendezvous][native]") {
  stranger_link to(time);
  to.link->start(co_await asio::this_coro::executor, 600s);
  co_await time.sleep_until(time.now() + 400ms);
  to.connector->first().answer(welcome(5, false, 5s));
  to.connector->first().answer(messages::alive{});
  co_await time.sleep_until(time.now() + 100ms);
  CHECK(to.link->is_connected());
  CHECK(to.examinations == 0);
  co_await to.link->stop();
}

TIME_TEST("rendezvous link: a server that hangs up always is examined, and given up within 0.5 s",
          "[rendezvous][native]") {
  stranger_link to(time);
  to.job.hang_up = true;
  to.link->start(co_await asio::this_coro::executor, 600s);
  co_await time.sleep_until(time.now() + 500ms);
  CHECK(to.examinations == 1);
  CHECK(to.link->known().broken);
  CHECK(to.job.hellos.size() == 5);
  co_await to.link->stop();
}

TIME_TEST("rendezvous link: a server that may be busy with handshakes is given up after its time",
          "[rendezvous][native]") {
  stranger_link to(time);
  to.job.hang_up = true;
  to.link->set_hang_up_patience(5s);
  to.link->start(co_await asio::this_coro::executor, 600s);
  co_await time.sleep_until(time.now() + 4900ms);
  CHECK_FALSE(to.link->known().broken);
  co_await time.sleep_until(time.now() + 3s);
  CHECK(to.link->known().broken);
  co_await to.link->stop();
}

TIME_TEST("rendezvous link: a server that hangs up in a handshake is asked until it has room",
          "[rendezvous][native]") {
  stranger_link to(time);
  to.job.hang_up = true;
  to.job.are_busy = true;
  to.link->set_hang_up_patience(5s);
  to.link->start(co_await asio::this_coro::executor, 600s);
  co_await time.sleep_until(time.now() + 60s);
  CHECK(to.job.hellos.size() > 10);
  CHECK(to.examinations == 0);
  CHECK_FALSE(to.link->known().broken);
  to.job.hang_up = false;
  to.job.welcomes.push_back(welcome(1, false, 5s));
  co_await time.sleep_until(time.now() + 5s);
  CHECK(to.link->is_connected());
  co_await to.link->stop();
}

TIME_TEST("rendezvous link: who hears nothing hangs up only when its workers are gone",
          "[rendezvous][native]") {
  servers job;
  job.welcomes = {welcome(5, false, 5s)};
  const auto connector = std::make_shared<server_connector>(job);
  const elastic::time_point begin = time.now();
  const auto link = co_await placed_link(connector, time);
  // The server may hear it all the same: the end of its connections would let the others go on.
  co_await time.sleep_until(begin + 12s);
  CHECK(link->known().change);
  co_await time.sleep_until(begin + 14500ms);
  CHECK_FALSE(connector->first().has_ended());
  job.are_gone = true;
  co_await link->wait_for_fence();
  CHECK(time.now() - begin < 15s);
  co_await time.sleep_until(begin + 15s);
  CHECK(connector->first().has_ended());
  co_await link->stop();
}

TIME_TEST("rendezvous link: a node may live as long as what it said last may have been heard",
          "[rendezvous][native]") {
  servers job;
  const auto connector = std::make_shared<server_connector>(job);
  const elastic::time_point begin = time.now();
  SECTION("an answer that comes late is one to what was said before") {
    job.welcomes = {welcome(5, false, 5s)};
    const auto link = co_await placed_link(connector, time);
    co_await time.sleep_until(begin + 9s);
    connector->first().answer(messages::alive{});
    co_await link->wait_for_fence();
    CHECK(time.now() - begin > 19s);
    CHECK(time.now() - begin < 20s);
    co_await link->stop();
  }
  SECTION("a welcome that comes late is one to the greeting") {
    const auto link = co_await begun_link(connector, time);
    connector->first().answer(welcome(5, false, 5s));
    co_await place(link, connector, time);
    co_await link->wait_for_fence();
    CHECK(time.now() - begin < 15s);
    co_await link->stop();
  }
}

TIME_TEST("rendezvous link: a connection that breaks alone is there again before any grace",
          "[rendezvous][native]") {
  for (const bool tells_ends : {false, true}) {
    INFO(tells_ends);
    servers job;
    job.welcomes = {welcome(5, false, 20s), welcome(5, true, 20s)};
    for (messages::welcome& each : job.welcomes) each.settings.reconnect_grace = 60ms;
    const auto connector = std::make_shared<server_connector>(job);
    const auto link = co_await placed_link(connector, time, tells_ends);
    REQUIRE(connector->channels.size() == 2);
    connector->channels[0]->close();
    co_await time.sleep_until(time.now() + 1s);
    CHECK_FALSE(link->known().change);
    CHECK(job.hellos.size() == 2);
    co_await link->stop();
  }
}

TIME_TEST("rendezvous link: tells the end of the other process from that of a connection",
          "[rendezvous][native]") {
  struct row {
    std::string name;
    bool ends_link;
    bool ends_witness;
    bool is_gone;
    bool are_both_ended;
  };
  const std::vector<row> rows = {
      {"the process is gone", true, true, true, true},
      {"the link breaks, and nobody answers", true, false, true, false},
      {"both break, and there is a new one", true, true, false, false},
      {"the witness breaks", false, true, true, false},
  };
  for (const row& entry : rows) {
    INFO(entry.name);
    servers job;
    job.welcomes = {welcome(5, false, 20s), welcome(5, true, 20s)};
    const auto connector = std::make_shared<server_connector>(job);
    const auto link = co_await placed_link(connector, time, true);
    REQUIRE(connector->channels.size() == 2);
    job.are_gone = entry.is_gone;
    if (entry.ends_link) connector->channels[0]->close();
    if (entry.ends_witness) connector->channels[1]->close();
    const auto begin = time.now();
    co_await time.sleep_until(begin + 1s);
    CHECK(link->both_ended_at().has_value() == entry.are_both_ended);
    if (link->both_ended_at()) CHECK(*link->both_ended_at() == begin);
    co_await link->stop();
  }
}

TIME_TEST("rendezvous link: a round ends with its server, even if the next one knows this node",
          "[rendezvous][native]") {
  servers job;
  // The first welcome of the new server was lost.
  job.welcomes = {welcome(5, false, 5s), welcome(6, true, 5s)};
  const auto connector = std::make_shared<server_connector>(job);
  const auto link = co_await placed_link(connector, time);
  connector->first().close();
  co_await time.sleep_until(time.now() + 100ms);
  REQUIRE(job.hellos.size() == 2);
  REQUIRE(link->known().change);
  CHECK(link->known().change->reason == "the server of the rendezvous was restarted");
  co_await link->stop();
}

TIME_TEST("rendezvous link: who follows a server that resigned waits for this node's workers",
          "[rendezvous][native]") {
  servers job;
  job.welcomes = {welcome(5, false, 5s)};
  const auto connector = std::make_shared<server_connector>(job);
  const elastic::time_point begin = time.now();
  const auto link = co_await placed_link(connector, time);
  connector->first().answer(messages::resigned{});
  connector->first().close();
  SECTION("nobody follows it") {
    job.are_gone = true;
    co_await link->wait_for_fence();
    CHECK(time.now() - begin > 14s);
    CHECK(time.now() - begin < 15s);
    REQUIRE(link->known().change);
  }
  SECTION("the next one knows this node") {
    job.welcomes = {welcome(6, true, 5s)};
    co_await time.sleep_until(begin + 3s);
    REQUIRE(job.hellos.size() == 2);
    REQUIRE(link->known().change);
    CHECK(link->known().change->reason == "the node that led the job no longer leads it");
    CHECK(link->known().change->grace == elastic::duration::max());
    co_await link->wait_for_fence();
    CHECK(time.now() - begin > 15s);
  }
  SECTION("the next one does not, so that the round was over before") {
    job.welcomes = {welcome(6, false, 5s)};
    co_await link->wait_for_fence();
    CHECK(time.now() - begin < 3s);
  }
  SECTION("the next one may know it by a greeting that was in vain") {
    co_await time.sleep_until(begin + 2s);
    REQUIRE(job.hellos.size() == 2);
    job.welcomes = {welcome(6, true, 5s)};
    connector->first().close();
    co_await link->wait_for_fence();
    CHECK(time.now() - begin < 3s);
  }
  SECTION("the next one is killed") {
    job.welcomes = {welcome(6, true, 5s)};
    co_await time.sleep_until(begin + 3s);
    job.are_gone = true;
    connector->first().close();
    co_await link->wait_for_fence();
    CHECK(time.now() - begin < 4s);
  }
  co_await link->stop();
}

/// A node that waits for a round while one leader follows the other.
class waiting_node {
 public:
  explicit waiting_node(elastic::test::manual_time& time) : time_(time) {
    connector->is_leader = true;
    for (std::int64_t term = 1; term <= 8; ++term) {
      job.welcomes.push_back(welcome(term, false, 100s));
    }
  }

  task<void> begin() { link = co_await begun_link(connector, time_); }

  /// It wants to wait for 600 s from now on.
  void begin_join() {
    messages::join wish;
    wish.timeout = 600s;
    begin_ = time_.now();
    link->begin_join(std::move(wish));
  }

  /// The leader is replaced so long after the wait began, and the node tells the next one how much
  /// longer it wants to wait.
  task<void> expect(elastic::duration after, elastic::duration wish) {
    co_await time_.sleep_until(begin_ + after);
    connector->first().close();
    co_await time_.sleep_until(begin_ + after + 1s);
    INFO(std::chrono::duration<double>(after).count());
    REQUIRE(link->is_connected());
    CHECK(job.joins.back().timeout == wish);
  }

  servers job;
  std::shared_ptr<server_connector> connector = std::make_shared<server_connector>(job);
  std::shared_ptr<rendezvous_link> link;

 private:
  elastic::test::manual_time& time_;
  elastic::time_point begin_;
};

TIME_TEST("rendezvous link: leaders that follow each other do not begin a node's wait anew",
          "[rendezvous][native]") {
  waiting_node node(time);
  co_await node.begin();
  node.begin_join();
  co_await node.expect(100s, 500s);
  co_await node.expect(250s, 350s);
  // The other nodes can be silent for 300 s before they find the new leader. This counts once.
  co_await node.expect(400s, 301s);
  co_await node.expect(500s, 201s);
  co_await node.expect(600s, 101s);
  co_await node.expect(702s, 1ms);
  co_await node.link->stop();
}

TIME_TEST("rendezvous link: time in which a node can get no place does not count",
          "[rendezvous][native]") {
  waiting_node node(time);
  co_await node.begin();
  SECTION("it is told before its wait, and while it waits") {
    node.connector->first().answer(messages::on_hold{"the job pauses"});
    co_await time.sleep_until(time.now() + 1s);
    node.begin_join();
    co_await node.expect(200s, 600s);
    co_await node.expect(400s, 400s);
    node.connector->first().answer(messages::on_hold{"the job pauses"});
    co_await node.expect(500s, 600s);
    co_await node.expect(700s, 400s);
  }
  SECTION("it has got its place since") {
    node.connector->first().answer(messages::on_hold{"the job pauses"});
    co_await place(node.link, node.connector, time);
    node.begin_join();
    co_await node.expect(200s, 400s);
  }
  co_await node.link->stop();
}

TIME_TEST("rendezvous link: the own node of a leader lives by its lease, however that ends",
          "[rendezvous][native]") {
  servers job;
  job.welcomes = {welcome(5, false, 5s)};
  job.welcomes[0].settings.reconnect_grace = 1s;
  const auto connector = std::make_shared<server_connector>(job);
  connector->is_own = true;
  const auto link = co_await placed_link(connector, time);
  SECTION("it steps down") {}
  SECTION("it resigns") {
    connector->first().answer(messages::resigned{});
    co_await time.sleep_until(time.now() + 100ms);
  }
  job.are_gone = true;
  const elastic::time_point end = time.now();
  connector->first().close();
  co_await link->wait_for_fence();
  // The leader has waited for half of the grace before.
  CHECK(time.now() - end <= 250ms);
  co_await link->stop();
}

TIME_TEST("rendezvous link: a server that resigns before its welcome is asked again",
          "[rendezvous][native]") {
  servers job;
  const auto connector = std::make_shared<server_connector>(job);
  const auto link = co_await begun_link(connector, time);
  job.welcomes = {welcome(6, false, 5s)};
  connector->first().answer(messages::resigned{});
  co_await time.sleep_until(time.now() + 1s);
  CHECK(link->is_connected());
  CHECK(link->last_problem() == "it no longer leads the job");
  co_await link->stop();
}

}  // namespace rendezvous_link_tests
