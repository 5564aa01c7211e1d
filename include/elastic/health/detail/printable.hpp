// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace elastic::detail {

/// `text` made safe to show: without characters that a terminal interprets, at most `most` bytes of
/// whole characters.
ELASTIC_DECL std::string printable(std::string_view text, std::size_t most);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/health/detail/impl/printable.ipp>
#endif
