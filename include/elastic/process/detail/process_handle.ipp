// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/detail/process_handle.hpp>

#include <elastic/process/detail/syscalls.hpp>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace elastic::detail {

ELASTIC_DECL process_handle::process_handle(pid_t pid) : pid_(pid), pidfd_(real::pidfd_open(pid)) {}

ELASTIC_DECL bool process_handle::is_running() const {
  pollfd ended{pidfd_.get(), POLLIN, 0};
  return pidfd_ && ::poll(&ended, 1, 0) == 0;
}

ELASTIC_DECL bool process_handle::signal(int number) const {
  return pidfd_ && real::pidfd_send_signal(pidfd_.get(), number, 0) == 0;
}

ELASTIC_DECL bool process_handle::signal_main_thread(int number) const {
  return is_running() && ::syscall(SYS_tgkill, pid_, pid_, number) == 0;
}

}  // namespace elastic::detail
