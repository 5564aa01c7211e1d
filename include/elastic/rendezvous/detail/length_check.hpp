// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>

#include <cstddef>
#include <string_view>

#include <fmt/format.h>

namespace elastic::detail {

/// Refuses a value that the server or the store would refuse anyway, by the name of its option.
inline void check_length(std::string_view option, std::string_view value, std::size_t most_bytes) {
  if (value.size() <= most_bytes) return;
  throw error(errc::invalid_argument, fmt::format("{}: it has {} bytes, and up to {} are allowed",
                                                  option, value.size(), most_bytes));
}

}  // namespace elastic::detail
