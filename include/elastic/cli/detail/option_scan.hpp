// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Finds out what in the arguments is an option, a value, the script or the script's own, in the way
// of Python's argparse.

#include <elastic/base/config.hpp>
#include <elastic/cli/detail/option_row.hpp>

#include <string>
#include <vector>

namespace elastic::detail {

/// An option on the command line. The text of a flag is "1".
struct scanned_option {
  const option_row* row = nullptr;
  std::string text;
};

/// Arguments, taken apart.
struct scanned_arguments {
  std::vector<scanned_option> options;
  /// The script and what follows it.
  std::vector<std::string> operands;
  /// The last of the options, if it is one that shows something: nothing after it was read.
  bool shows = false;
};

/// Errors: `errc::invalid_argument` for an option that is unknown or ambiguous, and one that has a
/// value too many or too few.
ELASTIC_DECL scanned_arguments scan_options(const std::vector<std::string>& arguments);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/cli/detail/option_scan.ipp>
#endif
