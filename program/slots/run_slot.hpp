// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <program/slots/slot_socket.hpp>

namespace elasticrun {

/// Is a slot: meets the agent of this node, which is task 0 and calls `task_slots::meet`, and
/// starts what it is told to, until the agent has ended. It blocks, so it is for the main function
/// of a program without other threads or children.
///
/// Once it has met the agent, it ignores all signals that would end it and that can be ignored,
/// since schedulers send them to every task and the agent alone handles them; and SIGCHLD, since
/// guards are nobody else's children. Its stdout and stderr are shared with the agent.
///
/// @param plan  of a task that is not 0
/// Result: the exit code with which the agent has ended; 1 if it was killed.
/// Errors: `errc::timed_out` if no agent has come within
/// `limits::slot_meeting`; `errc::start_failed` if the agent refuses this task, or another user
/// holds the name of the socket: the message names process and user.
int run_slot(const slot_plan& plan);

}  // namespace elasticrun
