// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/nodes/detail/leader_connector.hpp>

#include <elastic/base/error.hpp>
#include <elastic/nodes/detail/candidate_message.hpp>
#include <support/catch.hpp>
#include <support/manual_time.hpp>
#include <support/scripted_channel.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace leader_connector_tests {

using namespace std::chrono_literals;
using elastic::task;
using elastic::detail::leader_connector;
using elastic::detail::message_channel;
using elastic::test::manual_time;
using elastic::test::scripted_channel;

/// A candidate that says that it leads, while it is reached.
class claimant final : public elastic::detail::message_connector {
 public:
  explicit claimant(int place) : place_(place) {}

  /// None: nobody reaches it.
  std::optional<std::int64_t> term;

  std::string name() const override { return place_ == 0 ? "claimant" : "other claimant"; }
  task<std::shared_ptr<message_channel>> connect() override {
    if (!term) throw elastic::error(elastic::errc::connection_failed, "nobody is there");
    auto executor = co_await asio::this_coro::executor;
    co_return std::make_shared<channel>(executor, place_, *term);
  }

 private:
  class channel final : public scripted_channel {
   public:
    channel(asio::any_io_executor executor, int place, std::int64_t term)
        : scripted_channel(std::move(executor)), place_(place), term_(term) {}
    void send(std::string) override {
      answer(elastic::detail::candidate_text(elastic::detail::candidate_answer(
          elastic::detail::candidate_messages::leads{term_, place_})));
    }

   private:
    int place_;
    std::int64_t term_;
  };

  int place_;
};

TIME_TEST("leader connector: one that led before the last one is not believed", "[rendezvous]") {
  const auto earlier = std::make_shared<claimant>(0);
  const auto later = std::make_shared<claimant>(1);
  leader_connector::options options;
  options.candidates = {earlier, later};
  options.run_id = "job";
  options.list = "a:1,b:1";
  options.interval = 5s;
  options.time = {&time, [](elastic::time_source*) {}};
  leader_connector way(std::move(options));
  later->term = 9;
  CHECK(way.connected_to() == "a:1,b:1");
  co_await way.connect();
  CHECK(way.leader() == 1);
  CHECK(way.connected_to() == "other claimant");

  later->term.reset();
  earlier->term = 8;
  const auto none = co_await with_deadline(time, time.now() + 20s, way.connect());
  CHECK_FALSE(none);
  earlier->term = 10;
  const auto channel = co_await with_deadline(time, time.now() + 20s, way.connect());
  CHECK(channel);
  CHECK(way.leader() == 0);
}

/// A candidate that waits for others.
class waiter final : public elastic::detail::message_connector {
 public:
  std::string name() const override { return "waiter"; }
  task<std::shared_ptr<message_channel>> connect() override {
    auto executor = co_await asio::this_coro::executor;
    co_return std::make_shared<channel>(executor);
  }

 private:
  class channel final : public scripted_channel {
   public:
    using scripted_channel::scripted_channel;
    void send(std::string) override {
      answer(elastic::detail::candidate_text(
          elastic::detail::candidate_answer(elastic::detail::candidate_messages::wait{1})));
    }
  };
};

/// An address at which nothing answers.
class nowhere final : public elastic::detail::message_connector {
 public:
  explicit nowhere(std::shared_ptr<elastic::time_source> time) : time_(std::move(time)) {}
  std::string name() const override { return "nowhere"; }
  task<std::shared_ptr<message_channel>> connect() override {
    co_await time_->sleep_until(elastic::time_point::max());
    co_return nullptr;
  }

 private:
  std::shared_ptr<elastic::time_source> time_;
};

TIME_TEST("leader connector: it tells why each candidate does not say who leads", "[rendezvous]") {
  leader_connector::options options;
  options.time = {&time, [](elastic::time_source*) {}};
  options.candidates = {std::make_shared<claimant>(0), std::make_shared<waiter>(),
                        std::make_shared<nowhere>(options.time)};
  options.run_id = "job";
  options.list = "a:1,b:1,c:1";
  options.interval = 5s;
  leader_connector way(std::move(options));
  CHECK(way.problem().empty());
  const auto none = co_await with_deadline(time, time.now() + 20s, way.connect());
  CHECK_FALSE(none);
  CHECK(way.problem() ==
        "claimant: nobody is there; waiter: it knows of no leader yet; "
        "nowhere: no answer");
}

}  // namespace leader_connector_tests
