// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_services.hpp>
#include <elastic/agent/run_result.hpp>
#include <elastic/agent/worker_group.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/host_name.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace elastic {

/// What an agent records of itself and its workers, in torchelastic's names and shape.
///
/// A handler that throws is logged; the job goes on.
/// Thread-safety: the agent's strand.
class agent_telemetry {
 public:
  agent_telemetry(agent_services services, const worker_spec& spec, std::string run_id,
                  std::string rdzv_backend)
      : services_(std::move(services)),
        role_(spec.role),
        entry_point_(spec.program.substr(spec.program.rfind('/') + 1)),
        run_id_(std::move(run_id)),
        rdzv_backend_(std::move(rdzv_backend)),
        started_(services_.time->now()) {}

  /// A step of the agent: emits at its end how long it took, and whether it ended by an exception
  /// or was told to have failed, under the name that torchelastic gives it.
  class timed_step {
   public:
    timed_step(agent_telemetry& telemetry, std::string step)
        : telemetry_(telemetry), step_(std::move(step)), began_(telemetry.services_.time->now()) {}
    timed_step(const timed_step&) = delete;
    timed_step& operator=(const timed_step&) = delete;
    ~timed_step() {
      if (!telemetry_.services_.metrics) return;
      const auto took = telemetry_.services_.time->now() - began_;
      const bool failed = failed_ || std::uncaught_exceptions() > exceptions_;
      telemetry_.emit(step_ + (failed ? ".failure" : ".success"), 1);
      telemetry_.emit(step_ + ".duration.ms",
                      std::chrono::duration_cast<std::chrono::milliseconds>(took).count());
    }
    void fail() { failed_ = true; }

   private:
    agent_telemetry& telemetry_;
    std::string step_;
    time_point began_;
    int exceptions_ = std::uncaught_exceptions();
    bool failed_ = false;
  };

  /// The metrics of a look at the workers, periodic and when their fate is known: the restarts that
  /// are left, and a 1 under the state's name. Looking takes no time: nothing is polled.
  void emit_state(worker_state state, int remaining_restarts) {
    emit("LocalElasticAgent._monitor_workers.success", 1);
    emit("LocalElasticAgent._monitor_workers.duration.ms", 0);
    emit(fmt::format("workers.{}.remaining_restarts", role_), remaining_restarts);
    std::string name(to_string(state));
    for (char& letter : name) letter = static_cast<char>(std::tolower(letter));
    emit(fmt::format("workers.{}.{}", role_, name), 1);
  }

  /// Runs a task as a timed_step.
  template <class T>
  task<T> timed(std::string step, task<T> work) {
    const timed_step timer(*this, std::move(step));
    co_return co_await std::move(work);
  }

  /// The metrics of a run that ended by itself.
  void emit_result(const run_result& result) {
    const bool failed = result.state != worker_state::succeeded;
    const int remaining = result.max_restarts - result.restarts;
    const bool retried = result.restarts > 0;
    const double steady = 100.0 * (remaining + 1) / (result.max_restarts + 1);
    emit(fmt::format("workers.{}.flakiness", role_), failed ? 100 : static_cast<int>(100 - steady));
    emit(fmt::format("workers.{}.run_total", role_), 1);
    const auto count = [&](const char* name, bool counts) {
      emit(fmt::format("workers.{}.{}", role_, name), counts ? 1 : 0);
    };
    count("run_success_with_retries", !failed && retried);
    count("run_success_no_retries", !failed && !retried);
    count("run_failed_with_retries", failed && retried);
    count("run_failed_no_retries", failed && !retried);
  }

  /// One event per worker of the last attempt, how it ended; none for those that never started.
  void record_workers(const worker_group& group, const run_result& result) {
    for (const worker& one : group.workers()) {
      event happened = common(worker_event_state(one), result.restarts, one.identity.group_rank,
                              one.identity.group_world_size);
      happened.source = event_source::worker;
      event::worker_part part;
      part.pid = one.pid;
      part.global_rank = one.identity.rank;
      part.local_rank = one.identity.local_rank;
      part.role_rank = one.identity.role_rank;
      part.role_world_size = one.identity.role_world_size;
      happened.worker = part;
      if (happened.state == "FAILED") {
        const auto content = read_error_file(one.error_file);
        happened.raw_error = content ? content->raw_json : R"({"message": "<NONE>"})";
        if (!content && !one.hung.empty()) happened.raw_error = hung_error(one.hung);
      }
      record(happened);
    }
  }

  /// The agent's own event: SUCCEEDED where it did its work, whatever the workers did; FAILED with
  /// the reason where it could not.
  void record_agent(const worker_group& group, int restarts,
                    const std::optional<std::string>& failure) {
    const bool started = !group.workers().empty();
    const worker_identity who = started ? group.workers().front().identity : worker_identity{};
    event happened = common(failure ? "FAILED" : "SUCCEEDED", restarts,
                            started ? std::optional<int>(who.group_rank) : std::nullopt,
                            started ? who.group_world_size : 0);
    happened.raw_error = failure;
    record(happened);
  }

 private:
  static std::string hung_error(const std::string& reason) {
    return fmt::format(R"({{"message": {}}})", detail::json_quoted("hung: " + reason));
  }

  static std::string worker_event_state(const worker& one) {
    if (one.end && one.end->status.success()) return "SUCCEEDED";
    return one.end && !one.stopped_by_agent ? "FAILED" : "TERMINATED";
  }

  event common(std::string state, int restarts, std::optional<int> group_rank,
               int group_world_size) const {
    event happened;
    happened.name = "torchelastic.worker.status." + state;
    happened.run_id = run_id_;
    happened.role = role_;
    happened.hostname = host_name();
    happened.rdzv_backend = rdzv_backend_;
    happened.state = std::move(state);
    happened.total_run_time =
        std::chrono::duration_cast<std::chrono::seconds>(services_.time->now() - started_).count();
    happened.agent_restarts = restarts;
    happened.group_rank = group_rank;
    happened.group_world_size = group_world_size;
    happened.entry_point = entry_point_;
    return happened;
  }

  void record(const event& happened) {
    if (!services_.events) return;
    try {
      services_.events->record(happened);
    } catch (const std::exception& failure) {
      services_.log.warning("the event handler failed: {}", failure.what());
    } catch (...) {
      services_.log.warning("the event handler failed");
    }
  }

  void emit(std::string name, std::int64_t value) {
    if (!services_.metrics) return;
    metric measured;
    measured.name = std::move(name);
    measured.value = value;
    measured.at = services_.time->wall_now();
    try {
      services_.metrics->emit(measured);
    } catch (const std::exception& failure) {
      services_.log.warning("the metric handler failed: {}", failure.what());
    } catch (...) {
      services_.log.warning("the metric handler failed");
    }
  }

  agent_services services_;
  std::string role_;
  std::string entry_point_;
  std::string run_id_;
  std::string rdzv_backend_;
  time_point started_;
};

}  // namespace elastic
