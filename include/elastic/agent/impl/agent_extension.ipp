// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_extension.hpp>

namespace elastic {

ELASTIC_DECL std::shared_ptr<process_launcher> agent_extension::launcher() { return nullptr; }

ELASTIC_DECL duration agent_extension::join_delay() { return duration::zero(); }

ELASTIC_DECL duration agent_extension::stop_delay(const rendezvous_change&) {
  return duration::zero();
}

ELASTIC_DECL task<void> agent_extension::until_ready() { co_return; }

ELASTIC_DECL task<void> agent_extension::prepare_attempt() { co_return; }

ELASTIC_DECL task<void> agent_extension::agree(rendezvous_round, assigned_ranks) { co_return; }

ELASTIC_DECL void agent_extension::change_environment(const worker_identity&, environment_map&) {}

ELASTIC_DECL int agent_extension::passed_descriptor(int) { return -1; }

ELASTIC_DECL void agent_extension::begin_attempt(const rendezvous_round&) {}

ELASTIC_DECL void agent_extension::begin_replacement(const rendezvous_round& round) {
  begin_attempt(round);
}

ELASTIC_DECL std::optional<worker_starts> agent_extension::starts() const { return std::nullopt; }

ELASTIC_DECL task<void> agent_extension::beside_workers(bool) { co_return; }

ELASTIC_DECL task<job_command::outcome> agent_extension::carry_out(job_command) {
  job_command::outcome outcome;
  outcome.text = "this program does not inspect its workers";
  co_return outcome;
}

ELASTIC_DECL void agent_extension::stepped(std::int64_t) {}

ELASTIC_DECL void agent_extension::prepared() {}

ELASTIC_DECL bool agent_extension::looks_last() const { return false; }

ELASTIC_DECL task<std::string> agent_extension::last_look() { co_return std::string(); }

ELASTIC_DECL void agent_extension::end_attempt() {}

ELASTIC_DECL task<void> agent_extension::close() { co_return; }

}  // namespace elastic
