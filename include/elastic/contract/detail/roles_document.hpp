// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/contract/job_roles.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

ELASTIC_DECL std::string roles_text(const job_roles& document);

/// Errors: `errc::protocol_violation`, with the problem and what is allowed.
ELASTIC_DECL job_roles parse_roles(std::string_view text);

/// The text in which a node tells the others about its workers of one role.
ELASTIC_DECL std::string workers_text(const std::vector<job_roles::worker>& workers);

/// Errors: `errc::protocol_violation`, with the problem and what is allowed.
ELASTIC_DECL std::vector<job_roles::worker> parse_workers(std::string_view text);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/contract/detail/roles_document.ipp>
#endif
