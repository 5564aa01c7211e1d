// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/missing_module.hpp>

#include <elastic/cli/default_python.hpp>
#include <elastic/contract/environment.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

namespace elasticrun {

namespace {

bool contains(const std::vector<std::string>& values, const std::string& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

}  // namespace

std::string missing_module(const std::vector<std::string>& lines) {
  constexpr std::string_view words = ": No module named ";
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    // An earlier exception was handled, or led to the last one.
    if (line->starts_with("Traceback ")) return {};
    const std::size_t place = line->find(words);
    if (place == std::string::npos) continue;
    std::string_view name(*line);
    name.remove_prefix(place + words.size());
    // "python -m" writes no quotation marks.
    if (name.starts_with('\'')) name.remove_prefix(1);
    name = name.substr(0, name.find_first_of("'; \t\r"));
    // "python -m train/main.py" is a mistake of another kind.
    return name.find('/') == name.npos ? std::string(name) : std::string();
  }
  return {};
}

std::string missing_module(const elastic::run_result& result) {
  for (const elastic::run_result::failure& failure : result.failures) {
    std::string name = missing_module(failure.last_stderr);
    if (name.empty() && failure.error) name = missing_module({failure.error->message});
    if (!name.empty()) return name;
  }
  return {};
}

std::string find_python_with(
    std::string_view module, std::string_view list,
    const std::function<std::vector<std::string>(const std::string&)>& files_of) {
  const std::string package(module.substr(0, module.find('.')));
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
        const std::string place = where + '/' + package;
        const std::vector<std::string> modules = files_of(where);
        if (contains(modules, place) || contains(modules, place + ".py")) return python;
      }
    }
  }
  return {};
}

std::string find_python_with(std::string_view module, std::string_view list) {
  return find_python_with(module, list, [](const std::string& folder) {
    std::vector<std::string> files;
    std::error_code failure;
    std::filesystem::directory_iterator entry(folder, failure);
    for (; !failure && entry != std::filesystem::directory_iterator(); entry.increment(failure)) {
      files.push_back(entry->path().string());
    }
    return files;
  });
}

std::string missing_module_hint(std::string_view module, std::string_view python,
                                std::string_view other_python) {
  if (other_python.empty()) {
    return fmt::format(
        "The workers were run by {}, which has no {}; PYTHON_EXEC names another Python, and "
        "PYTHONPATH further folders of modules\n",
        python, module);
  }
  return fmt::format(
      "The workers were run by {0}, which has no {1}; {2} has: set PYTHON_EXEC={2}\n", python,
      module, other_python);
}

std::string missing_module_hint(const elastic::worker_spec& workers,
                                const elastic::run_result& result) {
  namespace fs = std::filesystem;
  // elasticrun passes this option to every Python interpreter first.
  const bool is_python = !workers.arguments.empty() && workers.arguments.front() == "-u";
  const std::string module = is_python ? missing_module(result) : std::string();
  if (module.empty()) return {};
  const auto value = [&](const char* name) {
    return elastic::find_variable(workers.environment, name).value_or("");
  };
  const std::string path = value("PATH");
  const std::string python = elastic::path_of_program(workers.program, path);
  // Every Python interpreter first imports this module of its standard library.
  if (const std::string home = value("PYTHONHOME"); module == "encodings" && !home.empty()) {
    return fmt::format(
        "The workers were run by {}, whose standard library is not at PYTHONHOME={}: unset it\n",
        python, home);
  }
  std::string list;
  for (const char* const variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const std::string folder = value(variable); !folder.empty()) list += folder + "/bin:";
  }
  std::string other = find_python_with(module, list + path + ":/usr/bin");
  // That Python has the package, but the package lacks the module.
  std::error_code failure;
  const fs::path folders[] = {fs::path(python).parent_path(), fs::path(other).parent_path()};
  if (fs::equivalent(folders[0], folders[1], failure)) other.clear();
  return missing_module_hint(module, python, other);
}

}  // namespace elasticrun
