// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in module: functions as workers. A program that includes it can launch its own functions.

#include <elastic/functions/entrypoint.hpp>
#include <elastic/functions/launch_function.hpp>
