// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_services.hpp>
#include <elastic/agent/job_command.hpp>
#include <elastic/agent/worker_state.hpp>
#include <elastic/base/asio.hpp>
#include <elastic/base/task.hpp>
#include <elastic/contract/detail/roles_document.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace elastic {

/// What a program adds to a job of several roles, such as a status server
/// (`role_group::options::extension`).
///
/// Thread-safety: the group calls it on one strand.
class role_extension {
 public:
  /// The roles of a job, as the group of this node sees them.
  struct state {
    /// The state of each role, and its workers on all nodes.
    detail::roles_document document;
    /// Why each role is in its state, a clause for each.
    std::vector<std::string> reasons;
    /// The outcome of the job, and the reason; `init` until it is decided.
    worker_state verdict = worker_state::init;
    std::string reason;
    /// The job has ended: no role runs any more.
    bool is_over = false;
    /// How often all roles were restarted.
    int restarts = 0;
  };

  role_extension() = default;
  role_extension(const role_extension&) = delete;
  role_extension& operator=(const role_extension&) = delete;
  virtual ~role_extension() = default;

  /// Called before any role starts.
  /// @param services  the services of the group
  /// @param commands  carries out a command for one role or for all; callable on any strand, even
  ///                  while the job ends
  /// Errors: an exception ends the run before anything has started.
  virtual void begin(asio::any_io_executor executor, const agent_services& services,
                     job_command::handler commands) = 0;

  /// Called before a role starts: completes the services of its agent or its replicas, which
  /// include the role's journal if the job has one.
  /// Errors: an exception ends the role, as if it could not be started.
  virtual void prepare(std::size_t role, agent_services& services) = 0;

  /// Sends a signal to the worker of this rank, if it runs on this node, or to the replica of this
  /// number, as `local_agent::signal_rank` and `replica_set::signal_replica` do. Callable on any
  /// strand; no effect after the role has ended.
  using worker_signal = std::function<void(int rank, int number, std::string reason)>;

  /// Called each time a new agent or a new set of replicas begins to run a role. The default does
  /// nothing.
  virtual void begin_role(std::size_t, worker_signal) {}

  /// Called after each change of the state.
  virtual void changed(state now) = 0;

  /// Awaited when the job has ended, however it ended. When it returns, nothing of the extension
  /// runs.
  virtual task<void> close() = 0;
};

}  // namespace elastic
