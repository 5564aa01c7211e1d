// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/missing_torch.hpp>

#include <elastic/agent/run_result.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

namespace elasticrun {

namespace {

constexpr std::string_view no_torch = "No module named 'torch'";

bool contains(const std::vector<std::string>& values, const std::string& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

}  // namespace

bool is_torch_missing(const elastic::run_result& result) {
  return std::any_of(
      result.failures.begin(), result.failures.end(),
      [](const elastic::run_result::failure& failure) {
        return std::any_of(
            failure.last_stderr.begin(), failure.last_stderr.end(),
            [](const std::string& line) { return line.find(no_torch) != std::string::npos; });
      });
}

std::string find_python_with_torch(
    std::string_view list,
    const std::function<std::vector<std::string>(const std::string&)>& files_of) {
  while (!list.empty()) {
    const std::size_t colon = std::min(list.find(':'), list.size());
    const std::string folder(list.substr(0, colon));
    list.remove_prefix(std::min(colon + 1, list.size()));
    const std::string python = folder + "/python3";
    if (!folder.starts_with('/') || !contains(files_of(folder), python)) continue;
    // PREFIX/bin/python3 has its packages in PREFIX/lib/python3.11/site-packages.
    const std::string prefix = folder.substr(0, folder.rfind('/'));
    for (const std::string& version : files_of(prefix + "/lib")) {
      if (!version.starts_with(prefix + "/lib/python3")) continue;
      for (const char* packages : {"/site-packages", "/dist-packages"}) {
        const std::string where = version + packages;
        if (contains(files_of(where), where + "/torch")) return python;
      }
    }
  }
  return {};
}

std::string find_python_with_torch(std::string_view list) {
  return find_python_with_torch(list, [](const std::string& folder) {
    std::vector<std::string> files;
    std::error_code failure;
    std::filesystem::directory_iterator entry(folder, failure);
    for (; !failure && entry != std::filesystem::directory_iterator(); entry.increment(failure)) {
      files.push_back(entry->path().string());
    }
    return files;
  });
}

std::string path_of_program(const std::string& program, std::string_view list) {
  if (program.find('/') != std::string::npos) return program;
  while (!list.empty()) {
    const std::size_t colon = std::min(list.find(':'), list.size());
    const std::string path = std::string(list.substr(0, colon)) + '/' + program;
    list.remove_prefix(std::min(colon + 1, list.size()));
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return program;
}

std::string missing_torch_hint(std::string_view python, std::string_view with_torch) {
  if (with_torch.empty()) {
    return fmt::format(
        "The workers were run by {}, which has no torch; PYTHON_EXEC names another\n", python);
  }
  return fmt::format(
      "The workers were run by {0}, which has no torch; {1} has: set PYTHON_EXEC={1}\n", python,
      with_torch);
}

}  // namespace elasticrun
