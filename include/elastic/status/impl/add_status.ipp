// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/add_status.hpp>

#include <elastic/agent/agent_services.hpp>
#include <elastic/agent/job_command.hpp>
#include <elastic/agent/local_agent.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/log.hpp>
#include <elastic/launch/detail/node_journal.hpp>
#include <elastic/launch/launch_config.hpp>
#include <elastic/launch/program_extension.hpp>
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

/// What the page leaves out of the largest job that this may become; empty: nothing.
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

/// The status server and the trace of a program.
class status_extension final : public program_extension {
 public:
  /// Completes the services.
  status_extension(const launch_config& config, const program_options& options,
                   agent_services& services)
      : options_(options) {
    const bool has_others = !config.standalone && config.rendezvous.max_nodes > 1;
    if (!options.status.empty()) {
      plan_server(config, services);
    } else if (has_others) {
      add_monitor(services, config.rendezvous);
    }
    if (!options.trace.empty()) add_journal(services, config.rendezvous);
    journal_ = services.journal;
    log_ = services.log;
  }

  void begin(asio::any_io_executor executor, std::shared_ptr<local_agent> agent) override {
    if (!options_.status.empty()) serve(std::move(executor), std::move(agent));
    if (options_.trace.empty()) return;
    trace_ = new_shared<trace_file>(options_.trace, log_);
    journal_->add(trace_);
  }

  task<void> close() override {
    if (server_) co_await server_->stop();
    if (!trace_) co_return;
    journal_->remove(trace_);
    co_await trace_->finish();
  }

 private:
  void plan_server(const launch_config& config, agent_services& services) {
    server_options_.address = parse_status_address(options_.status);
    if (!options_.status_token_file.empty()) {
      server_options_.token = read_status_token(options_.status_token_file);
    }
    server_options_.monitor = add_monitor(services, config.rendezvous);
    if (!services.tails) services.tails = new_shared<output_tails>();
    server_options_.journal = services.journal;
    server_options_.tails = services.tails;
    server_options_.time = services.time;
    server_options_.log = services.log;
    const std::string left_out = left_out_of_page(config);
    if (!left_out.empty()) services.log.warning("{}", left_out);
  }

  void serve(asio::any_io_executor executor, std::shared_ptr<local_agent> agent) {
    server_options_.commands = [agent = std::move(agent)](job_command command) {
      return agent->carry_out(std::move(command));
    };
    server_ = std::make_unique<status_server>(std::move(executor), std::move(server_options_));
    if (options_.on_status) {
      options_.on_status(server_->url());
    } else {
      std::fputs(fmt::format("Status: {}\n", server_->url()).c_str(), stderr);
    }
  }

  program_options options_;
  std::shared_ptr<job_journal> journal_;
  logger log_;
  /// Without the commands.
  status_server::options server_options_;
  std::unique_ptr<status_server> server_;
  std::shared_ptr<trace_file> trace_;
};

}  // namespace detail

ELASTIC_DECL void add_status(program_options& options) {
  if (options.extension) {
    throw error(errc::invalid_argument, "the options of a program take one extension");
  }
  options.extension = [](const launch_config& config, const program_options& given,
                         agent_services& services) {
    return std::make_unique<detail::status_extension>(config, given, services);
  };
}

}  // namespace elastic
