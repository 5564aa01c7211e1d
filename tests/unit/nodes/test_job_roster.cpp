// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// The roster of nodes on the rendezvous server, and what nodes report about themselves: the parts
// of the coordinator, the service and the node.

#include <elastic/nodes/detail/rendezvous_coordinator.hpp>
#include <elastic/nodes/detail/rendezvous_link.hpp>
#include <elastic/nodes/detail/rendezvous_service.hpp>
#include <elastic/telemetry/detail/report_exchange.hpp>

#include <elastic/base/limits.hpp>
#include <elastic/base/task_group.hpp>
#include <elastic/net/detail/message_frame.hpp>
#include <support/catch.hpp>
#include <support/manual_time.hpp>
#include <support/scripted_channel.hpp>

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace job_roster_tests {

using namespace std::chrono_literals;
using namespace elastic::detail::rendezvous_messages;
using elastic::task;
using elastic::time_point;
using elastic::detail::job_roster;
using elastic::detail::rendezvous_coordinator;
using elastic::detail::rendezvous_link;
using elastic::detail::report_demand;
using texts = std::vector<std::string>;

hello greeting_of(const std::string& host, bool has_reports = true) {
  hello greeting;
  greeting.run_id = "job";
  greeting.node = {host, 1, 0};
  greeting.settings.min_nodes = 2;
  greeting.settings.max_nodes = 3;
  greeting.has_reports = has_reports;
  greeting.name = host;
  return greeting;
}

/// A coordinator, and nodes that are called by their hosts.
struct stage {
  void connect(const std::string& host, bool has_reports = true) {
    greet(greeting_of(host, has_reports));
  }
  void greet(const hello& greeting) {
    const std::string& host = greeting.node.host;
    links[host] = ++last;
    coordinator.connected(last, {});
    coordinator.received(last, greeting, now);
    witnesses[host] = ++last;
    coordinator.connected(last, {});
    coordinator.received(last, witness{greeting.run_id, greeting.node}, now);
  }
  void join(const std::string& host, std::int64_t after = -1) {
    coordinator.received(links.at(host),
                         elastic::detail::rendezvous_messages::join{after, 600s, {}}, now);
  }
  void lose(const std::string& host) {
    coordinator.disconnected(links.at(host), now);
    coordinator.disconnected(witnesses.at(host), now);
    now += 1s;
    coordinator.advance(now);
  }

  /// "a active 0, b waiting".
  std::string shown() const {
    std::string text;
    for (const job_roster::entry& entry : coordinator.roster().nodes) {
      if (!text.empty()) text += ", ";
      text += fmt::format("{} {}", entry.host, to_string(entry.presence));
      if (entry.group_rank >= 0) text += fmt::format(" {}", entry.group_rank);
    }
    return text;
  }

  /// What was asked of whom, by the host.
  texts demands() {
    texts made;
    for (const auto& answer : coordinator.take_answers()) {
      const auto* wanted = std::get_if<report_wanted>(&answer.what);
      if (wanted == nullptr) continue;
      for (const auto& [host, link] : links) {
        if (link != answer.to) continue;
        made.push_back(fmt::format("{} {}", host, static_cast<int>(wanted->demand)));
      }
    }
    return made;
  }

  rendezvous_coordinator coordinator{"job"};
  time_point now{1h};
  std::map<std::string, rendezvous_coordinator::connection> links;
  std::map<std::string, rendezvous_coordinator::connection> witnesses;
  rendezvous_coordinator::connection last = 0;
};

TEST_CASE("job roster: each node is what it is to the round", "[rendezvous]") {
  stage job;
  CHECK(job.coordinator.roster_version() == 0);
  job.connect("a");
  CHECK(job.shown() == "a meeting");
  job.join("a");
  CHECK(job.shown() == "a waiting");
  CHECK(job.coordinator.roster().waiting == 1);
  CHECK_FALSE(job.coordinator.roster().is_complete);
  for (const char* host : {"c", "b"}) {
    job.connect(host);
    job.join(host);
  }
  CHECK(job.shown() == "a active 0, b active 1, c active 2");
  CHECK(job.coordinator.roster().active == 3);
  CHECK(job.coordinator.roster().is_complete);
  CHECK(job.coordinator.roster().min_nodes == 2);
  job.connect("d");
  job.join("d");
  CHECK(job.shown() == "a active 0, b active 1, c active 2, d standing by");
  CHECK(job.coordinator.roster().waiting == 1);
  // It stands by for the one that is lost, which is then no longer missed.
  job.lose("b");
  CHECK(job.shown().find("b lost") == std::string::npos);
}

TEST_CASE("job roster: who is lost stays until another one has come for it", "[rendezvous]") {
  stage job;
  for (const char* host : {"a", "b", "c"}) {
    job.connect(host);
    job.join(host);
  }
  const std::uint64_t before = job.coordinator.roster_version();
  job.lose("b");
  CHECK(job.coordinator.roster_version() != before);
  CHECK(job.shown() == "a active 0, c active 2, b lost");
  CHECK(job.coordinator.roster().lost == 1);
  CHECK(job.coordinator.roster().nodes[2].key == 2);
  SECTION("at its host") {
    job.connect("b");
    CHECK(job.shown().find("b lost") == std::string::npos);
    CHECK(job.coordinator.roster().lost == 0);
  }
  SECTION("elsewhere") {
    job.connect("d");
    CHECK(job.coordinator.roster().lost == 1);
    job.join("d");
    for (const char* host : {"a", "c"}) job.join(host, 0);
    CHECK(job.shown() == "a active 0, c active 1, d active 2");
    CHECK(job.coordinator.roster().lost == 0);
  }
  SECTION("nobody, and the last of them are remembered") {
    for (int count = 0; count < 200; ++count) {
      const std::string host = fmt::format("x{}", count);
      job.connect(host);
      job.lose(host);
    }
    CHECK(job.coordinator.roster().lost == static_cast<int>(elastic::limits::lost_nodes));
  }
}

TEST_CASE("job roster: who has left is not lost", "[rendezvous]") {
  stage job;
  job.connect("a");
  job.join("a");
  job.coordinator.received(job.links.at("a"), leave{}, job.now);
  CHECK(job.shown().empty());
}

TEST_CASE("job roster: only who can tell of itself is asked to", "[rendezvous]") {
  stage job;
  job.connect("a");
  job.connect("old", false);
  const report words{"words"};
  job.coordinator.received(job.links.at("a"), words, job.now);
  CHECK(job.coordinator.take_reports().empty());
  CHECK(job.demands().empty());
  job.coordinator.demand_reports(report_demand::changes);
  job.coordinator.demand_reports(report_demand::changes);
  CHECK(job.demands() == texts{"a 1"});
  job.connect("b");
  CHECK(job.demands() == texts{"b 1"});
  job.coordinator.received(job.links.at("b"), words, job.now);
  const auto reports = job.coordinator.take_reports();
  REQUIRE(reports.size() == 1);
  CHECK(reports[0].text == "words");
  CHECK(reports[0].node == 3);
  CHECK(job.coordinator.take_reports().empty());
  job.coordinator.demand_reports(report_demand::nothing);
  CHECK(job.demands() == texts{"a 0", "b 0"});
}

TEST_CASE("job roster: no more nodes are asked for reports than are shown", "[rendezvous]") {
  const auto most = static_cast<int>(elastic::limits::viewed_nodes);
  stage job;
  const auto connect = [&](int number) {
    hello greeting = greeting_of(fmt::format("n{:04}", number));
    greeting.settings.min_nodes = greeting.settings.max_nodes = 2 * most;
    job.greet(greeting);
  };
  for (int number = 0; number < most + 1; ++number) connect(number);
  job.coordinator.demand_reports(report_demand::changes);
  const auto asked = [&] { return static_cast<int>(job.demands().size()); };
  CHECK(asked() == most);
  connect(most + 1);
  CHECK(asked() == 0);
  // One that takes the place of a lost one is asked in its place.
  job.lose("n0000");
  connect(most + 2);
  CHECK(asked() == 1);
  job.coordinator.demand_reports(report_demand::nothing);
  CHECK(asked() == most);
}

// ---- the service --------------------------------------------------------------------------------

/// Notes what goes through it.
class noting_exchange final : public elastic::detail::report_exchange {
 public:
  void demanded(report_demand demand) override { demands.push_back(demand); }
  std::string next_report() override {
    if (to_tell.empty()) return {};
    std::string text = std::move(to_tell.front());
    to_tell.pop_front();
    return text;
  }
  void on_report(std::function<void()> call) override { note = std::move(call); }
  void begin_serving(const void* from, std::function<void()> call) override {
    server = from;
    call_server = std::move(call);
  }
  void end_serving(const void* from) override {
    if (server == from) server = nullptr;
  }
  report_demand demand() const override { return wanted; }
  std::string output_demand() const override { return output; }
  void reported(std::int64_t node, std::string_view report) override {
    reports.push_back(fmt::format("{} {}", node, report));
  }
  void listed(job_roster roster) override { rosters.push_back(std::move(roster)); }

  std::vector<report_demand> demands;
  std::deque<std::string> to_tell;
  std::function<void()> note;
  const void* server = nullptr;
  std::function<void()> call_server;
  report_demand wanted = report_demand::changes;
  std::string output;
  texts reports;
  std::vector<job_roster> rosters;
};

class caller final : public elastic::detail::store_extension::client {
 public:
  explicit caller(elastic::detail::rendezvous_service& service)
      : conversation_(service.begin(*this)) {}
  void send(std::string_view bytes) override { heard.append(bytes); }
  void hang_up() override {}
  asio::ip::tcp::endpoint here() const override { return {}; }
  asio::ip::tcp::endpoint there() const override { return {}; }
  void say(const elastic::detail::rendezvous_request& request) {
    std::string frame;
    elastic::detail::append_frame(frame, elastic::detail::to_text(request));
    conversation_->received(frame);
  }
  std::string heard;

 private:
  std::unique_ptr<elastic::detail::store_extension::conversation> conversation_;
};

TIME_TEST("job roster: the service tells of its own job, and not again and again", "[rendezvous]") {
  auto clock = std::shared_ptr<elastic::time_source>(&time, [](elastic::time_source*) {});
  const auto exchange = std::make_shared<noting_exchange>();
  auto service = std::make_shared<elastic::detail::rendezvous_service>(elastic::logger(), clock);
  service->show("job", exchange);
  elastic::task_group group(time.context().get_executor());
  group.spawn(service->run());
  CHECK(exchange->server == service.get());
  {
    caller stranger(*service);
    hello other = greeting_of("x");
    other.run_id = "other";
    stranger.say(other);
    stranger.say(report{"hidden"});
    CHECK(exchange->rosters.empty());
    caller first(*service);
    first.say(greeting_of("a"));
    CHECK(first.heard.find("report_wanted") != std::string::npos);
    CHECK(exchange->rosters.size() == 1);
    // Many at once make one list.
    std::vector<std::unique_ptr<caller>> others;
    for (int count = 0; count < 50; ++count) {
      others.push_back(std::make_unique<caller>(*service));
      others.back()->say(greeting_of(fmt::format("b{}", count)));
    }
    CHECK(exchange->rosters.size() == 1);
    first.say(report{"words"});
    CHECK(exchange->reports == texts{"1 words"});
    co_await time.sleep_until(time.now() + 1s);
    REQUIRE(exchange->rosters.size() == 2);
    CHECK(exchange->rosters.back().nodes.size() == 51);
    exchange->wanted = report_demand::progress;
    first.heard.clear();
    exchange->call_server();
    co_await time.sleep_until(time.now() + 1s);
    CHECK(first.heard.find("progress") != std::string::npos);
    // Output that somebody reads is asked for once, until nobody does.
    first.heard.clear();
    for (const char* text : {"lines of 3", "lines of 3", ""}) {
      exchange->output = text;
      exchange->call_server();
      co_await time.sleep_until(time.now() + 1s);
    }
    const std::size_t asked = first.heard.find("lines of 3");
    CHECK(asked != std::string::npos);
    CHECK(first.heard.find("lines of 3", asked + 1) == std::string::npos);
    CHECK(first.heard.find("report_wanted", asked) != std::string::npos);
  }
  co_await group.stop();
  service.reset();
  CHECK(exchange->server == nullptr);
}

TIME_TEST("job roster: a server shows several jobs, each to its own viewers", "[rendezvous]") {
  auto clock = std::shared_ptr<elastic::time_source>(&time, [](elastic::time_source*) {});
  const auto trainers = std::make_shared<noting_exchange>();
  const auto rollouts = std::make_shared<noting_exchange>();
  auto service = std::make_shared<elastic::detail::rendezvous_service>(elastic::logger(), clock);
  service->show("grpo/trainer", trainers);
  elastic::task_group group(time.context().get_executor());
  group.spawn(service->run());
  {
    const auto greeting_to = [](const std::string& name, const std::string& run_id) {
      hello greeting = greeting_of(name);
      greeting.run_id = run_id;
      return greeting;
    };
    caller trainer(*service);
    trainer.say(greeting_to("a", "grpo/trainer"));
    caller rollout(*service);
    rollout.say(greeting_to("b", "grpo/rollout"));
    CHECK(rollout.heard.find("report_wanted") == std::string::npos);
    // A job can be shown from any time on.
    service->show("grpo/rollout", rollouts);
    co_await time.sleep_until(time.now() + 1s);
    CHECK(rollouts->server == service.get());
    CHECK(rollout.heard.find("report_wanted") != std::string::npos);
    REQUIRE(rollouts->rosters.size() == 1);
    CHECK(rollouts->rosters[0].nodes.size() == 1);
    trainer.say(report{"trains"});
    rollout.say(report{"serves"});
    CHECK(trainers->reports == texts{"1 trains"});
    CHECK(rollouts->reports == texts{"1 serves"});
    // The viewers of a role that starts again see the new job alone.
    service->show("grpo/rollout_1", rollouts);
    caller again(*service);
    again.say(greeting_to("c", "grpo/rollout_1"));
    co_await time.sleep_until(time.now() + 1s);
    rollout.say(report{"late"});
    again.say(report{"serves again"});
    CHECK(rollouts->reports == texts{"1 serves", "1 serves again"});
  }
  co_await group.stop();
  service.reset();
  CHECK(trainers->server == nullptr);
  CHECK(rollouts->server == nullptr);
}

// ---- the node -----------------------------------------------------------------------------------

/// Welcomes the node, asks for reports, and hears them.
class server_channel final : public elastic::test::scripted_channel {
 public:
  server_channel(texts& heard, asio::any_io_executor executor)
      : scripted_channel(std::move(executor)), heard_(heard) {}

  void send(std::string message) override {
    const elastic::detail::rendezvous_request request =
        elastic::detail::parse_rendezvous_request(message);
    if (const auto* heard = std::get_if<report>(&request)) heard_.push_back(heard->text);
    const auto* greeting = std::get_if<hello>(&request);
    if (greeting == nullptr) return;
    CHECK(greeting->has_reports);
    answer(welcome{});
    answer(report_wanted{report_demand::changes});
  }

 private:
  texts& heard_;
};

class server_connector final : public elastic::detail::message_connector {
 public:
  task<std::shared_ptr<elastic::detail::message_channel>> connect() override {
    last = std::make_shared<server_channel>(heard, co_await asio::this_coro::executor);
    co_return last;
  }
  // A witness.
  task<std::shared_ptr<elastic::detail::message_channel>> connect_again() override {
    co_return std::make_shared<server_channel>(heard, co_await asio::this_coro::executor);
  }
  std::string name() const override { return "host0:29400"; }

  texts heard;
  std::shared_ptr<server_channel> last;
};

TIME_TEST("job roster: a node tells what is asked for, in little pieces and not too often",
          "[rendezvous]") {
  auto clock = std::shared_ptr<elastic::time_source>(&time, [](elastic::time_source*) {});
  const auto exchange = std::make_shared<noting_exchange>();
  const auto connector = std::make_shared<server_connector>();
  hello greeting = greeting_of("a", false);
  greeting.settings.keep_alive_interval = 5s;
  auto link = std::make_shared<rendezvous_link>(connector, greeting, 60s, clock, elastic::logger(),
                                                exchange);
  link->start(co_await asio::this_coro::executor, 10s);
  co_await time.sleep_until(time.now() + 1s);
  CHECK(exchange->demands == std::vector<report_demand>{report_demand::changes});
  exchange->to_tell = {"one", "two"};
  exchange->note();
  co_await time.sleep_until(time.now() + 10ms);
  CHECK(connector->heard == texts{"one", "two"});
  exchange->to_tell = {"three"};
  exchange->note();
  co_await time.sleep_until(time.now() + 10ms);
  CHECK(connector->heard.size() == 2);
  co_await time.sleep_until(time.now() + elastic::limits::node_report_pause);
  CHECK(connector->heard.back() == "three");
  // More than goes in one turn goes in several, and never more than is heard.
  exchange->to_tell.assign(40, "more");
  exchange->note();
  co_await time.sleep_until(time.now() + 1s);
  CHECK(connector->heard.size() > 3);
  CHECK(connector->heard.size() <= elastic::limits::heard_reports_per_second / 2);
  co_await time.sleep_until(time.now() + 1s);
  CHECK(connector->heard.size() == 43);
  // On another connection it is asked anew.
  connector->last->close();
  co_await time.sleep_until(time.now() + 1s);
  CHECK(exchange->demands.size() == 3);
  CHECK(exchange->demands[1] == report_demand::nothing);
  co_await link->stop();
  link.reset();
  CHECK_FALSE(exchange->note);
}

}  // namespace job_roster_tests
