// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <support/skip.hpp>

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

namespace elastic::test {

/// Whether the library must find an io_uring here. It asks the kernel directly, since the library
/// could be wrong. Always true in CI, unless the test runs under a filter that forbids it.
inline bool is_io_uring_here() {
#if defined(ELASTIC_NO_RING)
  return false;
#else
  if (std::getenv("ELASTIC_TEST_IO_URING_FORBIDDEN") == nullptr && is_nothing_missing()) {
    return true;
  }
  char parameters[256] = {};
  const long descriptor = ::syscall(SYS_io_uring_setup, 8, parameters);
  if (descriptor < 0) return false;
  ::close(static_cast<int>(descriptor));
  return true;
#endif
}

}  // namespace elastic::test
