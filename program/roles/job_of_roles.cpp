// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/roles/job_of_roles.hpp>

#include <elastic/agent/stop_request.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/scope.hpp>
#include <elastic/base/time.hpp>
#include <elastic/cli/detail/chaos_text.hpp>
#include <elastic/cli/early_exit.hpp>
#include <elastic/launch/console_log.hpp>
#include <elastic/launch/detail/signalled_run.hpp>
#include <elastic/launch/drain_file.hpp>
#include <elastic/launch/job_outcome.hpp>
#include <elastic/roles/detail/role_places.hpp>
#include <program/job_features.hpp>
#include <program/missing_module.hpp>
#include <program/preflight.hpp>
#include <program/roles/role_status.hpp>
#include <program/roles/role_trace.hpp>
#include <program/unused_signals.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace elasticrun {

using elastic::errc;
using elastic::error;

namespace {

[[noreturn]] void refuse(const role_entry& role, std::string_view sentence) {
  throw error(errc::invalid_argument, fmt::format("role '{}': {}", role.name, sentence));
}

/// Refuses a role with the text of an early exit, such as "elasticrun: error: there is no script",
/// without its prefix and its line feed.
[[noreturn]] void refuse(const role_entry& role, const elastic::early_exit& exit) {
  std::string_view sentence = exit.text;
  constexpr std::string_view begin = "error: ";
  const std::size_t index = sentence.find(begin);
  if (index != std::string_view::npos) sentence.remove_prefix(index + begin.size());
  while (sentence.ends_with('\n')) sentence.remove_suffix(1);
  refuse(role, sentence);
}

elastic::command_line line_of(const role_entry& role, const elastic::command_line::facts& facts) {
  std::vector<std::string> arguments = role.options;
  if (role.on_failure == elastic::role::policy::replace) {
    arguments.emplace_back("--on-failure=replace");
  }
  arguments.insert(arguments.end(), role.command.begin(), role.command.end());
  auto parsed = elastic::parse_command_line(arguments, facts);
  if (const auto* exit = std::get_if<elastic::early_exit>(&parsed)) refuse(role, *exit);
  auto& line = std::get<elastic::command_line>(parsed);
  if (const auto exit = check_files(line.config)) refuse(role, *exit);
  return std::move(line);
}

/// The policy of the file, or else a restart if the role has restarts left to use.
elastic::role::policy policy_of(const role_entry& role, const elastic::worker_spec& workers) {
  if (role.on_failure) return *role.on_failure;
  if (workers.max_restarts == 0) return elastic::role::policy::fail_job;
  return role.has_world ? elastic::role::policy::restart_role
                        : elastic::role::policy::restart_worker;
}

elastic::role role_of(const role_entry& entry, const elastic::launch_config& config) {
  elastic::role role;
  role.name = entry.name;
  role.config = config;
  role.has_world = entry.has_world;
  role.on_failure = policy_of(entry, config.workers);
  role.starts_after = entry.starts_after;
  role.stops_with = entry.stops_with;
  role.ready_at = entry.readiness;
  role.ready_port = entry.ready_port;
  // The group sets these itself.
  const elastic::worker_spec defaults;
  role.config.workers.role = defaults.role;
  role.config.workers.log_dir = defaults.log_dir;
  role.config.workers.on_failure = defaults.on_failure;
  role.config.rendezvous.run_id = elastic::rendezvous_parameters().run_id;
  return role;
}

/// Whether the rendezvous of a role can refuse nodes with a different job file.
bool can_compare(const elastic::role& role) {
  const elastic::launch_config& config = role.config;
  const std::string& backend = config.rendezvous.backend;
  const bool has_leader =
      backend == "c10d" || backend == "etcd" || backend == "etcd-v3" || backend == "file";
  return role.has_world && !config.standalone && config.rendezvous.max_nodes > 1 && has_leader;
}

/// Refuses faults of nodes for replicas: their nodes have no ranks, so every node would have the
/// fault.
void check_faults(const role_entry& role, const elastic::program_config::chaos_plan& plan) {
  using target = elastic::program_config::chaos_plan::fault::target;
  if (role.has_world) return;
  for (const elastic::program_config::chaos_plan::fault& fault : plan.faults) {
    if (fault.scope != target::node) continue;
    refuse(role, fmt::format("chaos {}: the nodes of replicas have no ranks; name a node in a role "
                             "with a world",
                             elastic::detail::to_text(fault)));
  }
}

/// Refuses a role of one node without a rendezvous in a job of several nodes: it would run on every
/// node, which is never intended.
void check_nodes(const std::vector<elastic::role>& roles) {
  const auto bound = [&](const elastic::role& role) {
    return elastic::detail::node_bound(roles, role);
  };
  const auto one = std::find_if(roles.begin(), roles.end(), [&](const elastic::role& role) {
    return role.has_world && !bound(role);
  });
  const auto several = std::find_if(roles.begin(), roles.end(), bound);
  if (one == roles.end() || several == roles.end()) return;
  throw error(errc::invalid_argument,
              fmt::format("role '{}' has one node and role '{}' several: they need a rendezvous at "
                          "which all nodes meet, such as --rdzv-backend c10d",
                          one->name, several->name));
}

/// Refuses the backend static: the job file is the same on all nodes, so it cannot give each node
/// its rank.
void check_meeting(const std::vector<elastic::role>& roles) {
  for (const elastic::role& role : roles) {
    const elastic::launch_config& config = role.config;
    const bool meets = role.has_world && config.rendezvous.max_nodes > 1;
    if (!meets || config.standalone || config.rendezvous.backend != "static") continue;
    throw error(errc::invalid_argument,
                fmt::format("role '{}' runs on several nodes, which the rendezvous backend "
                            "'static' cannot rank: choose --rdzv-backend c10d, etcd or file",
                            role.name));
  }
}

}  // namespace

job_of_roles make_job(const job_file& file, const elastic::command_line::facts& given) {
  elastic::command_line::facts facts = given;
  facts.has_run_id = true;
  job_of_roles job;
  job.options.run_id = file.name;
  job.options.max_restarts = file.restarts;
  job.options.log_dir = file.log_dir;
  job.options.journal = file.journal;
  for (const role_entry& entry : file.roles) {
    elastic::command_line line = line_of(entry, facts);
    line.config.job.workers.role = entry.name;
    for (const std::string& warning : line.warnings) {
      const bool is_of_all = warning == facts.python_warning;
      std::string text = is_of_all ? warning : fmt::format("role '{}': {}", entry.name, warning);
      const auto& told = job.warnings;
      if (std::find(told.begin(), told.end(), text) != told.end()) continue;
      job.warnings.push_back(std::move(text));
    }
    job.signals = line.config.job.signals;
    job.program = line.config.program;
    elastic::role role = role_of(entry, line.config.job);
    if (can_compare(role)) {
      role.config.rendezvous.conf.emplace("fingerprint", file.fingerprint);
    }
    check_faults(entry, line.config.chaos);
    job.options.roles.push_back(std::move(role));
    job.configs.push_back(std::move(line.config));
  }
  validate(job.options.roles);
  check_nodes(job.options.roles);
  check_meeting(job.options.roles);
  return job;
}

namespace {

/// The features that elasticrun adds to the roles of a job.
class role_features {
 public:
  /// Errors: those of the constructor of role_status.
  role_features(const asio::any_io_executor& executor, const job_of_roles& job,
                const elastic::logger& log)
      : configs_(job.configs), each_(executor) {
    const std::vector<elastic::role>& roles = job.options.roles;
    if (role_status::is_needed(job.options, job.program)) status_.emplace(job.options, job.program);
    if (!job.program.trace.empty()) trace_.emplace(roles, job.program.trace, log);
  }

  /// Completes the services of the agent or the replicas that are about to run a role.
  void complete(std::size_t role, elastic::agent_services& services) {
    if (status_) status_->complete(role, services);
    if (trace_) trace_->complete(role, services);
    each_.complete(configs_[role], role, services);
  }

  void change(elastic::role_group::snapshot now) {
    if (status_) status_->change(std::move(now));
  }

  /// Begins to show the job.
  void serve(const asio::any_io_executor& executor, const elastic::agent_services& services,
             elastic::job_command::handler commands) {
    if (status_) status_->serve(executor, services, std::move(commands));
  }

  /// Ends the features. When it returns, no task of theirs runs.
  elastic::task<void> close() {
    co_await each_.close();
    if (trace_) co_await trace_->close();
    if (status_) co_await status_->close();
  }

 private:
  std::vector<elastic::program_config> configs_;
  job_features each_;
  std::optional<role_status> status_;
  std::optional<role_trace> trace_;
};

/// Stops the group when the drain file appears. Ends only by cancellation. The group must outlive
/// it.
elastic::task<void> stop_at_drain_file(std::string path, elastic::role_group& group,
                                       elastic::logger log) {
  const auto time = std::make_shared<elastic::system_time>();
  elastic::stop_request request;
  elastic::task<std::string> waiting = elastic::wait_for_drain_file(path, time, log);
  request.reason = co_await std::move(waiting);
  request.is_node_bad = true;
  group.stop(std::move(request));
  co_await time->sleep_until(elastic::time_point::max());
}

}  // namespace

elastic::task<int> run_job(elastic::command_line line, elastic::command_line::facts facts,
                           elastic::logger log) {
  const elastic::program_config& config = line.config;
  const job_file file = parse_job_file(read_job_file(config.job_file), config.job_file,
                                       config.job_settings, line.options, facts);
  job_of_roles job = make_job(file, facts);
  if (config.prints_job) {
    const elastic::early_exit exit{0, text_of(file), false};
    co_return elastic::leave(exit);
  }
  for (const std::string& warning : job.warnings) log.warning("{}", warning);
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const elastic::agent_services services = make_services(executor, log);
  role_features features(executor, job, log);
  job.options.complete = [&features](std::size_t role, elastic::agent_services& made) {
    features.complete(role, made);
  };
  job.options.on_change = [&features](elastic::role_group::snapshot now) {
    features.change(std::move(now));
  };
  elastic::role_group group(executor, job.options, services);
  features.serve(executor, services, [&group](elastic::job_command command) {
    return group.carry_out(std::move(command));
  });
  std::vector<elastic::task<void>> companions;
  if (!job.program.drain_file.empty()) {
    companions.push_back(stop_at_drain_file(job.program.drain_file, group, log));
  }
  companions.push_back(report_unused_signals(job.signals, log));
  elastic::task<elastic::role_group::result> running =
      elastic::detail::run_signalled<elastic::role_group::result>(group, job.signals,
                                                                  std::move(companions));
  elastic::task<elastic::role_group::result> whole =
      elastic::with_cleanup(std::move(running), features.close());
  const elastic::role_group::result result = co_await std::move(whole);
  log.info("{}: {}", to_string(result.state), result.reason);
  elastic::show_text(closing_words(file.name, result));
  for (std::size_t place = 0; place < result.roles.size(); ++place) {
    const elastic::role_group::result::entry& role = result.roles[place];
    if (role.name != result.decided_by || !role.run) continue;
    const elastic::worker_spec& workers = job.options.roles[place].config.workers;
    elastic::show_text(missing_module_hint(workers, *role.run));
    elastic::leave_error_file(facts.environment, elastic::launcher_error_text(*role.run), log);
  }
  co_return exit_code(result);
}

}  // namespace elasticrun
