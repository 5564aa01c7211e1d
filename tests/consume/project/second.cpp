// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include "second.hpp"

// The single header has it already.
#if __has_include(<elastic/file.hpp>)
#include <elastic/file.hpp>
#endif

const std::error_category* category_in_second() { return &elastic::error_category(); }

bool adds_module_in_second() {
  elastic::rendezvous_registry backends;
#if defined(ELASTIC_HEADER_ONLY)
  if (backends.contains("file")) return false;
#endif
  elastic::add_file_rendezvous(backends);
  return backends.contains("file");
}
