// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_services.hpp>

#include <memory>
#include <string>

namespace elasticrun {

class task_slots;

/// Makes the agent that uses these services start its workers in `slots`, which is also the spawner
/// of the services, and show their output there. Call it after all other parts are added.
///
/// If the agent copies output only to keep its last lines, the worker's own slot shows it, so that
/// the scheduler knows whose output it is. The agent shows all other output that it copies. A
/// warning is logged once if ranks differ from the numbers of the tasks.
/// @param logs  the name of the default logs_specs, for `logs_specs_registry`; empty: the agent
///              shows everything that it copies
void add_slots(elastic::agent_services& services, std::shared_ptr<task_slots> slots,
               const std::string& logs);

}  // namespace elasticrun
