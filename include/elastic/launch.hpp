// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/job.hpp>
#include <elastic/launch/launch_config.hpp>
#include <elastic/launch/launcher.hpp>
#include <elastic/launch/signal_plan.hpp>
