// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_part.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/process/guard_policy.hpp>
#include <elastic/process/guard_spawner.hpp>
#include <elastic/process/output_sink.hpp>
#include <elastic/process/process_launcher.hpp>
#include <elastic/telemetry/event_handler.hpp>
#include <elastic/telemetry/metric_handler.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace elastic {

class job_journal;
class logs_specs;
class rendezvous_registry;
namespace detail {
struct internals;
class output_tails;
class report_exchange;
class role_link;
class store_meter;
}  // namespace detail

/// The services that an agent uses. Each can be replaced; a null pointer means the default.
struct agent_services {
  /// How the default launcher starts workers and hooks.
  struct process_options {
    /// Whether a guard kills what a worker leaves behind, even if this process is killed. Default:
    /// as in the launch_config; best_effort if there is none.
    std::optional<guard_policy> guard = {};
    /// The guard's program, such as the installed elastic-guard. Default: that of the
    /// launch_config; without one, the built-in guard.
    std::string guard_file = {};
    /// For workers without a guard: an executor that always runs on the same thread, which must
    /// live as long as the workers. They are started on that thread and die with it, and therefore
    /// with this process, however it dies. Default: none; a log line then says what protection is
    /// missing.
    asio::any_io_executor parent = {};
    /// The limit of open files for workers and hooks, if this process has raised its own limit
    /// (`raise_open_files`). Default: the same as this process.
    std::optional<std::uint64_t> open_files = {};
    /// Starts guards as children of other processes, which `add_slots` sets. Guards are then
    /// required. Default: this process starts all of them.
    std::shared_ptr<guard_spawner> spawner = {};
  };

  /// A part of an agent: see agent_part.
  struct part {
    /// The unique name of the part in messages, such as "diagnosis".
    std::string name = {};
    agent_part::factory make = {};
  };

  /// The rendezvous backends that a launch_config can name; a local_agent has a rendezvous and does
  /// not use them. Default: a `rendezvous_registry()`.
  std::shared_ptr<const rendezvous_registry> backends = {};
  /// How workers are started. Default: a `guarded_launcher`, made from `processes`.
  std::shared_ptr<process_launcher> launcher = {};
  /// How the `hang_hook` of the worker_spec is started, which is a program even if workers are
  /// functions. Default: like workers without a custom launcher.
  std::shared_ptr<process_launcher> hook_launcher = {};
  /// The options of the default launcher; a custom one does not use them.
  process_options processes = {};
  /// Default: `system_time`.
  std::shared_ptr<time_source> time = {};
  /// Default: events are discarded.
  std::shared_ptr<event_handler> events = {};
  /// Default: metrics are discarded, and no timer runs for them.
  std::shared_ptr<metric_handler> metrics = {};
  /// Receives each decision of the agent with its reason. Default: a new one, for the journal's
  /// file.
  std::shared_ptr<job_journal> journal = {};
  /// Decides where the workers' output goes. Default: as in the launch_config, or else what
  /// torchrun does.
  std::shared_ptr<logs_specs> logs = {};
  /// Where the agent shows the output that it copies. Default: stdout and stderr of this process.
  std::shared_ptr<output_sink> console_out = {};
  std::shared_ptr<output_sink> console_err = {};
  /// The parts of the agent, in the order in which it calls them: see `add_part`. An agent takes
  /// the list when it is constructed; later changes have no effect on it. Default: none.
  std::vector<part> parts = {};
  /// Default: silent.
  logger log = {};

  /// The connections to other parts of the library, which `add_status`, `add_monitor` and
  /// role_group make.
  class connections {
    friend detail::internals;
    struct members {
      /// The reports that the job's nodes send each other for viewers; `make_agent` passes it to a
      /// rendezvous of several nodes.
      std::shared_ptr<detail::report_exchange> reports;
      /// Counts the requests to the stores of this node; `make_agent` passes it to the rendezvous.
      std::shared_ptr<detail::store_meter> meter;
      /// Offers the last lines of each worker to viewers of the job.
      std::shared_ptr<detail::output_tails> tails;
      /// Connects the agent to the other roles of its job.
      std::shared_ptr<detail::role_link> roles;
    };
    members members_;
  };
  connections internal = {};
};

/// Adds a part to the end of `agent_services::parts`.
/// Errors: `errc::invalid_argument` if a part has this name already.
ELASTIC_DECL void add_part(agent_services& services, std::string name, agent_part::factory make);

/// The same for a part that already exists. The caller shares it with every agent that uses these
/// services. Errors: the same; `errc::invalid_argument` if it is null.
ELASTIC_DECL void add_part(agent_services& services, std::string name,
                           std::shared_ptr<agent_part> shared);

/// Fills in a default for each empty service that an agent needs: the launchers, the time, the
/// journal and the consoles. Optional services stay empty.
/// @param strand  the executor of the agent or worker_group that will use them
ELASTIC_DECL agent_services complete_services(agent_services services,
                                              const asio::any_io_executor& strand);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/impl/agent_services.ipp>
#endif
