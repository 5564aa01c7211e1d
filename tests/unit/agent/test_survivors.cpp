// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/agent/detail/rounds/survivors.hpp>

#include <elastic/control/worker_channels.hpp>
#include <support/catch.hpp>
#include <support/channel_peer.hpp>
#include <support/log_recorder.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace survivors_tests {

using namespace std::chrono_literals;
using elastic::duration;
using elastic::log_level;
using elastic::task;
using elastic::worker_channels;
using elastic::detail::survivors;
using elastic::detail::survivors_options;
using elastic::test::channel_peer;
using elastic::test::log_recorder;
using elastic::test::manual_time;

/// The survivors of a node with three workers of rank 4 to 6, in epoch 2, and their ends of the
/// control channel.
struct node {
  explicit node(manual_time& clock) : time(clock) {
    worker_channels::options channel_options;
    channel_options.time = shared_clock();
    channel_options.log = log->log();
    channel_options.message = [this](int local_rank, const auto& message) {
      mine->take(local_rank, message);
    };
    channels = std::make_unique<worker_channels>(time.context().get_executor(), channel_options);
    channels->open(3);
    survivors_options options;
    options.is_on = true;
    options.timeout = 10s;
    options.time = shared_clock();
    options.log = log->log();
    options.kill = [this](std::size_t slot) { killed.push_back(slot); };
    mine = std::make_unique<survivors>(time.context().get_executor(), *channels, options);
    begin(2, false);
  }

  std::shared_ptr<elastic::time_source> shared_clock() const {
    // The test owns the clock.
    return {std::shared_ptr<void>(), &time};
  }

  void begin(std::int64_t epoch, bool has_survivors) {
    mine->begin(epoch, 3, has_survivors);
    for (std::size_t slot = 0; slot < 3; ++slot) mine->started(slot, 4 + static_cast<int>(slot));
  }

  std::string address() const {
    for (const auto& [name, value] : channels->environment()) {
      if (name == "ELASTIC_CONTROL") return value;
    }
    return {};
  }

  /// Each of them connects, and says that it can survive.
  void connect_all() {
    for (int local_rank = 0; local_rank < 3; ++local_rank) connect(local_rank);
  }
  void connect(int local_rank) {
    auto peer = std::make_unique<channel_peer>(address(), local_rank);
    peer->say(R"({"kind":"survive"})");
    peers.push_back(std::move(peer));
  }
  void say_ready(std::size_t peer, int epoch = 2) {
    peers.at(peer)->say(fmt::format(R"({{"kind":"ready","epoch":{}}})", epoch));
  }
  void ask(std::size_t peer, int epoch = 2) {
    peers.at(peer)->say(fmt::format(R"({{"kind":"ask","epoch":{},"reason":"reset"}})", epoch));
  }

  /// Has them leave, beside the test.
  void leave(bool is_pause = false, duration most = duration::max()) {
    obstacle.reset();
    asio::co_spawn(time.context(), mine->leave(is_pause, most),
                   [this](std::exception_ptr failure, std::string result) {
                     if (failure) std::rethrow_exception(failure);
                     obstacle = std::move(result);
                   });
  }

  /// Answers them, beside the test, until the signal comes.
  void answer() {
    asio::co_spawn(time.context(), mine->answer(),
                   asio::bind_cancellation_slot(answers.slot(), [](std::exception_ptr) {}));
  }

  task<void> pass(duration span) { return time.sleep_until(time.now() + span); }

  task<void> close() {
    answers.emit(asio::cancellation_type::terminal);
    co_await channels->close();
  }

  manual_time& time;
  std::shared_ptr<log_recorder> log = std::make_shared<log_recorder>();
  std::unique_ptr<worker_channels> channels;
  std::unique_ptr<survivors> mine;
  std::vector<std::unique_ptr<channel_peer>> peers;
  std::vector<std::size_t> killed;
  asio::cancellation_signal answers;
  /// What `leave` said; none: it waits.
  std::optional<std::string> obstacle;
};

TIME_TEST("survivors: all that live leave, and can be told of the next epoch", "[agent]") {
  node here(time);
  here.connect_all();
  co_await here.pass(1ms);
  CHECK(here.mine->obstacle().empty());
  here.mine->ended(1, false);
  here.leave();
  co_await here.pass(1ms);
  CHECK(here.peers[0]->hears(R"("kind": "change")"));
  CHECK(here.peers[2]->hears(R"("within": 60)"));
  CHECK_FALSE(here.obstacle);
  CHECK(here.mine->is_inside(0));
  CHECK_FALSE(here.mine->is_inside(1));
  here.say_ready(0);
  co_await here.pass(1ms);
  CHECK_FALSE(here.obstacle);
  here.say_ready(2);
  co_await here.pass(1ms);
  CHECK(here.obstacle == "");
  CHECK(here.mine->ready() == 2);
  CHECK_FALSE(here.mine->is_inside(0));
  CHECK_FALSE(here.mine->is_inside(2));
  elastic::control_messages::rejoin next;
  next.epoch = 3;
  next.environment["RANK"] = "4";
  CHECK(here.mine->rejoin(0, 4, next));
  co_await here.pass(1ms);
  CHECK(here.peers[0]->hears(R"("kind": "rejoin")"));
  CHECK_FALSE(here.mine->is_ready(0));
  CHECK(here.mine->is_ready(2));
  CHECK(here.mine->is_inside(0));
  CHECK_FALSE(here.mine->is_inside(2));
  co_await here.close();
}

TIME_TEST("survivors: one that says nothing ends the wait at its deadline, with its name",
          "[agent]") {
  node here(time);
  here.connect_all();
  co_await here.pass(1ms);
  here.mine->ended(1, false);
  here.leave();
  here.say_ready(0);
  co_await here.pass(59'999ms);
  CHECK_FALSE(here.obstacle);
  co_await here.pass(2ms);
  CHECK(here.obstacle == "rank 6 did not leave its epoch in time");
  co_await here.close();
}

TIME_TEST("survivors: one that was in a collective has less time, from then on", "[agent]") {
  node here(time);
  here.connect_all();
  co_await here.pass(1ms);
  here.mine->ended(1, false);
  here.leave();
  here.ask(0);
  here.say_ready(0);
  // Rank 6 is in an evaluation, and then in a collective, which it does not leave.
  co_await here.pass(40s);
  here.ask(2);
  co_await here.pass(1s);
  here.ask(2);
  co_await here.pass(8'998ms);
  CHECK_FALSE(here.obstacle);
  co_await here.pass(3ms);
  CHECK(here.obstacle == "rank 6 did not leave its epoch in time");
  co_await here.close();
}

TIME_TEST("survivors: one whose work has failed before the end gets less time, from the end on",
          "[agent]") {
  node here(time);
  here.connect_all();
  here.answer();
  co_await here.pass(1ms);
  here.ask(0);
  here.ask(2, 1);  // of another epoch
  co_await here.pass(5s);
  here.mine->ended(1, false);
  here.leave();
  co_await here.pass(1ms);
  CHECK(here.peers[0]->hears(R"("within": 10)"));
  CHECK(here.peers[2]->hears(R"("within": 60)"));
  co_await here.pass(9'998ms);
  CHECK_FALSE(here.obstacle);
  co_await here.pass(2ms);
  CHECK(here.obstacle == "rank 4 did not leave its epoch in time");
  co_await here.close();
}

TIME_TEST("survivors: one that an error took out of its epoch is not inside while it asks",
          "[agent]") {
  node here(time);
  here.connect_all();
  here.answer();
  co_await here.pass(1ms);
  here.ask(0);
  co_await here.pass(1ms);
  CHECK_FALSE(here.mine->is_inside(0));
  CHECK(here.mine->is_inside(1));
  // Its failure is its own, and it may do anything then.
  co_await here.pass(10s);
  CHECK(here.peers[0]->hears("no_change"));
  CHECK(here.mine->is_inside(0));
  // One that is told, and asks then, may be in a collective.
  here.leave();
  co_await here.pass(1ms);
  here.ask(2);
  co_await here.pass(1ms);
  CHECK(here.mine->is_inside(2));
  for (const std::size_t peer : {0, 1, 2}) here.say_ready(peer);
  co_await here.pass(1ms);
  CHECK(here.obstacle == "");
  co_await here.close();
}

TIME_TEST("survivors: those still inside at the fence are told of it, and then waited for",
          "[agent]") {
  node here(time);
  here.connect_all();
  here.answer();
  co_await here.pass(1ms);
  here.ask(0);
  co_await here.pass(1ms);
  here.leave(false, 2s);
  co_await here.pass(1ms);
  CHECK(here.peers[0]->hears(R"("within": 10)"));
  for (const std::size_t peer : {1, 2}) CHECK(here.peers[peer]->hears(R"("within": 2)"));
  here.say_ready(1);
  co_await here.pass(3s);
  CHECK_FALSE(here.obstacle);
  CHECK(here.mine->is_inside(2));
  here.mine->ended(2, false);
  co_await here.pass(1ms);
  CHECK_FALSE(here.obstacle);
  here.say_ready(0);
  co_await here.pass(1ms);
  CHECK(here.obstacle == "");
  CHECK(here.mine->ready() == 2);
  co_await here.close();
}

TIME_TEST("survivors: one that dies, or whose connection ends, while it leaves", "[agent]") {
  node here(time);
  here.connect_all();
  co_await here.pass(1ms);
  here.mine->ended(1, false);
  here.leave();
  here.say_ready(0);
  co_await here.pass(1s);
  // The end of its connection alone decides nothing, since its own end may follow.
  here.peers[2]->close();
  co_await here.pass(1s);
  CHECK_FALSE(here.obstacle);
  here.mine->ended(2, false);
  co_await here.pass(1ms);
  CHECK(here.obstacle == "");
  CHECK(here.mine->ready() == 1);
  // And one that lives on without a connection is not told of an epoch.
  here.begin(3, true);
  here.leave();
  co_await here.pass(61s);
  CHECK(here.obstacle);
  co_await here.close();
}

TIME_TEST("survivors: why none can stay", "[agent]") {
  node here(time);
  here.connect(0);
  here.connect(1);
  co_await here.pass(1ms);
  CHECK(here.mine->obstacle() == "rank 6 has not said that it can rejoin");
  here.connect(2);
  co_await here.pass(1ms);
  CHECK(here.mine->obstacle().empty());
  here.leave(true);
  co_await here.pass(1ms);
  CHECK(here.obstacle == "the job pauses");
  here.peers[1]->say(R"({"kind":"finished","epoch":2})");
  co_await here.pass(1ms);
  CHECK(here.mine->obstacle() == "rank 5 has finished its work");
  co_await here.close();
}

TIME_TEST("survivors: where one has withdrawn none can stay, also after its end", "[agent]") {
  node here(time);
  here.connect_all();
  here.peers[1]->say(R"({"kind":"withdraw","reason":"its part is too large"})");
  co_await here.pass(1ms);
  CHECK(here.mine->obstacle() == "rank 5: its part is too large");
  here.mine->ended(1, false);
  here.leave();
  co_await here.pass(1ms);
  CHECK(here.obstacle == "rank 5: its part is too large");
  // The process that takes its place has not.
  here.mine->started(1, 5);
  co_await here.pass(1ms);
  CHECK(here.mine->obstacle() == "rank 5 has not said that it can rejoin");
  co_await here.close();
}

TIME_TEST("survivors: what is said of another epoch does not count", "[agent]") {
  node here(time);
  here.connect_all();
  co_await here.pass(1ms);
  here.say_ready(0, 1);
  here.say_ready(1, 3);
  here.peers[2]->say(R"({"kind":"finished","epoch":1})");
  co_await here.pass(1ms);
  CHECK(here.mine->ready() == 0);
  CHECK(here.mine->obstacle().empty());
  co_await here.close();
}

TIME_TEST("survivors: a question is answered by a change, or by the end of the time", "[agent]") {
  node here(time);
  here.connect_all();
  here.answer();
  co_await here.pass(1ms);
  here.ask(0);
  co_await here.pass(9s);
  CHECK_FALSE(here.peers[0]->hears("_change"));
  here.ask(1);
  co_await here.pass(1002ms);
  CHECK(here.peers[0]->hears(R"("kind": "no_change")"));
  CHECK_FALSE(here.peers[1]->hears("change"));
  here.leave();
  co_await here.pass(1ms);
  CHECK(here.peers[1]->hears(R"("kind": "change")"));
  for (const std::size_t peer : {0, 1, 2}) here.say_ready(peer);
  co_await here.pass(1ms);
  CHECK(here.obstacle == "");
  co_await here.close();
}

TIME_TEST("survivors: after one has finished, a question is answered at once", "[agent]") {
  node here(time);
  here.connect_all();
  here.answer();
  co_await here.pass(1ms);
  here.peers[2]->say(R"({"kind":"finished","epoch":2})");
  here.ask(0);
  co_await here.pass(1ms);
  CHECK(here.peers[0]->hears(R"("kind": "no_change")"));
  CHECK(here.log->has("rank 4 fails with its own error: rank 6 has already finished",
                      log_level::warning));
  co_await here.close();
}

TIME_TEST("survivors: one that leaves an epoch which goes on is killed after its time",
          "[agent]") {
  node here(time);
  here.connect_all();
  here.answer();
  co_await here.pass(1ms);
  here.say_ready(1);
  co_await here.pass(9s);
  CHECK(here.killed.empty());
  co_await here.pass(1002ms);
  CHECK(here.killed == std::vector<std::size_t>{1});
  co_await here.close();
}

TIME_TEST("survivors: without the option nobody outlives an epoch", "[agent]") {
  manual_time& clock = time;
  worker_channels channels(clock.context().get_executor(), {});
  survivors none(clock.context().get_executor(), channels, {});
  none.begin(0, 1, false);
  none.started(0, 0);
  CHECK_FALSE(none.is_on());
  CHECK(none.obstacle() == "workers do not outlive their epoch");
  CHECK(none.is_inside(0));
  CHECK(none.ready() == 0);
  co_await channels.close();
}

}  // namespace survivors_tests
