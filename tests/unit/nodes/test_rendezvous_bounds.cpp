// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// How much memory of a rendezvous server nodes can use, and for how long.

#include <elastic/base/limits.hpp>
#include <elastic/net/detail/message_frame.hpp>
#include <elastic/nodes/detail/rendezvous_coordinator.hpp>
#include <elastic/nodes/detail/rendezvous_message.hpp>
#include <elastic/nodes/detail/rendezvous_service.hpp>
#include <support/catch.hpp>
#include <support/log_recorder.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace rendezvous_bounds_tests {

using namespace std::chrono_literals;
using namespace elastic::detail::rendezvous_messages;
using elastic::rendezvous_settings;
using elastic::time_point;
using elastic::detail::node_id;
using elastic::detail::rendezvous_answer;
using elastic::detail::rendezvous_coordinator;
using elastic::detail::rendezvous_request;
using elastic::detail::rendezvous_service;
using elastic::detail::rendezvous_messages::pause;
namespace limits = elastic::limits;

constexpr int max_nodes = 4;
constexpr std::size_t most_connected = 2 * max_nodes + limits::rendezvous_spare_nodes;
constexpr std::size_t most_gone = max_nodes + limits::rendezvous_gone_nodes;

/// The node of this number, and its first message.
node_id node_of(std::int64_t number) {
  return {fmt::format("host-{}", number), number, 0, {static_cast<std::uint64_t>(number), 1}};
}

hello greeting_of(std::int64_t number) {
  hello greeting;
  greeting.run_id = "job";
  greeting.node = node_of(number);
  greeting.name = fmt::format("node-{}", number);
  greeting.settings.min_nodes = 1;
  greeting.settings.max_nodes = max_nodes;
  return greeting;
}

/// A coordinator whose nodes are numbers: each has the connection of its own number.
class stage {
 public:
  rendezvous_coordinator job{"job"};
  time_point now{12h};

  void say(std::int64_t number, const rendezvous_request& request) {
    job.received(link_of(number), request, now);
  }
  void connect(std::int64_t number, std::optional<hello> greeting = std::nullopt) {
    job.connected(link_of(number), {});
    say(number, greeting ? *greeting : greeting_of(number));
  }
  void join(std::int64_t number) {
    connect(number);
    say(number, elastic::detail::rendezvous_messages::join{-1, 600s, {"a", 1, true}});
  }
  void cut(std::int64_t number) { job.disconnected(link_of(number), now); }
  bool knows(std::int64_t number) const { return job.knows(node_of(number)); }
  void pass(elastic::duration span) {
    now += span;
    job.advance(now);
  }

  /// The last answer to a node since the last call, if there is one.
  std::optional<rendezvous_answer> last_answer_to(std::int64_t number) {
    std::optional<rendezvous_answer> last;
    for (auto& answer : job.take_answers()) {
      if (answer.to == link_of(number)) last = std::move(answer.what);
    }
    return last;
  }
  std::string refusal_of(std::int64_t number) {
    const auto answer = last_answer_to(number);
    const auto* const refusal = answer ? std::get_if<refused>(&*answer) : nullptr;
    return refusal != nullptr ? refusal->why : "";
  }

 private:
  static rendezvous_coordinator::connection link_of(std::int64_t number) {
    return static_cast<rendezvous_coordinator::connection>(number);
  }
};

// ---- texts --------------------------------------------------------------------------------------

/// A text that JSON makes six times as long.
std::string costly(std::size_t bytes) { return std::string(bytes, '\x01'); }

TEST_CASE("rendezvous bounds: a text that is too long is refused, with the bound", "[rendezvous]") {
  struct sized_text {
    std::string field;
    std::size_t most;
    rendezvous_request request;
  };
  const auto with = [](auto change) {
    hello greeting = greeting_of(1);
    greeting.former = former_round{.server = "10.0.0.1"};
    change(greeting);
    return greeting;
  };
  const std::size_t one_more = GENERATE(0, 1);
  const auto text = [one_more](std::size_t most) { return std::string(most + one_more, 'a'); };
  const std::vector<sized_text> texts = {
      {"run_id", limits::run_id_bytes,
       with([&](hello& to) { to.run_id = text(limits::run_id_bytes); })},
      {"run_id", limits::run_id_bytes, witness{text(limits::run_id_bytes), node_of(1)}},
      {"host", limits::host_name_bytes,
       with([&](hello& to) { to.node.host = text(limits::host_name_bytes); })},
      {"server", limits::numeric_address_bytes,
       with([&](hello& to) { to.former->server = text(limits::numeric_address_bytes); })},
      {"address", limits::host_name_bytes,
       elastic::detail::rendezvous_messages::join{
           -1, 1s, {text(limits::host_name_bytes), 1, true}}},
      {"addresses", limits::node_addresses_bytes,
       elastic::detail::rendezvous_messages::join{
           -1,
           1s,
           {"a", 1, true},
           "10.0.0.1" + std::string(limits::node_addresses_bytes + one_more - 8, ' ')}},
      {"why", limits::pause_text_bytes, pause{text(limits::pause_text_bytes), false}},
      {"text", limits::node_report_bytes, report{text(limits::node_report_bytes)}},
  };
  for (const sized_text& entry : texts) {
    CAPTURE(entry.field, one_more);
    const std::string message = elastic::detail::to_text(entry.request);
    if (one_more == 0) {
      CHECK(elastic::detail::to_text(elastic::detail::parse_rendezvous_request(message)) ==
            message);
      continue;
    }
    try {
      elastic::detail::parse_rendezvous_request(message);
      FAIL_CHECK("was taken");
    } catch (const elastic::error& refusal) {
      CHECK(std::string(refusal.what()) ==
            fmt::format("a message of the rendezvous has \"{}\" of {} bytes; up to {} are taken",
                        entry.field, entry.most + 1, entry.most));
    }
  }
}

TEST_CASE("rendezvous bounds: a long reason is cut", "[rendezvous]") {
  // Cut where it is said, and where it is heard.
  const std::string letter = "\xc3\xbc";
  const std::string kept(limits::failure_text_bytes - 1, 'x');
  CHECK(elastic::detail::to_text(rendezvous_request(failed{1, kept + letter})) ==
        elastic::detail::to_text(rendezvous_request(failed{1, kept})));
  const std::string long_text(60'000, 'x');
  const auto heard = std::get<failed>(elastic::detail::parse_rendezvous_request(
      R"({"kind": "failed", "round": 1, "what": ")" + long_text + "\"}"));
  CHECK(heard.what == long_text.substr(0, limits::failure_text_bytes));
  const auto closing = std::get<close_job>(elastic::detail::parse_rendezvous_request(
      R"({"kind": "close", "end": "failed", "why": ")" + long_text + "\"}"));
  CHECK(closing.why == long_text.substr(0, limits::ending_text_bytes));
}

TEST_CASE("rendezvous bounds: whatever nodes say, each answer fits into a message",
          "[rendezvous]") {
  stage job;
  const auto say = [&job](std::int64_t number, const rendezvous_request& request) {
    job.say(number, elastic::detail::parse_rendezvous_request(elastic::detail::to_text(request)));
  };
  for (const std::int64_t number : {1, 2}) {
    hello greeting = greeting_of(number);
    greeting.node.host = costly(limits::host_name_bytes);
    greeting.settings.max_nodes = 2;
    greeting.former = former_round{.server = costly(limits::numeric_address_bytes)};
    for (std::size_t count = 0; count < limits::excluded_nodes; ++count) {
      greeting.excluded.push_back(
          {std::string(limits::node_name_bytes - 2, '"') + fmt::format("{:02}", count), 1h,
           std::string(limits::exclusion_reason_bytes, '"')});
    }
    job.job.connected(static_cast<std::uint64_t>(number), {});
    say(number, greeting);
    std::string addresses;
    const std::string address = "fd00:1111:2222:3333:4444:5555:6666:7777 ";
    while (addresses.size() + address.size() <= limits::node_addresses_bytes) addresses += address;
    say(number, elastic::detail::rendezvous_messages::join{
                    -1, 600s, {costly(limits::host_name_bytes), 1, true}, addresses});
  }
  // Until nothing of the former world can be left.
  for (int count = 0; count < 20 && !job.job.state().complete; ++count) {
    job.pass(4s);
    for (const std::int64_t number : {1, 2}) job.say(number, keep_alive{});
  }
  REQUIRE(job.job.state().complete);
  const std::int64_t round = job.job.state().round;
  say(1, failed{round, costly(60'000)});
  say(2, pause{costly(limits::pause_text_bytes), false});
  say(1, close_job{elastic::rendezvous_handler::job_end::failed, costly(60'000)});
  std::size_t kinds = 0;
  for (const auto& answer : job.job.take_answers()) {
    const std::string text = elastic::detail::to_text(answer.what);
    CHECK(text.size() <= limits::rendezvous_message_bytes);
    elastic::detail::parse_rendezvous_answer(text);
    kinds |= std::size_t{1} << answer.what.index();
  }
  const auto was_answered = [kinds](const rendezvous_answer& kind) {
    return (kinds >> kind.index() & 1) != 0;
  };
  for (const rendezvous_answer& kind :
       std::vector<rendezvous_answer>{welcome{}, peers{}, placed{}, changed{}, closed{}}) {
    CAPTURE(elastic::detail::to_text(kind));
    CHECK(was_answered(kind));
  }
}

// ---- nodes without a connection -----------------------------------------------------------------

TEST_CASE("rendezvous bounds: if too many nodes have gone, the one gone for longest is forgotten",
          "[rendezvous]") {
  stage job;
  job.join(1);
  constexpr std::int64_t first = 10;
  constexpr auto end = first + static_cast<std::int64_t>(most_gone);
  for (std::int64_t number = first; number < end; ++number) {
    job.connect(number);
    job.cut(number);
  }
  CHECK(job.knows(first));
  CHECK(job.job.size() == most_gone + 1);
  for (std::int64_t number = end; number < end + 1000; ++number) {
    job.connect(number);
    job.cut(number);
    CHECK(!job.knows(number - static_cast<std::int64_t>(most_gone)));
  }
  CHECK(job.job.size() == most_gone + 1);
  CHECK(job.knows(end + 999));
  CHECK(job.knows(1));
  // One that comes back is none of them.
  job.connect(end + 500);
  job.connect(2000);
  job.cut(2000);
  CHECK(job.job.size() == most_gone + 2);
}

TEST_CASE("rendezvous bounds: nodes with a place are forgotten last, and the others hear of it",
          "[rendezvous]") {
  stage job;
  for (std::int64_t number = 1; number <= max_nodes; ++number) job.join(number);
  REQUIRE(job.job.state().complete);
  // All of the round but one lose their connection for a moment, while others come and go.
  for (std::int64_t number = 2; number <= max_nodes; ++number) job.cut(number);
  for (std::int64_t number = 10; number < 1000; ++number) {
    job.connect(number);
    job.cut(number);
  }
  CHECK(job.job.size() == most_gone + 1);
  job.last_answer_to(1);
  for (std::int64_t number = 2; number <= max_nodes; ++number) CHECK(job.knows(number));
  job.pass(0s);
  CHECK_FALSE(job.last_answer_to(1));
}

TEST_CASE("rendezvous bounds: nodes that have lost one of two connections are counted, too",
          "[rendezvous]") {
  const bool open_it = GENERATE(false, true);
  CAPTURE(open_it);
  stage job;
  constexpr std::int64_t second = 10'000;
  for (std::int64_t number = 1; number < 1000; ++number) {
    hello greeting = greeting_of(number);
    greeting.settings.keep_alive_interval = std::chrono::hours(24 * 365);
    job.connect(number, greeting);
    if (open_it) {
      job.job.connected(static_cast<std::uint64_t>(second + number), {});
      job.say(second + number, witness{"job", node_of(number)});
    }
    job.cut(number);
  }
  CHECK(job.job.size() == most_gone);
  CHECK(job.job.take_dropped().size() == (open_it ? 999 - most_gone : 0));
}

// ---- nodes with a connection --------------------------------------------------------------------

TEST_CASE("rendezvous bounds: of too many nodes, those that never asked for a place go first",
          "[rendezvous]") {
  stage job;
  job.connect(1);
  for (std::int64_t number = 2; number <= max_nodes; ++number) job.join(number);
  for (std::int64_t number = 10; number < 2000; ++number) job.connect(number);
  CHECK(job.job.size() == most_connected);
  // The first to come is the first to go, and may come back.
  CHECK(!job.knows(1));
  CHECK(job.job.take_dropped().front() == 1);
  CHECK(!job.knows(10));
  CHECK(job.knows(1999));
  for (std::int64_t number = 2; number <= max_nodes; ++number) CHECK(job.knows(number));
  job.cut(1);
  job.join(1);
  CHECK(job.knows(1));
  CHECK(job.job.size() == most_connected);
}

TEST_CASE("rendezvous bounds: a node beyond the limit of connections is refused with the reason",
          "[rendezvous]") {
  stage job;
  constexpr auto most = static_cast<std::int64_t>(most_connected);
  for (std::int64_t number = 1; number <= most; ++number) job.join(number);
  CHECK(job.job.size() == most_connected);
  job.connect(most + 1);
  CHECK(job.refusal_of(most + 1) ==
        "the job 'job' has 264 nodes, the most to which its server keeps connections if max_nodes "
        "is 4: twice as many, plus 256");
  CHECK(job.job.size() == most_connected);
  // It takes up its own connection all the same, and there is room when one has left.
  job.connect(1);
  CHECK(job.knows(1));
  job.say(2, leave{});
  job.cut(2);
  job.connect(most + 2);
  CHECK(job.knows(most + 2));
}

TEST_CASE("rendezvous bounds: the bytes of a node are those of its texts", "[rendezvous]") {
  stage job;
  job.connect(1);
  const std::size_t before = job.job.bytes_of(1);
  CHECK(before > 0);
  CHECK(job.job.bytes_of(2) == 0);
  job.say(1, elastic::detail::rendezvous_messages::join{
                 -1, 1s, {std::string(200, 'a'), 1, true}, std::string(4000, ' ')});
  CHECK(job.job.bytes_of(1) >= before + 4200);
}

// ---- names and patience -------------------------------------------------------------------------

TEST_CASE("rendezvous bounds: no node can have the name of one of a former server",
          "[rendezvous]") {
  stage job;
  elastic::detail::round_register kept;
  kept.round = 3;
  kept.members = {7};
  const rendezvous_settings settings = greeting_of(1).settings;
  job.job.inherit(kept, 0, settings, job.now, job.now + 1h);
  // The node of the former round, and what holds up the next one until then.
  REQUIRE(job.job.state().participants.size() == 2);
  hello greeting = greeting_of(1);
  greeting.node = {"former", 0, 0, {7, 0}};
  job.connect(1, greeting);
  CHECK(job.job.state().participants.count(greeting.node) == 1);
  CHECK(job.job.state().participants.size() == 2);
  greeting.node.number = {0, 0};
  job.connect(2, greeting);
  job.say(2, leave{});
  CHECK(job.job.state().participants.size() == 2);
}

TEST_CASE("rendezvous bounds: the settings of the server's own agent count for its job",
          "[rendezvous]") {
  stage job;
  rendezvous_settings own = greeting_of(1).settings;
  own.keep_alive_interval = 2s;
  job.job.begin_with(own);
  hello greeting = greeting_of(1);
  greeting.settings.max_nodes = 100'000;
  job.connect(1, greeting);
  CHECK(job.refusal_of(1) ==
        "the job 'job' was started with 1:4 nodes, but this node with 1:100000: another job has "
        "this run id, or the numbers of nodes differ");
  greeting = greeting_of(2);
  greeting.settings.keep_alive_interval = std::chrono::hours(24 * 365);
  job.connect(2, greeting);
  const auto answer = job.last_answer_to(2);
  REQUIRE(answer);
  CHECK(std::get<welcome>(*answer).settings.silence() == own.silence());
  job.cut(2);
  job.pass(own.silence() + 1s);
  CHECK(job.job.is_idle());
}

TEST_CASE("rendezvous bounds: no node is missed for longer than the server's own agent allows",
          "[rendezvous]") {
  stage job;
  rendezvous_settings own;
  own.reconnect_grace = 1s;
  job.job.bound_patience(own);
  hello greeting = greeting_of(1);
  greeting.settings.keep_alive_interval = std::chrono::hours(24 * 365);
  greeting.settings.reconnect_grace = 24h;
  job.connect(1, greeting);
  const auto answer = job.last_answer_to(1);
  REQUIRE(answer);
  CHECK(std::get<welcome>(*answer).settings.silence() == own.silence());
  CHECK(std::get<welcome>(*answer).settings.reconnect_grace == 1s);
  // Shorter ones are the job's own.
  rendezvous_settings shorter;
  shorter.keep_alive_interval = 1s;
  shorter.reconnect_grace = 10ms;
  rendezvous_settings bounded = shorter;
  bounded.bound_patience(own);
  CHECK(bounded.keep_alive_interval == shorter.keep_alive_interval);
  CHECK(bounded.reconnect_grace == shorter.reconnect_grace);
}

// ---- the service --------------------------------------------------------------------------------

/// A client of the service: messages arrive at once in both directions.
class caller final : public elastic::detail::store_extension::client {
 public:
  explicit caller(rendezvous_service& service) : conversation_(service.begin(*this)) {}

  void send(std::string_view bytes) override { heard.append(bytes); }
  void hang_up() override { is_dropped = true; }
  asio::ip::tcp::endpoint here() const override { return {}; }
  asio::ip::tcp::endpoint there() const override { return {}; }

  /// Result: why the service ended the connection; empty: it did not.
  std::string say(const rendezvous_request& request) {
    std::string frame;
    elastic::detail::append_frame(frame, elastic::detail::to_text(request));
    try {
      conversation_->received(frame);
    } catch (const elastic::error& refusal) {
      return refusal.what();
    }
    return "";
  }
  std::string say_hello(const std::string& run_id, std::int64_t number) {
    hello greeting = greeting_of(number);
    greeting.run_id = run_id;
    return say(greeting);
  }
  std::size_t held() const { return conversation_->held(); }
  bool has_heard(const std::string& part) const { return heard.find(part) != std::string::npos; }

  std::string heard;
  bool is_dropped = false;

 private:
  std::unique_ptr<elastic::detail::store_extension::conversation> conversation_;
};

TEST_CASE("rendezvous bounds: a job beyond the limit of a server is refused with the reason",
          "[rendezvous]") {
  rendezvous_service service{elastic::logger()};
  service.set_own_job("own", greeting_of(1).settings);
  std::deque<caller> nodes;
  std::int64_t number = 0;
  for (std::size_t count = 0; count < limits::rendezvous_jobs; ++count) {
    nodes.emplace_back(service);
    REQUIRE(nodes.back().say_hello(fmt::format("job-{}", count), ++number).empty());
  }
  const std::string refusal = "1024 jobs meet at this server, which is the most";
  caller late(service);
  CHECK(late.say_hello("late", ++number) == refusal);
  CHECK(late.has_heard(refusal));
  // The own job has room whatever others do.
  caller own(service);
  CHECK(own.say_hello("own", ++number).empty());
  CHECK(own.has_heard("welcome"));
  // Jobs of which nobody is left make room for others.
  nodes[0].say(leave{});
  nodes[1].say(leave{});
  caller next(service);
  CHECK(next.say_hello("next", ++number).empty());
  CHECK(next.has_heard("welcome"));
}

TEST_CASE("rendezvous bounds: the nodes of all other jobs at an agent's server are limited",
          "[rendezvous]") {
  rendezvous_service service{elastic::logger()};
  rendezvous_settings own = greeting_of(1).settings;
  own.max_nodes = 4000;
  service.set_own_job("own", own);
  std::int64_t number = 0;
  std::deque<caller> nodes;
  const auto say_hello = [&](const std::string& run_id, int most_nodes) {
    hello greeting = greeting_of(++number);
    greeting.run_id = run_id;
    greeting.settings.max_nodes = most_nodes;
    nodes.emplace_back(service);
    return nodes.back().say(greeting);
  };
  for (std::size_t count = 0; count < limits::rendezvous_other_nodes; ++count) {
    REQUIRE(say_hello(count % 2 == 0 ? "one" : "two", 100'000).empty());
  }
  const std::string refusal =
      "the jobs beside its own at this server have 1024 nodes, which is the most";
  CHECK(say_hello("one", 100'000) == refusal);
  CHECK(nodes.back().has_heard(refusal));
  CHECK(say_hello("three", 100'000) == refusal);
  for (int count = 0; count < 2000; ++count) {
    REQUIRE(say_hello("own", 4000).empty());
  }
}

TEST_CASE("rendezvous bounds: a connection reports the memory of its node", "[rendezvous]") {
  rendezvous_service service{elastic::logger()};
  caller node(service);
  node.say_hello("job", 1);
  CHECK(node.held() < 2000);
  node.say(elastic::detail::rendezvous_messages::join{
      -1, 1s, {std::string(200, 'a'), 1, true}, std::string(4000, ' ')});
  CHECK(node.held() >= 4200);
}

TEST_CASE("rendezvous bounds: held answers wait at their connection, and end with it",
          "[rendezvous]") {
  const auto log = std::make_shared<elastic::test::log_recorder>();
  const auto job = std::make_shared<rendezvous_coordinator>("job");
  bool may_answer = false;
  rendezvous_service service(
      job, [&may_answer](const rendezvous_coordinator&) { return may_answer; }, log->log(),
      std::make_shared<elastic::system_time>());
  auto node = std::make_unique<caller>(service);
  node->say_hello("job", 1);
  CHECK(node->heard.empty());
  const std::size_t after_hello = node->held();
  constexpr int words = 1000;
  for (int count = 0; count < words; ++count) node->say(keep_alive{});
  CHECK(node->held() > after_hello + 10 * words);
  // Another one causes more answers than the server keeps for it.
  caller loud(service);
  loud.say_hello("job", 2);
  const close_job end{elastic::rendezvous_handler::job_end::failed,
                      std::string(limits::ending_text_bytes, 'x')};
  for (int count = 0; count < 100'000 && !loud.is_dropped; ++count) loud.say(end);
  CHECK(loud.is_dropped);
  CHECK(loud.held() < limits::rendezvous_held_bytes);
  CHECK(log->has("more than 8388608 bytes of answers wait"));
  // Those that come and go leave nothing.
  for (std::int64_t number = 10; number < 1000; ++number) {
    caller passing(service);
    passing.say_hello("job", number);
  }
  CHECK(job->size() == 2 + most_gone);
  CHECK(job->take_answers().empty());
  caller leaving(service);
  leaving.say_hello("job", 3);
  leaving.say(leave{});
  CHECK(!leaving.is_dropped);
  may_answer = true;
  service.speak();
  const std::size_t welcome_at = node->heard.find("welcome");
  CHECK(welcome_at < node->heard.find("alive"));
  CHECK(leaving.has_heard("welcome"));
  CHECK(leaving.is_dropped);
  CHECK(loud.heard.empty());
  CHECK(node->held() <= after_hello);
  // From now on answers go at once.
  node->heard.clear();
  node->say(keep_alive{});
  CHECK(node->has_heard("alive"));
}

}  // namespace rendezvous_bounds_tests
