// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_extension.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/process/guard_policy.hpp>
#include <elastic/process/output_sink.hpp>
#include <elastic/process/process_launcher.hpp>
#include <elastic/telemetry/event_handler.hpp>
#include <elastic/telemetry/metric_handler.hpp>
#include <elastic/telemetry/worker_observer.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace elastic {

class job_journal;
class logs_specs;
namespace detail {
class output_tails;
class report_exchange;
class store_meter;
}  // namespace detail

/// What an agent works with, each replaceable: a null pointer means the default.
struct agent_services {
  /// How workers are started. Default: a `guarded_launcher`, made from the next four.
  std::shared_ptr<process_launcher> launcher = {};
  /// How the hook of the worker_spec for hung workers is started, which is a program even if
  /// workers are functions. Default: as workers without a launcher of their own are.
  std::shared_ptr<process_launcher> hook_launcher = {};
  /// Whether a guard ends what a worker leaves behind, also if this process is killed. Default:
  /// what the launch_config says; best_effort if there is none.
  std::optional<guard_policy> guard = {};
  /// The guard's program, such as the installed elastic-guard. Default: that of the launch_config;
  /// without one, what the library carries.
  std::string guard_file = {};
  /// For workers without a guard: an executor that runs on one thread alone, which lasts as long
  /// as they do. They are started there, and die with it, and so with this process, however it
  /// dies. Default: none, and a line of the log says what is then lost.
  asio::any_io_executor worker_parent = {};
  /// How many files workers and hooks may open, if this process has raised its own limit since it
  /// began (`raise_open_files`). Default: as many as this process.
  std::optional<std::uint64_t> open_files = {};
  /// Default: `system_time`.
  std::shared_ptr<time_source> time = {};
  /// Default: events are discarded.
  std::shared_ptr<event_handler> events = {};
  /// Default: metrics are discarded, and no timer runs for them.
  std::shared_ptr<metric_handler> metrics = {};
  /// Receives each decision of the agent with its reason. Default: one of its own, for its file.
  std::shared_ptr<job_journal> journal = {};
  /// The reports of the job's nodes to each other, for viewers, which `make_agent` gives to a
  /// rendezvous of several nodes. Default: this node reports nothing, and hears nothing.
  std::shared_ptr<detail::report_exchange> reports = {};
  /// Counts what the stores of this node are used for; `make_agent` gives it to the rendezvous.
  /// Default: nobody counts.
  std::shared_ptr<detail::store_meter> meter = {};
  /// Receives the progress of workers, and each hung one before it is killed. Default: nobody.
  std::shared_ptr<worker_observer> observer = {};
  /// Where the output of workers goes. Default: what the launch_config names; else a
  /// `default_logs_specs`.
  std::shared_ptr<logs_specs> logs = {};
  /// Offers the last lines of each worker to viewers of the job. Default: to nobody.
  std::shared_ptr<detail::output_tails> tails = {};
  /// Where the agent shows the output that it copies. Default: stdout and stderr of this process.
  std::shared_ptr<output_sink> console_out = {};
  std::shared_ptr<output_sink> console_err = {};
  /// Makes what an opt-in module adds to the agent. Default: nothing is added.
  agent_extension::factory extension = {};
  /// Default: silent.
  logger log = {};
};

/// Fills in a default for each empty service that an agent needs: the launchers, the time, the
/// journal and the consoles. Optional services stay empty.
/// @param strand  the executor of the agent or worker_group that is to use them
ELASTIC_DECL agent_services complete(agent_services services, const asio::any_io_executor& strand);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/impl/agent_services.ipp>
#endif
