// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <string>
#include <string_view>

namespace elastic::detail {

/// What two nodes that were started with different job files are told of it. A fingerprint has a
/// digest for each part of a file: "nodes=1 role.eval=2".
///
/// Result: the names of the parts in which the two differ, or that one of them lacks, at most five,
/// printable; empty: none, or one of the two is empty. Thread-safety: any thread.
ELASTIC_DECL std::string fingerprint_difference(std::string_view left, std::string_view right);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/native/detail/impl/job_file_fingerprint.ipp>
#endif
