// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: for programs, not for those who embed a job.

#include <fcntl.h>
#include <signal.h>

namespace elastic {

/// What a program that runs jobs does first in `main`: makes it independent of how its own parent
/// left signals and descriptors.
///
/// SIGPIPE is ignored: a terminal that is gone must not end the job. SIGCHLD is handled as by
/// default: a parent that ignores it would hide how workers end. A standard stream that is closed
/// becomes /dev/null, so that no descriptor of the job takes its number.
inline void set_up_program() {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGCHLD, SIG_DFL);
  for (int fd = 0; fd < 3; ++fd) {
    // The lowest free number is the one that is missing.
    if (::fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) != fd) return;
  }
}

}  // namespace elastic
