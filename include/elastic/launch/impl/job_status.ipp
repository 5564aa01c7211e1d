// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/job_status.hpp>

#include <elastic/net/host_name.hpp>
#include <elastic/observe/job_journal.hpp>
#include <elastic/observe/job_monitor.hpp>
#include <elastic/observe/status_address.hpp>

#include <utility>

namespace elastic {

ELASTIC_DECL std::unique_ptr<status_server> show_job(asio::any_io_executor executor,
                                                     const launch_config& config,
                                                     agent_services& services) {
  if (config.status.empty()) return nullptr;
  status_server_options options;
  options.address = parse_status_address(config.status);
  if (!config.status_token_file.empty())
    options.token = read_status_token(config.status_token_file);
  if (!services.journal) {
    job_journal_options recording;
    recording.node = host_name();
    recording.time = services.time;
    recording.log = services.log;
    services.journal = std::make_shared<job_journal>(std::move(recording));
  }
  options.journal = services.journal;
  options.monitor = std::make_shared<job_monitor>(services.time, services.observer);
  options.time = services.time;
  options.log = services.log;
  const auto monitor = options.monitor;
  auto server = std::make_unique<status_server>(std::move(executor), std::move(options));
  services.journal->add(monitor);
  services.observer = monitor;
  return server;
}

}  // namespace elastic
