// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/python/detail/hook_archive.hpp>

#include <elastic/contract/environment.hpp>
#include <elastic/python/detail/embedded.hpp>
#include <elastic/python/detail/stored_archive.hpp>

#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL std::string path_of_own(int descriptor) {
  return fmt::format("/proc/{}/fd/{}", ::getpid(), descriptor);
}

ELASTIC_DECL hook_archive::hook_archive(std::string_view content)
    : memory_(::memfd_create("elastic-hook", MFD_CLOEXEC)) {
  const std::string archive =
      stored_archive("sitecustomize.py", std::string(hook_prelude_py) + std::string(content));
  const auto size = static_cast<ssize_t>(archive.size());
  if (memory_ && ::write(memory_.get(), archive.data(), archive.size()) != size) memory_.reset();
}

ELASTIC_DECL process_spec hook_archive::hooked(process_spec spec, const std::string& variable,
                                               std::string_view value) const {
  if (!exists()) return spec;
  environment_map variables = environment_from(spec.environment);
  const auto path = find_variable(variables, "PYTHONPATH");
  variables["PYTHONPATH"] = path_of_own(memory_.get());
  if (path && !path->empty()) variables["PYTHONPATH"] += ":" + *path;
  variables[variable] = fmt::format("{}:{}", path ? 1 : 0, value);
  spec.environment = environment_entries(variables);
  return spec;
}

}  // namespace elastic::detail
