// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/control/worker_channels.hpp>

#include <elastic/agent/worker_group.hpp>
#include <elastic/base/detail/random.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/control/detail/control_message.hpp>
#include <support/catch.hpp>
#include <support/channel_peer.hpp>
#include <support/log_recorder.hpp>
#include <support/manual_time.hpp>
#include <support/run_program.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace worker_channels_tests {

using namespace std::chrono_literals;
using checkpoint_outcome = elastic::worker_channels::checkpoint_outcome;
using elastic::duration;
using elastic::log_level;
using elastic::task;
using elastic::time_point;
using elastic::wall_time;
using elastic::worker_channels;
using elastic::test::log_recorder;
using elastic::test::manual_time;
using elastic::test::temporary_directory;
namespace messages {
using namespace elastic::control_messages;
using namespace elastic::worker_messages;
}  // namespace messages
using texts = std::vector<std::string>;

/// Virtual time that can be made to run ahead, as that of a machine that slept.
class leaping_time final : public elastic::time_source {
 public:
  explicit leaping_time(manual_time& time) : time_(time) {}
  duration ahead{};
  time_point now() const override { return time_.now() + ahead; }
  wall_time wall_now() const override { return time_.wall_now(); }
  task<void> sleep_until(time_point deadline) override {
    return time_.sleep_until(deadline == time_point::max() ? deadline : deadline - ahead);
  }

 private:
  manual_time& time_;
};

/// The channels of some workers, and what they told of them.
struct stage {
  explicit stage(manual_time& clock, int workers = 2)
      : time(clock),
        leaping_clock(std::make_shared<leaping_time>(clock)),
        log(std::make_shared<log_recorder>()),
        count(workers) {}

  worker_channels& channels() {
    if (instance) return *instance;
    options.time = leaping_clock;
    options.log = log->log();
    options.hung = [this](const worker_channels::hung_worker& found) {
      hung.push_back(fmt::format("{}: {} ({})", found.local_rank, found.reason, found.signal));
    };
    options.message = [this](int rank, const messages::worker_message& message) {
      if (const auto* report = std::get_if<messages::progress>(&message)) {
        progress.push_back(
            fmt::format("{}: {} of {} {}", rank, report->step, report->total, report->text));
      } else if (const auto* wish = std::get_if<messages::no_restart>(&message)) {
        notices.push_back(fmt::format("{}: no restart: {}", rank, wish->reason));
      } else if (const auto* notice = std::get_if<messages::bad_node>(&message)) {
        notices.push_back(fmt::format("{}: bad node: {}", rank, notice->reason));
      }
    };
    options.owner_of = [](pid_t pid) {
      return pid >= 100 && pid < 102 ? std::optional<int>(pid - 100) : std::nullopt;
    };
    instance = std::make_unique<worker_channels>(time.context().get_executor(), options);
    return *instance;
  }

  void open() {
    channels().open(count);
    for (int rank = 0; rank < count; ++rank) channels().started(rank);
  }

  std::string variable(const std::string& name) {
    for (const auto& [key, value] : channels().environment()) {
      if (key == name) return value;
    }
    return "";
  }

  /// Lets everything happen that can without the time going on.
  task<void> quiet() { return time.sleep_until(time.now()); }
  task<void> pass(duration span) { return time.sleep_until(time.now() + span); }

  manual_time& time;
  std::shared_ptr<leaping_time> leaping_clock;
  std::shared_ptr<log_recorder> log;
  int count;
  worker_channels::options options;
  texts hung;
  texts progress;
  texts notices;
  std::unique_ptr<worker_channels> instance;
};

/// A worker's end.
struct peer : elastic::test::channel_peer {
  explicit peer(stage& test_stage) : channel_peer(test_stage.variable("ELASTIC_CONTROL")) {}
  peer(stage& test_stage, int local_rank, bool checkpoints = false)
      : channel_peer(test_stage.variable("ELASTIC_CONTROL"), local_rank, checkpoints) {}
};

task<void> ask(worker_channels& channels, duration time_limit,
               std::optional<checkpoint_outcome>& outcome) {
  outcome = co_await channels.checkpoint(time_limit);
}

struct checkpoint_request {
  checkpoint_request(stage& test_stage, duration time_limit) {
    asio::co_spawn(test_stage.time.context(), ask(test_stage.channels(), time_limit, outcome),
                   [](std::exception_ptr) {});
  }
  std::optional<checkpoint_outcome> outcome;
};

// ---- opening and closing -----------------------------------------------------------------------

TIME_TEST("channels: a worker is welcomed at the address that its environment names", "[control]") {
  stage stage(time);
  stage.open();
  CHECK(stage.variable("TORCHELASTIC_TIMER_FILE").empty());
  peer worker(stage, 1);
  co_await stage.quiet();
  CHECK(worker.heard() == "{\"kind\": \"welcome\", \"version\": 1}\n");
  co_await stage.channels().close();
  CHECK(worker.is_closed());
  co_await stage.channels().close();
}

TIME_TEST("channels: each attempt has an address of its own, and nothing is due when idle",
          "[control]") {
  stage stage(time);
  stage.open();
  const std::string first_address = stage.variable("ELASTIC_CONTROL");
  co_await stage.quiet();
  CHECK(time.sleepers() == 0);
  co_await stage.channels().close();
  stage.open();
  CHECK(stage.variable("ELASTIC_CONTROL") != first_address);
  co_await stage.channels().close();
}

TIME_TEST("channels: workers that the channel does not have are refused", "[control]") {
  stage stage(time);
  worker_channels& channels = stage.channels();
  for (const int count : {-1, 0, elastic::limits::local_world_size + 1}) {
    CHECK_THROWS_WITH(
        channels.open(count),
        fmt::format("worker_channels::open: {} workers; 1 to 4096 are allowed", count));
  }
  CHECK_FALSE(channels.is_open());
  channels.started(7);  // without a channel nobody is watched
  stage.open();
  const std::string refusal = "worker_channels: there is no local rank 2 among 2 workers";
  CHECK_THROWS_WITH(channels.started(2), refusal);
  CHECK_THROWS_WITH(channels.ended(2), refusal);
  CHECK_THROWS_WITH(channels.rests(2), refusal);
  CHECK_THROWS_AS(channels.started(-1), elastic::error);
  co_await channels.close();
}

TIME_TEST("channels: a close that was prepared before the channel was opened closes it",
          "[control]") {
  stage stage(time);
  task<void> closing = stage.channels().close();
  stage.open();
  peer worker(stage, 0);
  co_await std::move(closing);
  CHECK(worker.is_closed());
}

TIME_TEST("channels: destroyed while open, they leave nothing", "[control]") {
  stage stage(time);
  stage.open();
  peer worker(stage, 0);
  worker.say(R"({"kind":"heartbeat","timeout":10})");
  co_await stage.quiet();
  CHECK(time.sleepers() == 1);
  stage.instance.reset();
  CHECK(worker.is_closed());
}

// ---- what workers say --------------------------------------------------------------------------

TIME_TEST("channels: what workers say is passed on", "[control]") {
  stage stage(time);
  stage.open();
  peer worker_0(stage, 0);
  peer worker_1(stage, 1);
  worker_0.say(R"({"kind":"progress","step":3,"total":10,"text":"warm"})");
  worker_1.send(R"({"kind":"no_res)");
  co_await stage.quiet();
  worker_1.say(R"(tart","reason":"bad options"})");
  worker_1.say(R"({"kind":"bad_node","reason":"GPU 3"})");
  co_await stage.quiet();
  CHECK(stage.progress == texts{"0: 3 of 10 warm"});
  CHECK(stage.notices == texts{"1: no restart: bad options", "1: bad node: GPU 3"});
  co_await stage.channels().close();
}

TIME_TEST("channels: every message is passed on, one about an epoch only after survive",
          "[control]") {
  stage stage(time);
  texts heard;
  stage.options.message = [&heard](int rank, const messages::worker_message& message) {
    heard.push_back(fmt::format("{}: {}", rank, elastic::detail::to_line(message)));
  };
  worker_channels channels(time.context().get_executor(), stage.options);
  channels.open(2);
  const std::string address = channels.environment().front().second;
  elastic::test::channel_peer worker_0(address, 0, false);
  worker_0.say(R"({"kind":"heartbeat"})");
  worker_0.say(R"({"kind":"survive"})");
  worker_0.say(R"({"kind":"ready","epoch":4})");
  co_await stage.quiet();
  CHECK(heard ==
        texts{"0: {\"kind\": \"hello\", \"version\": 1, \"local_rank\": 0, "
              "\"checkpoints\": false}\n",
              "0: {\"kind\": \"heartbeat\"}\n", "0: {\"kind\": \"survive\"}\n",
              "0: {\"kind\": \"ready\", \"epoch\": 4}\n"});
  heard.clear();
  elastic::test::channel_peer worker_1(address, 1, false);
  worker_1.say(R"({"kind":"finished","epoch":4})");
  co_await stage.quiet();
  CHECK(heard.size() == 1);  // hello
  CHECK(channels.survives(0));
  CHECK_FALSE(channels.survives(1));
  CHECK(worker_1.is_closed());
  const elastic::control_messages::agent_message change = elastic::control_messages::change{4, 10s};
  CHECK(channels.tell_survivor(0, change));
  CHECK_FALSE(channels.tell_survivor(1, change));
  CHECK(worker_0.heard().ends_with(elastic::detail::to_line(change)));
  co_await channels.close();
  CHECK_FALSE(channels.survives(0));
}

TIME_TEST("channels: nothing is due of a worker that rests", "[control]") {
  stage stage(time);
  stage.options.liveness.heartbeat_timeout = 10s;
  stage.open();
  peer worker(stage, 0);
  worker.say(R"({"kind":"heartbeat"})");
  co_await stage.quiet();
  stage.channels().rests(0);
  co_await stage.pass(60s);
  CHECK(stage.hung.empty());
  stage.channels().started(0);
  worker.say(R"({"kind":"heartbeat"})");
  co_await stage.quiet();
  co_await stage.pass(60s);
  CHECK(stage.hung.size() == 1);
  co_await stage.channels().close();
}

TIME_TEST("channels: a worker that stops beating is hung, once, and the others are not",
          "[control]") {
  stage stage(time);
  stage.options.liveness.heartbeat_timeout = 10s;
  stage.open();
  peer worker_0(stage, 0);
  peer worker_1(stage, 1);
  for (int i = 0; i < 20; ++i) {
    worker_0.say(R"({"kind":"heartbeat"})");
    if (i < 5) worker_1.say(R"({"kind":"heartbeat"})");
    if (i == 5) worker_1.say(R"({"kind":"enter","section":"all_reduce"})");
    co_await stage.pass(5s);
  }
  CHECK(stage.hung == texts{"1: no heartbeat for 10 s (allowed 10 s) in section 'all_reduce' (9)"});
  co_await stage.channels().close();
}

TIME_TEST("channels: an error of the watch is logged, and hung workers are noticed all the same",
          "[control]") {
  stage stage(time);
  stage.options.liveness.heartbeat_timeout = 10s;
  stage.channels();
  stage.options.hung = [&stage](const worker_channels::hung_worker& found) {
    if (found.local_rank == 0) throw std::runtime_error("out of memory");
    stage.hung.push_back(fmt::format("{}", found.local_rank));
  };
  worker_channels channels(time.context().get_executor(), stage.options);
  channels.open(2);
  channels.started(0);
  channels.started(1);
  for (int rank = 0; rank < 2; ++rank) {
    const std::string address = channels.environment().front().second;
    elastic::test::channel_peer worker(address, rank, false);
    worker.say(R"({"kind":"heartbeat"})");
    co_await stage.quiet();
  }
  co_await stage.pass(30s);
  CHECK(stage.hung == texts{"1"});
  CHECK(stage.log->count("the watch for hung workers failed and begins again: out of memory",
                         log_level::error) == 1);
  co_await channels.close();
}

TIME_TEST("channels: a heartbeat costs no timer: the watch wakes once in each time-out",
          "[control]") {
  stage stage(time);
  stage.open();
  peer worker_0(stage, 0);
  worker_0.say(R"({"kind":"heartbeat","timeout":10})");
  co_await stage.quiet();
  CHECK(time.sleepers() == 1);
  for (int i = 0; i < 100; ++i) worker_0.say(R"({"kind":"heartbeat"})");
  co_await stage.quiet();
  CHECK(time.sleepers() == 1);
  worker_0.say(R"({"kind":"bye"})");
  co_await stage.pass(11s);
  CHECK(time.sleepers() == 0);
  CHECK(stage.hung.empty());
  co_await stage.channels().close();
}

TIME_TEST("channels: a connection that is lost ends no expectation, one that says bye does",
          "[control]") {
  stage stage(time);
  stage.open();
  {
    peer worker_0(stage, 0);
    worker_0.say(R"({"kind":"heartbeat","timeout":10})");
    peer worker_1(stage, 1);
    worker_1.say(R"({"kind":"heartbeat","timeout":10})");
    worker_1.say(R"({"kind":"bye"})");
    co_await stage.quiet();
  }
  co_await stage.pass(20s);
  CHECK(stage.hung == texts{"0: no heartbeat for 10 s (allowed 10 s) (9)"});
  co_await stage.channels().close();
}

TIME_TEST("channels: who comes back after its bye is watched again", "[control]") {
  stage stage(time);
  stage.open();
  peer first_peer(stage, 0);
  first_peer.say(R"({"kind":"bye"})");
  co_await stage.quiet();
  peer second_peer(stage, 0);
  second_peer.say(R"({"kind":"expires","timer":"t","after":2})");
  co_await stage.pass(5s);
  CHECK(stage.hung == texts{"0: timer 't' expired after 2 s (9)"});
  co_await stage.channels().close();
}

TIME_TEST("channels: nothing is due of a worker that has ended", "[control]") {
  stage stage(time);
  stage.open();
  peer worker_0(stage, 0);
  worker_0.say(R"({"kind":"expires","timer":"t","after":2})");
  co_await stage.quiet();
  stage.channels().ended(0);
  co_await stage.pass(5s);
  CHECK(stage.hung.empty());
  co_await stage.channels().close();
}

TIME_TEST("channels: a watch that stood still itself gives the workers their whole time again",
          "[control]") {
  stage stage(time);
  stage.open();
  peer worker_0(stage, 0);
  worker_0.say(R"({"kind":"heartbeat","timeout":10})");
  co_await stage.quiet();
  stage.leaping_clock->ahead = 1h;
  co_await stage.pass(15s);
  CHECK(stage.hung.empty());
  CHECK(stage.log->has("stood still for 3600 s", log_level::warning));
  co_await stage.pass(15s);
  CHECK(stage.hung.size() == 1);
  co_await stage.channels().close();
}

TIME_TEST("channels: the last words of a worker count, also if its end is seen first",
          "[control]") {
  stage stage(time);
  stage.open();
  peer worker_0(stage, 0, true);
  co_await stage.quiet();
  checkpoint_request request(stage, 1h);
  co_await stage.quiet();
  // Nothing of this was taken yet, nor is the second connection.
  worker_0.say(R"({"kind":"saved","id":1})");
  peer second_peer(stage, 0);
  second_peer.say(R"({"kind":"no_restart","reason":"last words"})");
  worker_0.close();
  second_peer.close();
  stage.channels().ended(0);
  CHECK(stage.notices == texts{"0: no restart: last words"});
  co_await stage.quiet();
  REQUIRE(request.outcome);
  CHECK(request.outcome->saved == 1);
  co_await stage.channels().close();
}

// ---- what is not of the protocol ----------------------------------------------------------------

TIME_TEST("channels: what is not of the protocol ends that connection, with the reason",
          "[control]") {
  const std::vector<std::pair<std::string, std::string>> refusals{
      {"GET / HTTP/1.1", "not a JSON object: 'GET / HTTP/1.1'"},
      {R"({"kind":"heartbeat"})", "comes before hello"},
      {R"({"kind":"hello","version":2,"local_rank":0})", "of version 2; 1 is spoken here"},
      {R"({"kind":"hello","version":1,"local_rank":2})", "of local rank 2; the node has 2 workers"},
      {"{\"kind\":\"hello\",\"version\":1,\"local_rank\":0}\n"
       "{\"kind\":\"hello\",\"version\":1,\"local_rank\":0}",
       "a second hello"},
      {std::string(5000, 'x'), "longer than 4096 bytes"}};
  stage stage(time);
  stage.open();
  peer good_peer(stage, 1);
  for (const auto& [line, reason] : refusals) {
    INFO(line.substr(0, 60));
    peer bad_peer(stage);
    bad_peer.say(line);
    co_await stage.quiet();
    CHECK(bad_peer.is_closed());
    CHECK(bad_peer.hears("\"refused\""));
    CHECK(stage.log->has(reason, log_level::warning));
  }
  CHECK(
      stage.log->has("the control channel of local rank 0 is closed: a control message is a "
                     "second hello"));
  good_peer.say(R"({"kind":"progress","step":1})");
  co_await stage.quiet();
  CHECK(stage.progress.size() == 1);
  co_await stage.channels().close();
}

TIME_TEST("channels: a line without end is refused before it is kept", "[control]") {
  stage stage(time);
  stage.open();
  peer bad_peer(stage, 0);
  bad_peer.send(std::string(4096, 'x'));
  co_await stage.quiet();
  CHECK(bad_peer.is_closed());
  CHECK(stage.log->has("local rank 0 is closed: a control message is longer than 4096 bytes"));
  co_await stage.channels().close();
}

TIME_TEST("channels: more than a bounded number of complaints is not logged", "[control]") {
  stage stage(time);
  stage.open();
  for (int i = 0; i < 100; ++i) {
    peer bad_peer(stage);
    bad_peer.say("x");
    co_await stage.quiet();
  }
  CHECK(stage.log->count("is closed") == elastic::limits::control_complaints);
  CHECK(stage.log->count("more of this is not logged") == 1);
  co_await stage.channels().close();
}

TIME_TEST("channels: who does not read what it is sent is disconnected", "[control]") {
  stage stage(time);
  stage.open();
  peer deaf_peer(stage, 0);
  peer good_peer(stage, 1);
  co_await stage.quiet();
  for (int i = 0; i < 20'000; ++i) {
    stage.channels().pause();
    stage.channels().resume();
    good_peer.heard();
  }
  co_await stage.quiet();
  CHECK(deaf_peer.is_closed());
  CHECK_FALSE(good_peer.is_closed());
  CHECK(stage.log->count("local rank 0 is closed: it does not read") == 1);
  co_await stage.channels().close();
}

TIME_TEST("channels: connections are bounded, and room is made by those that leave", "[control]") {
  stage stage(time, 1);
  stage.open();
  std::vector<std::unique_ptr<peer>> peers;
  for (std::size_t i = 0; i < elastic::limits::control_connections; ++i) {
    peers.push_back(std::make_unique<peer>(stage));
  }
  co_await stage.quiet();
  peer late_peer(stage);
  co_await stage.quiet();
  CHECK(late_peer.is_closed());
  CHECK(stage.log->has("is not let in"));
  peers.pop_back();
  co_await stage.quiet();
  peer next_peer(stage, 0);
  co_await stage.quiet();
  CHECK(next_peer.hears("welcome"));
  co_await stage.channels().close();
}

TIME_TEST("channels: who writes without end is read slowly, and the others are heard",
          "[control]") {
  stage stage(time);
  stage.open();
  peer loud_peer(stage, 0);
  peer good_peer(stage, 1);
  std::string heartbeats;
  for (int i = 0; i < 1000; ++i) heartbeats += "{\"kind\":\"heartbeat\"}\n";
  std::size_t bytes_sent = 0;
  for (int i = 0; i < 200; ++i) {
    bytes_sent += loud_peer.send(heartbeats.substr(bytes_sent % 21));
    co_await stage.quiet();
  }
  const auto bound = static_cast<std::size_t>(elastic::limits::control_lines_per_second) * 21;
  CHECK(bytes_sent > bound);
  CHECK(bytes_sent < bound + 512 * 1024);
  good_peer.say(R"({"kind":"progress","step":1})");
  co_await stage.quiet();
  CHECK(stage.progress.size() == 1);
  co_await stage.channels().close();
}

// ---- checkpoints -------------------------------------------------------------------------------

TIME_TEST("channels: a checkpoint waits for the answer of each worker that wants to be asked",
          "[control]") {
  stage stage(time, 3);
  stage.open();
  peer worker_0(stage, 0, true);
  peer worker_1(stage, 1, true);
  peer worker_2(stage, 2, false);
  co_await stage.quiet();
  checkpoint_request request(stage, 30s);
  co_await stage.quiet();
  CHECK(worker_0.hears(R"({"kind": "checkpoint", "id": 1, "within": 30})"));
  CHECK(worker_1.hears("checkpoint"));
  CHECK_FALSE(worker_2.hears("checkpoint"));
  worker_2.say(R"({"kind":"saved","id":1})");
  worker_1.say(R"({"kind":"saved","id":99})");
  worker_0.say(R"({"kind":"saved","id":1})");
  co_await stage.pass(5s);
  CHECK_FALSE(request.outcome);
  worker_1.say(R"({"kind":"not_saved","id":1,"reason":"disk full"})");
  worker_1.say(R"({"kind":"saved","id":1})");
  co_await stage.quiet();
  REQUIRE(request.outcome);
  CHECK(request.outcome->asked == 2);
  CHECK(request.outcome->saved == 1);
  CHECK(request.outcome->problems == texts{"local rank 1 has not saved it: disk full"});
  co_await stage.channels().close();
}

TIME_TEST("channels: a worker that comes while others save is asked, too", "[control]") {
  stage stage(time, 3);
  stage.open();
  peer worker_0(stage, 0, true);
  peer worker_1(stage, 1, true);
  co_await stage.quiet();
  checkpoint_request request(stage, 30s);
  co_await stage.quiet();
  worker_0.say(R"({"kind":"saved","id":1})");
  co_await stage.pass(5s);
  peer worker_2(stage, 2, true);
  // Rank 0 has saved, and rank 1 is replaced by another process.
  peer again(stage, 0, true);
  co_await stage.quiet();
  worker_1.close();
  co_await stage.quiet();
  peer replaced(stage, 1, true);
  co_await stage.quiet();
  CHECK(worker_2.hears(R"({"kind": "checkpoint", "id": 1, "within": 25})"));
  CHECK(replaced.hears(R"({"kind": "checkpoint", "id": 1, "within": 25})"));
  CHECK_FALSE(again.hears("checkpoint"));
  worker_2.say(R"({"kind":"saved","id":1})");
  replaced.say(R"({"kind":"saved","id":1})");
  co_await stage.quiet();
  REQUIRE(request.outcome);
  CHECK(request.outcome->asked == 3);
  CHECK(request.outcome->saved == 3);
  co_await stage.channels().close();
}

TIME_TEST("channels: a checkpoint waits no longer than it was told", "[control]") {
  stage stage(time);
  stage.open();
  peer worker_0(stage, 0, true);
  co_await stage.quiet();
  checkpoint_request request(stage, 2s);
  co_await stage.pass(3s);
  REQUIRE(request.outcome);
  CHECK(request.outcome->problems == texts{"local rank 0 did not answer within 2 s"});
  worker_0.say(R"({"kind":"saved","id":1})");
  co_await stage.quiet();
  co_await stage.channels().close();
}

TIME_TEST("channels: a checkpoint does not wait for who has ended, left, or was stopped",
          "[control]") {
  stage stage(time, 3);
  stage.open();
  peer worker_0(stage, 0, true);
  peer worker_1(stage, 1, true);
  peer worker_2(stage, 2, true);
  co_await stage.quiet();
  checkpoint_request request(stage, 1h);
  co_await stage.quiet();
  stage.channels().ended(0);
  worker_1.close();
  co_await stage.quiet();
  CHECK_FALSE(request.outcome);
  co_await stage.channels().close();
  co_await stage.quiet();
  REQUIRE(request.outcome);
  CHECK(request.outcome->problems == texts{"local rank 0 ended before it answered",
                                           "local rank 1 closed its channel before it answered",
                                           "local rank 2 was stopped before it answered"});
}

TIME_TEST("channels: a checkpoint that nobody wants to be asked for is over at once", "[control]") {
  stage stage(time);
  stage.open();
  peer worker_0(stage, 0);
  co_await stage.quiet();
  const checkpoint_outcome outcome = co_await stage.channels().checkpoint(1h);
  CHECK(outcome.asked == 0);
  co_await stage.channels().close();
}

TIME_TEST("channels: pause and resume are told, and nothing is due between them", "[control]") {
  stage stage(time);
  stage.open();
  peer worker_0(stage, 0);
  worker_0.say(R"({"kind":"heartbeat","timeout":10})");
  co_await stage.quiet();
  stage.channels().pause();
  CHECK(worker_0.hears("\"pause\""));
  co_await stage.pass(1h);
  CHECK(stage.hung.empty());
  stage.channels().resume();
  CHECK(worker_0.hears("\"resume\""));
  co_await stage.pass(11s);
  CHECK(stage.hung.size() == 1);
  co_await stage.channels().close();
}

// ---- PyTorch's timers ---------------------------------------------------------------------------

void write_to(const std::string& path, const std::string& bytes) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_NONBLOCK);
  REQUIRE(fd >= 0);
  CHECK(::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  ::close(fd);
}

std::string timer_line(int pid, const std::string& scope, double expiry, int signal) {
  return fmt::format(
      "{{\"version\": 1, \"pid\": {}, \"scope_id\": \"{}\", \"expiration_time\": {},"
      " \"signal\": {}}}\n",
      pid, scope, expiry, signal);
}

TIME_TEST("channels: timers of PyTorch's client expire by the time of day", "[control]") {
  const temporary_directory folder;
  stage stage(time);
  stage.options.timer_file = true;
  stage.options.timer_path = folder / "timers";
  stage.open();
  const std::string path = stage.variable("TORCHELASTIC_TIMER_FILE");
  CHECK(path == folder / "timers");
  struct stat file_status{};
  REQUIRE(::stat(path.c_str(), &file_status) == 0);
  CHECK(S_ISFIFO(file_status.st_mode));
  CHECK((file_status.st_mode & 0777) == 0600);
  constexpr double now = 1'767'225'600;
  write_to(path, timer_line(100, "a", now + 5, 9));
  write_to(path, timer_line(101, "b", now + 5, 9));
  write_to(path, timer_line(101, "c", now + 8, 15));
  write_to(path, timer_line(101, "d", now + 2, 0));
  write_to(path, timer_line(100, "a", -1, 0));
  write_to(path, timer_line(999, "e", now, 9) + "garbage\n");
  co_await stage.quiet();
  write_to(path, timer_line(101, "b", -1, 0));
  co_await stage.pass(10s);
  CHECK(stage.hung == texts{"1: timer 'c (pid 101)' expired after 8 s (15)"});
  CHECK(stage.log->has("pid 999 is of no worker of this node"));
  CHECK(stage.log->has("timers': a timer request is not a JSON object: 'garbage'"));
  co_await stage.channels().close();
  CHECK(::stat(path.c_str(), &file_status) != 0);
}

TIME_TEST("channels: a timer file that is not a FIFO is left alone, and named", "[control]") {
  const temporary_directory folder;
  std::ofstream(folder / "precious") << "data";
  stage stage(time);
  stage.options.timer_file = true;
  stage.options.timer_path = folder / "precious";
  stage.open();
  CHECK(stage.log->has("'" + folder.path() + "/precious' (TORCHELASTIC_TIMER_FILE) is not a FIFO",
                       log_level::error));
  CHECK(stage.variable("TORCHELASTIC_TIMER_FILE").empty());
  peer worker_0(stage, 0);
  co_await stage.quiet();
  CHECK(worker_0.hears("welcome"));
  co_await stage.channels().close();
  CHECK(elastic::test::file_text(folder / "precious") == "data");
}

TIME_TEST("channels: a timer file that cannot be made is named", "[control]") {
  stage stage(time);
  stage.options.timer_file = true;
  stage.options.timer_path = "/nonexistent/timers";
  stage.open();
  CHECK(stage.log->has("'/nonexistent/timers' (TORCHELASTIC_TIMER_FILE) cannot be made: No such",
                       log_level::error));
  co_await stage.channels().close();
}

// ---- anything -----------------------------------------------------------------------------------

std::string random_bytes(elastic::detail::random_source& random) {
  static const texts samples{
      R"({"kind":"hello","version":1,"local_rank":0,"checkpoints":true})",
      R"({"kind":"heartbeat","timeout":5})",
      R"({"kind":"enter","section":"s","timeout":3})",
      R"({"kind":"leave","section":"s"})",
      R"({"kind":"expires","timer":"t","after":0.5})",
      R"({"kind":"release","timer":"t"})",
      R"({"kind":"progress","step":1,"total":2,"metrics":{"loss":1.5}})",
      R"({"kind":"saved","id":1})",
      R"({"kind":"bye"})",
      R"({"version":1,"pid":100,"scope_id":"a","expiration_time":1767225601,"signal":9})"};
  std::string bytes;
  switch (random.below(4)) {
    case 0:
      for (auto size = random.below(6000); size > 0; --size) {
        bytes += static_cast<char>(random.below(256));
      }
      return bytes;
    case 1:
      bytes = samples[random.below(samples.size())];
      bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
      return bytes + "\n";
    default: return samples[random.below(samples.size())] + (random.below(8) == 0 ? "" : "\n");
  }
}

TIME_TEST("channels: whatever is written to them, the agent goes on", "[control]") {
  const temporary_directory folder;
  elastic::detail::random_source random(20'261'121);
  stage stage(time, 3);
  stage.options.timer_file = true;
  stage.options.timer_path = folder / "timers";
  stage.options.liveness.heartbeat_timeout = 7s;
  stage.options.liveness.learn_timeouts = 2;
  stage.open();
  std::vector<std::unique_ptr<peer>> peers(10);
  std::optional<checkpoint_request> request;
  constexpr int rounds = 3000;
  for (int round = 0; round < rounds; ++round) {
    auto& worker = peers[random.below(peers.size())];
    if (!worker || worker->is_closed()) {
      worker = random.below(2) == 0
                   ? std::make_unique<peer>(stage)
                   : std::make_unique<peer>(stage, static_cast<int>(random.below(2)), true);
    }
    worker->send(random_bytes(random));
    if (random.below(10) == 0) worker.reset();
    if (random.below(20) == 0) {
      const std::string bytes = random_bytes(random);
      const int fd = ::open((folder / "timers").c_str(), O_WRONLY | O_NONBLOCK);
      REQUIRE(fd >= 0);
      const bool is_written = ::write(fd, bytes.data(), bytes.size()) >= 0;
      CHECK((is_written || errno == EAGAIN));
      ::close(fd);
    }
    switch (random.below(60)) {
      case 0: stage.channels().pause(); break;
      case 1: stage.channels().resume(); break;
      case 2: stage.channels().ended(static_cast<int>(random.below(2))); break;
      case 3: stage.channels().started(static_cast<int>(random.below(2))); break;
      case 4: co_await stage.pass(std::chrono::milliseconds(random.below(3000))); break;
      case 5:
        if (!request || request->outcome) request.emplace(stage, 5s);
        break;
      default: co_await stage.quiet();
    }
  }
  CHECK(stage.log->count("", log_level::warning) <= elastic::limits::control_complaints + 5);
  peers.clear();
  stage.channels().resume();
  co_await stage.pass(10s);
  // The third worker was quiet, and is heard as ever.
  CHECK(stage.hung.size() > 0);
  for (const std::string& verdict : stage.hung) CHECK_FALSE(verdict.starts_with("2: "));
  peer good_peer(stage, 2);
  co_await stage.quiet();
  CHECK(good_peer.hears("welcome"));
  co_await stage.channels().close();
  co_await stage.quiet();
}

}  // namespace worker_channels_tests
