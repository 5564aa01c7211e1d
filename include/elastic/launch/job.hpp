// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_services.hpp>
#include <elastic/agent/job_command.hpp>
#include <elastic/agent/local_agent.hpp>
#include <elastic/agent/run_result.hpp>
#include <elastic/agent/stop_request.hpp>
#include <elastic/agent/worker_state.hpp>
#include <elastic/base/async_run.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/launch/launch_config.hpp>
#include <elastic/process/exit_status.hpp>

#include <sys/types.h>

#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace elastic {

/// A job of this node, for programs that run jobs beside other work: it can be stopped from
/// anywhere, and its result is not lost if it is cancelled.
///
///     job training(context.get_executor(), config);
///     training.async_run(on_end);
///     …
///     training.stop();      // on_end gets a result whose state is `stopped`
///
/// One object runs once. The run does not depend on the object: the destructor asks it to stop, as
/// `stop()` does, and does not wait. The handler is still called, with a result whose state is
/// `stopped`. If you wait for the end, keep the context running until then.
///
/// Thread-safety: `stop`, `kill`, `view`, `dump`, `carry_out` and the destructor from any thread;
/// the rest from one thread at a time.
class job {
 public:
  /// The state of a job on this node at one moment. It does not change.
  struct snapshot {
    /// A worker of this node, in the attempt that was started last.
    struct worker {
      int rank = 0;
      int local_rank = 0;
      pid_t pid = 0;
      bool is_running = true;
      /// How it ended; empty while it runs, and if the agent stopped it.
      std::optional<exit_status> end;
    };

    /// `init` before the first round and between two rounds, `healthy` while the workers run,
    /// otherwise how they ended.
    worker_state state = worker_state::init;
    /// The job has ended on this node, in `state`, or its context was destroyed, which killed the
    /// workers; nothing changes any more.
    bool has_ended = false;
    /// The number of the round that this node joined last, counted from 0; -1: it joined none.
    int round = -1;
    /// The rank of this node in that round, and the number of nodes of the round.
    int group_rank = 0;
    int group_world_size = 0;
    /// The number of workers of all nodes in that round.
    int world_size = 0;
    /// How often the workers were restarted after a failure.
    int restarts = 0;
    /// By local rank; empty before the first start.
    std::vector<worker> workers;
  };

  /// @param executor  where the job runs, on its own strand; may be a thread pool's executor
  ///
  /// Errors: those of `make_agent`.
  ELASTIC_DECL job(asio::any_io_executor executor, const launch_config& config);
  /// The same with the caller's services. If these have a journal, no other job may use it.
  ELASTIC_DECL job(asio::any_io_executor executor, const launch_config& config,
                   agent_services services);
  ELASTIC_DECL ~job();
  job(const job&) = delete;
  job& operator=(const job&) = delete;

  /// Runs the job on this node to its end, on the job's executor rather than the caller's. When it
  /// returns, no worker is left, all output is written, and the node has left the rendezvous.
  ///
  /// Result: as `local_agent::run`, even if it was cancelled.
  /// Errors: those of `local_agent::run`; `errc::invalid_argument` for a second run.
  /// Cancellation: partial and total stop the job as `stop` does; only terminal kills its workers.
  /// If several types are combined, the gentlest applies. A further request kills. Then it returns
  /// a result whose state is `stopped`, unless the job had ended by itself. Afterwards, the
  /// caller's cancellation state is Asio's default: terminal only, nothing pending. With
  /// `co_spawn`, a request that comes before the task has begun is Asio's: terminal throws
  /// `operation_aborted`, the others are lost. `async_run` has no such gap.
  ELASTIC_DECL task<run_result> run() &;
  /// Deleted: the destructor of a temporary would stop the run.
  task<run_result> run() && = delete;  // declare the job first

  /// Runs the job as `run` does, with any completion token of Asio: a function, `use_future`,
  /// `use_awaitable`, `deferred`. The signature is `void(std::exception_ptr, run_result)`. The
  /// handler is called on its associated executor, by default on the job's, and never within this
  /// call.
  ///
  /// Result, errors: those of `run`.
  /// Cancellation: that of `run`, by the cancellation slot of the token's handler, at any time,
  /// also before the run has begun. The signal may be emitted on any thread, but by one at a time.
  /// No effect after the end. `asio::cancel_after(time, token)` kills: it sends terminal unless it
  /// is given another type, as in `cancel_after(time, asio::cancellation_type::partial, token)`.
  template <class CompletionToken>
  auto async_run(CompletionToken&& token) & {
    return agent_->async_run(executor_, std::forward<CompletionToken>(token));
  }
  /// Deleted: the destructor of a temporary would stop the run.
  template <class CompletionToken>
  auto async_run(CompletionToken&& token) && = delete;  // declare the job first

  /// The current state of the job on this node, which no later change changes; never null.
  ELASTIC_DECL std::shared_ptr<const snapshot> view() const;

  /// Writes a readable summary of the job's state on this node: see `local_agent::dump`. Errors:
  /// those of the stream. Thread-safety: any thread, but not a signal handler.
  ELASTIC_DECL void dump(std::ostream& out) const;

  /// Asks the workers to end: with SIGTERM, and with SIGKILL after `shutdown_timeout` of the
  /// worker_spec, unless the request says otherwise. A request that does not escalate has no effect
  /// on a job that is already stopping. No effect on a job that has ended. If called before `run`,
  /// no worker starts.
  /// Errors: `errc::invalid_argument` if there is no such signal.
  ELASTIC_DECL void stop(stop_request request = {});

  /// Kills the workers now, even if they are being stopped.
  /// @param reason  for the log, and for the result if the job was not being stopped
  ELASTIC_DECL void kill(std::string reason = {});

  /// Carries out a command, such as a pause, a drain or a checkpoint: `local_agent::carry_out`.
  ELASTIC_DECL task<job_command::outcome> carry_out(job_command command) &;

  /// The same on the job's executor, with any completion token: `elastic::async_run` says how it
  /// calls the handler and what cancels it.
  template <class CompletionToken>
  auto async_carry_out(job_command command, CompletionToken&& token) & {
    return elastic::async_run(executor_, carry_out(std::move(command)),
                              std::forward<CompletionToken>(token));
  }

 private:
  asio::any_io_executor executor_;
  std::unique_ptr<local_agent> agent_;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/impl/job.ipp>
#endif
