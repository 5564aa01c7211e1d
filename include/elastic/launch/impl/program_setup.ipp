// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/program_setup.hpp>

#include <elastic/base/limits.hpp>

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>

namespace elastic {

ELASTIC_DECL void set_up_program() {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
  ::signal(SIGCHLD, SIG_DFL);
  for (int fd = 0; fd < 3; ++fd) {
    // `open` returns the lowest free number, which is the missing one.
    if (::fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) != fd) return;
  }
#if defined(__GLIBC__)
  ::mallopt(M_MMAP_THRESHOLD, 64 * 1024);
#endif
}

ELASTIC_DECL std::uint64_t raise_open_files() {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  const std::uint64_t before = files.rlim_cur;
  const rlim_t most = std::min<rlim_t>(files.rlim_max, limits::open_files);
  files.rlim_cur = std::max(files.rlim_cur, most);
  if (files.rlim_cur != before) ::setrlimit(RLIMIT_NOFILE, &files);
  return before;
}

}  // namespace elastic
