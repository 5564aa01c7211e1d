// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/status/detail/job_view.hpp>
#include <elastic/status/roles_monitor.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace elastic::detail {

/// The view of each role's agent, in the order of the roles.
using role_views = std::vector<std::shared_ptr<const job_view>>;

/// A job of several roles as a JSON object, which docs/observe.md describes. Workers are left out
/// where it would be longer than `limits::status_answer_bytes`.
/// @param now_us  the time of day, in microseconds since 1970
ELASTIC_DECL std::string overview_json(const roles_monitor::snapshot& roles,
                                       const role_views& views, std::int64_t now_us);

/// The same for people, in lines; what is hostile in it may be shown on a terminal.
ELASTIC_DECL std::string overview_text(const roles_monitor::snapshot& roles,
                                       const role_views& views);

/// Why the workers of the roles that have started do not run; empty: they do.
ELASTIC_DECL std::string why_not_ready(const roles_monitor::snapshot& roles,
                                       const role_views& views);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/status/detail/roles_overview.ipp>
#endif
