// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace elastic::fuzz {

/// Something that reads bytes from outside. It may refuse them by an `elastic::error`; anything
/// else that it throws, and every broken promise, ends the program.
struct target {
  const char* name;
  void (*run)(std::string_view input);
};

/// All of them, and those of three kinds.
const std::vector<target>& targets();
std::vector<target> protocol_targets();
std::vector<target> text_targets();
std::vector<target> diagnosis_targets();

/// Runs a target on one input.
void run(const target& chosen, std::string_view input);

/// Ends the program if a promise does not hold.
void require(bool holds, const char* promise);

/// Cuts an input into the parts that a target is made of: numbers, and bytes.
class cutter {
 public:
  explicit cutter(std::string_view input) : rest_(input) {}

  bool is_empty() const { return rest_.empty(); }

  /// From 0 to `most`, 0 if nothing is left.
  std::size_t number(std::size_t most) {
    if (rest_.empty()) return 0;
    const auto value = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return value % (most + 1);
  }

  /// At most `most` bytes.
  std::string_view bytes(std::size_t most) {
    const std::string_view part = rest_.substr(0, most);
    rest_.remove_prefix(part.size());
    return part;
  }

  std::string_view rest() { return bytes(rest_.size()); }

 private:
  std::string_view rest_;
};

}  // namespace elastic::fuzz
