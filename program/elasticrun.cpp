// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// elasticrun: starts a training script on this node as torchrun does, with torchrun's options.
//
//   build/release/elasticrun --standalone --nproc-per-node 2 train.py
//   build/release/elasticrun --help
//
// A program of your own that launches jobs is put together from the same parts: what to run (here
// from the command line), an agent that runs it, and what becomes of its result. What is of use to
// elasticrun alone is in this directory, in namespace elasticrun.

#include <elastic/elastic.hpp>
#include <elastic/etcd.hpp>
#include <elastic/file.hpp>
#include <elastic/launch/command_line.hpp>
#include <elastic/launch/console_log.hpp>
#include <elastic/launch/default_python.hpp>
#include <elastic/launch/detail/command_word.hpp>
#include <elastic/launch/drain_file.hpp>
#include <elastic/launch/early_exit.hpp>
#include <elastic/launch/io_choice.hpp>
#include <elastic/launch/job_outcome.hpp>
#include <elastic/launch/job_status.hpp>
#include <elastic/launch/machine.hpp>
#include <elastic/launch/program_setup.hpp>
#include <elastic/launch/run_with_signals.hpp>
#include <elastic/observe/job_journal.hpp>
#include <elastic/observe/trace_file.hpp>
#include <elastic/torch.hpp>
#include <program/chaos/chaos_monkey.hpp>
#include <program/commands/commands.hpp>
#include <program/lean_observer.hpp>
#include <program/missing_torch.hpp>
#include <program/preflight.hpp>
#include <program/progress/kubeflow_progress.hpp>
#include <program/progress/progress_bar.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/this_coro.hpp>

#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace {

namespace detail = elastic::detail;

int leave(const elastic::early_exit& exit) {
  std::fputs(exit.text.c_str(), exit.to_stderr ? stderr : stdout);
  return exit.code;
}

elastic::command_line_facts look_around() {
  elastic::command_line_facts facts;
  facts.environment = elastic::environment_from(environ);
  facts.processors = elastic::count_processors();
  facts.python = elastic::default_python();
  facts.accelerators = elastic::count_accelerators(facts.environment);
  return facts;
}

/// Every way to meet that the library has, also if this program is compiled header-only.
elastic::rendezvous_registry every_backend() {
  elastic::rendezvous_registry backends;
  elastic::add_etcd_rendezvous(backends);
  elastic::add_file_rendezvous(backends);
  elastic::add_torch_rendezvous(backends);
  return backends;
}

std::shared_ptr<elastic::job_journal> make_journal(const std::string& node_name,
                                                   const elastic::logger& log) {
  elastic::job_journal_options options;
  options.node = node_name.empty() ? elastic::host_name() : node_name;
  options.log = log;
  return std::make_shared<elastic::job_journal>(std::move(options));
}

elastic::task<void> keep(elastic::task<elastic::run_result> running, elastic::run_result& result) {
  result = co_await std::move(running);
}

/// Takes this node out of the job when somebody asks for it by a file; ends by cancellation only.
elastic::task<void> leave_at_drain_file(std::string path, elastic::local_agent& agent,
                                        elastic::logger log) {
  const auto time = std::make_shared<elastic::system_time>();
  elastic::stop_request request;
  request.reason = co_await elastic::wait_for_drain_file(path, time, log);
  // Whoever drains a host often sends SIGTERM, too, and means no more by it.
  request.escalates = false;
  request.is_node_bad = true;
  agent.stop(std::move(request));
  co_await time->sleep_until(elastic::time_point::max());
}

/// Runs an agent as the configuration says.
elastic::task<elastic::run_result> run_agent(elastic::local_agent& agent,
                                             elastic::launch_config config, elastic::logger log) {
  if (config.drain_file.empty()) {
    co_return co_await elastic::run_with_signals(agent, config.signals);
  }
  elastic::run_result result;
  co_await elastic::race(keep(elastic::run_with_signals(agent, config.signals), result),
                         leave_at_drain_file(config.drain_file, agent, log));
  co_return result;
}

/// The agent that commands are for, once there is one.
using commanded_agent = std::shared_ptr<std::weak_ptr<elastic::local_agent>>;

/// What a client of the status server commands.
elastic::task<elastic::command_outcome> carry_out(commanded_agent target,
                                                  elastic::job_command command) {
  const auto agent = target->lock();
  if (agent) co_return co_await agent->carry_out(std::move(command));
  elastic::command_outcome outcome;
  outcome.text = "no job runs";
  co_return outcome;
}

/// Runs the job, and disturbs it if that is what the user wants.
elastic::task<elastic::run_result> run_job(elastic::launch_config config,
                                           elastic::agent_services services,
                                           commanded_agent target) {
  if (config.chaos.empty()) {
    const std::shared_ptr<elastic::local_agent> agent =
        elastic::make_agent(config, services, every_backend());
    *target = agent;
    co_return co_await run_agent(*agent, config, services.log);
  }
  const auto chaos = std::make_shared<elasticrun::chaos_monkey>(
      co_await asio::this_coro::executor, config.chaos, services, [] { std::raise(SIGKILL); });
  services.observer = chaos;
  const std::shared_ptr<elastic::local_agent> agent =
      elastic::make_agent(config, services, every_backend());
  *target = agent;
  elastic::run_result result;
  co_await elastic::race(keep(run_agent(*agent, config, services.log), result), chaos->run(*agent));
  co_return result;
}

/// Where Kubeflow Trainer wants to hear of the job; none if there is no such place, or it is wrong.
std::optional<elasticrun::kubeflow_server> look_for_kubeflow(const elastic::launch_config& config,
                                                             const elastic::logger& log) {
  try {
    const auto server = elasticrun::find_kubeflow_server(config.workers.environment);
    if (server && elasticrun::is_token_exposed(*server)) {
      log.warning(
          "KUBEFLOW_TRAINER_SERVER_URL is a http address: the token goes over the network "
          "unencrypted; use https");
    }
    return server;
  } catch (const std::exception& failure) {
    log.warning("Kubeflow Trainer is not told how far the job is: {}", failure.what());
    return std::nullopt;
  }
}

elastic::task<elastic::run_result> report(elastic::task<elastic::run_result> running,
                                          std::shared_ptr<elasticrun::kubeflow_reporter> reporter) {
  elastic::run_result result;
  co_await elastic::race(keep(std::move(running), result), reporter->run());
  co_return result;
}

/// Runs the job, and tells Kubeflow Trainer how far it is if that wants to know.
elastic::task<elastic::run_result> run_reported_job(elastic::launch_config config,
                                                    elastic::agent_services services,
                                                    commanded_agent target) {
  const auto server = look_for_kubeflow(config, services.log);
  if (!server) co_return co_await run_job(config, services, target);
  const auto reporter = std::make_shared<elasticrun::kubeflow_reporter>(
      co_await asio::this_coro::executor, *server, std::make_shared<elastic::system_time>(),
      services.log, services.observer);
  services.observer = reporter;
  services.journal->add(reporter->monitor());
  elastic::task<elastic::run_result> running = report(run_job(config, services, target), reporter);
  elastic::task<void> ending = reporter->finish();
  co_return co_await elastic::with_cleanup(std::move(running), std::move(ending));
}

/// Runs the job, and shows what it does if that is what the user wants.
elastic::task<elastic::run_result> run_shown_job(const elastic::launch_config& config,
                                                 elastic::agent_services services) {
  const auto target = std::make_shared<std::weak_ptr<elastic::local_agent>>();
  const elastic::command_handler commands = [target](elastic::job_command command) {
    return carry_out(target, std::move(command));
  };
  const auto status = elastic::show_job(services.worker_parent, config, services, commands);
  elastic::task<elastic::run_result> running = run_reported_job(config, services, target);
  if (!status) co_return co_await std::move(running);
  std::fputs(("Status: " + status->url() + "\n").c_str(), stderr);
  elastic::task<void> ending = status->stop();
  co_return co_await elastic::with_cleanup(std::move(running), std::move(ending));
}

/// Runs the job, and writes a trace of it if that is what the user wants.
elastic::task<elastic::run_result> run_traced_job(const elastic::launch_config& config,
                                                  elastic::agent_services services) {
  elastic::task<elastic::run_result> running = run_shown_job(config, services);
  if (config.trace.empty()) co_return co_await std::move(running);
  const auto trace = std::make_shared<elastic::trace_file>(config.trace, services.log);
  services.journal->add(trace);
  elastic::task<void> finishing = trace->finish();
  co_return co_await elastic::with_cleanup(std::move(running), std::move(finishing));
}

elastic::task<int> run(const elastic::launch_config& config, elastic::logger log) {
  elastic::agent_services services;
  services.log = log;
  services.journal = make_journal(config.rendezvous.node_name, log);
  services.worker_parent = co_await asio::this_coro::executor;
  services.open_files = elastic::raise_open_files();
  const std::string terminal =
      elastic::find_variable(config.workers.environment, "TERM").value_or("");
  std::shared_ptr<elastic::worker_observer> progress;
  if (config.progress && elasticrun::progress_bar::can_show(STDERR_FILENO, terminal)) {
    progress = std::make_shared<elasticrun::progress_bar>(std::make_shared<elastic::system_time>());
  }
  const auto observer = std::make_shared<elasticrun::lean_observer>(
      services.worker_parent, std::make_shared<elastic::system_time>(), progress);
  services.observer = observer;
  elastic::run_result result;
  co_await elastic::race(keep(run_traced_job(config, services), result), observer->run());
  log.info("{}: {}", to_string(result.state), result.reason);
  std::fputs(elastic::closing_words(config.name, result).c_str(), stderr);
  if (elasticrun::is_torch_missing(result)) {
    const std::string path =
        elastic::find_variable(config.workers.environment, "PATH").value_or("");
    const std::string with_torch = elasticrun::find_python_with_torch(path + ":/usr/bin");
    const std::string python = elasticrun::path_of_program(config.workers.program, path);
    std::fputs(elasticrun::missing_torch_hint(python, with_torch).c_str(), stderr);
  }
  elastic::leave_error_file(config.workers.environment, elastic::launcher_error_text(result), log);
  co_return elastic::exit_code(result);
}

/// Runs the job to its end. Result: what the program exits with.
int run_to_end(const elastic::launch_config& config, const elastic::logger& log) {
  asio::io_context context(1);
  int code = 1;
  std::exception_ptr failure;
  asio::co_spawn(context, run(config, log), [&](std::exception_ptr thrown, int result) {
    failure = thrown;
    code = result;
    // What the kernel has yet to end, such as the guard of a process that is stuck, is not ours to
    // wait for.
    context.stop();
  });
  context.run();
  if (failure) std::rethrow_exception(failure);
  return code;
}

}  // namespace

int main(int count, char** values) {
  elastic::set_up_program();
  const std::vector<std::string> arguments(values + (count > 0 ? 1 : 0), values + count);
  if (const auto* command = detail::find_command(arguments, detail::is_script)) {
    return elasticrun::run_command(*command, {arguments.begin() + 1, arguments.end()});
  }
  const auto parsed = elastic::parse_command_line(arguments, look_around());
  if (const auto* exit = std::get_if<elastic::early_exit>(&parsed)) return leave(*exit);
  if (const auto* version = std::get_if<elastic::version_request>(&parsed)) {
    return leave(elastic::show_version(version->io));
  }
  const auto& [config, threshold, io, warnings, notes] = std::get<elastic::command_line>(parsed);
  if (const auto exit = elasticrun::check_files(config)) return leave(*exit);
  if (const auto exit = elastic::check_io(io)) return leave(*exit);

  const auto clock = std::make_shared<elastic::system_time>();
  const elastic::logger log(std::make_shared<elastic::console_log>(clock), threshold);
  for (const std::string& warning : warnings) log.warning("{}", warning);
  for (const std::string& note : notes) log.info("{}", note);
  if (log.enabled(elastic::log_level::info)) {
    log.info("{}", elastic::describe_io(io));
  }
  try {
    return run_to_end(config, log);
  } catch (const std::exception& failure) {
    // A mistake in what was asked for, or something broke.
    leave(elastic::refuse(failure.what()));
    const std::string text = elastic::launcher_error_text(failure, clock->wall_now());
    elastic::leave_error_file(config.workers.environment, text, log);
    return elastic::exit_code(failure);
  }
}

// Prints what the workers print and, after a failure, a report of its root cause.
