// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/child.hpp>
#include <elastic/process/console_output.hpp>
#include <elastic/process/exit_selection.hpp>
#include <elastic/process/exit_status.hpp>
#include <elastic/process/guard_policy.hpp>
#include <elastic/process/guard_spawner.hpp>
#include <elastic/process/guarded_launcher.hpp>
#include <elastic/process/line_head.hpp>
#include <elastic/process/log_file.hpp>
#include <elastic/process/output_sink.hpp>
#include <elastic/process/pidfd_launcher.hpp>
#include <elastic/process/process_launcher.hpp>
#include <elastic/process/process_set.hpp>
#include <elastic/process/process_spec.hpp>
#include <elastic/process/processor_set.hpp>
#include <elastic/process/stdio.hpp>
#include <elastic/process/stop_plan.hpp>
