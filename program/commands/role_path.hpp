// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace elasticrun {

/// Checks and returns the value of a command's --role.
/// Errors: `errc::invalid_argument` for a text that is not a valid name of a role.
std::string role_name(std::string_view command, const std::string& text);

/// The path on a job's status server for one of its roles, or for the whole job if `role` is empty.
std::string path_of_role(const std::string& role, std::string_view path);

}  // namespace elasticrun
