// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/detail/node_journal.hpp>

#include <elastic/agent/agent_services.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/net/host_name.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/telemetry/job_journal.hpp>

#include <memory>
#include <utility>

namespace elastic::detail {

ELASTIC_DECL void add_journal(agent_services& services, const rendezvous_parameters& meeting) {
  if (services.journal) return;
  job_journal::options recording;
  recording.node = meeting.node_name.empty() ? host_name() : meeting.node_name;
  recording.time = services.time;
  recording.log = services.log;
  services.journal = new_shared<job_journal>(std::move(recording));
}

}  // namespace elastic::detail
