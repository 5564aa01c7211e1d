// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// For libFuzzer: `fuzzer TARGET [libFuzzer's arguments]`.

#include "target.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

const elastic::fuzz::target* chosen = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  const std::string_view name = *count > 1 ? (*arguments)[1] : "";
  for (const elastic::fuzz::target& target : elastic::fuzz::targets()) {
    if (target.name == name) chosen = &target;
  }
  if (chosen == nullptr) {
    std::fputs("fuzzer TARGET [arguments of libFuzzer]; there are:\n", stderr);
    for (const auto& target : elastic::fuzz::targets()) std::fprintf(stderr, "  %s\n", target.name);
    std::exit(2);
  }
  // The program's name stays, the target's goes.
  (*arguments)[1] = (*arguments)[0];
  ++*arguments;
  --*count;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  elastic::fuzz::run(*chosen, {reinterpret_cast<const char*>(data), size});
  return 0;
}
