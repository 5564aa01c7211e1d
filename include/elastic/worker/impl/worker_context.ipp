// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/worker/worker_context.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>

#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <limits>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace elastic {

namespace detail {

inline const std::string& promised_variable(const environment_map& variables,
                                            std::string_view name) {
  const auto entry = variables.find(name);
  if (entry != variables.end()) return entry->second;
  throw error(errc::invalid_argument,
              fmt::format("{} is not set: a worker is started by elasticrun or torchrun", name));
}

template <class Number>
Number promised_number(const environment_map& variables, std::string_view name, Number lowest,
                       Number highest) {
  const std::string& text = promised_variable(variables, name);
  Number value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  if (failure == std::errc() && stop == end && value >= lowest && value <= highest) return value;
  throw error(errc::invalid_argument, fmt::format("{} is '{}': a number from {} to {} is allowed",
                                                  name, text, lowest, highest));
}

/// Whether the variables are those of a replica, which has a rank in its role but no world.
inline bool is_of_replica(const environment_map& variables) {
  const auto has = [&](const char* name) { return variables.count(name) > 0; };
  return has("ROLE_RANK") && !has("RANK") && !has("WORLD_SIZE") && !has("MASTER_ADDR");
}

}  // namespace detail

ELASTIC_DECL worker_context worker_context_from(const environment_map& variables) {
  constexpr int largest_world = limits::nodes * limits::local_world_size;
  constexpr int most_restarts = 2'147'483'647;
  const auto size = [&](std::string_view name, int most) {
    return detail::promised_number(variables, name, 1, most);
  };
  const auto rank = [&](std::string_view name, int world_size) {
    return detail::promised_number(variables, name, 0, world_size - 1);
  };
  worker_context context;
  context.has_world = !detail::is_of_replica(variables);
  if (context.has_world) {
    context.world_size = size("WORLD_SIZE", largest_world);
    context.rank = rank("RANK", context.world_size);
    context.group_world_size = size("GROUP_WORLD_SIZE", limits::nodes);
    context.group_rank = rank("GROUP_RANK", context.group_world_size);
    context.master_addr = detail::promised_variable(variables, "MASTER_ADDR");
    if (context.master_addr.empty()) throw error(errc::invalid_argument, "MASTER_ADDR is empty");
    context.master_port =
        static_cast<std::uint16_t>(detail::promised_number(variables, "MASTER_PORT", 1, 65535));
    context.use_agent_store =
        detail::promised_variable(variables, "TORCHELASTIC_USE_AGENT_STORE") == "True";
  }
  context.local_world_size = size("LOCAL_WORLD_SIZE", limits::local_world_size);
  context.local_rank = rank("LOCAL_RANK", context.local_world_size);
  context.role_world_size = size("ROLE_WORLD_SIZE", largest_world);
  context.role_rank = rank("ROLE_RANK", context.role_world_size);
  context.role_name = detail::promised_variable(variables, "ROLE_NAME");
  context.run_id = detail::promised_variable(variables, "TORCHELASTIC_RUN_ID");
  context.max_restarts =
      detail::promised_number(variables, "TORCHELASTIC_MAX_RESTARTS", 0, most_restarts);
  context.restart_count =
      detail::promised_number(variables, "TORCHELASTIC_RESTART_COUNT", 0, most_restarts);
  if (find_variable(variables, "ELASTIC_ON_FAILURE") == "replace") {
    constexpr std::int64_t last_epoch = std::numeric_limits<std::int64_t>::max();
    context.epoch =
        detail::promised_number<std::int64_t>(variables, "ELASTIC_EPOCH", 0, last_epoch);
  }
  context.error_file = find_variable(variables, "TORCHELASTIC_ERROR_FILE").value_or("");
  return context;
}

ELASTIC_DECL worker_context this_worker() { return worker_context_from(environment_from(environ)); }

ELASTIC_DECL bool is_worker() {
  const environment_map variables = environment_from(environ);
  return variables.count("RANK") > 0 || detail::is_of_replica(variables);
}

}  // namespace elastic
