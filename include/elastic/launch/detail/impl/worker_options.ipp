// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/detail/worker_options.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/launch/detail/option_readers.hpp>
#include <elastic/launch/numa_binding.hpp>
#include <elastic/process/processor_set.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL void read_workers(const option_values& values, const command_line_facts& facts,
                               launch_config& config) {
  const auto given = values.find("--nproc-per-node");
  if (!given) return;
  std::optional<int> count = number_between(given->text, 1, limits::local_world_size);
  if (given->text == "gpu" && facts.accelerators == 0) {
    refuse_value(*given, "no GPU was found that workers could use; try a number, cpu or auto");
  }
  if (given->text == "xpu") {
    refuse_value(*given, "these devices are not counted by elasticrun; a number is needed");
  }
  if (given->text == "cpu") count = facts.processors;
  if (given->text == "gpu") count = facts.accelerators;
  if (given->text == "auto") count = facts.accelerators > 0 ? facts.accelerators : facts.processors;
  if (!count) {
    refuse_value(*given, fmt::format("allowed are a number from 1 to {}, cpu, gpu and auto",
                                     limits::local_world_size));
  }
  config.nproc_per_node = std::min(*count, limits::local_world_size);
}

ELASTIC_DECL void read_variables(const option_values& values, launch_config& config) {
  for (const option_value& given : values.find_all("--env")) {
    const std::size_t equals = given.text.find('=');
    if (equals == std::string::npos || equals == 0) {
      refuse_value(given, "NAME=VALUE is needed");
    }
    config.worker_variables.emplace_back(given.text.substr(0, equals),
                                         given.text.substr(equals + 1));
  }
}

/// "0-3:4-7", one list for each worker.
inline std::vector<processor_set> affinity_of(const option_value& given) {
  std::vector<processor_set> lists;
  for (std::string_view rest = given.text;;) {
    const std::size_t colon = rest.find(':');
    try {
      lists.push_back(processor_set::parse(rest.substr(0, colon)));
    } catch (const error& refusal) {
      throw error(errc::invalid_argument, fmt::format("{}: {}", given.source, refusal.what()));
    }
    if (colon == std::string_view::npos) return lists;
    rest.remove_prefix(colon + 1);
  }
}

ELASTIC_DECL void read_placement(const option_values& values, launch_config& config) {
  config.virtual_local_rank = values.flag("--virtual-local-rank");
  const auto binding = values.find("--numa-binding");
  const auto affinity = values.find("--cpu-affinity");
  if (binding && affinity) {
    throw error(errc::invalid_argument,
                fmt::format("{} and {} exclude each other", binding->source, affinity->source));
  }
  if (affinity) {
    config.cpu_affinity = affinity_of(*affinity);
    if (config.cpu_affinity.size() != static_cast<std::size_t>(config.nproc_per_node)) {
      refuse_value(*affinity, fmt::format("a list for each of the {} workers is needed",
                                          config.nproc_per_node));
    }
  }
  if (!binding) return;
  const std::pair<std::string_view, numa_binding> kinds[] = {
      {"node", numa_binding::node},
      {"socket", numa_binding::socket},
      {"exclusive", numa_binding::exclusive},
      {"core-complex", numa_binding::core_complex}};
  const auto found = std::find_if(std::begin(kinds), std::end(kinds),
                                  [&](const auto& one) { return one.first == binding->text; });
  if (found == std::end(kinds)) {
    refuse_value(*binding, "allowed are node, socket, exclusive and core-complex");
  }
  config.binding = found->second;
}

ELASTIC_DECL void read_program(const option_values& values,
                               const std::vector<std::string>& operands, launch_config& config) {
  const bool run_path = values.flag("--run-path");
  const bool module = values.flag("--module");
  const bool direct = values.flag("--no-python") && !run_path;
  if (module && (direct || run_path)) {
    throw error(errc::invalid_argument,
                fmt::format("{} and {} exclude each other", values.find("--module")->source,
                            values.find(run_path ? "--run-path" : "--no-python")->source));
  }
  if (operands.empty() || operands[0].empty()) {
    throw error(errc::invalid_argument,
                "no script given; the use is: elasticrun [options] script "
                "[arguments], see --help");
  }
  config.name = operands[0];
  if (direct) {
    config.program = operands[0];
    config.arguments.assign(operands.begin() + 1, operands.end());
    return;
  }
  const auto python = find_variable(config.environment, "PYTHON_EXEC");
  config.program = python && !python->empty() ? *python : "python3";
  config.arguments.emplace_back("-u");
  if (module) config.arguments.emplace_back("-m");
  if (!module) config.script = operands[0];
  config.arguments.insert(config.arguments.end(), operands.begin(), operands.end());
}

}  // namespace elastic::detail
