// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/cli/default_python.hpp>

#include <sys/auxv.h>

#include <system_error>

namespace elastic {

ELASTIC_DECL std::string default_python(
    const std::filesystem::path& started_as,
    const std::function<bool(const std::filesystem::path&)>& is_there) {
  const std::filesystem::path programs = started_as.parent_path();
  const std::filesystem::path environment = programs.parent_path();
  const bool is_environment =
      is_there(environment / "pyvenv.cfg") || is_there(environment / "conda-meta");
  const std::filesystem::path python = programs / "python3";
  return is_environment && is_there(python) ? python.string() : "python3";
}

ELASTIC_DECL std::string default_python() {
  const auto* started_as = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  std::error_code failure;
  const auto path = std::filesystem::absolute(started_as != nullptr ? started_as : "", failure);
  const auto is_there = [](const std::filesystem::path& candidate) {
    std::error_code cannot_tell;
    return std::filesystem::exists(candidate, cannot_tell);
  };
  return failure ? "python3" : default_python(path.lexically_normal(), is_there);
}

}  // namespace elastic
