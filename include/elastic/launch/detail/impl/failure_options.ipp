// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/detail/failure_options.hpp>

#include <elastic/agent/restart_terms.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/launch/detail/option_readers.hpp>
#include <elastic/launch/signal_plan.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/process/exit_selection.hpp>
#include <elastic/process/guard_policy.hpp>
#include <elastic/process/signal_number.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

namespace elastic::detail {

/// What looks into workers that hang.
inline void read_hang_hook(const option_values& values, launch_config& config) {
  const auto command = values.find("--hang-hook");
  if (command && command->text.empty()) refuse_value(*command, "a command for the shell is needed");
  if (command) config.hang_hook = command->text;
  const auto timeout = values.find("--hang-hook-timeout");
  if (!timeout) return;
  config.hang_hook_timeout = seconds_of(*timeout);
  if (config.hang_hook_timeout <= std::chrono::milliseconds::zero() ||
      config.hang_hook_timeout > limits::hang_hook_timeout) {
    refuse_value(*timeout, fmt::format("more than 0 and at most {} seconds are allowed",
                                       limits::hang_hook_timeout.count()));
  }
}

/// When workers are asked for a checkpoint, and after how long they are hung.
inline void read_health(const option_values& values, launch_config& config) {
  read_seconds(values, "--preempt-grace", config.preempt_grace);
  read_seconds(values, "--heartbeat-timeout", config.heartbeat_timeout);
  read_seconds(values, "--first-heartbeat-timeout", config.first_heartbeat_timeout);
  read_hang_hook(values, config);
  const auto factor = values.find("--learn-timeouts");
  if (!factor) return;
  constexpr double most = 1e6;
  double value = 0;
  const char* end = factor->text.data() + factor->text.size();
  const auto [stop, failure] = std::from_chars(factor->text.data(), end, value);
  const bool allowed = value == 0 || (value >= 1 && value <= most);
  if (failure != std::errc() || stop != end || !allowed) {
    refuse_value(*factor, "allowed are 0 (nothing is learned) and a factor from 1 to 1000000");
  }
  config.learn_timeouts = value;
}

inline void read_ends(const option_values& values, const char* name, exit_selection& result) {
  const auto given = values.find(name);
  if (!given) return;
  try {
    result = exit_selection::parse(given->text);
  } catch (const error& refusal) {
    throw error(errc::invalid_argument, fmt::format("{}: {}", given->source, refusal.what()));
  }
}

ELASTIC_DECL void read_restarts(const option_values& values, launch_config& config) {
  constexpr int no_limit = std::numeric_limits<int>::max();
  read_number(values, "--max-restarts", 0, no_limit, config.max_restarts);
  restart_terms& terms = config.restart;
  read_seconds(values, "--restart-delay", terms.delay);
  read_seconds(values, "--restart-delay-max", terms.max_delay);
  read_seconds(values, "--restart-healthy-uptime", terms.healthy_uptime);
  read_seconds(values, "--restart-window", terms.window);
  read_ends(values, "--restart-never-after", terms.never_after);
  read_ends(values, "--restart-only-after", terms.only_after);
  validate(terms);
}

/// "SIGTERM,SIGINT".
inline void read_signal_list(const std::optional<option_value>& given, std::vector<int>& result) {
  if (!given) return;
  result.clear();
  for (std::string_view rest = given->text;;) {
    const std::size_t comma = rest.find(',');
    const auto number = signal_number(trimmed(rest.substr(0, comma)));
    if (!number) refuse_value(*given, "names of signals are needed, such as SIGTERM,SIGUSR1");
    result.push_back(*number);
    if (comma == std::string_view::npos) return;
    rest.remove_prefix(comma + 1);
  }
}

ELASTIC_DECL void read_signals(const option_values& values, launch_config& config) {
  const auto stop = values.find("--signals-to-handle", "TORCHELASTIC_SIGNALS_TO_HANDLE");
  const auto forward = values.find("--forward-signals");
  read_signal_list(stop, config.signals.stop);
  // PyTorch's own handlers in the workers look here, too.
  config.environment["TORCHELASTIC_SIGNALS_TO_HANDLE"] =
      stop ? stop->text : "SIGTERM,SIGINT,SIGHUP,SIGQUIT";
  read_signal_list(forward, config.signals.forward);
  try {
    validate(config.signals);
  } catch (const error& refusal) {
    const std::string& source = forward ? forward->source : stop->source;
    throw error(errc::invalid_argument, fmt::format("{}: {}", source, refusal.what()));
  }
}

ELASTIC_DECL void read_times(const option_values& values, launch_config& config) {
  const auto grace = values.find("--shutdown-timeout", "TORCH_ELASTIC_SHUTDOWN_TIMEOUT");
  if (grace) config.shutdown_timeout = seconds_of(*grace);
  const auto interval = values.find("--monitor-interval");
  if (interval) {
    config.monitor_interval = std::max(seconds_of(*interval), std::chrono::milliseconds(1));
  }
  read_health(values, config);
}

ELASTIC_DECL void read_guard(const option_values& values, launch_config& config) {
  config.guard_file = find_variable(config.environment, "ELASTIC_GUARD").value_or("");
  const auto policy = values.find("--guard");
  if (!policy) return;
  if (policy->text == "required") {
    config.guard = guard_policy::required;
  } else if (policy->text == "best-effort") {
    config.guard = guard_policy::best_effort;
  } else if (policy->text == "none") {
    config.guard = guard_policy::none;
  } else {
    refuse_value(*policy, "allowed are required, best-effort and none");
  }
}

}  // namespace elastic::detail
