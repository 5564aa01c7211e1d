// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in module: finds out where the workers of a job are, and which rank holds up a stalled job.

#include <elastic/diagnosis/job_diagnosis.hpp>
#include <elastic/diagnosis/local_stacks.hpp>
