// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in module: standbys for workers that are Python programs.

#include <elastic/python/standby_set.hpp>
#include <elastic/python/standby_terms.hpp>
#include <elastic/python/warm_standby.hpp>
