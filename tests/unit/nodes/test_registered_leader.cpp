// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/nodes/detail/registered_leader.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/random.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/detail/message_frame.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/nodes/detail/candidate_message.hpp>
#include <elastic/nodes/detail/leader_registry.hpp>
#include <elastic/nodes/detail/rendezvous_message.hpp>
#include <elastic/rendezvous/rendezvous_settings.hpp>
#include <elastic/testing/simulated_network.hpp>
#include <support/catch.hpp>
#include <support/keys_network.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace registered_leader_tests {

using namespace std::chrono_literals;
using elastic::task;
using elastic::detail::leader_registry;
using elastic::detail::registered_leader;
using elastic::test::manual_time;
using elastic::testing::simulated_network;
namespace messages = elastic::detail::rendezvous_messages;

/// A registry, and the agents that lead a job there, without nodes.
class stage {
 public:
  explicit stage(manual_time& clock) : time_(clock), keys(clock, random_) {}

  /// What is under way ends with it.
  task<void> end() {
    for (const auto& cancel : cancels_) cancel->emit(asio::cancellation_type::terminal);
    keys.end();
    co_await pass(10s);
  }

  /// An agent that stands for the office.
  task<std::shared_ptr<registered_leader>> try_to_lead(int node) {
    registered_leader::options options;
    options.run_id = "job";
    options.node = static_cast<std::uint64_t>(node);
    options.lease = 80s;
    options.settings.min_nodes = options.settings.max_nodes = 2;
    options.registry = registry(node);
    options.time = std::shared_ptr<elastic::time_source>(std::shared_ptr<void>(), &time_);
    auto leader = std::make_shared<registered_leader>(std::move(options));
    cancels_.push_back(std::make_shared<asio::cancellation_signal>());
    asio::co_spawn(
        time_.context(), leader->run(),
        asio::bind_cancellation_slot(cancels_.back()->slot(), [leader](std::exception_ptr) {}));
    registered_leader::candidacy wish;
    wish.address = elastic::parse_endpoint("node:1", 0);
    wish.former = co_await registry(node)->look();
    if (wish.former.record) wish.least_term = wish.former.record->kept.term + 1;
    leader->try_to_lead(std::move(wish));
    co_return leader;
  }

  task<std::uint64_t> leading_node() {
    const leader_registry::sight seen = co_await registry(0)->look();
    co_return seen.record ? seen.record->agent : 0;
  }

  /// The password by which the leader knows the nodes of its job.
  task<std::string> password() {
    const leader_registry::sight seen = co_await registry(0)->look();
    co_return seen.record ? seen.record->password : std::string();
  }

  task<void> pass(elastic::duration span) { co_await time_.sleep_until(time_.now() + span); }

 private:
  std::shared_ptr<leader_registry> registry(int node) {
    return std::make_shared<leader_registry>(keys.keys_of(node), std::nullopt);
  }

  manual_time& time_;
  elastic::detail::random_source random_{1};
  std::vector<std::shared_ptr<asio::cancellation_signal>> cancels_;

 public:
  elastic::test::keys_network keys;
};

TIME_TEST("registered leader: a job that goes on asks the registry once in 5 s at most",
          "[rendezvous]") {
  stage set(time);
  const auto leader = co_await set.try_to_lead(1);
  co_await set.pass(1s);
  const std::uint64_t leading = co_await set.leading_node();
  CHECK(leading == 1);
  const std::uint64_t before = set.keys.requests();
  co_await set.pass(1000s);
  const std::uint64_t requests = set.keys.requests() - before;
  CHECK(requests <= 200);
  CHECK(requests >= 50);
  CHECK_FALSE(leader->is_over());
  co_await set.end();
}

TIME_TEST("registered leader: one that was replaced sees it at once, also while it writes",
          "[rendezvous]") {
  stage set(time);
  const auto leader = co_await set.try_to_lead(1);
  // Its write is due every 20 s.
  const auto after = GENERATE(1s, 10s, 20s, 40s);
  co_await set.pass(after);
  const auto next = co_await set.try_to_lead(2);
  co_await set.pass(1s);
  const std::uint64_t leading = co_await set.leading_node();
  CHECK(leading == 2);
  CHECK(leader->is_over());
  CHECK_FALSE(next->is_over());
  co_await set.end();
}

TIME_TEST("registered leader: one that cannot write leads for its lease from its last write on",
          "[rendezvous]") {
  stage set(time);
  const elastic::time_point begin = time.now();
  const auto leader = co_await set.try_to_lead(1);
  // It has written at 0 and 20 s.
  co_await set.pass(30s);
  set.keys.part(1);
  co_await time.sleep_until(begin + 98s);
  CHECK_FALSE(leader->is_over());
  co_await time.sleep_until(begin + 102s);
  CHECK(leader->is_over());
  co_await set.end();
}

TIME_TEST("registered leader: one that can write again before its lease is over goes on",
          "[rendezvous]") {
  stage set(time);
  const auto leader = co_await set.try_to_lead(1);
  co_await set.pass(30s);
  set.keys.part(1);
  co_await set.pass(60s);
  set.keys.mend(1);
  co_await set.pass(1000s);
  CHECK_FALSE(leader->is_over());
  co_await set.end();
}

// ---- what nodes are told ------------------------------------------------------------------------

/// A node of the job, whose messages arrive at once in both directions.
class caller final : public elastic::detail::store_extension::client {
 public:
  caller(registered_leader& leader, std::uint64_t number, const std::string& password)
      : conversation_(leader.begin(*this)) {
    elastic::detail::candidate_messages::seek question;
    question.run_id = "job";
    question.list = password;
    say_text(elastic::detail::candidate_text(elastic::detail::candidate_request(question)));
    messages::hello greeting;
    greeting.run_id = "job";
    greeting.node = {"host", static_cast<std::int64_t>(number), 0, {number, 0}};
    greeting.name = fmt::format("node{}", number);
    greeting.settings.min_nodes = greeting.settings.max_nodes = 2;
    say(greeting);
  }

  void send(std::string_view bytes) override { heard_.append(bytes); }
  void hang_up() override {}
  asio::ip::tcp::endpoint here() const override { return {}; }
  asio::ip::tcp::endpoint there() const override { return {}; }

  void say(const elastic::detail::rendezvous_request& request) {
    say_text(elastic::detail::to_text(request));
  }
  void ask_join(std::int64_t after) { say(messages::join{after, 600s, {"a", 1, true}}); }

  /// Whether it has been told of a message of this kind since the last such question.
  bool has_heard(const std::string& kind) {
    const bool has = heard_.find(fmt::format("\"kind\": \"{}\"", kind)) != std::string::npos;
    heard_.clear();
    return has;
  }

 private:
  void say_text(const std::string& text) {
    std::string frame;
    elastic::detail::append_frame(frame, text);
    conversation_->received(frame);
  }

  std::string heard_;
  std::unique_ptr<elastic::detail::store_extension::conversation> conversation_;
};

TIME_TEST("registered leader: a write that hangs holds back the next round, and not a failure",
          "[rendezvous]") {
  stage set(time);
  const auto leader = co_await set.try_to_lead(1);
  co_await set.pass(1s);
  const std::string password = co_await set.password();
  {
    caller first(*leader, 1, password);
    caller second(*leader, 2, password);
    for (caller* const node : {&first, &second}) node->ask_join(-1);
    co_await set.pass(1s);
    for (caller* const node : {&first, &second}) REQUIRE(node->has_heard("placed"));
    // The registry has got the write of the failure, or has not yet.
    const auto head_start = GENERATE(0ms, 1ms, 200ms);
    if (head_start == 0ms) set.keys.part(1);
    first.say(messages::failed{0, "rank 0 ended: SIGKILL"});
    for (caller* const node : {&first, &second}) CHECK(node->has_heard("changed"));
    co_await set.pass(head_start);
    set.keys.part(1);
    for (caller* const node : {&first, &second}) node->ask_join(0);
    for (int seconds = 0; seconds < 30; ++seconds) {
      co_await set.pass(1s);
      for (caller* const node : {&first, &second}) {
        node->say(messages::keep_alive{});
        CHECK_FALSE(node->has_heard("placed"));
      }
    }
    set.keys.mend(1);
    co_await set.pass(1s);
    for (caller* const node : {&first, &second}) CHECK(node->has_heard("placed"));
  }
  co_await set.end();
}

}  // namespace registered_leader_tests
