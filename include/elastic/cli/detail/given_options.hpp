// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/cli/detail/option_row.hpp>
#include <elastic/cli/detail/option_scan.hpp>
#include <elastic/contract/environment.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace elastic::detail {

/// The options that the user gave: on the command line, else in the environment. There PET_<NAME>
/// comes before a row's own variable, and an empty variable counts as not set.
class given_options {
 public:
  ELASTIC_DECL given_options(const std::vector<scanned_option>& scanned,
                             const environment_map& environment);

  /// The value that counts. Empty: the option was not given.
  ELASTIC_DECL std::optional<option_value> find(std::string_view long_name) const;

  /// Reads every value that was given into its field.
  /// Errors: `errc::invalid_argument` for one that is not allowed, or an option that torchrun has
  /// and elasticrun has not.
  ELASTIC_DECL void read_into(option_target& target, const command_line::facts& facts) const;

  /// All values that count.
  ELASTIC_DECL std::vector<std::pair<const option_row*, option_value>> all() const;

  /// Takes a value from elsewhere for an option that was not given, and reads it into its field.
  /// Errors: those of `read_into`.
  ELASTIC_DECL void adopt(std::string_view long_name, option_value value,
                          const command_line::facts& facts, option_target& target);

 private:
  ELASTIC_DECL static std::optional<option_value> in_environment(
      const option_row& row, const environment_map& environment);

  std::map<const option_row*, std::vector<option_value>> values_;
};

/// A sentence for each variable that misspells an option's, such as PET_NPROCPERNODE.
ELASTIC_DECL std::vector<std::string> misspelt_variables(const environment_map& environment);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/cli/detail/given_options.ipp>
#endif
