// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in module: who holds up a job that stands still.

#include <elastic/diagnosis/group_position.hpp>
#include <elastic/diagnosis/process_texts.hpp>
#include <elastic/diagnosis/rank_evidence.hpp>
#include <elastic/diagnosis/rank_set.hpp>
#include <elastic/diagnosis/recorder_dump.hpp>
#include <elastic/diagnosis/stack_frame.hpp>
#include <elastic/diagnosis/stack_groups.hpp>
#include <elastic/diagnosis/stall_judge.hpp>
#include <elastic/diagnosis/stall_verdict.hpp>
#include <elastic/diagnosis/stall_watch.hpp>
#include <elastic/diagnosis/straggler_watch.hpp>
#include <elastic/diagnosis/thread_stack.hpp>
#include <elastic/diagnosis/user_frame.hpp>
