// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// The roles of the servers of a job: real candidates in a simulated network.

#include <elastic/nodes/detail/candidate.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/task_group.hpp>
#include <elastic/net/detail/message_frame.hpp>
#include <elastic/nodes/detail/candidate_message.hpp>
#include <elastic/nodes/detail/leader_connector.hpp>
#include <elastic/nodes/detail/rendezvous_message.hpp>
#include <elastic/nodes/detail/rendezvous_service.hpp>
#include <support/catch.hpp>
#include <support/log_recorder.hpp>
#include <support/manual_time.hpp>
#include <support/simulated_mesh.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace candidate_tests {

using namespace std::chrono_literals;
using elastic::duration;
using elastic::errc;
using elastic::task;
using elastic::detail::candidate;
using elastic::detail::leader_connector;
using elastic::test::log_recorder;
using elastic::test::manual_time;
using elastic::test::simulated_mesh;

constexpr const char* list = "a:1,b:1,c:1";

/// A node of the job that says what it is told to say.
class scripted_node {
 public:
  scripted_node(manual_time& time, std::shared_ptr<elastic::detail::message_channel> channel)
      : time_(time), channel_(std::move(channel)) {}
  ~scripted_node() { channel_->close(); }
  scripted_node(const scripted_node&) = delete;
  scripted_node& operator=(const scripted_node&) = delete;

  void say(const elastic::detail::candidate_request& request) {
    channel_->send(elastic::detail::candidate_text(request));
  }
  void say(const elastic::detail::rendezvous_request& request) {
    channel_->send(elastic::detail::to_text(request));
  }

  /// The next message.
  task<nlohmann::json> hear_all() { co_return nlohmann::json::parse(co_await channel_->receive()); }

  /// The kind of the next message, or "the end" of the connection; "nothing" within a minute.
  task<std::string> hear() {
    try {
      const auto text = co_await with_deadline(time_, time_.now() + 60s, channel_->receive());
      co_return text ? nlohmann::json::parse(*text).at("kind").get<std::string>() : "nothing";
    } catch (const elastic::error&) {
      co_return "the end";
    }
  }

 private:
  manual_time& time_;
  std::shared_ptr<elastic::detail::message_channel> channel_;
};

/// A server that takes connections, and never says anything.
class mute_server final : public elastic::detail::store_extension {
 public:
  std::string_view greeting() const override {
    return elastic::detail::rendezvous_service::first_words;
  }
  task<void> run() override { co_return; }
  std::unique_ptr<conversation> begin(client&) override { return std::make_unique<silence>(); }

 private:
  struct silence final : conversation {
    void received(std::string_view) override {}
    bool has_begun() const override { return true; }
    std::size_t held() const override { return 0; }
  };
};

/// A connection that ends as soon as a candidate hangs up, as one of a real server does.
class sudden_client final : public elastic::detail::store_extension::client {
 public:
  void begin_at(candidate& server) { conversation_ = server.begin(*this); }
  void claim(int index, std::uint64_t node) {
    elastic::detail::candidate_messages::peer greeting;
    greeting.index = index;
    greeting.run_id = "job";
    greeting.list = list;
    greeting.node = node;
    std::string frame;
    elastic::detail::append_frame(
        frame, elastic::detail::candidate_text(elastic::detail::candidate_request(greeting)));
    conversation_->received(frame);
  }
  /// Says something of this size, which is of no meaning.
  void say_much(std::size_t bytes) {
    std::string text = elastic::detail::candidate_text(
        elastic::detail::candidate_request(elastic::detail::candidate_messages::resign{}));
    text.append(bytes - text.size(), ' ');
    std::string frame;
    elastic::detail::append_frame(frame, text);
    conversation_->received(frame);
  }
  bool is_open() const { return conversation_ != nullptr; }

  void send(std::string_view) override {}
  void hang_up() override { conversation_.reset(); }
  asio::ip::tcp::endpoint here() const override { return {}; }
  asio::ip::tcp::endpoint there() const override { return {}; }

 private:
  std::unique_ptr<elastic::detail::store_extension::conversation> conversation_;
};

task<void> keep_alive(manual_time& time, scripted_node& node) {
  for (;;) {
    co_await time.sleep_until(time.now() + 4s);
    node.say(
        elastic::detail::rendezvous_request(elastic::detail::rendezvous_messages::keep_alive{}));
  }
}

/// Three places, and who serves there. An agent's number is that of its machine and 100.
class stage {
 public:
  explicit stage(manual_time& time) : time_(time), random_(1), net_(time, random_) {}
  ~stage() {
    // A test that failed did not get to `end`, and candidates never end by themselves.
    net_.end();
    time_.context().poll();
  }
  stage(const stage&) = delete;
  stage& operator=(const stage&) = delete;

  std::shared_ptr<elastic::time_source> clock() const {
    return {&time_, [](elastic::time_source*) {}};
  }

  std::vector<std::shared_ptr<elastic::detail::message_connector>> connectors(int machine) {
    std::vector<std::shared_ptr<elastic::detail::message_connector>> result;
    for (int place = 0; place < 3; ++place) result.push_back(net_.connector_of(machine, place));
    return result;
  }

  /// An agent that takes itself for the candidate `self` and serves at `place`.
  void serve(int machine, int self, int place, std::string network = "a host") {
    open(machine, place, prepare(machine, self, std::move(network)));
  }
  /// The same in two steps, between which the agent waits for its port.
  std::shared_ptr<candidate> prepare(int machine, int self, std::string network = "a host") {
    candidate::options options;
    options.run_id = "job";
    options.list = list;
    options.self = self;
    options.others = connectors(machine);
    options.others[static_cast<std::size_t>(self)] = nullptr;
    options.node = 100 + static_cast<std::uint64_t>(machine);
    options.network = std::move(network);
    options.seed = options.node;
    options.time = clock();
    options.log = log(machine).log();
    return std::make_shared<candidate>(std::move(options));
  }
  void open(int machine, int place, std::shared_ptr<candidate> prepared) {
    candidates_[place] = std::move(prepared);
    net_.serve(place, machine, candidates_[place]);
  }
  /// An agent at each place, of which one leads then.
  task<void> serve_all() {
    for (const int place : {0, 1, 2}) serve(place, place, place);
    co_await pass(2s);
  }
  void serve_mute(int machine, int place) {
    net_.serve(place, machine, std::make_shared<mute_server>());
  }
  candidate& candidate_at(int place) { return *candidates_.at(place); }

  /// Somebody who has said nothing yet.
  task<std::unique_ptr<scripted_node>> connect(int machine, int place) {
    const auto connector = connectors(machine)[static_cast<std::size_t>(place)];
    co_return std::make_unique<scripted_node>(time_, co_await connector->connect());
  }

  /// A node that the leader has welcomed to a job of one node.
  task<std::unique_ptr<scripted_node>> enter(int machine, int leader) {
    auto node = co_await connect(machine, leader);
    node->say(elastic::detail::candidate_messages::seek{"job", list});
    const std::string first = co_await node->hear();
    CHECK(first == "leads");
    elastic::detail::rendezvous_messages::hello hello;
    hello.run_id = "job";
    hello.name = "node0";
    hello.node = {"host", 1, 0, {100 + static_cast<std::uint64_t>(machine)}};
    hello.settings.min_nodes = hello.settings.max_nodes = 1;
    node->say(elastic::detail::rendezvous_request(hello));
    const std::string second = co_await node->hear();
    CHECK(second == "welcome");
    co_return node;
  }

  /// A node that is placed in a round, alone.
  task<std::unique_ptr<scripted_node>> place(int machine, int leader) {
    auto node = co_await enter(machine, leader);
    node->say(elastic::detail::rendezvous_messages::join{-1, 1min, {}});
    const std::string answer = co_await node->hear();
    CHECK(answer == "placed");
    co_return node;
  }

  /// What a node finds out that looks for the leader, `self` being the candidate of its agent.
  task<std::string> search(int machine, int self) {
    leader_connector::options options;
    options.candidates = connectors(machine);
    options.run_id = "job";
    options.list = list;
    options.self = self;
    options.node = 100 + static_cast<std::uint64_t>(machine);
    options.interval = 5s;
    options.time = clock();
    leader_connector connector(std::move(options));
    std::string result;
    try {
      const auto channel = co_await connector.connect();
      result = fmt::format("candidate {} leads", connector.leader());
      channel->close();
    } catch (const elastic::error& failure) {
      CHECK(failure.code() == errc::invalid_argument);
      result = failure.what();
    }
    co_return result;
  }

  /// The candidate that leads.
  task<int> leader() {
    const std::string answer = co_await search(5, -1);
    int place = -1;
    CHECK(std::sscanf(answer.c_str(), "candidate %d leads", &place) == 1);
    co_return place;
  }

  log_recorder& log(int machine) {
    auto& recorder = logs_[machine];
    if (!recorder) recorder = std::make_shared<log_recorder>();
    return *recorder;
  }
  std::string logs() const {
    std::string text;
    for (const auto& [machine, recorder] : logs_) {
      text += fmt::format("machine {}:\n{}", machine, recorder->text());
    }
    return text;
  }
  std::size_t count(std::string_view part) const {
    std::size_t number = 0;
    for (const auto& [machine, recorder] : logs_) number += recorder->count(part);
    return number;
  }

  task<void> pass(duration span) { co_await time_.sleep_until(time_.now() + span); }
  void kill(int machine) { net_.kill(machine); }
  void part(int machine) { net_.part(machine); }
  void mend(int machine) { net_.mend(machine); }
  task<void> end() {
    net_.end();
    co_await pass(1min);
  }

 private:
  manual_time& time_;
  elastic::detail::random_source random_;
  simulated_mesh net_;
  std::map<int, std::shared_ptr<candidate>> candidates_;
  std::map<int, std::shared_ptr<log_recorder>> logs_;
};

TIME_TEST("candidate: of two agents in one place the second is told so, and disturbs nobody",
          "[rendezvous]") {
  stage job(time);
  co_await job.serve_all();
  REQUIRE(job.count("leads in term") == 1);
  for (const int self : {0, 1, 2}) {
    const int machine = 10 + self;
    // It has no address of the list, as with a wrong setting candidate.
    job.serve(machine, self, machine);
    const std::string answer = co_await job.search(machine, self);
    INFO(job.logs());
    CHECK(answer == fmt::format("candidate {} of 'a:1,b:1,c:1' is another agent, which is met at "
                                "its address: each place of the list is for one agent "
                                "(the setting candidate)",
                                self));
    co_await job.pass(20s);
    CHECK(job.log(machine).count("is another agent", elastic::log_level::error) == 1);
  }
  INFO(job.logs());
  CHECK(job.count("leads in term") == 1);
  CHECK(job.count("steps down") == 0);
  co_await job.end();
}

TIME_TEST("candidate: one whose agent is started anew takes part again", "[rendezvous]") {
  stage job(time);
  co_await job.serve_all();
  for (const int place : {0, 1, 2}) {
    const std::size_t earlier_terms = job.count("leads in term");
    job.kill(place);
    job.serve(20 + place, place, place);
    co_await job.pass(60s);
    INFO(job.logs());
    CHECK(job.log(20 + place).count("is another agent") == 0);
    // Not more than one of them led.
    CHECK(job.count("leads in term") <= earlier_terms + 1);
    const std::string answer = co_await job.search(20 + place, place);
    CHECK(answer.find(" leads") != std::string::npos);
  }
  co_await job.end();
}

TIME_TEST("candidate: one whose server opens late knows nothing until it has been open for S",
          "[rendezvous]") {
  stage job(time);
  co_await job.serve_all();
  const int leader = co_await job.leader();
  const int voter = (leader + 1) % 3;
  const int other = (leader + 2) % 3;
  // The agent that will follow the voter starts while the voter lives: say, it looks up a name.
  const auto follower = job.prepare(20, voter);
  job.part(other);
  co_await job.pass(20s);
  REQUIRE(job.count("leads in term") == 1);
  // The leader is cut off just when the voter, which had promised not to vote, dies.
  job.part(leader);
  job.mend(other);
  job.kill(voter);
  job.open(20, voter, follower);
  co_await job.pass(5s);
  INFO(job.logs());
  CHECK(job.count("leads in term") == 1);
  co_await job.pass(20s);
  CHECK(job.count("leads in term") == 2);
  co_await job.end();
}

TIME_TEST("candidate: who follows a leader at its address shows that it is gone, if on its host",
          "[rendezvous]") {
  for (const bool is_elsewhere : {false, true}) {
    INFO(is_elsewhere);
    stage job(time);
    co_await job.serve_all();
    const int leader = co_await job.leader();
    // Cut off, it may lead on; its address may have moved.
    job.part(leader);
    job.serve(20, leader, leader, is_elsewhere ? "another host" : "a host");
    co_await job.pass(5s);
    INFO(job.logs());
    CHECK(job.count("leads in term") == (is_elsewhere ? 1U : 2U));
    co_await job.pass(20s);
    CHECK(job.count("leads in term") == 2);
    co_await job.end();
  }
}

TIME_TEST("candidate: two of a list that are one server are refused by whoever looks for a leader",
          "[rendezvous]") {
  stage job(time);
  job.serve(0, 0, 0);
  job.serve(0, 0, 1);
  job.serve(2, 2, 2);
  const std::string answer = co_await job.search(5, -1);
  CHECK(answer ==
        "the endpoints 'a:1,b:1,c:1': at place 1 candidate 0 is met, not 1: two of the list are "
        "one server, or its setting candidate is wrong");
  co_await job.end();
}

TIME_TEST("candidate: a node that asks twice hears once who leads, since it says its hello then",
          "[rendezvous]") {
  stage job(time);
  co_await job.serve_all();
  const int leader = co_await job.leader();
  const auto channel = co_await job.connectors(5)[static_cast<std::size_t>(leader)]->connect();
  const elastic::detail::candidate_request question =
      elastic::detail::candidate_messages::seek{"job", list};
  for (int times = 0; times < 2; ++times) channel->send(elastic::detail::candidate_text(question));
  const std::string first = co_await channel->receive();
  CHECK(first.find("leads") != std::string::npos);
  const auto second = co_await with_deadline(time, time.now() + 1s, channel->receive());
  CHECK_FALSE(second);
  channel->close();
  co_await job.end();
}

TIME_TEST("candidate: the log says now and then that another one is missing", "[rendezvous]") {
  constexpr const char* line = "candidate 2 of the endpoints, place 2, has been missing for 3";
  stage job(time);
  job.serve(0, 0, 0);
  job.serve(1, 1, 1);
  co_await job.pass(25s);
  CHECK(job.count("has been missing") == 0);
  co_await job.pass(10s);
  INFO(job.logs());
  CHECK(job.log(0).count(line, elastic::log_level::warning) == 1);
  CHECK(job.log(0).has("(nobody serves there): the job survives no further loss"));
  co_await job.pass(9min);
  CHECK(job.log(0).count("has been missing") == 1);
  co_await job.pass(2min);
  CHECK(job.log(0).count("has been missing") == 2);
  CHECK(job.log(1).count("has been missing") == 2);
  job.serve(2, 2, 2);
  co_await job.pass(5s);
  CHECK(job.log(0).count("place 2, is reached again") == 1);
  co_await job.end();
}

TIME_TEST("candidate: a leader tells a node its place when a majority has it, and not before",
          "[rendezvous]") {
  for (const bool is_cut_off : {false, true}) {
    stage job(time);
    co_await job.serve_all();
    const int leader = co_await job.leader();
    // On the leader's machine, so that it is cut off with it.
    const auto node = co_await job.enter(leader, leader);
    if (is_cut_off) job.part(leader);
    node->say(elastic::detail::rendezvous_messages::join{-1, 1min, {}});
    const std::string answer = co_await node->hear();
    INFO(job.logs());
    // It leads no more before anybody else has the round.
    CHECK(answer == (is_cut_off ? "resigned" : "placed"));
    co_await job.end();
  }
}

TIME_TEST("candidate: a leader stays until every node has left, which knows of the end then",
          "[rendezvous]") {
  stage job(time);
  co_await job.serve_all();
  const int leader = co_await job.leader();
  const auto node = co_await job.place(5, leader);
  constexpr bool is_over = true;
  const auto early_result =
      co_await with_deadline(time, time.now() + 10s, job.candidate_at(leader).retire(is_over));
  CHECK_FALSE(early_result);
  node->say(elastic::detail::rendezvous_messages::leave{});
  const auto result =
      co_await with_deadline(time, time.now() + 5s, job.candidate_at(leader).retire(is_over));
  INFO(job.logs());
  CHECK(result);
  co_await job.end();
}

TIME_TEST("candidate: a stranger cannot make terms so large that nodes cannot tell them",
          "[rendezvous]") {
  constexpr std::int64_t most = elastic::limits::rendezvous_told_number / 2;
  stage job(time);
  co_await job.serve_all();
  const int leader = co_await job.leader();
  const auto stranger = co_await job.connect(5, leader);
  stranger->say(elastic::detail::candidate_messages::seek{"job", list, most, -1, 0});
  const std::string answer = co_await stranger->hear();
  INFO(job.logs());
  CHECK(answer == "leads");
  elastic::detail::rendezvous_messages::hello hello;
  hello.run_id = "job";
  hello.name = "node0";
  hello.node = {"host", 1, 0, {105}};
  hello.highest_term = 2 * most;
  stranger->say(elastic::detail::rendezvous_request(hello));
  const auto welcome = co_await stranger->hear_all();
  REQUIRE(welcome.at("kind") == "welcome");
  CHECK(welcome.at("term").get<std::int64_t>() < most);
  co_await job.end();
}

TIME_TEST("candidate: a leader that leaves tells its nodes so before it hangs up", "[rendezvous]") {
  stage job(time);
  co_await job.serve_all();
  const int leader = co_await job.leader();
  const auto node = co_await job.place(5, leader);
  std::vector<std::string> heard;
  co_await job.candidate_at(leader).retire(false);
  for (int more = 0; more < 2; ++more) heard.push_back(co_await node->hear());
  CHECK(heard == std::vector<std::string>{"resigned", "the end"});
  co_await job.end();
}

TIME_TEST("candidate: a leader that the others leave in order serves on, and is lost by no end",
          "[rendezvous]") {
  for (const bool leave_in_order : {true, false}) {
    INFO(leave_in_order);
    stage job(time);
    co_await job.serve_all();
    const int leader = co_await job.leader();
    const auto node = co_await job.place(leader, leader);
    for (const int place : {0, 1, 2}) {
      if (place == leader) continue;
      if (leave_in_order) co_await job.candidate_at(place).retire(false);
      co_await job.pass(20ms);
      job.kill(place);
    }
    co_await job.pass(5s);
    node->say(elastic::detail::rendezvous_messages::keep_alive{});
    const std::string answer = co_await node->hear();
    INFO(job.logs());
    CHECK(answer == (leave_in_order ? "alive" : "resigned"));
    co_await job.end();
  }
}

TIME_TEST("candidate: one whose address was that of a server that never answers is met",
          "[rendezvous]") {
  stage job(time);
  job.serve_mute(30, 0);
  job.serve(1, 1, 1);
  job.serve(2, 2, 2);
  co_await job.pass(40s);
  job.serve(0, 0, 0);
  co_await job.pass(1min);
  job.kill(1);
  const auto found = co_await with_deadline(time, time.now() + 1min, job.search(5, -1));
  INFO(job.logs());
  CHECK(found.has_value());
  co_await job.end();
}

TIME_TEST("candidate: of two agents that come for one place at once the stranger is sent away",
          "[rendezvous]") {
  stage job(time);
  co_await job.serve_all();
  job.kill(1);
  co_await job.pass(10s);
  sudden_client of_new_agent;
  sudden_client of_former_agent;
  of_new_agent.begin_at(job.candidate_at(0));
  of_former_agent.begin_at(job.candidate_at(0));
  of_new_agent.claim(1, 121);
  of_former_agent.claim(1, 101);
  job.serve(21, 1, 1);
  co_await job.pass(5s);
  CHECK_FALSE(of_former_agent.is_open());
  of_new_agent.hang_up();
  co_await job.end();
}

TIME_TEST("candidate: only one that is met at its address writes as much as a register takes",
          "[rendezvous]") {
  constexpr std::size_t most = elastic::limits::rendezvous_register_bytes;
  stage job(time);
  job.serve(0, 0, 0);
  job.serve(1, 1, 1);
  co_await job.pass(2s);
  sudden_client stranger;
  stranger.begin_at(job.candidate_at(0));
  CHECK_THROWS_AS(stranger.say_much(elastic::limits::rendezvous_message_bytes + 1), elastic::error);
  sudden_client of_other;
  of_other.begin_at(job.candidate_at(0));
  of_other.claim(1, 101);
  CHECK_NOTHROW(of_other.say_much(most));
  CHECK_THROWS_AS(of_other.say_much(most + 1), elastic::error);
  stranger.hang_up();
  of_other.hang_up();
  co_await job.end();
}

TIME_TEST("candidate: one that cannot wait longer for the job's end does not say that it is there",
          "[rendezvous]") {
  stage job(time);
  co_await job.serve_all();
  const int leader = co_await job.leader();
  const auto node = co_await job.place(5, leader);
  constexpr bool is_over = true;
  elastic::task_group alive(time.context().get_executor());
  alive.spawn(keep_alive(time, *node));
  co_await job.candidate_at(leader).retire(is_over);
  co_await alive.stop();
  const int follower = (leader + 1) % 3;
  const auto result =
      co_await with_deadline(time, time.now() + 5s, job.candidate_at(follower).retire(is_over));
  INFO(job.logs());
  CHECK_FALSE(result);
  co_await job.end();
}

}  // namespace candidate_tests
