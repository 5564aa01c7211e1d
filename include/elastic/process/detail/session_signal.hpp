// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/process/detail/syscalls.hpp>

#include <sys/types.h>

namespace elastic::detail {

/// Sends a signal to every process of a session but its leader, as far as /proc shows them. Does
/// nothing once the leader, `leader_pidfd`, has ended.
///
/// It never signals a process of another session: while the leader lives, its number names no other
/// session, and a process is signalled through a pidfd that was held when it was seen there.
ELASTIC_DECL void signal_session_but_leader(pid_t leader, int leader_pidfd, int number,
                                            const syscalls& calls) noexcept;

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/session_signal.ipp>
#endif
