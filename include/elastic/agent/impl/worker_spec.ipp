// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/worker_spec.hpp>

#include <elastic/agent/detail/workers/line_template.hpp>
#include <elastic/agent/detail/workers/uninterruptible_watch.hpp>
#include <elastic/base/detail/quantity.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/contract/detail/macros.hpp>
#include <elastic/contract/detail/visible_devices.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/process/detail/signal_number.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace elastic {

namespace detail {

/// Refuses settings that need workers on the control channel.
inline void check_plain(const worker_spec& spec) {
  const liveness_settings& liveness = spec.liveness;
  const bool is_watched = liveness.first_heartbeat_timeout > duration::zero() ||
                          liveness.heartbeat_timeout > duration::zero() ||
                          liveness.learn_timeouts > 0;
  const std::pair<bool, std::string_view> needs[] = {
      {spec.on_failure == failure_policy::replace, "on_failure"},
      {is_watched, "liveness"},
      {spec.preempt_grace > duration::zero(), "preempt_grace"}};
  for (const auto& [is_set, field] : needs) {
    if (!is_set) continue;
    throw error(errc::invalid_argument,
                fmt::format("{} needs the control channel, which workers of the plain contract do "
                            "not have ({})",
                            spec.name_of(field), spec.name_of("contract")));
  }
}

}  // namespace detail

ELASTIC_DECL void validate(const worker_spec::restart_terms& terms) {
  const duration day = std::chrono::hours(24);
  const auto demand = [](bool holds, const char* sentence) {
    if (!holds) throw error(errc::invalid_argument, sentence);
  };
  demand(terms.window >= duration::zero(), "the window of restarts must not be negative");
  demand(terms.delay >= duration::zero() && terms.delay <= day,
         "the delay of restarts is 0 to 24 hours");
  demand(terms.delay_max >= duration::zero() && terms.delay_max <= day,
         "the greatest delay of restarts is 0 to 24 hours");
  demand(terms.while_progress >= 0, "while_progress must not be negative");
  demand(terms.healthy_uptime >= duration::zero(), "healthy_uptime must not be negative");
}

ELASTIC_DECL void validate(const worker_spec& spec) {
  const auto demand = [](bool holds, const std::string& sentence) {
    if (!holds) throw error(errc::invalid_argument, sentence);
  };
  const auto demand_field = [&](bool holds, std::string_view field, std::string_view sentence) {
    demand(holds, fmt::format("{} {}", spec.name_of(field), sentence));
  };
  const auto demand_not_negative = [&](duration time, std::string_view field) {
    demand_field(time >= duration::zero(), field, "must not be negative");
  };
  const auto demand_command = [&](std::string_view field, const shell_command& chosen) {
    demand(chosen.command.find('\0') == std::string::npos,
           fmt::format("{}: the command has a zero byte in it", spec.name_of(field)));
    demand(chosen.timeout > duration::zero() && chosen.timeout <= limits::shell_command_timeout,
           fmt::format("{}: the timeout is {} s: more than 0 and at most {} s are allowed",
                       spec.name_of(field), std::chrono::duration<double>(chosen.timeout).count(),
                       limits::shell_command_timeout.count()));
  };
  // For the kernel, a text ends at its first zero byte.
  const auto demand_whole = [&](std::string_view field, const std::string& text) {
    demand(text.find('\0') == std::string::npos,
           fmt::format("{}: {} has a zero byte in it", spec.name_of(field), in_quotes(text)));
  };
  demand(!spec.program.empty(), "the worker's program is not named");
  demand_whole("program", spec.program);
  demand_whole("directory", spec.directory);
  for (const std::string& argument : spec.arguments) demand_whole("arguments", argument);
  for (const auto& [name, value] : spec.environment) {
    demand(!name.empty() && name.find('=') == std::string::npos,
           fmt::format("{}: {} is not a name for a variable", spec.name_of("environment"),
                       in_quotes(name)));
    demand_whole("environment", name);
    demand_whole("environment", value);
  }
  static_cast<void>(detail::uninterruptible_limit(spec.environment));
  for (const int number : spec.ignored_signals) {
    detail::require_signal(number, spec.name_of("ignored_signals"));
  }
  if (spec.function) validate(*spec.function);
  demand(std::none_of(spec.role.begin(), spec.role.end(),
                      [](unsigned char letter) { return letter < ' ' || letter == 127; }),
         fmt::format("{}: {} has control characters, such as a line end, in it",
                     spec.name_of("role"), in_quotes(spec.role)));
  demand(spec.role.size() <= limits::worker_role_bytes,
         fmt::format("{}: the name has {} bytes: up to {} are allowed", spec.name_of("role"),
                     spec.role.size(), limits::worker_role_bytes));
  demand(spec.nproc_per_node >= 1 && spec.nproc_per_node <= limits::local_world_size,
         fmt::format("{} is {}: 1 to {} workers on one node are allowed",
                     spec.name_of("nproc_per_node"), spec.nproc_per_node,
                     limits::local_world_size));
  demand(spec.cpu_affinity.empty() ||
             spec.cpu_affinity.size() == static_cast<std::size_t>(spec.nproc_per_node),
         fmt::format("{}: processors are given for {}, but the node has {}",
                     spec.name_of("cpu_affinity"),
                     detail::quantity(spec.cpu_affinity.size(), "worker"), spec.nproc_per_node));
  std::size_t changing_bytes = 0;
  for (const auto& [name, value] : spec.env) {
    if (detail::changes_by_epoch(value)) changing_bytes += name.size() + value.size();
    demand(!name.empty() && name.find('=') == std::string::npos,
           fmt::format("{}: {} is not a name for a variable", spec.name_of("env"),
                       in_quotes(name)));
    demand_whole("env", name);
    demand_whole("env", value);
    demand(!is_set_by_agent(name) || spec.contract == worker_contract::plain,
           fmt::format("{}: {} cannot be chosen, since the agent sets it for each worker",
                       spec.name_of("env"), name));
  }
  const std::string_view device_variable = detail::device_variable(spec.environment);
  const std::size_t devices =
      detail::visible_devices(spec.environment, device_variable).size();
  demand(!spec.virtual_local_rank || devices == 0 ||
             devices >= static_cast<std::size_t>(spec.nproc_per_node),
         fmt::format("{} names fewer devices than the {} workers of the node, of which each is to "
                     "have its own",
                     device_variable, spec.nproc_per_node));
  if (spec.contract == worker_contract::plain) detail::check_plain(spec);
  demand(spec.max_restarts >= 0,
         fmt::format("{} is {}: 0 or more is allowed", spec.name_of("max_restarts"),
                     spec.max_restarts));
  validate(spec.restart);
  demand_field(spec.rejoin_timeout > duration::zero(), "rejoin_timeout", "must be over 0");
  demand(spec.on_failure == failure_policy::restart || !spec.virtual_local_rank,
         fmt::format("{} replace and {} exclude each other: workers of the same local rank cannot "
                     "be told apart on the control channel",
                     spec.name_of("on_failure"), spec.name_of("virtual_local_rank")));
  const bool restarts = spec.on_failure == failure_policy::restart;
  demand(restarts || changing_bytes <= limits::control_value_bytes,
         fmt::format("{}: the variables with ${{rank}} or other values of an epoch have {} bytes; "
                     "workers that stay can be told of up to {} ({} replace)",
                     spec.name_of("env"), changing_bytes, limits::control_value_bytes,
                     spec.name_of("on_failure")));
  validate(spec.logs, spec.nproc_per_node, spec.log_dir != "/dev/null");
  detail::line_template{spec.log_line_prefix_template};
  demand_not_negative(spec.shutdown_timeout, "shutdown_timeout");
  demand_field(spec.linger >= duration::zero() && spec.linger <= limits::linger, "linger",
               "must be from 0 to 3600 s");
  demand_not_negative(spec.exit_barrier_timeout, "exit_barrier_timeout");
  demand_field(spec.monitor_interval > duration::zero(), "monitor_interval", "must be over 0");
  demand_not_negative(spec.preempt_grace, "preempt_grace");
  demand_field(spec.watch_interval == duration::zero() ||
                   spec.watch_interval >= limits::least_watch_interval,
               "watch_interval", "must be 0 (never) or 10 ms at least");
  demand(spec.wrap.command.find('\0') == std::string::npos,
         fmt::format("{}: the command has a zero byte in it", spec.name_of("wrap")));
  demand_command("hang_hook", spec.hang_hook);
  demand_command("node_check", spec.node_check);
  const liveness_settings& liveness = spec.liveness;
  demand_not_negative(liveness.first_heartbeat_timeout, "liveness.first_heartbeat_timeout");
  demand_not_negative(liveness.heartbeat_timeout, "liveness.heartbeat_timeout");
  demand_not_negative(liveness.least_learned, "liveness.least_learned");
  demand(liveness.learn_timeouts == 0 || liveness.learn_timeouts >= 1,
         fmt::format("{} is {}: 0 (nothing is learned) or 1 and more are allowed",
                     spec.name_of("liveness.learn_timeouts"), liveness.learn_timeouts));
}

ELASTIC_DECL std::string worker_spec::name_of(std::string_view field) const {
  return naming ? naming(field) : fmt::format("worker_spec::{}", field);
}

namespace detail {

inline std::optional<int> rank_in_text(std::string_view text) {
  int rank = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), rank);
  const bool is_whole = failure == std::errc() && end == text.data() + text.size();
  if (!is_whole || rank < 0 || rank >= limits::job_ranks) return std::nullopt;
  return rank;
}

}  // namespace detail

ELASTIC_DECL bool worker_spec::wrapper::is_for(int rank) const {
  if (command.empty()) return false;
  return ranks.empty() || std::any_of(ranks.begin(), ranks.end(), [&](const auto& part) {
    return part.first <= rank && rank <= part.second;
  });
}

ELASTIC_DECL std::vector<std::pair<int, int>> parse_wrap_ranks(std::string_view text) {
  constexpr std::size_t most_parts = 1024;
  std::vector<std::pair<int, int>> ranks;
  std::string_view rest = text;
  for (std::size_t comma = 0; comma != std::string_view::npos;) {
    comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    const std::size_t dash = part.find('-');
    const auto first = detail::rank_in_text(part.substr(0, dash));
    const auto last =
        dash == std::string_view::npos ? first : detail::rank_in_text(part.substr(dash + 1));
    if (!first || !last || *last < *first || ranks.size() == most_parts) {
      throw error(errc::invalid_argument,
                  fmt::format("{} is not a list of ranks, such as 0,8-15, with at most {} parts",
                              in_quotes(text), most_parts));
    }
    ranks.emplace_back(*first, *last);
    if (comma != std::string_view::npos) rest.remove_prefix(comma + 1);
  }
  return ranks;
}

}  // namespace elastic
