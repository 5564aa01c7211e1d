// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/health/agent_message.hpp>
#include <elastic/health/checkpoint_outcome.hpp>
#include <elastic/health/liveness_settings.hpp>
#include <elastic/health/worker_channels.hpp>
#include <elastic/health/worker_message.hpp>
