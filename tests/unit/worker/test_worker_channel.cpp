// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/contract/detail/roles_document.hpp>
#include <elastic/worker/worker_channel.hpp>

#include <elastic/agent/worker_group.hpp>
#include <elastic/base/detail/concurrent_run.hpp>
#include <elastic/control/detail/control_message.hpp>
#include <elastic/control/worker_channels.hpp>
#include <support/asio.hpp>
#include <support/catch.hpp>
#include <support/log_recorder.hpp>
#include <support/manual_time.hpp>
#include <support/run_program.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace worker_channel_tests {

using namespace std::chrono_literals;
using elastic::environment_map;
using elastic::task;
using elastic::worker_channel;
using elastic::control_messages::agent_message;
using elastic::test::contains_text;
using elastic::test::log_recorder;
using elastic::test::manual_time;
namespace messages {
using namespace elastic::control_messages;
using namespace elastic::worker_messages;
}  // namespace messages
using texts = std::vector<std::string>;

/// An agent's end for two workers.
struct stage {
  explicit stage(manual_time& clock, std::function<std::int64_t()> roles = {})
      : time(clock), log(std::make_shared<log_recorder>()) {
    elastic::worker_channels::options options;
    options.roles = std::move(roles);
    options.time = std::shared_ptr<elastic::time_source>(std::shared_ptr<void>(), &time);
    options.log = log->log();
    options.hung = [this](const elastic::worker_channels::hung_worker& found) {
      notices.push_back(fmt::format("{} hung: {}", found.local_rank, found.reason));
    };
    options.message = [this](int rank, const messages::worker_message& message) {
      std::visit([&](const auto& content) { note(rank, content); }, message);
    };
    agent =
        std::make_unique<elastic::worker_channels>(time.context().get_executor(), options);
    agent->open(2);
    agent->started(0);
    agent->started(1);
  }

  environment_map worker(int local_rank) const {
    environment_map variables;
    for (const auto& [name, value] : agent->environment()) variables[name] = value;
    variables["LOCAL_RANK"] = std::to_string(local_rank);
    return variables;
  }

  void note(int rank, const messages::progress& report) {
    notices.push_back(fmt::format("{} at {} of {}: {}, {} metrics", rank, report.step,
                                  report.total, report.text, report.metrics.size()));
  }
  void note(int rank, const messages::no_restart& wish) {
    notices.push_back(fmt::format("{} no restart: {}", rank, wish.reason));
  }
  void note(int rank, const messages::bad_node& notice) {
    notices.push_back(fmt::format("{} bad node: {}", rank, notice.reason));
  }
  void note(int rank, const messages::survive& message) { note_line(rank, message); }
  void note(int rank, const messages::ask& message) { note_line(rank, message); }
  void note(int rank, const messages::ready& message) { note_line(rank, message); }
  void note(int rank, const messages::finished& message) { note_line(rank, message); }
  template <class Message>
  void note(int, const Message&) {}
  void note_line(int rank, const messages::worker_message& message) {
    notices.push_back(fmt::format("{} {}", rank, elastic::detail::to_line(message)));
  }

  task<void> quiet() { return time.sleep_until(time.now()); }
  task<void> pass(elastic::duration span) { return time.sleep_until(time.now() + span); }

  manual_time& time;
  std::shared_ptr<log_recorder> log;
  texts notices;
  std::unique_ptr<elastic::worker_channels> agent;
};

/// The next message that is not a welcome.
std::optional<agent_message> next_of(worker_channel& channel) {
  auto message = channel.poll();
  while (message && std::holds_alternative<messages::welcome>(*message)) message = channel.poll();
  return message;
}

TIME_TEST("worker channel: a worker leaves an epoch and joins the next one", "[worker]") {
  stage stage(time);
  worker_channel worker(stage.worker(0));
  worker.survive();
  co_await stage.quiet();
  // What it waits for is there before it asks.
  for (const agent_message& message : std::vector<agent_message>{
           messages::checkpoint{1, 5s}, messages::no_change{3}, messages::change{4, 10s},
           messages::change{4, 10s}, messages::rejoin{5, {{"RANK", "7"}}}}) {
    REQUIRE(stage.agent->tell_survivor(0, message));
  }
  CHECK_FALSE(worker.is_change(3, "mine"));
  CHECK(worker.is_change(4, "reset"));
  const elastic::worker_channel::new_epoch next = worker.rejoin(4);
  CHECK(next.number == 5);
  CHECK(next.variables.at("RANK") == "7");
  worker.finished(5);
  REQUIRE(std::holds_alternative<messages::welcome>(worker.poll().value()));
  const auto kept = worker.poll();
  REQUIRE(kept);
  CHECK(std::get<messages::checkpoint>(*kept).id == 1);
  CHECK_FALSE(worker.poll());
  co_await stage.quiet();
  CHECK(stage.notices == texts{"0 {\"kind\": \"survive\"}\n",
                               "0 {\"kind\": \"ask\", \"epoch\": 3, \"reason\": \"mine\"}\n",
                               "0 {\"kind\": \"ask\", \"epoch\": 4, \"reason\": \"reset\"}\n",
                               "0 {\"kind\": \"ready\", \"epoch\": 4}\n",
                               "0 {\"kind\": \"finished\", \"epoch\": 5}\n"});
  co_await stage.agent->close();
  CHECK_FALSE(worker.is_change(5, "alone"));
  CHECK_THROWS_WITH(worker.rejoin(5), contains_text("epoch 5 has no successor"));
}

// ---- without blocking a thread ------------------------------------------------------------------

/// Keeps what a worker is told until the agent is gone.
task<void> follow(worker_channel& channel, std::vector<agent_message>& heard) {
  for (;;) {
    task<std::optional<agent_message>> waiting = channel.next();
    std::optional<agent_message> message = co_await std::move(waiting);
    if (!message) co_return;
    heard.push_back(std::move(*message));
  }
}

TIME_TEST("worker channel: a worker on Asio awaits messages until the agent is gone", "[worker]") {
  stage stage(time);
  worker_channel worker(stage.worker(0));
  std::vector<agent_message> heard;
  bool has_ended = false;
  asio::co_spawn(time.context(), follow(worker, heard), [&](std::exception_ptr failure) {
    has_ended = failure == nullptr;
  });
  co_await stage.quiet();
  CHECK(heard.size() == 1);  // the welcome
  stage.agent->pause();
  stage.agent->resume();
  co_await stage.quiet();
  REQUIRE(heard.size() == 3);
  CHECK(std::holds_alternative<messages::pause_work>(heard[1]));
  CHECK(std::holds_alternative<messages::resume_work>(heard[2]));
  CHECK_FALSE(has_ended);
  co_await stage.agent->close();
  co_await stage.quiet();
  CHECK(has_ended);
}

TIME_TEST("worker channel: a wait that is cancelled loses no message", "[worker][cancellation]") {
  stage stage(time);
  worker_channel worker(stage.worker(0));
  asio::cancellation_signal cancel;
  std::vector<agent_message> heard;
  std::exception_ptr failure;
  asio::co_spawn(time.context(), follow(worker, heard),
                 asio::bind_cancellation_slot(
                     cancel.slot(), [&](std::exception_ptr thrown) { failure = thrown; }));
  co_await stage.quiet();
  cancel.emit(asio::cancellation_type::terminal);
  co_await stage.quiet();
  REQUIRE(failure);
  CHECK(elastic::detail::is_cancellation(failure));
  stage.agent->pause();
  const auto kept = worker.poll();
  REQUIRE(kept);
  CHECK(std::holds_alternative<messages::pause_work>(*kept));
  co_await stage.agent->close();
}

TIME_TEST("worker channel: without an agent there is no next message", "[worker]") {
  worker_channel alone(environment_map{});
  task<std::optional<agent_message>> waiting = alone.next();
  const std::optional<agent_message> message = co_await std::move(waiting);
  CHECK_FALSE(message);
  CHECK(time.elapsed() == 0s);
}

// ---- the roles of the job -----------------------------------------------------------------------

/// A file of ELASTIC_ROLES with one role and a worker at this port.
void write_roles(const std::string& path, std::int64_t revision, std::uint16_t port) {
  elastic::job_roles roles;
  roles.revision = revision;
  roles.roles.push_back({"rollout", "running", true, revision, {{0, 0, "n", "127.0.0.1"}}});
  roles.roles[0].workers[0].ports["http"] = port;
  std::ofstream(path) << elastic::detail::roles_text(roles);
}

TIME_TEST("worker channel: a worker hears once that roles have changed", "[worker][roles]") {
  stage stage(time);
  worker_channel worker(stage.worker(0));
  worker_channel silent(stage.worker(1));
  co_await stage.quiet();
  stage.agent->tell_of_roles(3);
  CHECK_FALSE(next_of(worker));
  worker.await_roles(3);
  co_await stage.quiet();
  stage.agent->tell_of_roles(3);
  CHECK_FALSE(next_of(worker));
  stage.agent->tell_of_roles(5);
  stage.agent->tell_of_roles(6);
  const auto news = next_of(worker);
  REQUIRE(news);
  CHECK(std::get<messages::roles>(*news).revision == 5);
  CHECK_FALSE(next_of(worker));
  CHECK_FALSE(next_of(silent));
  co_await stage.agent->close();
}

TIME_TEST("worker channel: who knows an earlier revision hears at once", "[worker][roles]") {
  stage stage(time, [] { return std::int64_t{4}; });
  worker_channel worker(stage.worker(0));
  worker.await_roles(3);
  co_await stage.quiet();
  const auto news = next_of(worker);
  REQUIRE(news);
  CHECK(std::get<messages::roles>(*news).revision == 4);
  worker.await_roles(4);
  co_await stage.quiet();
  CHECK_FALSE(next_of(worker));
  co_await stage.agent->close();
}

TIME_TEST("worker channel: a worker that waits for roles reads them", "[worker][roles]") {
  const elastic::test::temporary_directory files;
  stage stage(time);
  environment_map variables = stage.worker(0);
  variables["ELASTIC_ROLES"] = files / "roles.json";
  write_roles(files / "roles.json", 1, 8001);
  worker_channel worker(variables);
  CHECK(worker.roles().value().roles.at(0).workers.at(0).ports.at("http") == 8001);
  worker.await_roles(1);
  co_await stage.quiet();
  write_roles(files / "roles.json", 2, 8002);
  stage.agent->tell_of_roles(2);
  const auto changed = worker.next_roles(1, 10min);
  REQUIRE(changed);
  CHECK(changed->revision == 2);
  CHECK(changed->roles.at(0).workers.at(0).ports.at("http") == 8002);
  CHECK_FALSE(worker.next_roles(2, 0ms));
  co_await stage.agent->close();
  CHECK_FALSE(worker.next_roles(2, 10min));
}

TEST_CASE("worker channel: without roles there is nothing to wait for", "[worker][roles]") {
  worker_channel channel(environment_map{});
  CHECK_FALSE(channel.roles());
  CHECK_FALSE(channel.next_roles(0, 10min));
  const worker_channel lost(environment_map{{"ELASTIC_ROLES", "/no/such/roles.json"}});
  CHECK_THROWS_WITH(lost.roles(), contains_text("'/no/such/roles.json' cannot be read"));
}

TEST_CASE("worker channel: without an agent every call does nothing", "[worker]") {
  for (const environment_map& variables :
       {environment_map{}, environment_map{{"ELASTIC_CONTROL", ""}},
        environment_map{{"ELASTIC_CONTROL", "@elastic-nobody"}, {"LOCAL_RANK", "0"}}}) {
    worker_channel channel(variables);
    CHECK_FALSE(channel.is_connected());
    channel.heartbeat(5s);
    channel.progress(1, 2, "text", {{"loss", 1.0}});
    {
      const auto section = channel.enter("s", 1s);
      const auto timer = channel.expires(1s);
    }
    channel.do_not_restart("why");
    channel.node_is_bad("why");
    channel.saved(messages::checkpoint());
    channel.not_saved(messages::checkpoint(), "why");
    CHECK_FALSE(channel.poll());
    CHECK_FALSE(channel.wait(10min));
    CHECK(channel.descriptor() == -1);
  }
}

TEST_CASE("worker channel: an environment that cannot be is refused by name", "[worker]") {
  const auto refuse = [](environment_map variables, const std::string& problem) {
    CHECK_THROWS_WITH(worker_channel(variables), contains_text(problem));
  };
  refuse({{"ELASTIC_CONTROL", "@"}, {"LOCAL_RANK", "0"}}, "ELASTIC_CONTROL is '@'");
  refuse({{"ELASTIC_CONTROL", std::string(200, 'x')}, {"LOCAL_RANK", "0"}}, "at most 108");
}

TIME_TEST("worker channel: a local rank that cannot be is refused by name", "[worker]") {
  stage stage(time);
  environment_map variables = stage.worker(0);
  for (const std::string rank : {"", "x", "-1", "1234567"}) {
    variables["LOCAL_RANK"] = rank;
    CHECK_THROWS_WITH(worker_channel(variables), contains_text("LOCAL_RANK is '" + rank + "'"));
  }
  co_await stage.quiet();
  co_await stage.agent->close();
}

TIME_TEST("worker channel: the agent hears what a worker says", "[worker]") {
  stage stage(time);
  worker_channel channel(stage.worker(1));
  CHECK(channel.is_connected());
  channel.progress(3, 10, "warm", {{"loss", 0.5}});
  channel.progress(-3, -10);
  channel.do_not_restart("bad options");
  channel.node_is_bad("GPU 3");
  co_await stage.quiet();
  CHECK(stage.notices == texts{"1 at 3 of 10: warm, 1 metrics", "1 at 0 of 0: , 0 metrics",
                               "1 no restart: bad options", "1 bad node: GPU 3"});
  CHECK(stage.log->count("", elastic::log_level::warning) == 0);
  co_await stage.agent->close();
}

TIME_TEST("worker channel: who stops to beat is hung, in the section that it is in", "[worker]") {
  stage stage(time);
  worker_channel channel(stage.worker(0));
  channel.heartbeat(10s);
  {
    const auto section = channel.enter("over");
  }
  const auto outer_section = channel.enter("epoch");
  const auto inner_section = channel.enter("all_reduce");
  co_await stage.pass(11s);
  CHECK(stage.notices ==
        texts{"0 hung: no heartbeat for 10 s (allowed 10 s) in section 'all_reduce'"});
  co_await stage.agent->close();
}

TIME_TEST("worker channel: scopes that end in time harm nobody, others do", "[worker]") {
  stage stage(time);
  worker_channel channel_0(stage.worker(0));
  worker_channel channel_1(stage.worker(1));
  {
    const auto outer_timer = channel_0.expires(5s, "same");
    const auto inner_timer = channel_0.expires(5s, "same");
    const auto save_section = channel_0.enter("save", 5s);
    co_await stage.pass(4s);
  }
  const auto late_timer = channel_1.expires(2500ms, "late");
  co_await stage.pass(10s);
  CHECK(stage.notices == texts{"1 hung: timer 'late #1' expired after 2.5 s"});
  co_await stage.agent->close();
}

TIME_TEST("worker channel: one that is destroyed is watched no longer", "[worker]") {
  stage stage(time);
  {
    worker_channel channel(stage.worker(0));
    channel.heartbeat(10s);
    co_await stage.pass(9s);
  }
  co_await stage.pass(1h);
  CHECK(stage.notices.empty());
  co_await stage.agent->close();
}

task<void> ask(elastic::worker_channels& agent,
               std::optional<elastic::worker_channels::checkpoint_outcome>& outcome) {
  outcome = co_await agent.checkpoint(30s);
}

TIME_TEST("worker channel: a worker hears what it is to do, and answers", "[worker]") {
  stage stage(time);
  elastic::worker_channel::options options;
  options.checkpoints = true;
  worker_channel channel_0(stage.worker(0), options);
  worker_channel channel_1(stage.worker(1), options);
  co_await stage.quiet();
  CHECK_FALSE(next_of(channel_0));
  std::optional<elastic::worker_channels::checkpoint_outcome> outcome;
  stage.agent->pause();
  asio::co_spawn(time.context(), ask(*stage.agent, outcome), [](std::exception_ptr) {});
  co_await stage.quiet();
  stage.agent->announce_stop(7s);
  const auto pause_message = next_of(channel_0);
  REQUIRE((pause_message && std::holds_alternative<messages::pause_work>(*pause_message)));
  const auto checkpoint_message = next_of(channel_0);
  REQUIRE(
      (checkpoint_message && std::holds_alternative<messages::checkpoint>(*checkpoint_message)));
  CHECK(std::get<messages::checkpoint>(*checkpoint_message).within == 30s);
  const auto stop_message = channel_0.wait(1min);
  REQUIRE((stop_message && std::holds_alternative<messages::stop>(*stop_message)));
  CHECK(std::get<messages::stop>(*stop_message).grace == 7s);
  channel_0.saved(std::get<messages::checkpoint>(*checkpoint_message));
  channel_1.not_saved(std::get<messages::checkpoint>(*checkpoint_message), "disk full");
  co_await stage.quiet();
  REQUIRE(outcome);
  CHECK(outcome->saved == 1);
  CHECK(outcome->problems == texts{"local rank 1 has not saved it: disk full"});
  co_await stage.agent->close();
  CHECK_FALSE(next_of(channel_0));
  CHECK_FALSE(channel_0.is_connected());
}

TIME_TEST("worker channel: heartbeats that the agent does not read are dropped, not waited for",
          "[worker]") {
  stage stage(time);
  worker_channel channel(stage.worker(0));
  for (int i = 0; i < 200'000; ++i) channel.heartbeat();
  CHECK(channel.is_connected());
  channel.progress(1);
  co_await stage.pass(1h);
  channel.progress(2);
  co_await stage.quiet();
  CHECK(stage.notices.back() == "0 at 2 of 0: , 0 metrics");
  co_await stage.agent->close();
}

}  // namespace worker_channel_tests
