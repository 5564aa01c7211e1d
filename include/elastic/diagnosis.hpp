// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in module: who holds up a job that stands still.

#include <elastic/diagnosis/stall_verdict.hpp>
