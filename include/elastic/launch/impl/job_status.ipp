// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/job_status.hpp>

#include <elastic/launch/detail/monitored_services.hpp>
#include <elastic/observe/job_journal.hpp>
#include <elastic/observe/job_monitor.hpp>
#include <elastic/observe/status_address.hpp>
#include <elastic/observe/output_tails.hpp>

#include <utility>

namespace elastic {

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
  auto server = std::make_unique<status_server>(std::move(executor), std::move(options));
  services = std::move(monitored);
  return server;
}

}  // namespace elastic
