// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// What the account of a job says that its time went to, against what it went to: jobs of a real
// agent, in virtual time, whose waits, starts, stalls and failures a seed chooses.

#include <elastic/base/detail/internals.hpp>
#include <elastic/base/detail/random.hpp>
#include <elastic/status/detail/job_document.hpp>
#include <elastic/status/detail/job_metrics.hpp>
#include <elastic/status/detail/job_monitor_core.hpp>
#include <elastic/status/detail/job_view.hpp>
#include <elastic/status/detail/journal_reader.hpp>
#include <elastic/status/job_monitor.hpp>
#include <elastic/telemetry/job_journal.hpp>
#include <program/commands/explanation.hpp>
#include <support/agent_stage.hpp>
#include <support/catch.hpp>
#include <support/channel_peer.hpp>
#include <support/manual_time.hpp>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace goodput_tests {

using namespace std::chrono_literals;
using elastic::duration;
using elastic::exit_status;
using elastic::job_event;
using elastic::task;
using elastic::detail::job_view;
using elastic::detail::time_use;
using elastic::detail::time_use_names;
using elastic::test::agent_stage;
using elastic::test::channel_peer;

using uses = std::array<double, time_use_names.size()>;

double seconds_in(duration span) { return std::chrono::duration<double>(span).count(); }

uses uses_in(const job_view& view, std::int64_t now_us) {
  uses all{};
  for (std::size_t use = 0; use < all.size(); ++use) {
    all[use] = view.seconds(static_cast<time_use>(use), now_us);
  }
  return all;
}

/// A job of three workers on one node. Its agent is real, and everything that happens to it is
/// counted as it happens.
class generated_job {
 public:
  generated_job(elastic::test::manual_time& time, std::uint64_t seed)
      : stage_(time), random_(seed), keeps_survivors_(random_.below(2) == 0) {
    stage_.workers.nproc_per_node = workers;
    stage_.workers.max_restarts = 100;
    stage_.workers.shutdown_timeout = 30s;
    stage_.workers.liveness.heartbeat_timeout = 40s;
    if (keeps_survivors_) {
      stage_.workers.on_failure = elastic::failure_policy::replace;
      stage_.workers.rejoin_timeout = 60s;
    } else {
      stage_.workers.restart.delay = seconds(0, 3);
      stage_.workers.restart.delay_max = stage_.workers.restart.delay;
    }
    elastic::job_journal::options journal;
    journal.node = "node0";
    journal.time = time.share();
    stage_.journal = std::make_shared<elastic::job_journal>(std::move(journal));
    monitor_ = std::make_shared<elastic::job_monitor>(time.share());
    stage_.journal->add(monitor_);
    stage_.attach(monitor_);
    stage_.launcher->on_start = [this](elastic::test::fake_process& started) {
      started.on_signal = elastic::test::fake_process::exit_after(stage_.time, stop_);
    };
  }

  task<void> run() {
    stage_.rendezvous->hold_at = 0;
    stage_.start();
    co_await meet();
    co_await begin_workers();
    const std::uint64_t faults = 3 + random_.below(6);
    for (std::uint64_t fault = 0; fault < faults; ++fault) {
      co_await train(40 + static_cast<int>(random_.below(160)));
      co_await suffer();
    }
    co_await train(100);
    for (std::size_t rank = 0; rank < workers; ++rank) process(rank).exit(0);
    co_await stage_.end();
    CHECK(stage_.result().state == elastic::worker_state::succeeded);
  }

  const uses& truth() const { return truth_; }
  const elastic::detail::job_monitor_core& monitor() const {
    return *elastic::detail::internals::core_of(*monitor_);
  }
  std::vector<elastic::journal_record> records() const { return stage_.journal->after(0); }

 private:
  static constexpr std::size_t workers = 3;
  static constexpr auto step_time = 500ms;

  duration seconds(std::uint64_t least, std::uint64_t most) {
    return std::chrono::milliseconds(1000 * least + random_.below(1000 * (most - least) + 1));
  }

  task<void> spend(time_use use, duration span) {
    truth_[static_cast<std::size_t>(use)] += seconds_in(span);
    return stage_.pass(span);
  }

  elastic::test::fake_process& process(std::size_t rank) { return stage_.worker(processes_[rank]); }

  void say(const std::string& line) {
    for (const auto& peer : peers_) {
      if (peer) peer->say(line);
    }
  }

  /// Waits, without virtual time, until the agent has taken what workers have said: they speak over
  /// real sockets.
  task<void> until(std::function<bool()> condition) {
    // Half a minute or more: the bound only ends a test that hangs.
    constexpr int most_tries = 30'000;
    for (int tries = 0; !condition(); ++tries) {
      REQUIRE(tries < most_tries);
      stage_.time.heed_world(1ms);
      co_await stage_.quiet();
      stage_.time.heed_world(0ms);
    }
  }

  task<void> until_started(std::size_t processes) {
    std::function<bool()> condition = [this, processes] {
      return stage_.launcher->started.size() >= processes;
    };
    co_await until(std::move(condition));
  }

  /// The nodes of the round that the agent joins come late.
  task<void> meet() {
    std::function<bool()> condition = [this] { return stage_.rendezvous->joining > 0; };
    co_await until(std::move(condition));
    co_await spend(time_use::rendezvous, seconds(0, 20));
    stage_.rendezvous->let_meet();
    ++rounds_;
    co_await stage_.quiet();
  }

  void hold_next_round() { stage_.rendezvous->hold_at = rounds_; }

  void connect(std::size_t rank) {
    processes_[rank] = next_process_++;
    peers_[rank] = std::make_unique<channel_peer>(process(rank).variable("ELASTIC_CONTROL"),
                                                  static_cast<int>(rank));
    if (keeps_survivors_) peers_[rank]->say(R"({"kind":"survive"})");
  }

  /// New processes import what they need and load a checkpoint.
  task<void> begin_workers() {
    co_await until_started(next_process_ + workers);
    for (std::size_t rank = 0; rank < workers; ++rank) connect(rank);
    step_ = checkpoint_;
    co_await spend(time_use::start, seconds(1, 30));
  }

  task<void> train(int steps) {
    for (int made = 0; made < steps; ++made) {
      co_await spend(step_ < furthest_ ? time_use::rollback : time_use::training, step_time);
      say(fmt::format(R"({{"kind":"progress","step":{}}})", ++step_));
      furthest_ = std::max(furthest_, step_);
      if (step_ % 50 == 0) checkpoint_ = step_;
    }
    co_await stage_.quiet();
  }

  task<void> suffer() {
    switch (random_.below(5)) {
      case 0: return stall();
      case 1: return pause();
      case 2: return change_membership();
      case 3: return hang();
      default: return fail();
    }
  }

  /// The job stands still, which --diagnose finds out in the midst of it.
  task<void> stall() {
    const duration before = seconds(5, 30);
    const duration after = seconds(5, 30);
    co_await spend(time_use::stall, before);
    job_event found;
    found.kind = job_event::type::stall_found;
    found.reason = "rank 1 has not entered all_reduce #7";
    found.seconds = seconds_in(before);
    stage_.journal->record(found);
    say(R"({"kind":"heartbeat"})");
    co_await spend(time_use::stall, after);
    job_event ended;
    ended.kind = job_event::type::stall_ended;
    stage_.journal->record(ended);
  }

  task<void> pause() {
    stop_ = seconds(0, 5);
    set_stop();
    stage_.rendezvous->pause("by a test", true);
    co_await stage_.quiet();
    co_await spend(time_use::stop, stop_);
    co_await spend(time_use::rendezvous, seconds(10, 90));
    stage_.rendezvous->resume();
    ++rounds_;
    co_await stage_.quiet();
    co_await begin_workers();
  }

  task<void> change_membership() {
    hold_next_round();
    stop_ = seconds(0, 5);
    set_stop();
    stage_.rendezvous->what = {elastic::rendezvous_change::cause::node_waiting, "node b joins"};
    stage_.rendezvous->change();
    co_await stage_.quiet();
    std::vector<std::size_t> all{0, 1, 2};
    co_await leave_epoch(std::move(all));
  }

  /// A worker ends in the midst of a step.
  task<void> fail() {
    co_await spend(time_use::rollback, step_time / 2);
    hold_next_round();
    stop_ = seconds(0, 5);
    set_stop();
    const std::size_t rank = random_.below(workers);
    process(rank).end(exit_status::signalled(SIGKILL));
    co_await stage_.quiet();
    co_await recover(rank);
  }

  /// A worker says nothing until it is killed.
  task<void> hang() {
    hold_next_round();
    stop_ = seconds(0, 5);
    set_stop();
    const std::size_t rank = random_.below(workers);
    for (int beat = 0; beat < 4; ++beat) {
      for (std::size_t other = 0; other < workers; ++other) {
        if (other != rank) peers_[other]->say(R"({"kind":"heartbeat"})");
      }
      co_await spend(time_use::stall, 10s);
    }
    co_await stage_.pass(1ms);
    co_await recover(rank);
  }

  task<void> recover(std::size_t lost) {
    std::vector<std::size_t> others;
    for (std::size_t rank = 0; rank < workers; ++rank) {
      if (rank != lost) others.push_back(rank);
    }
    if (keeps_survivors_) {
      peers_[lost].reset();
      co_return co_await leave_epoch(std::move(others));
    }
    co_await spend(time_use::stop, stop_);
    co_await spend(time_use::wait, stage_.workers.restart.delay);
    co_await meet();
    co_await begin_workers();
  }

  /// These keep their memory, if any do.
  task<void> leave_epoch(std::vector<std::size_t> stayers) {
    co_await spend(time_use::stop, stop_);
    if (!keeps_survivors_) {
      co_await meet();
      co_return co_await begin_workers();
    }
    for (const std::size_t rank : stayers) {
      peers_[rank]->say(fmt::format(R"({{"kind":"ready","epoch":{}}})", rounds_ - 1));
    }
    co_await meet();
    co_await until_started(next_process_ + workers - stayers.size());
    for (std::size_t rank = 0; rank < workers; ++rank) {
      if (!peers_[rank]) connect(rank);
    }
    co_await spend(time_use::start, seconds(1, 10));
  }

  /// How workers of this moment react to SIGTERM.
  void set_stop() {
    for (std::size_t rank = 0; rank < workers; ++rank) {
      process(rank).on_signal = elastic::test::fake_process::exit_after(stage_.time, stop_);
    }
  }

  agent_stage stage_;
  std::shared_ptr<elastic::job_monitor> monitor_;
  elastic::detail::random_source random_;
  bool keeps_survivors_;
  uses truth_{};
  std::array<std::unique_ptr<channel_peer>, workers> peers_;
  std::array<std::size_t, workers> processes_{};
  std::size_t next_process_ = 0;
  int rounds_ = 0;
  int step_ = 0;
  int furthest_ = 0;
  int checkpoint_ = 0;
  duration stop_{};
};

/// The value of a sample of /metrics.
double sample_of(const std::string& metrics, const std::string& name) {
  const std::size_t at = metrics.find("\n" + name + " ");
  REQUIRE(at != std::string::npos);
  return std::strtod(metrics.c_str() + at + name.size() + 2, nullptr);
}

/// The percentages of `elasticrun explain`, in tenths.
int sum_of_shares(const std::string& explanation) {
  int sum = 0;
  const std::size_t begin = explanation.find("\nWhere the time went\n");
  REQUIRE(begin != std::string::npos);
  for (std::size_t at = explanation.find(" %  ", begin); at != std::string::npos;
       at = explanation.find(" %  ", at + 1)) {
    const std::size_t number = explanation.rfind(' ', at - 1) + 1;
    const std::string text = explanation.substr(number, at - number);
    sum += std::stoi(text.substr(0, text.size() - 2)) * 10 + (text.back() - '0');
  }
  return sum;
}

// In every generated job, each use of time is within two points of what was done to the job.
static task<void> check_goodput(elastic::test::manual_time& time, std::uint64_t seed) {
  generated_job job(time, seed);
  co_await job.run();
  const job_view view = *job.monitor().view();
  const std::int64_t now_us = job.monitor().now_us();
  const double whole = view.job().all_seconds(now_us);
  REQUIRE(whole > 0);
  for (std::size_t use = 0; use < time_use_names.size(); ++use) {
    INFO("seed " << seed << ": " << time_use_names[use]);
    const double said = view.seconds(static_cast<time_use>(use), now_us);
    const double done = job.truth()[use];
    CAPTURE(said, done, whole);
    CHECK(std::abs(said - done) <= 0.02 * whole);
  }
  // Whoever shows it shows the same.
  const auto records = job.records();
  const uses live = uses_in(view, now_us);
  const uses read = uses_in(job_view(elastic::detail::state_of(records)), now_us);
  const auto json = nlohmann::json::parse(elastic::detail::job_json(view, now_us));
  const std::string metrics =
      elastic::detail::metrics_text(view, elastic::detail::metrics_format::text, now_us);
  for (std::size_t use = 0; use < live.size(); ++use) {
    INFO("seed " << seed << ": " << time_use_names[use]);
    const bool is_productive = static_cast<time_use>(use) == time_use::training;
    const std::string name =
        is_productive ? "elastic_productive_seconds_total"
                      : fmt::format("elastic_lost_seconds_total{{phase=\"{}\"}}",
                                    time_use_names[use]);
    CHECK(std::abs(live[use] - read[use]) < 0.001);
    CHECK(std::abs(live[use] - sample_of(metrics, name)) < 0.001);
    CHECK(std::abs(live[use] - json["seconds"][std::string(time_use_names[use])].get<double>()) <
          0.001);
  }
  CHECK(json["has_steps"] == true);
  elastic::detail::journal_contents journal;
  journal.records = records;
  CHECK(sum_of_shares(elasticrun::explain({journal})) == 1000);
}

TEST_CASE("goodput: what is said of a job's time is what it went to", "[program]") {
  const std::uint64_t seed = GENERATE(range(1, 21));
  asio::io_context context;
  elastic::test::manual_time time(context);
  time.run(check_goodput(time, seed));
}

}  // namespace goodput_tests
