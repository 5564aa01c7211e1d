// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// elasticrun: starts a training script on this node as torchrun does, with torchrun's options.
//
//   build/release/elasticrun --standalone --nproc-per-node 2 train.py
//   build/release/elasticrun --job job.toml
//   build/release/elasticrun --help
//
// Your own launcher can use the same parts of the library: examples/06_launcher_of_your_own.cpp.
// Code that only elasticrun needs is in this directory, in namespace elasticrun.

#include <elastic/cli.hpp>
#include <elastic/elastic.hpp>
#include <elastic/launch/console_log.hpp>
#include <elastic/launch/job_outcome.hpp>
#include <elastic/launch/program_setup.hpp>
#include <elastic/launch/run_as_program.hpp>
#include <elastic/status.hpp>
#include <program/commands/command_word.hpp>
#include <program/commands/commands.hpp>
#include <program/debugger/debugger_launcher.hpp>
#include <program/debugger/silent_job.hpp>
#include <program/job_features.hpp>
#include <program/missing_module.hpp>
#include <program/preflight.hpp>
#include <program/progress/kubeflow_progress.hpp>
#include <program/roles/job_of_roles.hpp>
#include <program/slots/add_slots.hpp>
#include <program/slots/run_slot.hpp>
#include <program/slots/task_slots.hpp>
#include <program/unused_signals.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/this_coro.hpp>

namespace {

std::shared_ptr<elastic::job_journal> make_journal(const std::string& node_name,
                                                   const elastic::logger& log) {
  elastic::job_journal::options options;
  options.node = node_name.empty() ? elastic::host_name() : node_name;
  options.log = log;
  return std::make_shared<elastic::job_journal>(std::move(options));
}

/// Follows the job and reports its progress to Kubeflow Trainer. Null if no server is configured,
/// or its address is wrong.
std::shared_ptr<elasticrun::kubeflow_reporter> make_kubeflow_reporter(
    const elastic::program_config& config, const asio::any_io_executor& executor,
    elastic::agent_services& services) {
  const elastic::logger& log = services.log;
  try {
    const auto server = elasticrun::find_kubeflow_server(config.job.workers.environment);
    if (!server) return nullptr;
    if (elasticrun::is_token_exposed(*server)) {
      log.warning(
          "KUBEFLOW_TRAINER_SERVER_URL is a http address: the token goes over the network "
          "unencrypted; use https");
    }
    auto reporter = std::make_shared<elasticrun::kubeflow_reporter>(
        executor, *server, std::make_shared<elastic::system_time>(), log);
    services.journal->add(reporter->monitor());
    add_part(services, "Kubeflow Trainer", reporter);
    return reporter;
  } catch (const std::exception& failure) {
    log.warning("the progress is not reported to Kubeflow Trainer: {}", failure.what());
    return nullptr;
  }
}

/// Starts the worker of one rank under a debugger, if the user asked for it.
void debug_worker(const elastic::program_config& config, const asio::any_io_executor& executor,
                  elastic::agent_services& services) {
  if (!config.debugger.rank) return;
  services.processes.guard = config.job.guard;
  services.processes.guard_file = config.job.guard_file;
  services = elastic::complete_services(std::move(services), executor);
  services.launcher = std::make_shared<elasticrun::debugger_launcher>(
      config.debugger, services.launcher, services.log);
}

/// Meets the other tasks of this node, if a scheduler has started several.
elastic::task<std::shared_ptr<elasticrun::task_slots>> meet_slots(elasticrun::slot_plan plan,
                                                                  elastic::logger log) {
  if (plan.count == 1) co_return nullptr;
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  auto slots = std::make_shared<elasticrun::task_slots>(executor, std::move(plan), std::move(log));
  elastic::task<void> meeting = slots->meet(std::make_shared<elastic::system_time>());
  co_await std::move(meeting);
  co_return slots;
}

/// Reports how the job ended.
void report(const elastic::program_config& config, const elastic::run_result& result,
            const elastic::logger& log) {
  const elastic::worker_spec& workers = config.job.workers;
  log.info("{}: {}", to_string(result.state), result.reason);
  elastic::show_text(elastic::closing_words(config.name, result));
  elastic::show_text(elasticrun::missing_module_hint(workers, result));
  if (config.debugger.rank && result.state != elastic::worker_state::succeeded) {
    elastic::show_text(elasticrun::silence_notice(*config.debugger.rank) + '\n');
  }
  elastic::leave_error_file(workers.environment, elastic::launcher_error_text(result), log);
}

/// Runs the job as every program does, together with the tasks that only elasticrun has.
elastic::task<int> run(elastic::program_config config, elastic::logger log) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  elastic::task<std::shared_ptr<elasticrun::task_slots>> meeting = meet_slots(config.slots, log);
  const std::shared_ptr<elasticrun::task_slots> slots = co_await std::move(meeting);
  if (const std::optional<int> rank = config.debugger.rank) {
    elastic::task<void> asking = elasticrun::demand_debugpy(config.job.workers, *rank);
    co_await std::move(asking);
    elasticrun::tolerate_silence(config);
    log.warning("{}", elasticrun::silence_notice(*rank));
  }
  elastic::agent_services services = elasticrun::make_services(executor, log);
  services.journal = make_journal(config.job.rendezvous.node_name, log);
  services.processes.spawner = slots;
  debug_worker(config, executor, services);
  elasticrun::job_features features(executor);
  features.complete(config, 0, services);
  // Lines that several workers have written are shown by the agent.
  const std::string shown_by_slots = config.merges_output ? "" : config.job.logs_specs;
  if (slots) elasticrun::add_slots(services, slots, shown_by_slots);
  const auto kubeflow = make_kubeflow_reporter(config, executor, services);
  elastic::add_status(config.program);
  const elastic::program_run program(config.job, config.program, services);
  const std::shared_ptr<elastic::local_agent> agent =
      elastic::make_agent(config.job, program.services());

  std::vector<elastic::task<void>> companions;
  companions.push_back(elasticrun::report_unused_signals(config.job.signals, log));
  // The last report is sent when the agent has ended.
  if (kubeflow) companions.push_back(elastic::with_cleanup(kubeflow->run(), kubeflow->finish()));
  elastic::task<elastic::run_result> running =
      elastic::with_cleanup(program.run(agent, std::move(companions)), features.close());
  const elastic::run_result result = co_await std::move(running);
  report(config, result, log);
  if (slots) slots->finish(elastic::exit_code(result));
  co_return elastic::exit_code(result);
}

/// Runs the job to its end. Result: the exit code.
int run_to_end(elastic::task<int> job) {
  asio::io_context context(1);
  int code = 1;
  std::exception_ptr failure;
  asio::co_spawn(context, std::move(job), [&](std::exception_ptr thrown, int result) {
    failure = thrown;
    code = result;
    // The program does not wait for processes that the kernel has not ended yet, such as the guard
    // of a stuck process.
    context.stop();
  });
  context.run();
  if (failure) std::rethrow_exception(failure);
  return code;
}

/// Runs the worker of this task for the agent, which is another task on this node. Result: the exit
/// code.
int serve_as_slot(const elasticrun::slot_plan& plan) {
  try {
    return elasticrun::run_slot(plan);
  } catch (const std::exception& failure) {
    elastic::leave(elastic::refuse(failure.what()));
    return elastic::exit_code(failure);
  }
}

}  // namespace

int main(int count, char** values) {
  elastic::set_up_program();
  const std::vector<std::string> arguments(values + (count > 0 ? 1 : 0), values + count);
  if (const auto* command = elasticrun::find_command(arguments, elasticrun::is_script)) {
    return elasticrun::run_command(*command, {arguments.begin() + 1, arguments.end()});
  }
  elastic::command_line::facts facts = elastic::gather_command_line_facts();
  facts.commands = elasticrun::command_rows();
  facts.injects_faults = true;
  facts.reads_job_files = true;
  facts.offers_debugger = true;
  facts.runs_slots = true;
  const auto parsed = elastic::parse_command_line(arguments, facts);
  if (const auto* exit = std::get_if<elastic::early_exit>(&parsed)) return elastic::leave(*exit);
  if (const auto* version = std::get_if<elastic::command_line::version_request>(&parsed)) {
    return elastic::leave(elastic::show_version(version->io));
  }
  const auto& line = std::get<elastic::command_line>(parsed);
  const auto& [config, threshold, io, warnings, notes, options] = line;
  const bool is_slot = config.slots.place > 0;
  // The agent checks the same files and settings, and reports the problem for all slots.
  if (const auto exit = elasticrun::check_files(config)) {
    return is_slot ? exit->code : elastic::leave(*exit);
  }
  if (const auto exit = elastic::check_io(io)) return is_slot ? exit->code : elastic::leave(*exit);
  if (is_slot) return serve_as_slot(config.slots);

  const auto clock = std::make_shared<elastic::system_time>();
  const elastic::logger log(std::make_shared<elastic::console_log>(clock), threshold);
  for (const std::string& warning : warnings) log.warning("{}", warning);
  for (const std::string& note : notes) log.info("{}", note);
  if (log.is_enabled(elastic::log_level::info)) {
    log.info("{}", elastic::describe_io(io));
  }
  try {
    if (config.job_file.empty()) return run_to_end(run(config, log));
    return run_to_end(elasticrun::run_job(line, facts, log));
  } catch (const std::exception& failure) {
    // The user made a mistake, or something failed.
    elastic::leave(elastic::refuse(failure.what()));
    const std::string text = elastic::launcher_error_text(failure, clock->wall_now());
    elastic::leave_error_file(config.job.workers.environment, text, log);
    return elastic::exit_code(failure);
  }
}

// Prints the workers' output and, after a failure, a report of its root cause.
