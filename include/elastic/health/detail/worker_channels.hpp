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
/// The socket has an abstract name, which leaves no file; a process of neither this user nor root
/// nor a worker is refused. Whatever a worker writes, it can neither block nor end the agent, nor
/// make it keep more than one line of it: what is not of the protocol ends the connection, with a
/// line in the log; a client that does not read is disconnected; one that writes much is read
/// slowly.
///
/// Nothing here wakes up by itself but for the next time-out that is due.
/// Thread-safety: one strand at a time, the one it was given.
class worker_channels {
 public:
  ELASTIC_DECL worker_channels(asio::any_io_executor strand, worker_channels_options options);
  worker_channels(const worker_channels&) = delete;
  worker_channels& operator=(const worker_channels&) = delete;
  ~worker_channels() { abandon(); }

  /// Opens the channel of one attempt of so many workers, under a new name. What cannot be opened
  /// is said in the log, and there is none then. The one before must be closed.
  ELASTIC_DECL void open(int workers);

  /// Whether a channel was opened and not closed since.
  bool is_open() const { return state_ && !state_->is_closing(); }

  /// What workers are to have in their environment; an empty value: the variable is to be removed.
  ELASTIC_DECL std::vector<std::pair<std::string, std::string>> environment() const;

  /// That worker runs, and is watched from now on.
  ELASTIC_DECL void started(int local_rank);

  /// It has ended; nothing is expected of it any more.
  ELASTIC_DECL void ended(int local_rank);

  /// Whether somebody has a connection.
  bool has_connections() const { return state_ && !state_->connections.empty(); }

  /// Tells every connected worker to pause, or to go on. No heartbeat is due meanwhile.
  ELASTIC_DECL void pause();
  ELASTIC_DECL void resume();

  /// Tells every connected worker that it is being stopped.
  ELASTIC_DECL void announce_stop(duration grace);

  /// Tells the workers of a change of the job's roles that wait for one (`await_roles`).
  ELASTIC_DECL void tell_of_roles(std::int64_t revision);

  /// Whether that worker has a connection on which it said `survive`.
  bool survives(int local_rank) const { return state_ && state_->survives(local_rank); }

  /// Tells a worker that said `survive`. Result: whether it took the message.
  /// Errors: those of `to_line`.
  bool tell_survivor(int local_rank, const control_messages::agent_message& message) {
    return state_ && state_->send_survivor(local_rank, message);
  }

  /// Reads what workers have said already.
  ELASTIC_DECL void catch_up();

  /// Nothing is expected of that worker until `started` is called again.
  ELASTIC_DECL void rests(int local_rank);

  /// Asks the workers for a checkpoint, and waits until each has answered or ended, at most
  /// `within`.
  ///
  /// Cancellation: all types; throws `operation_aborted`. Workers may save it all the same.
  ELASTIC_DECL task<checkpoint_outcome> checkpoint(duration within);

  /// Closes every connection and waits until nothing of the channel runs any more. May be called
  /// again, and if nothing was opened.
  ///
  /// Cancellation: none; a request stays noted in the caller's state.
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
