// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_part.hpp>

namespace elastic {

ELASTIC_DECL std::shared_ptr<process_launcher> agent_part::wrap(
    std::shared_ptr<process_launcher> inner) {
  return inner;
}

ELASTIC_DECL duration agent_part::join_delay() { return duration::zero(); }

ELASTIC_DECL duration agent_part::stop_delay(const rendezvous_change&) { return duration::zero(); }

ELASTIC_DECL task<void> agent_part::until_ready() { co_return; }

ELASTIC_DECL task<void> agent_part::prepare_attempt() { co_return; }

ELASTIC_DECL task<void> agent_part::agree(rendezvous_round, assigned_ranks) { co_return; }

ELASTIC_DECL void agent_part::begin_attempt(const rendezvous_round&) {}

ELASTIC_DECL void agent_part::begin_replacement(const rendezvous_round& round) {
  begin_attempt(round);
}

ELASTIC_DECL void agent_part::change_environment(const worker_identity&, environment_map&) {}

ELASTIC_DECL int agent_part::passed_descriptor(int) { return -1; }

ELASTIC_DECL std::optional<run_result::worker_starts> agent_part::starts() const {
  return std::nullopt;
}

ELASTIC_DECL void agent_part::prepared() {}

ELASTIC_DECL task<void> agent_part::beside_workers(bool) { co_return; }

ELASTIC_DECL task<void> agent_part::beside_exit_barrier() { co_return; }

ELASTIC_DECL task<std::optional<job_command::outcome>> agent_part::carry_out(job_command) {
  co_return std::nullopt;
}

ELASTIC_DECL bool agent_part::wants_last_look() const { return false; }

ELASTIC_DECL task<std::string> agent_part::last_look() { co_return std::string(); }

ELASTIC_DECL void agent_part::end_attempt() {}

ELASTIC_DECL task<void> agent_part::end() { co_return; }

ELASTIC_DECL task<void> agent_part::close() { co_return; }

}  // namespace elastic
