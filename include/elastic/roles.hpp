// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in module: several roles in one job, such as a trainer and what generates its data.

#include <elastic/roles/replica_set.hpp>
#include <elastic/roles/role.hpp>
#include <elastic/roles/role_group.hpp>
