// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/cli/detail/option_type.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// The part of a job file that may set an option: none, the whole job, each role, or only a
/// role that has a world, or a Python script in it.
enum class option_scope { one_job, job, role, world, python };

/// All of one option of elasticrun: another option is another row.
struct option_row {
  /// "-t,--tee".
  const char* names;
  /// The placeholder for its value in the help; null for a flag.
  const char* value;
  /// The heading under which --help lists it.
  const char* heading;
  option_scope scope = option_scope::one_job;
  /// The advice where the option excludes a job file; null: it is for a job of one role alone.
  const char* instead = nullptr;
  const char* help;
  option_type type;
  /// The default value in words, if `type` cannot show it.
  const char* default_text = "";
  /// A variable, besides PET_<NAME>, that has the value if the option is not given.
  const char* variable = "";
  /// torchrun has no such option: no abbreviation that is unique there becomes ambiguous by it.
  bool is_own = false;
  /// Every value given counts, not just the last.
  bool repeats = false;
  /// elasticrun shows something and ends, instead of running a job.
  bool shows = false;

  bool takes_value() const { return value != nullptr; }
  /// "--tee" of "-t,--tee".
  ELASTIC_DECL std::string long_name() const;
  /// The letter of "-t"; 0: it has none.
  ELASTIC_DECL char short_name() const;
  /// "PET_TEE".
  ELASTIC_DECL std::string pet_variable() const;
  /// "30", or "TORCH_ELASTIC_SHUTDOWN_TIMEOUT, else 30"; empty: nothing to be said of it.
  ELASTIC_DECL std::string default_value() const;
};

/// Whether a role can have options of a scope; a role whose workers form a world has all of these.
inline bool is_of_role(option_scope scope) {
  return scope != option_scope::one_job && scope != option_scope::job;
}

/// The options in the order of --help.
ELASTIC_DECL const std::vector<option_row>& option_rows();

/// The row with this long name, which must exist.
ELASTIC_DECL const option_row& option_named(std::string_view long_name);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/cli/detail/option_row.ipp>
#endif
