// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/commands/role_path.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>

#include <fmt/format.h>

namespace elasticrun {

std::string role_name(std::string_view command, const std::string& text) {
  constexpr std::string_view allowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  const bool is_name = !text.empty() && text.size() <= elastic::limits::role_name_bytes &&
                       text.find_first_not_of(allowed) == text.npos;
  if (is_name) return text;
  throw elastic::error(elastic::errc::invalid_argument,
                       fmt::format("{}: --role {}: the name of a role is needed", command,
                                   elastic::in_quotes(text.substr(0, 80))));
}

std::string path_of_role(const std::string& role, std::string_view path) {
  return role.empty() ? std::string(path) : fmt::format("/roles/{}{}", role, path);
}

}  // namespace elasticrun
