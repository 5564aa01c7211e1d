// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/job_features.hpp>

#include <elastic/agent/logs_specs_registry.hpp>
#include <elastic/base/scope.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/diagnosis.hpp>
#include <elastic/launch/program_setup.hpp>
#include <elastic/python.hpp>
#include <elastic/vault.hpp>
#include <elastic/wire.hpp>
#include <program/backends.hpp>
#include <program/progress/progress_bar.hpp>

#include <unistd.h>

#include <csignal>
#include <string>
#include <utility>

namespace elasticrun {

namespace {

/// Runs a feature, and keeps it alive until the task has ended.
template <class Feature>
elastic::task<void> run_shared(std::shared_ptr<Feature> feature) {
  elastic::task<void> running = feature->run();
  co_await std::move(running);
}

/// Adds a progress bar if the options ask for one and stderr can show it.
void add_progress_bar(const elastic::program_config& config,
                      const std::shared_ptr<elastic::time_source>& time,
                      elastic::agent_services& services) {
  const std::string terminal =
      elastic::find_variable(config.job.workers.environment, "TERM").value_or("");
  if (!config.progress || !progress_bar::can_show(STDERR_FILENO, terminal)) return;
  add_part(services, "progress bar", [time](const elastic::agent_part::context& context) {
    return make_progress_bar(time, context);
  });
}

}  // namespace

elastic::agent_services make_services(const asio::any_io_executor& executor,
                                      const elastic::logger& log) {
  elastic::agent_services services;
  services.backends = every_backend();
  services.log = log;
  services.processes.parent = executor;
  services.processes.open_files = elastic::raise_open_files();
  return services;
}

job_features::job_features(asio::any_io_executor executor)
    : executor_(std::move(executor)), tasks_(executor_) {}

void job_features::complete(const elastic::program_config& config, std::size_t role,
                            elastic::agent_services& services) {
  if (config.keeps_standbys) elastic::add_warm_standbys(services, config.standby);
  elastic::job_diagnosis diagnosis = config.diagnosis;
  diagnosis.node_name = config.job.rendezvous.node_name;
  // A debugger may halt a rank for any time.
  diagnosis.notices = !config.debugger.rank;
  elastic::add_diagnosis(services, std::move(diagnosis));
  if (!config.wire.kinds.empty()) elastic::add_wire(services, config.wire);
  if (config.vault.is_set()) elastic::add_vault(services, config.vault);
  merge_output(config, services);
  add_progress_bar(config, time_, services);
  add_part(services, "code release", code_release_);
  add_faults(config, role, services);
}

/// Does nothing without --merge-output, or if lines are JSON objects, which all differ.
void job_features::merge_output(const elastic::program_config& config,
                                elastic::agent_services& services) {
  const elastic::worker_spec& workers = config.job.workers;
  const bool is_json = workers.logs.format == elastic::log_options::line_format::json;
  if (!config.merges_output || is_json) return;
  services.logs = elastic::logs_specs_registry().make(config.job.logs_specs);
  auto console = std::make_shared<merged_output>(executor_, workers.role, time_, services);
  tasks_.spawn(run_shared(console));
  consoles_.push_back(std::move(console));
}

void job_features::add_faults(const elastic::program_config& config, std::size_t role,
                              elastic::agent_services& services) {
  if (config.chaos.empty()) return;
  std::shared_ptr<chaos_monkey>& monkey = monkeys_[role];
  if (!monkey) {
    monkey = std::make_shared<chaos_monkey>(executor_, config.chaos, services,
                                            [] { std::raise(SIGKILL); });
    tasks_.spawn(run_shared(monkey));
  }
  add_chaos(services, monkey);
}

elastic::task<void> job_features::close() {
  return elastic::with_cleanup(tasks_.stop(), finish_consoles());
}

elastic::task<void> job_features::finish_consoles() {
  for (const auto& console : consoles_) {
    elastic::task<void> finishing = console->finish();
    co_await std::move(finishing);
  }
}

}  // namespace elasticrun
