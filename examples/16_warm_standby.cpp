// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// A Python program that restarts without repeating its imports: an interpreter that has already
// imported waits beside it, and becomes the next process. No agent is needed: a `standby_set` is a
// launcher for anything that starts processes, such as `process_set`.
//
//   build/release/examples/16_warm_standby

#include <elastic/elastic.hpp>
#include <elastic/python.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/use_future.hpp>

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

using namespace elastic;

constexpr char script[] = R"(import signal, sys
knows_json = "json" in sys.modules
import json
print("json was imported before:", knows_json, flush=True)
open(__file__ + ".ran", "w").close()
signal.pause()
)";

// [run]
// Runs the program repeatedly, and kills it when its standby is ready.
task<void> run(process_set& programs, standby_set& standbys, std::string path, int attempts) {
  system_time clock;
  const auto fail_when_ready = [&]() -> task<void> {
    co_await standbys.until_ready();
    while (!std::filesystem::remove(path + ".ran")) {
      co_await clock.sleep_until(clock.now() + std::chrono::milliseconds(10));
    }
    programs.signal(0, SIGKILL);
    const process_set::process_end end = co_await programs.next_end();
    std::puts(("the program ended: " + end.status.text()).c_str());
    std::fflush(stdout);
  };
  process_set::process program;
  program.process.program = "python3";
  program.process.arguments = {path};
  for (int attempt = 0; attempt < attempts; ++attempt) {
    environment_map variables = environment_from(environ);
    variables["TORCHELASTIC_RESTART_COUNT"] = std::to_string(attempt);
    program.process.environment = environment_entries(variables);
    standbys.begin_attempt();
    co_await programs.start(0, program);
    // Makes standbys as long as it runs; it ends only when the other task does.
    co_await race(standbys.maintain(true), fail_when_ready());
    co_await programs.clear(0);
  }
}

// However it ended, neither the program nor a standby is left.
task<void> stop(process_set& programs, standby_set& standbys) {
  co_await programs.stop(stop_plan());
  co_await standbys.stop();
}
// [/run]

int main() {
  const auto path = std::filesystem::temp_directory_path() / ("warm_" + std::to_string(getpid()));
  std::ofstream(path) << script;
  asio::io_context context;
  warm_standby terms;
  terms.delay = std::chrono::seconds(0);
  standby_set::services below;
  below.launcher = std::make_shared<pidfd_launcher>(context.get_executor());
  below.time = std::make_shared<system_time>();
  const auto standbys = std::make_shared<standby_set>(context.get_executor(), terms, below);
  process_set::services services;
  services.launcher = standbys;
  process_set programs(context.get_executor(), services);
  auto end = asio::co_spawn(
      context, with_cleanup(run(programs, *standbys, path, 2), stop(programs, *standbys)),
      asio::use_future);
  context.run();
  std::filesystem::remove(path);
  end.get();
}

// Prints:
// json was imported before: False
// the program ended: SIGKILL
// json was imported before: True
// the program ended: SIGKILL
