// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in module: finds out where the workers of a job are.

#include <elastic/inspection/job_diagnosis.hpp>
#include <elastic/inspection/local_stacks.hpp>
