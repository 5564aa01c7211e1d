// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>

#include <string>
#include <string_view>

namespace elastic::detail {

/// Checks a pointer that the user passed.
/// @param what  the beginning of the error: "prefix_store: the inner store"
/// Errors: `errc::invalid_argument` if it is null.
template <class Pointer>
Pointer required(Pointer given, std::string_view what) {
  if (!given) throw error(errc::invalid_argument, std::string(what) + " is null");
  return given;
}

}  // namespace elastic::detail
