// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/python/standby_terms.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>

#include <string_view>

#include <fmt/format.h>

namespace elastic {

namespace detail {

/// Whether the text is a dotted name, as in Python's `import`. Letters outside ASCII are allowed.
inline bool is_module_name(std::string_view name) {
  bool begins = true;
  for (const char letter : name) {
    const bool is_letter = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                           letter == '_' || static_cast<unsigned char>(letter) >= 0x80;
    const bool is_digit = letter >= '0' && letter <= '9';
    if (letter == '.' ? begins : !is_letter && (begins || !is_digit)) return false;
    begins = letter == '.';
  }
  return !begins;
}

}  // namespace detail

ELASTIC_DECL void validate(const warm_standby& terms) {
  if (terms.delay < duration::zero()) {
    throw error(errc::invalid_argument, "the delay of standbys must not be negative");
  }
  if (terms.modules.size() > limits::standby_modules) {
    throw error(errc::invalid_argument,
                fmt::format("{} modules for a standby: at most {} are allowed",
                            terms.modules.size(), limits::standby_modules));
  }
  for (const std::string& name : terms.modules) {
    if (detail::is_module_name(name) && name.size() <= limits::standby_module_bytes) continue;
    throw error(errc::invalid_argument,
                fmt::format("'{}' is not the name of a module: identifiers with dots between are "
                            "allowed",
                            name.substr(0, limits::standby_module_bytes)));
  }
}

}  // namespace elastic
