// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_services.hpp>
#include <elastic/agent/run_result.hpp>
#include <elastic/agent/stop_request.hpp>
#include <elastic/base/asio.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/named.hpp>
#include <elastic/base/task.hpp>
#include <elastic/launch/launch_config.hpp>
#include <elastic/rendezvous/rendezvous_registry.hpp>

#include <memory>
#include <string>

namespace elastic {

class local_agent;

/// A job of this node, for programs that run jobs beside other work: it can be stopped from
/// anywhere, and its result is not lost if it is cancelled.
///
///     job training(context.get_executor(), config);
///     co_spawn(context, training.run(), on_end);
///     …
///     training.stop();      // on_end gets a result whose state is `stopped`
///
/// One object runs once. It must live until its run has ended.
///
/// Thread-safety: `stop` and `kill` from any thread; the rest from one thread at a time.
class job {
 public:
  /// @param executor  where the job runs, on a strand of its own; it may be a thread pool's
  ///
  /// Errors: those of `make_agent`.
  ELASTIC_DECL job(asio::any_io_executor executor, named<launch_config> config);
  /// The same with the caller's services, and with further rendezvous backends.
  ELASTIC_DECL job(asio::any_io_executor executor, named<launch_config> config,
                   named<agent_services> services, const rendezvous_registry& backends = {});
  ELASTIC_DECL ~job();
  job(const job&) = delete;
  job& operator=(const job&) = delete;

  /// Runs the job on this node to its end, on the job's executor, whichever the caller's is. When
  /// it returns, no worker is left, all output is written, and the node has left the rendezvous.
  ///
  /// Result: as `local_agent::run`, even if it was cancelled.
  /// Errors: those of `local_agent::run`; `errc::invalid_argument` for a second run.
  /// Cancellation: partial and total stop the job as `stop` does; only terminal kills its workers.
  /// If several types are combined, the gentlest applies. A further request kills. Then it returns
  /// a result whose state is `stopped`, unless the job had ended by itself. Afterwards, the
  /// caller's cancellation state is Asio's default: terminal only, nothing pending.
  ELASTIC_DECL task<run_result> run() &;
  /// Deleted: the job must live until its run has ended.
  task<run_result> run() && = delete;

  /// Asks the workers to end: with SIGTERM, and with SIGKILL after `shutdown_timeout` of the
  /// worker_spec, unless the request says otherwise. A request that does not escalate has no effect
  /// on a job that is already stopping. No effect on a job that has ended. If called before `run`,
  /// no worker starts.
  ELASTIC_DECL void stop(stop_request request = {});

  /// Kills the workers now, even if they are being stopped.
  /// @param reason  for the log, and for the result if the job was not being stopped
  ELASTIC_DECL void kill(std::string reason = {});

 private:
  asio::any_io_executor executor_;
  std::shared_ptr<local_agent> agent_;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/impl/job.ipp>
#endif
