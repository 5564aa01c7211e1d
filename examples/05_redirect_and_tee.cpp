// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Where output goes: to a file, or to a file and, with a prefix, to the console. First for the
// workers of a job, then for processes that you start yourself.
//
//   build/release/examples/05_redirect_and_tee

#include <elastic/elastic.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_future.hpp>

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

using namespace elastic;
namespace fs = std::filesystem;

// [sink]
// Receives the console's output, as a log viewer in a separate window might.
class upper_case_sink final : public output_sink {
 public:
  task<void> write(std::string_view bytes) override {
    for (const char letter : bytes) std::putchar(std::toupper(static_cast<unsigned char>(letter)));
    co_return;
  }
};
// [/sink]

// [job]
launch_config configuration(const fs::path& logs) {
  launch_config config;
  config.workers.program = "sh";
  config.workers.arguments = {"-c", "echo result of $RANK; echo remark of $RANK >&2"};
  config.workers.environment = environment_from(environ);
  config.standalone = true;
  config.workers.nproc_per_node = 2;
  config.workers.log_dir = logs;
  config.workers.tee = std_streams::out;
  config.workers.redirects.set(1, std_streams::err);  // of local rank 1 only
  config.workers.log_line_prefix_template = "[${role_name} ${rank}] ";
  return config;
}
// [/job]

// [specs]
// Shows only the stderr of each worker, with its rank as the prefix.
class remarks_only final : public logs_specs {
 public:
  std::vector<logs_specs::worker_output> plan(const logs_specs::attempt_logs& attempt) override {
    std::vector<logs_specs::worker_output> plans;
    for (const worker_identity& who : attempt.workers) {
      logs_specs::worker_output& plan = plans.emplace_back();
      plan.out.kind = output_plan::how::null;
      plan.err.kind = output_plan::how::copy;
      plan.err.prefix = "rank " + std::to_string(who.rank) + ": ";
    }
    return plans;
  }
};
// [/specs]

// [processes]
task<void> run_by_hand(std::shared_ptr<output_sink> console) {
  process_set::services services;
  services.console_out = console;
  process_set processes(co_await asio::this_coro::executor, services);

  process_set::process greeting;
  greeting.process.program = "/bin/sh";
  greeting.process.arguments = {"-c", "echo by hand; exec sleep 600"};
  greeting.out.kind = output_plan::how::copy;
  greeting.out.prefix = "> ";
  co_await processes.start(0, greeting);

  process_set::process failing;
  failing.process.program = "/bin/sh";
  failing.process.arguments = {"-c", "exit 7"};
  co_await processes.start(1, failing);

  const process_set::process_end first = co_await processes.next_end();
  std::printf("process %zu ended first: %s\n", first.index, first.status.text().c_str());
  stop_plan politely;
  politely.signal = SIGINT;
  co_await processes.stop(politely);  // now nothing runs, and all output is written
  for (const process_set::process_end& end : processes.take_ends()) {
    std::printf("process %zu was stopped: %s\n", end.index, end.status.text().c_str());
  }
}
// [/processes]

int main() {
  const fs::path logs = fs::temp_directory_path() / ("example_05_" + std::to_string(::getpid()));
  agent_services services;
  services.console_out = std::make_shared<upper_case_sink>();
  const launch_config config = configuration(logs);

  asio::io_context context;
  auto launched = asio::co_spawn(context, launch(config, services), asio::use_future);
  context.run();
  const run_result result = launched.get();

  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(result.log_directory)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    std::string line;
    std::getline(std::ifstream(file) >> std::ws, line);
    std::printf("%s: %s\n", fs::relative(file, result.log_directory).c_str(), line.c_str());
  }
  services.logs = std::make_shared<remarks_only>();
  services.console_err = services.console_out;
  launch_config quiet = config;
  quiet.workers.nproc_per_node = 1;
  context.restart();
  auto again = asio::co_spawn(context, launch(quiet, services), asio::use_future);
  context.run();
  again.get();
  fs::remove_all(logs);

  context.restart();
  auto done = asio::co_spawn(context, run_by_hand(services.console_out), asio::use_future);
  context.run();
  done.get();
}

// Prints:
// [DEFAULT ...] RESULT OF ...
// [DEFAULT ...] RESULT OF ...
// attempt_0/0/stdout.log: result of 0
// attempt_0/1/stderr.log: remark of 1
// attempt_0/1/stdout.log: result of 1
// RANK 0: REMARK OF 0
// process 1 ended first: exit code 7
// process 0 was stopped: SIGINT
