// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// A custom launcher with elasticrun's options, signals and status. Without arguments: a demo.
//   build/release/examples/06_launcher_of_your_own --status 8080 --drain-file /run/drain train.py

#include <elastic/cli.hpp>
#include <elastic/elastic.hpp>
#include <elastic/launch/console_log.hpp>
#include <elastic/launch/job_outcome.hpp>
#include <elastic/launch/program_setup.hpp>
#include <elastic/launch/run_as_program.hpp>
#include <elastic/python.hpp>
#include <elastic/status.hpp>
#include <elastic/vault.hpp>
#include <elastic/wire.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/use_future.hpp>
const std::vector<std::string> demo = {
    "--nproc-per-node", "2",           "--status", "0",  "--trace",
    "/dev/stdout",      "--no-python", "sh",       "-c", "echo hello from rank $RANK"};

// [run]
int run(const elastic::command_line& line) {
  asio::io_context context(1);
  const auto clock = std::make_shared<elastic::system_time>();
  elastic::agent_services services;
  services.log = elastic::logger(std::make_shared<elastic::console_log>(clock), line.threshold);
  for (const std::string& warning : line.warnings) services.log.warning("{}", warning);
  elastic::program_config config = line.config;
  if (config.keeps_standbys) elastic::add_warm_standbys(services, config.standby);
  if (!config.wire.kinds.empty()) elastic::add_wire(services, config.wire);
  if (config.vault.is_set()) elastic::add_vault(services, config.vault);
  elastic::add_status(config.program);
  auto job = asio::co_spawn(context, elastic::run_as_program(config.job, config.program, services),
                            asio::use_future);
  context.run();
  const elastic::run_result result = job.get();
  elastic::show_text(elastic::closing_words(config.name, result));
  return elastic::exit_code(result);
}

int main(int count, char** values) try {
  elastic::set_up_program();
  auto facts = elastic::gather_command_line_facts();
  facts.program = "mine";
  const auto parsed = elastic::parse_command_line(
      count > 1 ? std::vector<std::string>(values + 1, values + count) : demo, facts);
  if (const auto* exit = std::get_if<elastic::early_exit>(&parsed)) return elastic::leave(*exit);
  if (const auto* line = std::get_if<elastic::command_line>(&parsed)) return run(*line);
  return elastic::leave(elastic::show_version(elastic::command_line::io_choice::automatic));
} catch (const std::exception& failure) {
  elastic::leave(elastic::refuse(failure.what(), "mine"));
  return elastic::exit_code(failure);
}
// [/run]

// Prints:
// Status: http://127.0.0.1:.../
// hello from rank ...
// ..."agent_ended"..."reason": "all workers ended with success"...
