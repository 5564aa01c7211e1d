// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/health/checkpoint_outcome.hpp>
#include <elastic/health/control_message.hpp>
#include <elastic/health/line_intake.hpp>
#include <elastic/health/rate_gate.hpp>
#include <elastic/health/timer_request.hpp>
#include <elastic/health/worker_channels.hpp>
#include <elastic/health/worker_channels_options.hpp>
#include <elastic/health/worker_liveness.hpp>
