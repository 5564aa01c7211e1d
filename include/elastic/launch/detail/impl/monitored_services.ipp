// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/detail/monitored_services.hpp>

#include <elastic/agent/agent_services.hpp>
#include <elastic/net/host_name.hpp>
#include <elastic/observe/job_journal.hpp>
#include <elastic/observe/job_monitor.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/store/store_meter.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace elastic::detail {

ELASTIC_DECL void add_journal(agent_services& services, const rendezvous_parameters& meeting) {
  if (services.journal) return;
  job_journal_options recording;
  recording.node = meeting.node_name.empty() ? host_name() : meeting.node_name;
  recording.time = services.time;
  recording.log = services.log;
  services.journal = std::make_shared<job_journal>(std::move(recording));
}

ELASTIC_DECL void add_monitor(agent_services& services, const rendezvous_parameters& meeting) {
  if (services.monitor) return;
  add_journal(services, meeting);
  services.monitor = std::make_shared<job_monitor>(services.time, services.observer);
  services.journal->add(services.monitor);
  services.observer = services.monitor;
}

ELASTIC_DECL std::shared_ptr<store_meter> measure_stores(job_monitor& monitor) {
  auto meter = std::make_shared<store_meter>();
  monitor.measure_stores([meter]() -> std::optional<viewed_stores> {
    const auto keys = meter->keys();
    if (!keys) return std::nullopt;
    return viewed_stores{meter->requests(), *keys};
  });
  return meter;
}

}  // namespace elastic::detail
