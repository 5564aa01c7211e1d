// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/control/agent_message.hpp>
#include <elastic/control/liveness_settings.hpp>
#include <elastic/control/worker_channels.hpp>
#include <elastic/control/worker_message.hpp>
