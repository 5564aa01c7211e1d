// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// The description of all roles for the workers of a job of several roles: the file named by
/// ELASTIC_ROLES. It is one JSON object; docs/roles.md has its fields.
struct roles_document {
  struct worker {
    std::int64_t rank = 0;
    int local_rank = 0;
    std::string node;
    std::string address;
    std::map<std::string, std::uint16_t, std::less<>> ports = {};

    friend bool operator==(const worker&, const worker&) = default;
  };

  struct role {
    std::string name;
    /// "waiting", "running" and so on.
    std::string state = "waiting";
    bool is_ready = false;
    /// The number of the round in which its workers run; empty before the first.
    std::optional<std::int64_t> epoch = {};
    /// In the order of their ranks.
    std::vector<worker> workers = {};

    friend bool operator==(const role&, const role&) = default;
  };

  /// Increases with each change.
  std::int64_t revision = 0;
  /// In the order of the job's description.
  std::vector<role> roles = {};

  friend bool operator==(const roles_document&, const roles_document&) = default;
};

ELASTIC_DECL std::string roles_text(const roles_document& document);

/// Errors: `errc::protocol_violation`, with the problem and what is allowed.
ELASTIC_DECL roles_document parse_roles(std::string_view text);

/// The text in which a node tells the others about its workers of one role.
ELASTIC_DECL std::string workers_text(const std::vector<roles_document::worker>& workers);

/// Errors: `errc::protocol_violation`, with the problem and what is allowed.
ELASTIC_DECL std::vector<roles_document::worker> parse_workers(std::string_view text);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/contract/detail/roles_document.ipp>
#endif
