// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in module: finds out which rank holds up a stalled job.

#include <elastic/diagnosis/stall_verdict.hpp>
