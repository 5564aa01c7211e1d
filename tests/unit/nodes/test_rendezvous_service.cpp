// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/nodes/detail/rendezvous_service.hpp>

#include <elastic/base/task_group.hpp>
#include <elastic/net/detail/message_frame.hpp>
#include <elastic/nodes/detail/rendezvous_message.hpp>
#include <support/catch.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

namespace rendezvous_service_tests {

using namespace std::chrono_literals;
using namespace elastic::detail::rendezvous_messages;
using elastic::detail::rendezvous_request;
using elastic::test::contains_text;

// A client of the service: messages in both directions arrive at once.
class caller final : public elastic::detail::store_extension::client {
 public:
  explicit caller(elastic::detail::rendezvous_service& service)
      : conversation_(service.begin(*this)) {}

  void send(std::string_view bytes) override { heard.append(bytes); }
  void hang_up() override { is_dropped = true; }
  asio::ip::tcp::endpoint here() const override { return {}; }
  asio::ip::tcp::endpoint there() const override { return {}; }

  void say(const rendezvous_request& request) {
    std::string frame;
    elastic::detail::append_frame(frame, elastic::detail::to_text(request));
    conversation_->received(frame);
  }
  void hello_of(const std::string& run_id) { say(greeting(run_id)); }

  static hello greeting(const std::string& run_id) {
    hello greeting;
    greeting.run_id = run_id;
    greeting.node = {"host-" + run_id, 1, 0};
    greeting.name = "node0";
    greeting.settings.min_nodes = greeting.settings.max_nodes = 1;
    return greeting;
  }

  bool has_heard(const std::string& kind) const {
    return heard.find("\"" + kind + "\"") != std::string::npos;
  }

  std::string heard;
  bool is_dropped = false;

 private:
  std::unique_ptr<elastic::detail::store_extension::conversation> conversation_;
};

TEST_CASE("rendezvous service: a connection outlives the job that it spoke of", "[rendezvous]") {
  // Refused as one of another version, or as one that never says that it lives; or its node has
  // left, and it is still there.
  const std::string how = GENERATE("version", "keep-alive", "left");
  const bool speaks_on = GENERATE(true, false);
  INFO(how);
  elastic::detail::rendezvous_service service{elastic::logger()};
  auto first = std::make_unique<caller>(service);
  hello greeting = caller::greeting("a");
  if (how == "version") greeting.version = 1;
  if (how == "keep-alive") greeting.settings.keep_alive_interval = 0s;
  first->say(greeting);
  if (how == "left") first->say(leave{});
  CHECK(first->has_heard("refused") == (how != "left"));
  // The job of the first has nobody in it, and is forgotten for this one.
  caller second(service);
  second.hello_of("b");
  CHECK(second.has_heard("welcome"));
  if (speaks_on) {
    first->heard.clear();
    first->hello_of("a");
    CHECK(first->heard.empty());
    CHECK(first->is_dropped);
    // There is one job of that name all the same.
    caller third(service);
    third.hello_of("a");
    third.say(join{-1, 60s, {}});
    CHECK(third.has_heard("placed"));
  }
  first.reset();
  second.say(join{-1, 60s, {}});
  CHECK(second.has_heard("placed"));
}

TEST_CASE("rendezvous service: roles of one job are compared by their job file", "[rendezvous]") {
  const std::string run_id = GENERATE("grpo/learner", "grpo/trainer_1", "sft/learner", "grpo");
  CAPTURE(run_id);
  const bool is_of_job = run_id.starts_with("grpo/");
  elastic::detail::rendezvous_service service{elastic::logger()};
  const auto greeting_with = [](const std::string& of, const std::string& fingerprint) {
    hello greeting = caller::greeting(of);
    greeting.fingerprint = fingerprint;
    return greeting;
  };
  auto first = std::make_unique<caller>(service);
  first->say(greeting_with("grpo/trainer", "nodes=2 role.trainer=1"));
  CHECK(first->has_heard("welcome"));
  for (const std::string same : {"", "role.trainer=1 nodes=2"}) {
    caller other(service);
    other.say(greeting_with(run_id, same));
    CHECK(other.has_heard("welcome"));
    other.say(leave{});
  }
  const hello differing = greeting_with(run_id, "nodes=2 role.learner=1");
  caller second(service);
  if (is_of_job) {
    const std::string why = "the job 'grpo/trainer' was started with a different job file than "
                            "this node: they differ in role.trainer, role.learner";
    CHECK_THROWS_WITH(second.say(differing), contains_text(why));
    CHECK_THAT(second.heard, contains_text(why));
  } else {
    second.say(differing);
    CHECK(second.has_heard("welcome"));
  }
  // Where nobody is left, a job may be begun with another file.
  first->say(leave{});
  caller third(service);
  third.say(differing);
  CHECK(third.has_heard("welcome"));
}

/// A node that waits for another one of its job.
std::unique_ptr<caller> waiter(elastic::detail::rendezvous_service& service,
                               const std::string& run_id, const std::string& host = "host") {
  auto made = std::make_unique<caller>(service);
  hello greeting = caller::greeting(run_id);
  greeting.node.host = greeting.name = host;
  greeting.settings.min_nodes = greeting.settings.max_nodes = 2;
  greeting.settings.keep_alive_interval = 600s;
  made->say(greeting);
  made->say(join{-1, 600s, {}});
  return made;
}

TIME_TEST("rendezvous service: jobs that wait for nodes at one server are told of each other",
          "[rendezvous]") {
  auto clock = std::shared_ptr<elastic::time_source>(&time, [](elastic::time_source*) {});
  auto service = std::make_shared<elastic::detail::rendezvous_service>(elastic::logger(), clock);
  elastic::task_group group(time.context().get_executor());
  group.spawn(service->run());
  {
    const auto first = waiter(*service, "train");
    co_await time.sleep_until(time.now() + 10s);
    const auto second = waiter(*service, "tra\x1bin2");
    co_await time.sleep_until(time.now() + 29s);
    CHECK_FALSE(first->has_heard("on_hold"));
    CHECK_FALSE(second->has_heard("on_hold"));
    co_await time.sleep_until(time.now() + 2s);
    CHECK_THAT(first->heard, contains_text("another job, 'tra\\\\x1bin2', waits for nodes at the "
                                           "same endpoint"));
    CHECK_THAT(second->heard, contains_text("another job, 'train', waits"));
    // Each is told once, and one that comes later for itself.
    first->heard.clear();
    const auto third = waiter(*service, "third");
    co_await time.sleep_until(time.now() + 31s);
    CHECK_FALSE(first->has_heard("on_hold"));
    CHECK(third->has_heard("on_hold"));
  }
  co_await group.stop();
}

TIME_TEST("rendezvous service: a job that has its nodes is nobody's hindrance", "[rendezvous]") {
  auto clock = std::shared_ptr<elastic::time_source>(&time, [](elastic::time_source*) {});
  auto service = std::make_shared<elastic::detail::rendezvous_service>(elastic::logger(), clock);
  elastic::task_group group(time.context().get_executor());
  group.spawn(service->run());
  {
    const auto lone = waiter(*service, "lone");
    const auto one = waiter(*service, "full", "host1");
    co_await time.sleep_until(time.now() + 20s);
    const auto other = waiter(*service, "full", "host2");
    CHECK(one->has_heard("placed"));
    co_await time.sleep_until(time.now() + 60s);
    CHECK_FALSE(lone->has_heard("on_hold"));
    CHECK_FALSE(one->has_heard("on_hold"));
  }
  co_await group.stop();
}

}  // namespace rendezvous_service_tests
