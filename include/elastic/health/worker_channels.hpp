// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/health/checkpoint_outcome.hpp>
#include <elastic/health/control_message.hpp>
#include <elastic/health/detail/channel_attempt.hpp>
#include <elastic/health/worker_channels_options.hpp>
#include <elastic/health/worker_liveness.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace elastic {

/// The agent's side of the control channel: a Unix socket at which the workers of this node say
/// how they are and are told what to do, and the watch over who is hung.
///
/// The socket has an abstract name, which leaves no file; who is not of this process's user, root
/// or a worker is not let in. Whatever a worker writes, it can neither block nor end the agent, nor
/// make it keep more than one line of it: what is not of the protocol ends the connection, with a
/// line in the log; who does not read what it is sent is disconnected; who writes much is read
/// slowly.
///
/// Nothing here wakes up by itself but for the next time-out that is due.
/// Thread-safety: one strand at a time, the one it was given.
class worker_channels {
 public:
  worker_channels(asio::any_io_executor strand, worker_channels_options options)
      : strand_(std::move(strand)),
        options_(std::move(options)),
        learned_(std::make_shared<learned_timeouts>(options_.liveness)) {
    if (!options_.time) options_.time = std::make_shared<system_time>();
  }
  worker_channels(const worker_channels&) = delete;
  worker_channels& operator=(const worker_channels&) = delete;
  ~worker_channels() { abandon(); }

  /// Opens the channel of one attempt of so many workers, under a new name. What cannot be opened
  /// is said in the log, and there is none then. The one before must be closed.
  void open(int workers) {
    abandon();
    state_ = std::make_shared<detail::channel_attempt>(strand_, options_, learned_, workers);
    state_->listen();
    state_->open_timer_file();
  }

  /// What workers are to have in their environment; an empty value: the variable is to be removed.
  std::vector<std::pair<std::string, std::string>> environment() const {
    std::vector<std::pair<std::string, std::string>> variables;
    variables.emplace_back("ELASTIC_CONTROL", state_ ? state_->address : std::string());
    // A file that is no FIFO is not for the workers, who would write into it.
    if (options_.timer_file) {
      const bool is_there = state_ && state_->made_timer_file;
      variables.emplace_back("TORCHELASTIC_TIMER_FILE",
                             is_there ? state_->timer_path : std::string());
    }
    return variables;
  }

  /// That worker runs, and is watched from now on.
  void started(int local_rank) {
    if (state_) state_->started(local_rank);
  }

  /// It has ended; nothing is expected of it any more.
  void ended(int local_rank) {
    if (state_) state_->ended(local_rank);
  }

  /// Whether somebody has a connection.
  bool has_connections() const { return state_ && !state_->connections.empty(); }

  /// Tells every connected worker to pause, or to go on. No heartbeat is due meanwhile.
  void pause() {
    if (state_) state_->pause();
  }
  void resume() {
    if (state_) state_->resume();
  }

  /// Tells every connected worker that it is being stopped.
  void announce_stop(duration grace) {
    if (state_) state_->send_all(agent_message(control_messages::stop{grace}));
  }

  /// Asks the workers for a checkpoint, and waits until each has answered or ended, at most
  /// `within`.
  ///
  /// Cancellation: all types; throws `operation_aborted`. Workers may save it all the same.
  task<checkpoint_outcome> checkpoint(duration within) {
    return detail::channel_attempt::ask_checkpoint(state_, within);
  }

  /// Closes every connection and waits until nothing of the channel runs any more. May be called
  /// again, and where nothing was opened.
  ///
  /// Cancellation: all types; the channel is closed, but may take a moment more.
  task<void> close() { return close_all(state_); }

 private:
  using state_pointer = std::shared_ptr<detail::channel_attempt>;

  static task<void> close_all(state_pointer all) {
    if (!all) co_return;
    all->shut();
    co_await all->all_ended.wait();
  }

  void abandon() {
    if (state_) state_->shut();
  }

  asio::any_io_executor strand_;
  worker_channels_options options_;
  std::shared_ptr<learned_timeouts> learned_;
  state_pointer state_;
};

}  // namespace elastic
