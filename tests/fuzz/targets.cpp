// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include "target.hpp"

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace elastic::fuzz {

const std::vector<target>& targets() {
  static const std::vector<target> joined = [] {
    std::vector<target> all = protocol_targets();
    for (const target& text : text_targets()) all.push_back(text);
    for (const target& evidence : diagnosis_targets()) all.push_back(evidence);
    return all;
  }();
  return joined;
}

void run(const target& chosen, std::string_view input) {
  try {
    chosen.run(input);
  } catch (const error&) {
    // Refused, which is its right.
  }
}

void require(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

}  // namespace elastic::fuzz
