// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in module: the state of a job for viewers: documents, metrics, a page by HTTP, traces.

#include <elastic/status/add_monitor.hpp>
#include <elastic/status/add_status.hpp>
#include <elastic/status/job_monitor.hpp>
#include <elastic/status/roles_monitor.hpp>
#include <elastic/status/status_address.hpp>
#include <elastic/status/status_server.hpp>
#include <elastic/status/trace_file.hpp>
