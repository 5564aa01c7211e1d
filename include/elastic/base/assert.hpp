// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <cstdlib>

namespace elastic::detail {

[[noreturn]] inline void assertion_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "elastic: broken invariant: %s (%s:%d)\n", condition, file, line);
  std::abort();
}

}  // namespace elastic::detail

/// Checks an invariant of this library, in release builds too: a supervisor that continues with a
/// broken invariant can lose a job that has run for days. Never use it for input from outside.
#define ELASTIC_ASSERT(condition) \
  ((condition) ? (void)0 : ::elastic::detail::assertion_failed(#condition, __FILE__, __LINE__))
