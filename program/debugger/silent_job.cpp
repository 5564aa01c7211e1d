// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/debugger/silent_job.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/time.hpp>
#include <elastic/cli/default_python.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/process/child.hpp>
#include <elastic/process/exit_status.hpp>
#include <elastic/process/guarded_launcher.hpp>
#include <elastic/process/process_spec.hpp>

#include <chrono>
#include <memory>
#include <utility>

#include <fmt/format.h>

namespace elasticrun {

void tolerate_silence(elastic::program_config& config) {
  // No debugging session takes longer.
  constexpr elastic::duration forever =
      std::chrono::duration_cast<elastic::duration>(std::chrono::hours(24 * 365));
  elastic::worker_spec& workers = config.job.workers;
  workers.liveness.heartbeat_timeout = elastic::duration::max();
  workers.watch_interval = elastic::duration::zero();
  workers.rejoin_timeout = forever;
  workers.exit_barrier_timeout = forever;
  config.diagnosis.stall_after = forever;
  config.diagnosis.on_stall = elastic::job_diagnosis::policy::warn;
  workers.environment.erase("TORCHELASTIC_UNINTERRUPTIBLE_STATE_TIMEOUT");
  // PyTorch's NCCL watchdog must not end a process for a slow collective, and the monitor must not
  // end one whose watchdog is halted with it.
  workers.environment["TORCH_NCCL_ASYNC_ERROR_HANDLING"] = "0";
  workers.environment["TORCH_NCCL_ENABLE_MONITORING"] = "0";
}

std::string silence_notice(int rank) {
  return fmt::format(
      "--debug-rank {}: no worker of this job counts as hung: heartbeats, timers, the detection of "
      "stalls and NCCL's watchdog are off, and the timeouts of rejoining and of the exit barrier "
      "are a year",
      rank);
}

elastic::task<void> demand_debugpy(elastic::worker_spec workers, int rank) {
  const elastic::asio::any_io_executor executor = co_await elastic::asio::this_coro::executor;
  for (const auto& [name, value] : workers.env) workers.environment[name] = value;
  elastic::process_spec spec;
  spec.program = workers.program;
  spec.arguments = {"-c",
                    "import importlib.util, sys; "
                    "sys.exit(0 if importlib.util.find_spec('debugpy') else 3)"};
  spec.environment = elastic::environment_entries(workers.environment);
  spec.directory = workers.directory;
  elastic::guarded_launcher::options options;
  options.policy = elastic::guard_policy::best_effort;
  elastic::guarded_launcher launcher(executor, std::move(options));
  elastic::task<std::unique_ptr<elastic::child>> starting = launcher.launch(std::move(spec));
  const std::unique_ptr<elastic::child> process = co_await std::move(starting);
  const elastic::exit_status status = co_await process->wait();
  co_await process->end_tree();
  if (status.is_success()) co_return;
  const std::string path = elastic::find_variable(workers.environment, "PATH").value_or("");
  const std::string python = elastic::path_of_program(workers.program, path);
  throw elastic::error(elastic::errc::invalid_argument,
                       fmt::format("--debug-rank {0}: {1} has no debugpy; install it with {1} -m "
                                   "pip install debugpy",
                                   rank, python));
}

}  // namespace elasticrun
