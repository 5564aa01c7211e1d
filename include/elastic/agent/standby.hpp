// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/standby/standby_set.hpp>
#include <elastic/agent/standby/standby_starts.hpp>
#include <elastic/agent/standby/warm_standby.hpp>
