// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/contract/detail/macros.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>

#include <fmt/format.h>

namespace elastic::detail {

inline void add_port_names(std::string_view argument, std::set<std::string>& names) {
  std::string_view text = argument;
  for (std::size_t dollar = text.find('$'); dollar != std::string_view::npos;
       dollar = text.find('$')) {
    text.remove_prefix(dollar + 1);
    if (text.starts_with('$')) {
      text.remove_prefix(1);
      continue;
    }
    if (!text.starts_with(port_macro_begin)) continue;
    const macro_reference reference = read_port_reference(text);
    const std::string_view name =
        reference.length == 0 ? std::string_view()
                              : reference.name.substr(port_macro_begin.size() - 1);
    if (name.empty() || name.size() > limits::port_name_bytes) {
      throw error(errc::invalid_argument,
                  fmt::format("{}: the form of a port is ${{port.NAME}}, with a NAME of 1 to {} "
                              "letters, digits and '_' that does not begin with a digit",
                              in_quotes(argument), limits::port_name_bytes));
    }
    names.emplace(name);
  }
}

ELASTIC_DECL std::set<std::string> port_names(const std::vector<std::string>& arguments) {
  std::set<std::string> names;
  for (const std::string& argument : arguments) add_port_names(argument, names);
  if (names.size() <= limits::worker_ports) return names;
  throw error(errc::invalid_argument, fmt::format("{} named ports: at most {} are allowed",
                                                  names.size(), limits::worker_ports));
}

ELASTIC_DECL std::string substitute_ports(
    std::string_view argument, int local_rank,
    const std::map<std::string, std::uint16_t, std::less<>>& ports) {
  macro_values values;
  values.emplace("local_rank", std::to_string(local_rank));
  for (const auto& [name, port] : ports) values.emplace("port." + name, std::to_string(port));
  return substitute_macros(argument, values);
}

ELASTIC_DECL macro_values macros_of(const worker_identity& worker, const job_context& job) {
  macro_values values;
  values.emplace("role_name", worker.role_name);
  values.emplace("rank", std::to_string(worker.rank));
  values.emplace("local_rank", std::to_string(worker.local_rank));
  values.emplace("local_world_size", std::to_string(worker.local_world_size));
  values.emplace("world_size", std::to_string(worker.world_size));
  values.emplace("node_rank", std::to_string(worker.group_rank));
  values.emplace("master_addr", job.master_addr);
  values.emplace("master_port", std::to_string(job.master_port));
  return values;
}

ELASTIC_DECL bool changes_by_epoch(std::string_view text) {
  worker_identity other;
  other.rank = 1;
  other.world_size = 2;
  other.group_rank = 1;
  job_context elsewhere;
  elsewhere.master_addr = "elsewhere";
  elsewhere.master_port = 1;
  return substitute_macros(text, macros_of(worker_identity(), job_context())) !=
         substitute_macros(text, macros_of(other, elsewhere));
}

}  // namespace elastic::detail
