// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/python/detail/standby_message.hpp>
#include <elastic/base/config.hpp>
#include <elastic/process/process_spec.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace elastic::detail {

/// What a standby is to do, for its hook.
struct standby_task {
  /// "auto,-module", "torch,pandas", or empty for one that imports nothing.
  std::string modules;
  /// "script", "module" or "code", and its name.
  std::string kind;
  std::string name;
  /// It runs the script, up to a point that the script names.
  bool runs_script = false;
  /// Workers run beside it, which it is not to disturb.
  bool stands_back = true;
  /// The hook's archive, in bytes.
  std::size_t archive_size = 0;
  /// What a worker has imported: an `import_record`'s text.
  std::string record = {};
};

/// What the starts of a worker in two attempts have in common. If it differs, the standby of one
/// cannot become the other.
ELASTIC_DECL std::string standby_key(const process_spec& spec);

/// A process that is to be started when nobody knows yet in which attempt: without the variables
/// that may have other values in another one.
ELASTIC_DECL process_spec without_attempt(process_spec spec);

/// The variables that a standby of this worker starts with: none that names an attempt, so that a
/// script that ran by mistake could join nobody.
ELASTIC_DECL std::vector<std::string> standby_environment(const process_spec& spec,
                                                          const standby_task& standby);

/// What is to be changed in a standby that was made for `from` before it becomes `to`.
ELASTIC_DECL std::vector<variable_change> standby_changes(const process_spec& from,
                                                          const process_spec& to);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/python/detail/impl/standby_environment.ipp>
#endif
