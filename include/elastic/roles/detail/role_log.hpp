// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>

#include <string>

namespace elastic::detail {

/// A logger whose lines begin with the name of a role: "trainer: round 0: …".
ELASTIC_DECL logger log_of_role(const std::string& name, const logger& log);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/roles/detail/role_log.ipp>
#endif
