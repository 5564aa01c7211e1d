// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/program_setup.hpp>

#include <fcntl.h>
#include <signal.h>

namespace elastic {

ELASTIC_DECL void set_up_program() {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGCHLD, SIG_DFL);
  for (int fd = 0; fd < 3; ++fd) {
    // The lowest free number is the one that is missing.
    if (::fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) != fd) return;
  }
}

}  // namespace elastic
