// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include "second.hpp"

// The single header has it already.
#if __has_include(<elastic/file.hpp>)
#include <elastic/file.hpp>
#include <elastic/testing.hpp>
#endif

#include <chrono>

const std::error_category* category_in_second() { return &elastic::error_category(); }

bool adds_module_in_second() {
  elastic::rendezvous_registry backends;
#if defined(ELASTIC_HEADER_ONLY)
  if (backends.contains("file")) return false;
#endif
  elastic::add_file_rendezvous(backends);
  return backends.contains("file");
}

bool waits_an_hour_in_second() {
  constexpr std::chrono::hours hour(1);
  elastic::asio::io_context context;
  elastic::testing::manual_clock clock(context);
  clock.run(clock.sleep_until(clock.now() + hour));
  return clock.elapsed() == hour;
}
