// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/contract/visible_devices.hpp>

#include <cstddef>
#include <string_view>

namespace elastic {

ELASTIC_DECL std::vector<std::string> visible_devices(const environment_map& environment) {
  const std::string list = find_variable(environment, "CUDA_VISIBLE_DEVICES").value_or("");
  std::vector<std::string> entries;
  for (std::string_view rest = list; !rest.empty();) {
    const std::size_t comma = rest.find(',');
    entries.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
  }
  return entries;
}

ELASTIC_DECL void leave_one_device(environment_map& environment, int local_rank) {
  const std::vector<std::string> entries = visible_devices(environment);
  const auto place = static_cast<std::size_t>(local_rank);
  environment["CUDA_VISIBLE_DEVICES"] =
      place < entries.size() ? entries[place] : std::to_string(local_rank);
}

}  // namespace elastic
