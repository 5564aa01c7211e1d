// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <string>
#include <string_view>

namespace elastic {

/// The text as it may be shown on a terminal although somebody else wrote it: control characters
/// but the tab and the end of a line, characters that change the direction of writing, and bytes
/// that are no UTF-8 stand as "\\xNN".
/// @param line_begin  stands after each end of a line within the text, so that what follows is not
///                    taken for a line of its own
ELASTIC_DECL std::string printable_text(std::string_view text, std::string_view line_begin = {});

/// The same as a part of one line: the ends of its lines are blanks, and none stand around it.
ELASTIC_DECL std::string printable_line(std::string_view text);

/// The text between single quotes, as a part of a one-line message: control characters stand as
/// "\\xNN", and what is longer than 200 bytes is cut.
ELASTIC_DECL std::string in_quotes(std::string_view text);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/base/impl/printable_text.ipp>
#endif
