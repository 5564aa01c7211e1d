// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Finds out what in the arguments is an option, a value, the script or the script's own, in the way
// of Python's argparse, before CLI11 sees any of it: CLI11 takes an unknown option for the script.

#include <elastic/base/config.hpp>
#include <elastic/launch/detail/option_table.hpp>

#include <string>
#include <vector>

namespace elastic::detail {

/// Arguments, taken apart.
struct scanned_arguments {
  /// Options by their full names, each value in the token after its option's.
  std::vector<std::string> tokens;
  /// The script and what follows it.
  std::vector<std::string> operands;
  bool help = false;
  bool version = false;
};

/// Errors: `errc::invalid_argument` for an option that is unknown or ambiguous, and one that has a
/// value too many or too few.
ELASTIC_DECL scanned_arguments scan_options(const option_table& table,
                                            const std::vector<std::string>& arguments);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/detail/impl/option_scan.ipp>
#endif
