// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_services.hpp>

#include <memory>
#include <string>

namespace elasticrun {

class task_slots;

/// Makes the agent that uses these services show and start its workers in their slots, whose
/// `task_slots` is the spawner of the services. Call it when all other parts are added.
///
/// Output that the agent copies, but only to keep its last lines, is shown by the worker's own
/// slot, so that the scheduler knows whose it is; the agent shows all else that it copies. It is
/// logged once if ranks differ from the numbers of the tasks.
/// @param logs  the name of the default logs_specs, for `logs_specs_registry`; empty: the agent
///              shows everything that it copies
void add_slots(elastic::agent_services& services, std::shared_ptr<task_slots> slots,
               const std::string& logs);

}  // namespace elasticrun
