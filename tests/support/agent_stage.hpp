// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_part.hpp>
#include <elastic/agent/local_agent.hpp>
#include <elastic/base/asio.hpp>
#include <elastic/base/detail/concurrent_run.hpp>
#include <elastic/base/task.hpp>
#include <elastic/telemetry/job_journal.hpp>
#include <elastic/process/detail/console_writer.hpp>
#include <elastic/telemetry/event_handler.hpp>
#include <elastic/telemetry/metric_handler.hpp>
#include <elastic/testing/event_recorder.hpp>
#include <elastic/testing/output_recorder.hpp>
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

using testing::event_recorder;
using testing::output_recorder;

/// A local_agent with fake services, under virtual time. Set up `workers`, `launcher` and
/// `rendezvous` first, then call `start`:
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
  /// The launcher of hooks for hung workers.
  std::shared_ptr<fake_launcher> hooks = std::make_shared<fake_launcher>();
  std::shared_ptr<fake_rendezvous> rendezvous;
  /// Chooses the rendezvous; empty: there is nothing to choose.
  rendezvous_factory::chooser choose;
  std::shared_ptr<log_recorder> log;
  std::shared_ptr<event_handler> events;
  std::shared_ptr<metric_handler> metrics;
  std::shared_ptr<job_journal> journal = std::make_shared<job_journal>(job_journal::options{});
  std::shared_ptr<output_recorder> console_err = std::make_shared<output_recorder>();
  std::vector<agent_services::part> parts;
  bool job_may_grow = false;
  /// Where the nodes of a job of several nodes meet.
  std::string meeting;
  /// Cancels the coroutine that runs the agent.
  asio::cancellation_signal cancel;

  /// Adds a guest that this test owns, too.
  void attach(std::shared_ptr<agent_part> guest) {
    parts.push_back({"guest", [guest = std::move(guest)](const auto&) { return guest; }});
  }

  /// The agent. The first call creates it from the present set-up.
  local_agent& agent() {
    if (!agent_) {
      local_agent::options options;
      options.workers = workers;
      options.rendezvous = rendezvous;
      if (choose) options.rendezvous = rendezvous_factory("c10d", rendezvous->job, choose);
      options.services.launcher = launcher;
      options.services.hook_launcher = hooks;
      options.services.time = time.share();
      options.services.events = events;
      options.services.metrics = metrics;
      options.services.journal = journal;
      options.services.console_err = console_err;
      options.services.log = log->log();
      options.services.parts = parts;
      options.job_may_grow = job_may_grow;
      options.meeting = meeting;
      agent_.emplace(std::move(options));
    }
    return *agent_;
  }

  /// Runs the agent in a separate coroutine.
  void start() { start(agent().run()); }

  /// Runs `work`, which must run the agent.
  void start(task<run_result> work) {
    asio::co_spawn(time.context(), std::move(work),
                   asio::bind_cancellation_slot(
                       cancel.slot(), [this](std::exception_ptr failure, run_result result) {
                         ended_ = true;
                         failure_ = failure;
                         result_ = std::move(result);
                       }));
  }

  /// Runs everything that can run without advancing time.
  task<void> quiet() { return time.sleep_until(time.now()); }
  /// Advances time by `span`.
  task<void> pass(duration span) { return time.sleep_until(time.now() + span); }

  /// Waits for the end of the run. One that never ends fails the test.
  task<void> end() {
    while (!ended_) co_await pass(std::chrono::hours(1));
  }

  bool ended() const { return ended_; }

  /// The result of the run; throws the run's error if it failed.
  run_result result() const {
    if (!ended_) throw std::logic_error("the agent still runs");
    if (failure_) std::rethrow_exception(failure_);
    return *result_;
  }
  /// The code of the error with which the run ended; empty if it has a result.
  std::error_code failure() const {
    if (!ended_) throw std::logic_error("the agent still runs");
    try {
      if (failure_) std::rethrow_exception(failure_);
    } catch (const std::system_error& thrown) {
      return thrown.code();
    }
    return {};
  }
  /// The message of that error.
  std::string failure_text() const {
    try {
      if (failure_) std::rethrow_exception(failure_);
    } catch (const std::exception& thrown) {
      return thrown.what();
    }
    return {};
  }
  bool was_cancelled() const {
    if (!ended_) throw std::logic_error("the agent still runs");
    return failure_ && detail::is_cancellation(failure_);
  }

  /// A process, by the order of starts.
  fake_process& worker(std::size_t index) { return *launcher->started.at(index); }

  /// The events in one or two words each, joined by commas.
  std::string story() const {
    std::string text;
    for (const std::string& note : *launcher->notes) text += (text.empty() ? "" : ", ") + note;
    return text;
  }

  /// The kinds of the journal's events, joined by spaces.
  std::string decisions() const {
    std::string kinds;
    for (const journal_record& record : journal->after(0)) {
      kinds += (kinds.empty() ? "" : " ") + std::string(to_string(record.event.kind));
    }
    return kinds;
  }

  /// Whether nothing is left: no process and no waiter on the rendezvous, and the node left the
  /// rendezvous last, before its parts were closed.
  bool is_clean() const {
    const auto& notes = *launcher->notes;
    const auto last = std::find_if(notes.rbegin(), notes.rend(), [](const std::string& note) {
      return !note.ends_with(" close") && note != "closed";
    });
    return launcher->all_gone() && hooks->all_gone() && rendezvous->watchers == 0 &&
           rendezvous->joining == 0 && launcher->holding == 0 && last != notes.rend() &&
           *last == "shutdown";
  }

 private:
  std::optional<local_agent> agent_;
  bool ended_ = false;
  std::exception_ptr failure_;
  std::optional<run_result> result_;
};

}  // namespace elastic::test
