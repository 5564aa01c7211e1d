// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/health/checkpoint_outcome.hpp>
#include <elastic/health/detail/channel_attempt.hpp>
#include <elastic/health/detail/control_message.hpp>
#include <elastic/health/detail/worker_channels_options.hpp>
#include <elastic/health/detail/worker_liveness.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace elastic::detail {

/// The agent's side of the control channel: a Unix socket at which the workers of this node report
/// their state and receive requests, and the watch for hung workers.
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
  ELASTIC_DECL worker_channels(asio::any_io_executor strand, worker_channels_options options);
  worker_channels(const worker_channels&) = delete;
  worker_channels& operator=(const worker_channels&) = delete;
  ~worker_channels() { abandon(); }

  /// Opens the channel of an attempt with this number of workers, under a new name. If it cannot be
  /// opened, the log says so, and there is no channel. An earlier channel must be closed.
  ELASTIC_DECL void open(int workers);

  /// Whether a channel is open.
  bool is_open() const { return state_ && !state_->is_closing(); }

  /// The variables for the workers' environment; an empty value removes the variable.
  ELASTIC_DECL std::vector<std::pair<std::string, std::string>> environment() const;

  /// Notes that a worker runs: it is watched from now on.
  ELASTIC_DECL void started(int local_rank);

  /// Notes that a worker has ended: it is watched no longer.
  ELASTIC_DECL void ended(int local_rank);

  /// Whether any client is connected.
  bool has_connections() const { return state_ && !state_->connections.empty(); }

  /// Tells every connected worker to pause or to continue. No heartbeat is due during a pause.
  ELASTIC_DECL void pause();
  ELASTIC_DECL void resume();

  /// Tells every connected worker that it is being stopped.
  ELASTIC_DECL void announce_stop(duration grace);

  /// Tells the workers that wait for it (`await_roles`) about a change of the job's roles.
  ELASTIC_DECL void tell_of_roles(std::int64_t revision);

  /// Whether a connection on which this worker sent `survive` is open.
  bool survives(int local_rank) const { return state_ && state_->survives(local_rank); }

  /// Sends a message to a worker that sent `survive`. Result: whether its connection accepted the
  /// message.
  /// Errors: those of `to_line`.
  bool tell_survivor(int local_rank, const control_messages::agent_message& message) {
    return state_ && state_->send_survivor(local_rank, message);
  }

  /// Reads what workers have already sent.
  ELASTIC_DECL void catch_up();

  /// Suspends the watch of a worker until `started` is called again.
  ELASTIC_DECL void rests(int local_rank);

  /// Asks the workers for a checkpoint, and waits until each has answered or ended, at most
  /// `within`.
  ///
  /// Cancellation: all types; throws `operation_aborted`. Workers may still save a checkpoint.
  ELASTIC_DECL task<checkpoint_outcome> checkpoint(duration within);

  /// Closes every connection and waits until nothing of the channel runs any more. Does nothing if
  /// no channel is open.
  ///
  /// Cancellation: none; a request stays pending in the caller's state.
  task<void> close() { return close_all(state_); }

 private:
  using state_pointer = std::shared_ptr<channel_attempt>;
  ELASTIC_DECL static task<void> close_all(state_pointer state);
  ELASTIC_DECL void abandon();

  asio::any_io_executor strand_;
  worker_channels_options options_;
  std::shared_ptr<learned_timeouts> learned_;
  state_pointer state_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/health/detail/impl/worker_channels.ipp>
#endif
