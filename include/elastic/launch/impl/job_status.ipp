// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/job_status.hpp>

#include <elastic/base/limits.hpp>
#include <elastic/launch/detail/monitored_services.hpp>
#include <elastic/observe/job_journal.hpp>
#include <elastic/observe/job_monitor.hpp>
#include <elastic/observe/status_address.hpp>
#include <elastic/observe/output_tails.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace elastic {

namespace detail {

/// What the page leaves out of the largest job that this may become; empty: nothing.
inline std::string left_out_of_page(const launch_config& config) {
  if (config.rendezvous.max_nodes <= 1) return {};
  const auto nodes = static_cast<std::size_t>(config.rendezvous.max_nodes);
  const std::size_t others =
      (nodes - 1) * static_cast<std::size_t>(std::max(config.workers.nproc_per_node, 0));
  if (nodes <= limits::viewed_nodes && others <= limits::viewed_workers) return {};
  return fmt::format(
      "--status shows up to {} nodes and {} ranks of other nodes, and this job may have {} and {}: "
      "the rest is shown by their own agents",
      limits::viewed_nodes, limits::viewed_workers, nodes, others);
}

}  // namespace detail

ELASTIC_DECL std::unique_ptr<status_server> show_job(asio::any_io_executor executor,
                                                     const launch_config& config,
                                                     agent_services& services,
                                                     command_handler commands) {
  if (config.status.empty()) return nullptr;
  status_server_options options;
  options.address = parse_status_address(config.status);
  if (!config.status_token_file.empty())
    options.token = read_status_token(config.status_token_file);
  agent_services monitored = services;
  detail::add_monitor(monitored, config.rendezvous);
  options.journal = monitored.journal;
  options.monitor = monitored.monitor;
  if (!monitored.tails) monitored.tails = std::make_shared<output_tails>();
  options.tails = monitored.tails;
  options.time = services.time;
  options.log = services.log;
  options.commands = std::move(commands);
  const std::string left_out = detail::left_out_of_page(config);
  if (!left_out.empty()) services.log.warning("{}", left_out);
  auto server = std::make_unique<status_server>(std::move(executor), std::move(options));
  services = std::move(monitored);
  return server;
}

}  // namespace elastic
