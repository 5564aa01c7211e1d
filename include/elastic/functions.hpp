// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in module: functions as workers. A program that includes it can launch functions of its own.

#include <elastic/functions/entrypoint.hpp>
#include <elastic/functions/launch_function.hpp>
