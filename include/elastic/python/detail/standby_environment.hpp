// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/process/process_spec.hpp>
#include <elastic/python/detail/standby_message.hpp>

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// The instructions for the hook of a standby.
struct standby_task {
  /// The modules to import: "auto,-module", "torch,pandas", or empty for a standby that imports
  /// nothing.
  std::string modules;
  /// "script", "module" or "code", and its name.
  std::string kind;
  std::string name;
  /// Whether it runs the script up to a point that the script chooses.
  bool runs_script = false;
  /// Whether it must yield to workers that run meanwhile.
  bool stands_back = true;
  /// The hook's archive, in bytes.
  std::size_t archive_size = 0;
  /// The imports of a worker: the text of an `import_record`.
  std::string record = {};
};

/// The part of a worker's start that is the same in all attempts: its identity.
ELASTIC_DECL std::string standby_key(const process_spec& spec);

/// The part of a worker's start that is also the same for all workers of its pool. If it differs, a
/// standby made for one start cannot serve the other.
/// @param by_rank  variables that differ between the workers, beside those of the contract
ELASTIC_DECL std::string pool_key(const process_spec& spec, const std::set<std::string>& by_rank);

/// Whether this variable differs between the workers of every node, such as LOCAL_RANK.
ELASTIC_DECL bool is_of_rank(std::string_view name);

/// The other variables in which the workers of a node differ, if a standby can take them when it
/// becomes a worker: those that libraries or the interpreter read by themselves are left out.
ELASTIC_DECL std::set<std::string> differing_variables(const process_spec& one,
                                                       const process_spec& other);

/// The process for an attempt that is not known yet: without the variables that may differ between
/// attempts.
ELASTIC_DECL process_spec without_attempt(process_spec spec);

/// The initial variables of this worker's standby. None identifies an attempt, so that a script
/// that ran by mistake could not join the others.
ELASTIC_DECL std::vector<std::string> standby_environment(const process_spec& spec,
                                                          const standby_task& standby);

/// The changes to a standby made for `source` before it becomes `target`.
ELASTIC_DECL std::vector<variable_change> standby_changes(const process_spec& source,
                                                          const process_spec& target);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/python/detail/standby_environment.ipp>
#endif
