// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/detail/session_signal.hpp>

#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/process/detail/process_tree.hpp>

namespace elastic::detail {

ELASTIC_DECL void signal_session_but_leader(pid_t leader, int leader_pidfd, int number,
                                            const syscalls& calls) noexcept try {
  for (const process_entry& candidate : read_processes()) {
    if (candidate.session != leader || candidate.pid == leader) continue;
    const unique_fd held(calls.pidfd_open(candidate.pid));
    if (!held) continue;
    const auto entry = read_process(candidate.pid);
    if (!entry || entry->session != leader) continue;
    if (calls.pidfd_send_signal(leader_pidfd, 0, 0) != 0) return;
    calls.pidfd_send_signal(held.get(), number, 0);
  }
} catch (...) {
  // Without memory for the list, the other processes miss this signal. SIGKILL still reaches them.
}

}  // namespace elastic::detail
