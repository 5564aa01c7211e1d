// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/detail/node_options.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/launch/detail/option_readers.hpp>
#include <elastic/launch/early_exit.hpp>
#include <elastic/net/endpoint.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

namespace elastic::detail {

/// "N" or "MIN:MAX".
inline void read_nodes(const option_values& values, launch_config& config) {
  const auto given = values.find("--nnodes");
  if (!given) return;
  const std::string_view text = given->text;
  const std::size_t colon = text.find(':');
  const auto least = number_between(text.substr(0, colon), 1, limits::nodes);
  const auto most = colon == std::string_view::npos
                        ? least
                        : number_between(text.substr(colon + 1), 1, limits::nodes);
  if (!least || !most || *least > *most) {
    refuse_value(*given,
                 fmt::format("allowed is N, or MIN:MAX with 1 <= MIN <= MAX <= {}", limits::nodes));
  }
  config.min_nodes = *least;
  config.max_nodes = *most;
}

/// "key=value,key=value": blanks around both are dropped.
inline void read_conf(const option_values& values, launch_config& config) {
  const auto given = values.find("--rdzv-conf");
  if (!given || trimmed(given->text).empty()) return;
  std::string_view rest = given->text;
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string_view pair = rest.substr(0, comma);
    const std::size_t equals = pair.find('=');
    const std::string_view key = trimmed(pair.substr(0, equals));
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view() : trimmed(pair.substr(equals + 1));
    if (key.empty() || value.empty()) {
      refuse_value(*given, fmt::format("allowed is key=value,key=value, each with a key and a "
                                       "value, which {} has not",
                                       in_quotes(pair)));
    }
    config.rdzv_conf.emplace_back(key, value);
    if (comma == std::string_view::npos) return;
    rest.remove_prefix(comma + 1);
  }
}

inline void check_endpoint(std::string_view source, std::string_view text) {
  try {
    parse_endpoint(text, 0);
  } catch (const error& refusal) {
    throw error(errc::invalid_argument, fmt::format("{}: {}", source, refusal.what()));
  }
}

ELASTIC_DECL void read_master(const option_values& values, launch_config& config) {
  int port = config.master_port;
  read_number(values, "--master-port", 0, 65535, port);
  config.master_port = static_cast<std::uint16_t>(port);
  const auto given = values.find("--master-addr");
  if (!given) return;
  check_endpoint(given->source, given->text + ":0");
  config.master_addr = parse_endpoint(given->text + ":0", 0).host;
}

/// The backend static: the nodes' ranks are given, not found out.
inline void check_static(const launch_config& config) {
  if (config.rdzv_backend != "static" || config.standalone) return;
  if (config.min_nodes != config.max_nodes) {
    throw error(errc::invalid_argument,
                fmt::format("--nnodes {}:{}: the rendezvous backend static needs a fixed number of "
                            "nodes; use another --rdzv-backend for a range",
                            config.min_nodes, config.max_nodes));
  }
  if (config.node_rank >= config.max_nodes) {
    throw error(errc::invalid_argument,
                fmt::format("--node-rank {}: with --nnodes {} it is 0 to {}", config.node_rank,
                            config.max_nodes, config.max_nodes - 1));
  }
  if (config.max_nodes > 1 && config.rdzv_endpoint.empty() && config.master_port == 0) {
    throw error(errc::invalid_argument,
                "--master-port 0: with several nodes it is a number from 1 to 65535");
  }
}

/// `--standalone`, and what is the same: a single node that was told nothing about a rendezvous,
/// as for torchrun since 2.14. Else two such jobs on one machine would meet at the default port.
inline void read_standalone(const option_values& values, launch_config& config) {
  const bool asked = values.flag("--standalone");
  if (asked && config.min_nodes > 1) {
    throw error(errc::invalid_argument,
                fmt::format("--standalone is for one node, but --nnodes needs at least {}",
                            config.min_nodes));
  }
  bool told = false;
  for (const char* name :
       {"--rdzv-backend", "--rdzv-endpoint", "--master-addr", "--master-port", "--node-rank"}) {
    told = told || values.find(name);
  }
  config.standalone = asked || (!told && config.max_nodes == 1);
  if (!config.standalone) return;
  config.max_nodes = 1;
  if (asked || !values.find("--rdzv-id")) config.run_id.clear();
}

ELASTIC_DECL void warn_of_unused(const option_values& values, const launch_config& config,
                                 std::vector<std::string>& warnings) {
  const bool is_static = !config.standalone && config.rdzv_backend == "static";
  const bool uses_master = is_static && config.rdzv_endpoint.empty();
  const auto warn = [&](const char* name, const char* who_uses_it) {
    const auto given = values.find(name);
    if (!given) return;
    warnings.push_back(fmt::format("{} has no effect: {} uses it", given->source, who_uses_it));
  };
  // A rank of 0 is what every node has that is alone; many scripts give it always.
  if (!is_static && config.node_rank != 0) warn("--node-rank", "only --rdzv-backend static");
  for (const char* name : {"--master-addr", "--master-port"}) {
    if (!uses_master) warn(name, "only --rdzv-backend static without --rdzv-endpoint");
  }
  if (config.standalone || is_static) warn("--local-addr", "only a rendezvous such as c10d");
  if (!is_static && !config.standalone && config.max_nodes > 1 && !values.find("--rdzv-id")) {
    warnings.push_back(
        fmt::format("no --rdzv-id is given: any other job without one would meet "
                    "this one at the same endpoint, under the name '{}'",
                    config.run_id));
  }
}

ELASTIC_DECL void read_rendezvous(const option_values& values, launch_config& config,
                                  std::vector<std::string>& warnings) {
  read_nodes(values, config);
  read_text(values, "--rdzv-backend", config.rdzv_backend);
  read_text(values, "--rdzv-endpoint", config.rdzv_endpoint);
  read_text(values, "--rdzv-id", config.run_id);
  read_text(values, "--local-addr", config.local_addr);
  read_conf(values, config);
  const auto endpoint = values.find("--rdzv-endpoint");
  // Others have endpoints of another form, or several of them, and check them by themselves.
  const bool is_host = config.rdzv_backend == "static" || config.rdzv_backend == "c10d";
  if (endpoint && is_host) check_endpoint(endpoint->source, endpoint->text);
  read_number(values, "--node-rank", 0, limits::nodes - 1, config.node_rank);
  read_master(values, config);
  read_standalone(values, config);
  check_static(config);
  warn_of_unused(values, config, warnings);
}

}  // namespace elastic::detail
