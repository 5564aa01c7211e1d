// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// A plugin with a copy of the library of its own. It runs a job of one worker, or where compiling
// that takes too long, a process.

#if defined(PLUGIN_RUNS_JOB)
#include <elastic/launch.hpp>
#else
#include <elastic/process/process_set.hpp>
#endif

#include <elastic/base/error.hpp>
#include <elastic/base/version.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_future.hpp>

#include <cstdio>
#include <exception>
#include <string>

namespace {

#if defined(PLUGIN_RUNS_JOB)

elastic::task<bool> succeeds(std::string program) {
  elastic::launch_config config;
  config.standalone = true;
  config.workers.contract = elastic::worker_contract::plain;
  config.workers.program = program;
  const elastic::run_result result = co_await elastic::launch(config);
  co_return result.state == elastic::worker_state::succeeded;
}

elastic::task<bool> refuses() {
  elastic::launch_config config;
  config.standalone = true;
  config.workers.nproc_per_node = -1;
  co_await elastic::launch(config);
  co_return false;
}

constexpr elastic::errc refusal = elastic::errc::invalid_argument;

#else

elastic::task<bool> succeeds(std::string program) {
  elastic::process_set processes(co_await asio::this_coro::executor);
  elastic::process_set::process plan;
  plan.process.program = program;
  co_await processes.start(0, plan);
  const elastic::process_set::process_end end = co_await processes.next_end();
  co_return end.status.is_success();
}

elastic::task<bool> refuses() { return succeeds("/no/such/program"); }

constexpr elastic::errc refusal = elastic::errc::program_not_found;

#endif

bool result_of(elastic::task<bool> work) {
  asio::io_context context;
  auto result = asio::co_spawn(context, std::move(work), asio::use_future);
  context.run();
  return result.get();
}

bool is_refused() {
  try {
    result_of(refuses());
  } catch (const elastic::error& failure) {
    return failure.code() == refusal;
  }
  return false;
}

}  // namespace

// As text that the copy itself has, not as a value that was known where this file was compiled.
extern "C" __attribute__((visibility("default"))) const char* plugin_version() {
  static const char* const* volatile text = &elastic::version_text;
  return *text;
}

extern "C" __attribute__((visibility("default"))) bool plugin_works() {
  try {
    return result_of(succeeds("/bin/true")) && is_refused();
  } catch (const std::exception& failure) {
    std::printf("%s\n", failure.what());
    return false;
  }
}
