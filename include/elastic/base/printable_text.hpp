// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <string>
#include <string_view>

namespace elastic {

/// Makes untrusted text safe to show on a terminal: control characters except tabs and line ends,
/// bidirectional controls, and bytes that are not UTF-8 are replaced by "\\xNN".
/// @param line_begin  inserted after each line end within the text, so that the next line is not
///                    mistaken for a separate message
ELASTIC_DECL std::string printable_text(std::string_view text, std::string_view line_begin = {});

/// The same as part of one line: line ends become spaces, and surrounding spaces and tabs are
/// removed.
ELASTIC_DECL std::string printable_line(std::string_view text);

/// The text in single quotes, as part of a one-line message: control characters are replaced by
/// "\\xNN", and the text is truncated after 200 bytes.
ELASTIC_DECL std::string in_quotes(std::string_view text);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/base/impl/printable_text.ipp>
#endif
