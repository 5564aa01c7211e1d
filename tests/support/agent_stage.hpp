// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_extension.hpp>
#include <elastic/agent/local_agent.hpp>
#include <elastic/base/asio.hpp>
#include <elastic/base/task.hpp>
#include <elastic/telemetry/job_journal.hpp>
#include <elastic/process/detail/console_writer.hpp>
#include <elastic/telemetry/event_handler.hpp>
#include <elastic/telemetry/metric_handler.hpp>
#include <elastic/telemetry/worker_observer.hpp>
#include <elastic/worker/record.hpp>
#include <support/fake_launcher.hpp>
#include <support/fake_rendezvous.hpp>
#include <support/log_recorder.hpp>
#include <support/manual_time.hpp>

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic::test {

/// Keeps every event.
struct event_recorder final : event_handler {
  std::vector<event> events;
  void record(const event& happened) override { events.push_back(happened); }

  /// Those of how workers and the agent ended, without those of starts and phases.
  std::vector<event> ends() const {
    std::vector<event> kept;
    for (const event& happened : events) {
      if (!happened.duration_ms && happened.state != "START") kept.push_back(happened);
    }
    return kept;
  }
};

/// Keeps every metric as "name=value".
struct metric_recorder final : metric_handler {
  std::vector<std::string> lines;
  void emit(const metric_handler::metric& measured) override {
    lines.push_back(fmt::format("{}={}", measured.name, measured.value));
  }
  std::ptrdiff_t count(std::string_view line) const {
    return std::count(lines.begin(), lines.end(), line);
  }
};

/// Keeps what is shown.
struct output_recorder final : output_sink {
  std::string text;
  task<void> write(std::string_view bytes) override {
    text += bytes;
    co_return;
  }
};

/// A local_agent among fakes, under virtual time. Change `workers`, `launcher` and `rendezvous`
/// first, then `start`:
///
///     agent_stage stage(time);
///     stage.workers.nproc_per_node = 2;
///     stage.start();
///     co_await stage.quiet();
///     stage.worker(0).exit(1);
///     co_await stage.end();
///     CHECK(stage.result().state == worker_state::failed);
///
class agent_stage {
 public:
  explicit agent_stage(manual_time& clock)
      : time(clock),
        launcher(std::make_shared<fake_launcher>()),
        rendezvous(std::make_shared<fake_rendezvous>(launcher->notes)),
        log(std::make_shared<log_recorder>()) {
    workers.program = "/usr/bin/trainer";
    workers.nproc_per_node = 2;
    workers.log_dir = "/dev/null";
  }
  agent_stage(const agent_stage&) = delete;
  agent_stage& operator=(const agent_stage&) = delete;

  manual_time& time;
  worker_spec workers;
  std::shared_ptr<fake_launcher> launcher;
  /// Starts the hooks for hung workers.
  std::shared_ptr<fake_launcher> hooks = std::make_shared<fake_launcher>();
  std::shared_ptr<fake_rendezvous> rendezvous;
  /// Chooses it; none: there is nothing to choose.
  rendezvous_factory::chooser choose;
  std::shared_ptr<log_recorder> log;
  std::shared_ptr<event_handler> events;
  std::shared_ptr<metric_handler> metrics;
  std::shared_ptr<worker_observer> observer;
  std::shared_ptr<job_journal> journal = std::make_shared<job_journal>(job_journal::options{});
  std::shared_ptr<output_recorder> console_err = std::make_shared<output_recorder>();
  agent_extension::factory extension;
  bool job_may_grow = false;
  /// Emits into the coroutine that runs the agent.
  asio::cancellation_signal cancel;

  /// The agent, made from what was set up at the first call.
  local_agent& agent() {
    if (!agent_) {
      local_agent::options options;
      options.workers = workers;
      options.rendezvous = rendezvous;
      if (choose) options.rendezvous = rendezvous_factory("c10d", rendezvous->job, choose);
      options.services.launcher = launcher;
      options.services.hook_launcher = hooks;
      // The test owns the clock.
      options.services.time = std::shared_ptr<time_source>(std::shared_ptr<void>(), &time);
      options.services.events = events;
      options.services.metrics = metrics;
      options.services.observer = observer;
      options.services.journal = journal;
      options.services.console_err = console_err;
      options.services.log = log->log();
      options.services.extension = extension;
      options.job_may_grow = job_may_grow;
      agent_.emplace(std::move(options));
    }
    return *agent_;
  }

  /// Runs the agent in a coroutine of its own.
  void start() { start(agent().run()); }

  /// Runs `work`, which is to run the agent.
  void start(task<run_result> work) {
    asio::co_spawn(time.context(), std::move(work),
                   asio::bind_cancellation_slot(
                       cancel.slot(), [this](std::exception_ptr failure, run_result result) {
                         ended_ = true;
                         failure_ = failure;
                         result_ = std::move(result);
                       }));
  }

  /// Lets everything run that can without the time going on.
  task<void> quiet() { return time.sleep_until(time.now()); }
  /// Lets so much time go by.
  task<void> pass(duration span) { return time.sleep_until(time.now() + span); }

  /// Waits for the end of the run. One that never ends fails the test.
  task<void> end() {
    while (!ended_) co_await pass(std::chrono::hours(1));
  }

  bool ended() const { return ended_; }

  /// How the run ended: its result, or else its error thrown.
  run_result result() const {
    if (!ended_) throw std::logic_error("the agent still runs");
    if (failure_) std::rethrow_exception(failure_);
    return *result_;
  }
  /// The code of the error by which it ended; none if it had a result.
  std::error_code failure() const {
    if (!ended_) throw std::logic_error("the agent still runs");
    try {
      if (failure_) std::rethrow_exception(failure_);
    } catch (const std::system_error& thrown) {
      return thrown.code();
    }
    return {};
  }
  /// What the error said.
  std::string failure_text() const {
    try {
      if (failure_) std::rethrow_exception(failure_);
    } catch (const std::exception& thrown) {
      return thrown.what();
    }
    return {};
  }
  bool was_cancelled() const { return failure() == asio::error::operation_aborted; }

  /// A process, by the number of its start.
  fake_process& worker(std::size_t index) { return *launcher->started.at(index); }

  /// What happened, one word or two each, joined by commas.
  std::string story() const {
    std::string text;
    for (const std::string& note : *launcher->notes) text += (text.empty() ? "" : ", ") + note;
    return text;
  }

  /// The kinds of what the journal was told, joined by blanks.
  std::string decisions() const {
    std::string kinds;
    for (const journal_record& record : journal->after(0)) {
      kinds += (kinds.empty() ? "" : " ") + std::string(to_string(record.event.kind));
    }
    return kinds;
  }

  /// Whether nothing is left: no process, nobody who waits for the rendezvous, which was left last.
  bool is_clean() const {
    return launcher->all_gone() && hooks->all_gone() && rendezvous->watchers == 0 &&
           rendezvous->joining == 0 && launcher->holding == 0 &&
           launcher->notes->back() == "shutdown";
  }

 private:
  std::optional<local_agent> agent_;
  bool ended_ = false;
  std::exception_ptr failure_;
  std::optional<run_result> result_;
};

}  // namespace elastic::test
