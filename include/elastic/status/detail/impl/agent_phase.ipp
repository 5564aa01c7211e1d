// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/agent_phase.hpp>

namespace elastic::detail {

ELASTIC_DECL agent_phase phase_after(const job_event& event, agent_phase before) {
  using kind = job_event::type;
  switch (event.kind) {
    case kind::agent_started:
    case kind::rendezvous_started: return agent_phase::rendezvous;
    case kind::round_joined:
    case kind::workers_starting: return agent_phase::start;
    case kind::workers_started: return agent_phase::work;
    case kind::workers_judged:
      return event.state == "succeeded" ? agent_phase::exit_barrier : agent_phase::stop;
    case kind::round_ended:
    case kind::restart_decided:
    case kind::failure_decided:
    case kind::stop_requested:
    case kind::fence_reached:
    case kind::workers_stopping: return agent_phase::stop;
    case kind::workers_stopped: return agent_phase::wait;
    case kind::exit_barrier_started: return agent_phase::exit_barrier;
    // Only this record says that a replica runs again; for a world, `workers_started` does.
    case kind::ranks_replaced: return event.pid ? agent_phase::work : before;
    case kind::exit_barrier_ended:
    case kind::agent_ended: return agent_phase::rest;
    case kind::worker_ended:
    case kind::worker_hung:
    case kind::fault_injected:
    case kind::stall_found:
    case kind::stall_ended:
    case kind::worker_suspected:
    case kind::failure_described:
    case kind::job_paused:
    case kind::job_resumed:
    case kind::checkpoint_ended:
    case kind::node_told:
    case kind::replacement_abandoned:
    case kind::rollback_started:
    case kind::step_reached: break;
  }
  return before;
}

}  // namespace elastic::detail
