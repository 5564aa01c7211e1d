// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_part.hpp>
#include <elastic/agent/agent_services.hpp>
#include <elastic/agent/failure_report.hpp>
#include <elastic/agent/failure_report_json.hpp>
#include <elastic/agent/job_command.hpp>
#include <elastic/agent/local_agent.hpp>
#include <elastic/agent/log_layout.hpp>
#include <elastic/agent/log_options.hpp>
#include <elastic/agent/logs_specs.hpp>
#include <elastic/agent/logs_specs_registry.hpp>
#include <elastic/agent/rank_assignment.hpp>
#include <elastic/agent/rank_exchange.hpp>
#include <elastic/agent/restart_ledger.hpp>
#include <elastic/agent/run_result.hpp>
#include <elastic/agent/shell_command.hpp>
#include <elastic/agent/stop_request.hpp>
#include <elastic/agent/worker_group.hpp>
#include <elastic/agent/worker_request.hpp>
#include <elastic/agent/worker_spec.hpp>
#include <elastic/agent/worker_state.hpp>
