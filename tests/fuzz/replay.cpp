// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Runs every target on its stored inputs and on pieces of them.
//
//   replay CORPUS

#include "target.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace fs = std::filesystem;

namespace {

std::string content_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("replay CORPUS\n", stderr);
    return 2;
  }
  int without = 0;
  for (const elastic::fuzz::target& target : elastic::fuzz::targets()) {
    const fs::path folder = fs::path(arguments[1]) / target.name;
    int inputs = 0;
    if (fs::is_directory(folder)) {
      for (const auto& entry : fs::directory_iterator(folder)) {
        const std::string input = content_of(entry.path());
        elastic::fuzz::run(target, input);
        for (std::size_t size = 0; size < input.size(); size += 1 + input.size() / 64) {
          elastic::fuzz::run(target, std::string_view(input).substr(0, size));
        }
        ++inputs;
      }
    }
    std::printf("%-20s %d inputs\n", target.name, inputs);
    if (inputs == 0) ++without;
  }
  return without == 0 ? 0 : 1;
}
