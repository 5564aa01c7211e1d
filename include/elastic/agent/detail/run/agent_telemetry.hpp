// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_services.hpp>
#include <elastic/agent/run_result.hpp>
#include <elastic/agent/worker_group.hpp>
#include <elastic/agent/worker_spec.hpp>
#include <elastic/agent/worker_state.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/telemetry/event.hpp>

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>

namespace elastic::detail {

/// Records events and metrics of an agent and its workers, with torchelastic's names and structure.
///
/// An exception from a handler is logged; the job continues.
/// Thread-safety: the agent's strand.
class agent_telemetry {
 public:
  ELASTIC_DECL agent_telemetry(agent_services services, const worker_spec& spec, std::string run_id,
                               std::string rdzv_backend);

  /// Times a step of the agent. At the step's end it emits the duration and whether the step failed
  /// (by an exception or explicitly), under torchelastic's name for it.
  class timed_step {
   public:
    ELASTIC_DECL timed_step(agent_telemetry& telemetry, std::string step);
    timed_step(const timed_step&) = delete;
    timed_step& operator=(const timed_step&) = delete;
    ELASTIC_DECL ~timed_step();
    void fail() { failed_ = true; }

   private:
    agent_telemetry& telemetry_;
    std::string step_;
    time_point began_;
    int exceptions_ = std::uncaught_exceptions();
    bool failed_ = false;
  };

  /// Times a phase, in torchelastic's terms: records an event with its duration, however it ends.
  class timed_phase {
   public:
    ELASTIC_DECL timed_phase(agent_telemetry& telemetry, std::string state);
    timed_phase(const timed_phase&) = delete;
    timed_phase& operator=(const timed_phase&) = delete;
    ELASTIC_DECL ~timed_phase();

   private:
    agent_telemetry& telemetry_;
    std::string state_;
    time_point began_;
  };

  /// Sets how often workers have failed, for the events of phases.
  void set_restarts(int restarts) { restarts_ = restarts; }

  /// Records one event for each started worker; later phases name the workers' round.
  ELASTIC_DECL void record_start(const worker_group& group);

  /// Records that some workers were replaced while the others continued: an event with the
  /// duration, and a metric with the number.
  ELASTIC_DECL void record_replacement(std::size_t replaced, duration took);

  /// Emits the state metrics, periodically and once the outcome is known: the remaining restarts,
  /// and a 1 under the state's name. Their duration is always zero, since nothing is polled.
  ELASTIC_DECL void emit_state(worker_state state, int remaining_restarts);

  /// Emits the metrics of a run that ended by itself.
  ELASTIC_DECL void emit_result(const run_result& result);

  /// Records how each worker of the last attempt ended, one event each; none for workers that never
  /// started.
  ELASTIC_DECL void record_workers(const worker_group& group, const run_result& result);

  /// Records the agent's own event: SUCCEEDED if the agent did its work, however the workers ended;
  /// FAILED with the reason if it could not.
  ELASTIC_DECL void record_agent(const worker_group& group, int restarts,
                                 const std::optional<std::string>& failure);

 private:
  ELASTIC_DECL event event_of_worker(const worker_group::worker& entry, std::string state,
                                     int restarts) const;
  ELASTIC_DECL static std::string hung_error(const std::string& reason);
  ELASTIC_DECL static std::string error_without_file(const event::worker_part& failed);
  ELASTIC_DECL static std::string worker_event_state(const worker_group::worker& entry);
  ELASTIC_DECL event common(std::string state, int restarts, std::optional<int> group_rank,
                            std::optional<int> group_world_size) const;
  ELASTIC_DECL void record(const event& happened);
  ELASTIC_DECL void emit(std::string name, std::int64_t value);

  agent_services services_;
  std::string role_;
  std::string entry_point_;
  std::string run_id_;
  std::string rdzv_backend_;
  time_point started_;
  int restarts_ = 0;
  std::optional<int> group_rank_;
  std::optional<int> group_world_size_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/run/agent_telemetry.ipp>
#endif
