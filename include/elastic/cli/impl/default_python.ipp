// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/cli/default_python.hpp>

#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <system_error>
#include <vector>

#include <fmt/format.h>

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

namespace detail {

/// The folders in a list such as PATH.
inline std::vector<std::string> folders_in(std::string_view list) {
  std::vector<std::string> folders;
  while (!list.empty()) {
    const std::size_t colon = std::min(list.find(':'), list.size());
    folders.emplace_back(list.substr(0, colon));
    list.remove_prefix(std::min(colon + 1, list.size()));
  }
  return folders;
}

/// The path without links; empty if there is no such file.
inline std::filesystem::path real_path(const std::filesystem::path& path) {
  std::error_code failure;
  std::filesystem::path real = std::filesystem::canonical(path, failure);
  return failure ? std::filesystem::path() : real;
}

/// Whether the file is an interpreter. A script or another program in its place (pyenv, asdf, mise)
/// may start that of any environment.
inline bool is_interpreter(const std::filesystem::path& real) {
  char magic[4] = {};
  std::ifstream(real, std::ios::binary).read(magic, sizeof magic);
  return real.filename().native().starts_with("python") &&
         std::string_view(magic, sizeof magic) == "\x7f" "ELF";
}

inline bool is_within(const std::filesystem::path& folder, const std::filesystem::path& path) {
  const auto end = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end.first == folder.end();
}

/// An activated environment: its variable, and its folder as the variable names it.
struct active_environment {
  std::string variable;
  std::filesystem::path folder;
};

/// The environments whose Python a user expects, by the rule of `python_warning`.
inline std::vector<active_environment> active_environments(const environment_map& environment) {
  std::vector<active_environment> active;
  for (const char* const variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const std::filesystem::path folder = find_variable(environment, variable).value_or("");
    if (folder.is_absolute() && ::access((folder / "bin/python3").c_str(), X_OK) == 0) {
      active.push_back({variable, folder});
    }
  }
  const std::string path = find_variable(environment, "PATH").value_or("");
  for (const std::string& programs : folders_in(path)) {
    const std::filesystem::path real = real_path(programs);
    for (const active_environment& each : active) {
      if (!real.empty() && real == real_path(each.folder / "bin")) return {each};
    }
  }
  return active;
}

}  // namespace detail

ELASTIC_DECL std::string path_of_program(const std::string& program, std::string_view list) {
  if (program.find('/') != std::string::npos) return program;
  for (const std::string& folder : detail::folders_in(list)) {
    std::string path = folder + '/' + program;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return program;
}

ELASTIC_DECL std::string python_warning(const environment_map& environment,
                                        const std::string& python) {
  const std::vector<detail::active_environment> active = detail::active_environments(environment);
  const std::string path = find_variable(environment, "PATH").value_or("");
  const std::filesystem::path used = path_of_program(python, path);
  const std::filesystem::path file = detail::real_path(used);
  if (active.empty() || !detail::is_interpreter(file)) return {};
  const std::filesystem::path programs = detail::real_path(used.parent_path());
  for (const detail::active_environment& each : active) {
    const std::filesystem::path folder = detail::real_path(each.folder);
    if (detail::is_within(folder, programs) || detail::is_within(folder, file)) return {};
  }
  const auto& [variable, folder] = active.front();
  return fmt::format(
      "the workers run with {}, which is not in the active environment {} ({}); to use its Python, "
      "set PYTHON_EXEC={}",
      used.string(), folder.string(), variable, (folder / "bin/python3").string());
}

}  // namespace elastic
