// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/contract/environment.hpp>

#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace elastic {

/// What a worker's agent told it: its place (`rank`, `world_size`, `local_rank`, …), the job
/// (`master_addr`, `master_port`, `run_id`, `restart_count`, …) and where to report a failure.
struct worker_context : worker_identity, worker_surroundings {
  /// Where to leave the reason of a failure (see `record`); empty where nobody reads it.
  std::string error_file;

  // Declared, so that this is no aggregate: g++ 12 destroys a braced aggregate twice where it is an
  // argument of a call that is awaited.
  worker_context() = default;
};

namespace detail {

inline const std::string& promised_variable(const environment_map& variables,
                                            std::string_view name) {
  const auto found = variables.find(name);
  if (found != variables.end()) return found->second;
  throw error(errc::invalid_argument,
              fmt::format("{} is not set: a worker is started by elasticrun or torchrun", name));
}

inline int promised_number(const environment_map& variables, std::string_view name, int lowest,
                           int highest) {
  const std::string& text = promised_variable(variables, name);
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  if (failure == std::errc() && stop == end && value >= lowest && value <= highest) return value;
  throw error(errc::invalid_argument, fmt::format("{} is '{}': a number from {} to {} is allowed",
                                                  name, text, lowest, highest));
}

}  // namespace detail

/// Understands the environment of a worker, as elasticrun and torchrun make it.
///
/// Errors: `errc::invalid_argument` where a variable is missing, no number or out of its bounds (a
/// rank must be under its world size); the sentence names the variable and says what is allowed.
inline worker_context worker_context_from(const environment_map& variables) {
  constexpr int largest_world = limits::nodes * limits::local_world_size;
  constexpr int most_restarts = 2'147'483'647;
  const auto size = [&](std::string_view name, int most) {
    return detail::promised_number(variables, name, 1, most);
  };
  const auto rank = [&](std::string_view name, int world_size) {
    return detail::promised_number(variables, name, 0, world_size - 1);
  };
  worker_context context;
  context.world_size = size("WORLD_SIZE", largest_world);
  context.rank = rank("RANK", context.world_size);
  context.local_world_size = size("LOCAL_WORLD_SIZE", limits::local_world_size);
  context.local_rank = rank("LOCAL_RANK", context.local_world_size);
  context.group_world_size = size("GROUP_WORLD_SIZE", limits::nodes);
  context.group_rank = rank("GROUP_RANK", context.group_world_size);
  context.role_world_size = size("ROLE_WORLD_SIZE", largest_world);
  context.role_rank = rank("ROLE_RANK", context.role_world_size);
  context.role_name = detail::promised_variable(variables, "ROLE_NAME");
  context.master_addr = detail::promised_variable(variables, "MASTER_ADDR");
  if (context.master_addr.empty()) throw error(errc::invalid_argument, "MASTER_ADDR is empty");
  context.master_port =
      static_cast<std::uint16_t>(detail::promised_number(variables, "MASTER_PORT", 1, 65535));
  context.use_agent_store =
      detail::promised_variable(variables, "TORCHELASTIC_USE_AGENT_STORE") == "True";
  context.run_id = detail::promised_variable(variables, "TORCHELASTIC_RUN_ID");
  context.max_restarts =
      detail::promised_number(variables, "TORCHELASTIC_MAX_RESTARTS", 0, most_restarts);
  context.restart_count =
      detail::promised_number(variables, "TORCHELASTIC_RESTART_COUNT", 0, most_restarts);
  context.error_file = find_variable(variables, "TORCHELASTIC_ERROR_FILE").value_or("");
  return context;
}

/// The same for the environment of this process.
inline worker_context this_worker() { return worker_context_from(environment_from(environ)); }

/// Whether this process was started as a worker: RANK is set. A program that also runs by hand, as
/// one process, asks this first.
inline bool is_worker() { return environment_from(environ).count("RANK") > 0; }

}  // namespace elastic
