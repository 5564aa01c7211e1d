// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

#include <fmt/format.h>

namespace elastic::detail {

/// A random source: seeded by the machine, or by a test that needs a reproducible run.
///
/// Thread-safety: one thread at a time.
class random_source {
 public:
  random_source();
  explicit random_source(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t next() { return engine_(); }

  /// A number in [0, bound); `bound` must not be 0.
  std::uint64_t below(std::uint64_t bound);

 private:
  std::mt19937_64 engine_;
};

/// A random UUID (RFC 4122, version 4): the run id if the user chose none.
inline std::string random_uuid(random_source& random);
inline std::string random_uuid();

/// `length` characters of [a-z0-9_]: the unique part of a directory name.
inline std::string random_name(random_source& random, std::size_t length);
inline std::string random_name(std::size_t length);

inline random_source::random_source() {
  std::random_device device;
  engine_.seed((static_cast<std::uint64_t>(device()) << 32) | device());
}

inline std::uint64_t random_source::below(std::uint64_t bound) {
  return std::uniform_int_distribution<std::uint64_t>(0, bound - 1)(engine_);
}

inline std::string random_uuid(random_source& random) {
  const std::uint64_t high = random.next();
  const std::uint64_t low = random.next();
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffff,
                     high & 0x0fff, 0x8000 | (low >> 48 & 0x3fff), low & 0xffffffffffff);
}

inline std::string random_name(random_source& random, std::size_t length) {
  constexpr char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
  std::string name(length, '_');
  for (char& letter : name) letter = letters[random.below(sizeof letters - 1)];
  return name;
}

inline std::string random_uuid() {
  random_source random;
  return random_uuid(random);
}

inline std::string random_name(std::size_t length) {
  random_source random;
  return random_name(random, length);
}

}  // namespace elastic::detail
