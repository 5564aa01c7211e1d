// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/roles/job_of_roles.hpp>

#include <elastic/base/error.hpp>
#include <elastic/cli/early_exit.hpp>
#include <elastic/launch/job_outcome.hpp>
#include <elastic/launch/program_setup.hpp>
#include <program/preflight.hpp>

#include <algorithm>
#include <cstdio>
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

/// "elasticrun: error: there is no script" without its begin and its line end.
[[noreturn]] void refuse(const role_entry& role, const elastic::early_exit& exit) {
  std::string_view sentence = exit.text;
  constexpr std::string_view begin = "error: ";
  const std::size_t at = sentence.find(begin);
  if (at != std::string_view::npos) sentence.remove_prefix(at + begin.size());
  while (sentence.ends_with('\n')) sentence.remove_suffix(1);
  refuse(role, sentence);
}

elastic::command_line line_of(const role_entry& role, const elastic::command_line_facts& facts) {
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

/// Whatever has restarts starts again, unless the file says otherwise.
elastic::role::policy policy_of(const role_entry& role, const elastic::worker_spec& workers) {
  if (role.on_failure) return *role.on_failure;
  if (workers.max_restarts == 0) return elastic::role::policy::fail_job;
  return role.has_world ? elastic::role::policy::restart_role
                        : elastic::role::policy::restart_worker;
}

/// What the job says for all of its roles, and replicas do not have.
void leave_out_world(elastic::worker_spec& workers) {
  workers.node_check.command.clear();
  workers.logs.duplicate_stdout_filters.clear();
  workers.logs.duplicate_stderr_filters.clear();
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
  // These are the group's.
  const elastic::worker_spec defaults;
  role.config.workers.role = defaults.role;
  role.config.workers.log_dir = defaults.log_dir;
  role.config.workers.on_failure = defaults.on_failure;
  role.config.rendezvous.run_id = elastic::rendezvous_parameters().run_id;
  if (!role.has_world) leave_out_world(role.config.workers);
  return role;
}

/// A role of one node would run on each node of the job, which nobody means who writes that.
void check_nodes(const std::vector<elastic::role>& roles) {
  const auto is_single = [](const elastic::role& role) {
    return role.config.rendezvous.max_nodes == 1;
  };
  const auto is_several = [&](const elastic::role& role) {
    return role.has_world && !is_single(role);
  };
  const auto one = std::find_if(roles.begin(), roles.end(), [&](const elastic::role& role) {
    return role.has_world && is_single(role);
  });
  const auto several = std::find_if(roles.begin(), roles.end(), is_several);
  if (one == roles.end() || several == roles.end()) return;
  throw error(errc::invalid_argument,
              fmt::format("role '{}' has one node and role '{}' several: each role of a job of "
                          "several nodes needs two or more",
                          one->name, several->name));
}

}  // namespace

job_of_roles make_job(const job_file& file, const elastic::command_line_facts& facts) {
  job_of_roles job;
  job.options.run_id = file.name;
  job.options.max_restarts = file.restarts;
  job.options.log_dir = file.log_dir;
  for (const role_entry& entry : file.roles) {
    const elastic::command_line line = line_of(entry, facts);
    for (const std::string& warning : line.warnings) {
      // That no run id is given: the job has a name.
      if (warning.find("--rdzv-id") != std::string::npos) continue;
      job.warnings.push_back(fmt::format("role '{}': {}", entry.name, warning));
    }
    job.signals = line.config.job.signals;
    job.options.roles.push_back(role_of(entry, line.config.job));
  }
  validate(job.options.roles);
  check_nodes(job.options.roles);
  return job;
}

elastic::task<int> run_job(elastic::command_line line, elastic::command_line_facts facts,
                           elastic::rendezvous_registry backends, elastic::logger log) {
  const elastic::program_config& config = line.config;
  const job_file file = parse_job_file(read_job_file(config.job_file), config.job_file,
                                       config.job_settings, line.options, facts);
  const job_of_roles job = make_job(file, facts);
  if (config.prints_job) {
    std::fputs(text_of(file).c_str(), stdout);
    co_return 0;
  }
  for (const std::string& warning : job.warnings) log.warning("{}", warning);
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  elastic::agent_services services;
  services.log = log;
  services.worker_parent = executor;
  services.open_files = elastic::raise_open_files();
  elastic::role_group group(executor, job.options, services, backends);
  const elastic::role_group::result result = co_await run_with_signals(group, job.signals);
  log.info("{}: {}", to_string(result.state), result.reason);
  std::fputs(closing_words(file.name, result).c_str(), stderr);
  for (const elastic::role_group::result::entry& role : result.roles) {
    if (role.name != result.decided_by || !role.run) continue;
    elastic::leave_error_file(facts.environment, elastic::launcher_error_text(*role.run), log);
  }
  co_return exit_code(result);
}

}  // namespace elasticrun
