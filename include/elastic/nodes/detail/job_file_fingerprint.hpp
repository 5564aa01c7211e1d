// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace elastic::detail {

/// Compares the fingerprints of two job files. A fingerprint has a digest for each part of a file:
/// "nodes=1 role.eval=2".
///
/// Result: the names of the parts that differ, or that one of them lacks, at most five, printable;
/// empty if none differ, or if one of the fingerprints is empty. Thread-safety: any thread.
ELASTIC_DECL std::string fingerprint_difference(std::string_view left, std::string_view right);

/// The reason why a node with the fingerprint `own` cannot take part in a job that runs with
/// `running`, in one sentence; empty: it can. Thread-safety: any thread.
/// @param run_id  the run id of the job, for the sentence
ELASTIC_DECL std::optional<std::string> objection_to_file(std::string_view run_id,
                                                          std::string_view running,
                                                          std::string_view own);

/// The job in the run id of a role, "JOB/ROLE" or "JOB/ROLE_1"; empty for any other run id.
/// Thread-safety: any thread.
ELASTIC_DECL std::string_view job_of_role(std::string_view run_id);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/nodes/detail/job_file_fingerprint.ipp>
#endif
