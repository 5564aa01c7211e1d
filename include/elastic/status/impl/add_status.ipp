// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/add_status.hpp>

#include <elastic/agent/agent_part.hpp>
#include <elastic/agent/agent_services.hpp>
#include <elastic/base/detail/internals.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/launch/detail/node_journal.hpp>
#include <elastic/launch/launch_config.hpp>
#include <elastic/launch/program_options.hpp>
#include <elastic/status/add_monitor.hpp>
#include <elastic/status/job_monitor.hpp>
#include <elastic/status/status_address.hpp>
#include <elastic/status/status_server.hpp>
#include <elastic/status/trace_file.hpp>
#include <elastic/telemetry/detail/output_tails.hpp>
#include <elastic/telemetry/job_journal.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace elastic {

namespace detail {

/// The parts that the page leaves out of the largest job that this may become; empty: none.
inline std::string left_out_of_page(const launch_config& config) {
  if (config.rendezvous.max_nodes <= 1) return {};
  const auto nodes = static_cast<std::size_t>(config.rendezvous.max_nodes);
  const std::size_t others =
      (nodes - 1) * static_cast<std::size_t>(std::max(config.workers.nproc_per_node, 0));
  if (nodes <= limits::viewed_nodes && others <= limits::viewed_workers) return {};
  return fmt::format(
      "the status shows up to {} nodes and {} ranks of other nodes, and this job may have {} and "
      "{}: the rest is shown by their own agents",
      limits::viewed_nodes, limits::viewed_workers, nodes, others);
}

/// Completes the services for a status server.
inline status_server::options plan_server(const launch_config& config,
                                          const program_options& options,
                                          agent_services& services) {
  status_server::options shown;
  shown.address = parse_status_address(options.status);
  if (!options.status_token_file.empty()) {
    shown.token = read_status_token(options.status_token_file);
  }
  shown.monitor = add_monitor(services, config.rendezvous);
  shown.monitor->describe(config.workers);
  shown.journal = services.journal;
  internals::of(shown).tails = internals::of(services).tails;
  shown.time = services.time;
  shown.log = services.log;
  const std::string left_out = left_out_of_page(config);
  if (!left_out.empty()) services.log.warning("{}", left_out);
  return shown;
}

/// The status server of an agent.
class status_part final : public agent_part {
 public:
  status_part(status_server::options shown, const program_options& options,
              const agent_part::context& agent)
      : server_(agent.executor, served_by(std::move(shown), agent)) {
    if (options.on_status) {
      options.on_status(server_.url());
    } else {
      std::fputs(fmt::format("Status: {}\n", server_.url()).c_str(), stderr);
    }
  }

  task<void> close() override { return server_.stop(); }

 private:
  static status_server::options served_by(status_server::options shown,
                                          const agent_part::context& agent) {
    shown.commands = agent.commands;
    return shown;
  }

  status_server server_;
};

/// The trace of an agent.
class trace_part final : public agent_part {
 public:
  trace_part(const std::string& path, const agent_part::context& agent)
      : journal_(agent.journal), trace_(new_shared<trace_file>(path, agent.log)) {
    journal_->add(trace_);
  }

  task<void> close() override {
    journal_->remove(trace_);
    return trace_->finish();
  }

 private:
  std::shared_ptr<job_journal> journal_;
  std::shared_ptr<trace_file> trace_;
};

inline void add_server(const launch_config& config, const program_options& options,
                       agent_services& services) {
  status_server::options shown = plan_server(config, options, services);
  add_part(services, "status", [shown = std::move(shown), options](agent_part::context agent) {
    return new_shared<status_part>(shown, options, agent);
  });
}

inline void complete_services(const launch_config& config, const program_options& options,
                              agent_services& services) {
  const bool has_others = !config.standalone && config.rendezvous.max_nodes > 1;
  if (!options.status.empty()) {
    add_server(config, options, services);
  } else if (has_others) {
    add_monitor(services, config.rendezvous);
  }
  if (options.trace.empty()) return;
  add_journal(services, config.rendezvous);
  add_part(services, "trace", [path = options.trace](agent_part::context agent) {
    return new_shared<trace_part>(path, agent);
  });
}

}  // namespace detail

ELASTIC_DECL void add_status(program_options& options) {
  if (options.complete) {
    throw error(errc::invalid_argument, "the services of a program are completed by one function");
  }
  options.complete = &detail::complete_services;
}

}  // namespace elastic
