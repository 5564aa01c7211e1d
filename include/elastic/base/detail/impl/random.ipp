// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/random.hpp>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL random_source::random_source() {
  std::random_device device;
  engine_.seed((static_cast<std::uint64_t>(device()) << 32) | device());
}

ELASTIC_DECL std::uint64_t random_source::below(std::uint64_t bound) {
  return std::uniform_int_distribution<std::uint64_t>(0, bound - 1)(engine_);
}

ELASTIC_DECL std::string random_uuid(random_source& random) {
  const std::uint64_t high = random.next();
  const std::uint64_t low = random.next();
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffff,
                     high & 0x0fff, 0x8000 | (low >> 48 & 0x3fff), low & 0xffffffffffff);
}

ELASTIC_DECL std::string random_name(random_source& random, std::size_t length) {
  constexpr char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
  std::string name(length, '_');
  for (char& letter : name) letter = letters[random.below(sizeof letters - 1)];
  return name;
}

ELASTIC_DECL std::string random_uuid() {
  random_source random;
  return random_uuid(random);
}

ELASTIC_DECL std::string random_name(std::size_t length) {
  random_source random;
  return random_name(random, length);
}

}  // namespace elastic::detail
