// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// The name that `word` probably stands for: few letters differ, or the name begins with it.
/// Result: empty if there is none. Thread-safe.
ELASTIC_DECL std::string nearest_name(std::string_view word, const std::vector<std::string>& names);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/base/detail/impl/nearest_name.ipp>
#endif
