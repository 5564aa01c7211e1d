// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <program/slots/slot_socket.hpp>

namespace elasticrun {

/// Runs this process as a slot: it connects to the agent of this node, which is task 0 and calls
/// `task_slots::meet`. Then it starts what the agent orders, until the agent has ended. The call
/// blocks, so it is for the main function of a program without other threads or children.
///
/// Once it is connected, it ignores all signals that would end it and that can be ignored:
/// schedulers send them to every task, and only the agent handles them. It also ignores SIGCHLD,
/// since its only children are guards, which the kernel then reaps. It shares its stdout and stderr
/// with the agent.
///
/// @param plan  the plan of a task other than 0
/// Result: the exit code with which the agent has ended; 1 if it was killed.
/// Errors: `errc::timed_out` if no agent has come within
/// `limits::slot_meeting`; `errc::start_failed` if the agent refuses this task, or if another user
/// holds the name of the socket; the message then names the process and the user.
int run_slot(const slot_plan& plan);

}  // namespace elasticrun
