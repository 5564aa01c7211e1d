// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/control/agent_message.hpp>
#include <elastic/control/liveness_settings.hpp>
#include <elastic/control/worker_message.hpp>

#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace elastic {

namespace detail {
struct channel_attempt;
class learned_timeouts;
}  // namespace detail

/// The agent's end of the control channel: a Unix socket at which the workers of this node report
/// their state and receive requests, and the watch for hung workers. `worker_channel` is a worker's
/// end. A `worker_group` has one; use it for workers that you start yourself.
///
///     elastic::worker_channels::options options;
///     options.message = [](int local_rank, const auto& message) {
///       if (const auto* made = std::get_if<elastic::worker_messages::progress>(&message)) {
///         std::printf("worker %d is at step %ld\n", local_rank, long(made->step));
///       }
///     };
///     elastic::worker_channels channels(executor, options);
///     channels.open(1);
///     for (const auto& [name, value] : channels.environment()) variables[name] = value;
///     variables["LOCAL_RANK"] = "0";
///     // … start the worker with these variables
///     channels.started(0);
///
/// The socket has an abstract name, which leaves no file. Only this user, root and workers may
/// connect. Whatever a worker writes, it can neither block nor crash the agent, nor make it buffer
/// more than one line: invalid input closes the connection and is logged, a client that does not
/// read is disconnected, and one that writes too much is read slowly.
///
/// Nothing here wakes up by itself except for the next time-out that is due.
/// Thread-safety: one strand at a time, the one it was given.
class worker_channels {
 public:
  /// The outcome of asking workers for a checkpoint.
  struct checkpoint_outcome {
    /// How many workers were asked (those that accept requests), and how many have saved a
    /// checkpoint.
    int asked = 0;
    int saved = 0;
    /// Why the others have not: "local rank 1 did not answer within 2 s".
    std::vector<std::string> problems;
  };

  /// A worker that did not report in time.
  struct hung_worker {
    int local_rank = 0;
    /// "no heartbeat for 12.3 s (allowed 10 s) in section 'all_reduce'".
    std::string reason;
    /// The signal that ends it: SIGKILL, unless a timer of PyTorch's client named another.
    int signal = SIGKILL;
  };

  /// Settings, and the functions that receive what workers report. Each function may be empty, must
  /// not throw, and is called on the strand.
  struct options {
    liveness_settings liveness{};
    /// Whether to serve timers of PyTorch's FileTimerClient, too, and at which path; empty: a path
    /// in the temporary folder.
    bool timer_file = false;
    std::string timer_path{};
    /// Null: `system_time`.
    std::shared_ptr<time_source> time{};
    logger log{};
    /// Receives every valid message of a worker, after the channel has acted on it.
    std::function<void(int local_rank, const worker_messages::worker_message&)> message{};
    /// A worker is hung. Called once for each `started`; the callee must kill the worker.
    std::function<void(const hung_worker&)> hung{};
    /// The revision of the job's roles; empty: the job has none.
    std::function<std::int64_t()> roles{};
    /// The worker that a process is or descends from: for PyTorch's timers, which contain pids, and
    /// for workers that run as another user.
    std::function<std::optional<int>(pid_t)> owner_of{};
  };

  /// Opens no channel yet.
  ELASTIC_DECL worker_channels(asio::any_io_executor strand, options settings);
  worker_channels(const worker_channels&) = delete;
  worker_channels& operator=(const worker_channels&) = delete;

  /// Closes the channel, but does not wait for what still runs of it, as `close` does.
  ~worker_channels() { abandon(); }

  /// Opens a channel, under a new name, for workers with the local ranks 0 to `workers` - 1. If it
  /// cannot be opened, the log says so, and there is no channel. An earlier channel must be closed.
  ///
  /// @param workers  1 to `limits::local_world_size`
  /// Errors: `errc::invalid_argument` for another number.
  ELASTIC_DECL void open(int workers);

  /// Whether a channel is open.
  ELASTIC_DECL bool is_open() const;

  /// The variables for the workers' environment; an empty value removes the variable. Each worker
  /// also needs its LOCAL_RANK.
  ELASTIC_DECL std::vector<std::pair<std::string, std::string>> environment() const;

  /// Notes that a worker runs: it is watched from now on.
  /// Errors: `errc::invalid_argument` if the channel is open for other local ranks; likewise
  /// `ended` and `rests`.
  ELASTIC_DECL void started(int local_rank);

  /// Reads what a worker has already sent, and notes that it has ended: it is watched no longer.
  ELASTIC_DECL void ended(int local_rank);

  /// Suspends the watch of a worker until `started` is called again.
  ELASTIC_DECL void rests(int local_rank);

  /// Reads what workers have already sent.
  ELASTIC_DECL void catch_up();

  /// Tells every connected worker to pause or to continue. No heartbeat is due during a pause.
  ELASTIC_DECL void pause();
  ELASTIC_DECL void resume();

  /// Tells every connected worker that it is being stopped, and will be killed after `grace`; 0:
  /// unknown.
  ELASTIC_DECL void announce_stop(duration grace);

  /// Tells the workers that wait for it (`worker_channel::await_roles`) about a change of the job's
  /// roles.
  ELASTIC_DECL void tell_of_roles(std::int64_t revision);

  /// Whether a connection on which this worker sent `survive` is open.
  ELASTIC_DECL bool survives(int local_rank) const;

  /// Sends a message to a worker that sent `survive`.
  ///
  /// Result: whether its connection accepted the message.
  /// Errors: `errc::invalid_argument` if the environment of `rejoin` does not fit into a message.
  ELASTIC_DECL bool tell_survivor(int local_rank, const control_messages::agent_message& message);

  /// Asks the workers that accept requests for a checkpoint, and waits until each has answered or
  /// ended, at most `within`.
  ///
  /// Result: without a channel, no worker was asked.
  /// Cancellation: all types; throws `operation_aborted`. Workers may still save a checkpoint.
  ELASTIC_DECL task<checkpoint_outcome> checkpoint(duration timeout) &;

  /// Closes every connection and waits until nothing of the channel runs any more. Does nothing if
  /// no channel is open. `open` may follow.
  ///
  /// Cancellation: none; a request stays pending in the caller's state.
  ELASTIC_DECL task<void> close() &;

 private:
  ELASTIC_DECL void abandon();

  asio::any_io_executor strand_;
  options options_;
  std::shared_ptr<detail::learned_timeouts> learned_;
  std::shared_ptr<detail::channel_attempt> state_;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/control/impl/worker_channels.ipp>
#endif
