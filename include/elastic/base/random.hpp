// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include <fmt/format.h>

namespace elastic {

/// Where chance comes from: seeded by the machine, or by a test that wants the same run again.
///
/// Thread-safety: one thread at a time.
class random_source {
 public:
  random_source() {
    std::random_device device;
    engine_.seed((static_cast<std::uint64_t>(device()) << 32) | device());
  }
  explicit random_source(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t next() { return engine_(); }

  /// A number in [0, bound); `bound` must not be 0.
  std::uint64_t below(std::uint64_t bound) {
    return std::uniform_int_distribution<std::uint64_t>(0, bound - 1)(engine_);
  }

 private:
  std::mt19937_64 engine_;
};

/// A random UUID (RFC 4122, version 4), as run id where the user named none.
inline std::string random_uuid(random_source& random) {
  const std::uint64_t high = random.next();
  const std::uint64_t low = random.next();
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffff,
                     high & 0x0fff, 0x8000 | (low >> 48 & 0x3fff), low & 0xffffffffffff);
}

/// `length` characters of [a-z0-9_], as the part of a directory name that makes it unique.
inline std::string random_name(random_source& random, std::size_t length) {
  constexpr char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
  std::string name(length, '_');
  for (char& letter : name) letter = letters[random.below(sizeof letters - 1)];
  return name;
}

}  // namespace elastic
