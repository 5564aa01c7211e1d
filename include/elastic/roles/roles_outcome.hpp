// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/roles/roles_result.hpp>

#include <string>

namespace elastic {

/// What a program that ran a job of several roles exits with: the numbers of the same function for
/// a run_result.
ELASTIC_DECL int exit_code(const roles_result& result);

/// What such a program says after a run that did not succeed, for stderr: which role decided the
/// end, the report of its failures, how the others ended, and where the log files are. Empty after
/// success.
ELASTIC_DECL std::string closing_words(const std::string& name, const roles_result& result);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/roles/impl/roles_outcome.ipp>
#endif
