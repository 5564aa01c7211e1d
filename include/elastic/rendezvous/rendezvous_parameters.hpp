// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/time.hpp>
#include <elastic/rendezvous/rendezvous_settings.hpp>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace elastic {

/// What a rendezvous handler is made from: what the user asked for, and the services it may use.
struct rendezvous_parameters {
  /// A name of the registry: "static", "c10d".
  std::string backend = "static";
  /// Where the nodes meet, "host" or "host:port"; what empty means is the backend's affair.
  std::string endpoint;
  /// Names the job: nodes with the same run id meet. Must not be empty.
  std::string run_id = "none";
  int min_nodes = 1;
  int max_nodes = 1;
  /// This node's group rank, where the backend does not assign one (static).
  int node_rank = 0;
  /// The address that this node gives to others; empty: found out by the backend.
  std::string local_address;
  /// Whether an agent serves the workers' store (torchrun's rule since 2.4) or the worker of rank
  /// 0 does.
  bool share_worker_store = true;
  /// Whether stores that this node serves use an io_uring where the kernel allows one.
  bool use_ring = true;
  /// Further settings of the backend, the `--rdzv-conf` pairs.
  std::map<std::string, std::string, std::less<>> configuration;

  std::shared_ptr<time_source> time = std::make_shared<system_time>();
  logger log;

  /// A setting in seconds, `fallback` where it was not given.
  /// Errors: `errc::invalid_argument` where it is not a number of seconds over 0.
  duration seconds(std::string_view name, duration fallback) const {
    const auto found = configuration.find(name);
    if (found == configuration.end()) return fallback;
    double value = 0;
    const char* end = found->second.data() + found->second.size();
    const auto [stop, failure] = std::from_chars(found->second.data(), end, value);
    if (failure != std::errc() || stop != end || !(value > 0) || value > 1e8) {
      throw error(errc::invalid_argument,
                  fmt::format("--rdzv-conf {}={}: a number of seconds over 0 is needed", name,
                              found->second));
    }
    return std::chrono::duration_cast<duration>(std::chrono::duration<double>(value));
  }

  /// A setting that is a whole number over 0, `fallback` where it was not given.
  /// Errors: `errc::invalid_argument` where it is none.
  int whole_number(std::string_view name, int fallback) const {
    const auto found = configuration.find(name);
    if (found == configuration.end()) return fallback;
    int value = 0;
    const char* end = found->second.data() + found->second.size();
    const auto [stop, failure] = std::from_chars(found->second.data(), end, value);
    if (failure == std::errc() && stop == end && value > 0 && value <= 1'000'000) return value;
    throw error(errc::invalid_argument,
                fmt::format("--rdzv-conf {}={}: a whole number from 1 to 1000000 is needed", name,
                            found->second));
  }

  /// A setting that is yes or no, as PyTorch writes them; empty where it was not given.
  /// Errors: `errc::invalid_argument` where it is none.
  std::optional<bool> yes_or_no(std::string_view name) const {
    const auto found = configuration.find(name);
    if (found == configuration.end()) return std::nullopt;
    std::string value = found->second;
    for (char& letter : value) {
      if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    }
    for (const char* yes : {"1", "true", "t", "yes", "y"}) {
      if (value == yes) return true;
    }
    for (const char* no : {"0", "false", "f", "no", "n"}) {
      if (value == no) return false;
    }
    throw error(errc::invalid_argument, fmt::format("--rdzv-conf {}={}: yes or no is needed", name,
                                                    found->second));
  }

  /// By which numbers the nodes meet.
  /// Errors: `errc::invalid_argument` for a setting out of bounds, also one of PyTorch's names for
  /// waits that do not exist here.
  rendezvous_settings settings() const {
    rendezvous_settings settings;
    settings.min_nodes = min_nodes;
    settings.max_nodes = max_nodes;
    settings.join_timeout = seconds("join_timeout", settings.join_timeout);
    settings.last_call_timeout = seconds("last_call_timeout", settings.last_call_timeout);
    settings.keep_alive_interval = seconds("keep_alive_interval", settings.keep_alive_interval);
    settings.keep_alive_max_attempt =
        whole_number("keep_alive_max_attempt", settings.keep_alive_max_attempt);
    settings.reconnect_grace = seconds("reconnect_grace", settings.reconnect_grace);
    for (const char* name : {"close_timeout", "heartbeat_timeout", "read_timeout", "timeout"}) {
      seconds(name, {});
    }
    return settings;
  }

  /// Warns of settings that `backend` does not use, such as misspelt ones.
  void warn_of_unused(std::vector<std::string_view> used) const {
    for (const auto& [name, value] : configuration) {
      if (std::find(used.begin(), used.end(), name) != used.end()) continue;
      log.warning("--rdzv-conf {}={} is not used by the rendezvous backend '{}', which knows: {}",
                  name, value, backend, fmt::join(used, ", "));
    }
  }
};

}  // namespace elastic
