// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/telemetry/job_event.hpp>

#include <array>
#include <cstddef>
#include <string_view>

namespace elastic::detail {

/// What an agent does between two events, as traces and `explain` name it.
enum class agent_phase { rendezvous, start, work, stop, wait, exit_barrier, rest };
inline constexpr std::array<std::string_view, 7> agent_phase_names{
    "rendezvous", "start", "work", "stop", "wait before restart", "exit barrier", "rest"};

constexpr std::string_view to_string(agent_phase phase) {
  return agent_phase_names[static_cast<std::size_t>(phase)];
}

/// The phase of an agent after an event.
/// @param before  its phase until then
ELASTIC_DECL agent_phase phase_after(const job_event& event, agent_phase before);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/status/detail/impl/agent_phase.ipp>
#endif
