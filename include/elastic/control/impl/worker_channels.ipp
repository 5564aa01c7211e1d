// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/control/worker_channels.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/control/detail/channel_attempt.hpp>
#include <elastic/control/detail/worker_liveness.hpp>

#include <cstddef>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL worker_channels::worker_channels(asio::any_io_executor strand, options settings)
    : strand_(std::move(strand)),
      options_(std::move(settings)),
      learned_(detail::new_shared<detail::learned_timeouts>(options_.liveness)) {
  if (!options_.time) options_.time = detail::new_shared<system_time>();
}

ELASTIC_DECL void worker_channels::open(int workers) {
  if (workers < 1 || workers > limits::local_world_size) {
    throw error(errc::invalid_argument,
                fmt::format("worker_channels::open: {} workers; 1 to {} are allowed", workers,
                            limits::local_world_size));
  }
  abandon();
  state_ = detail::new_shared<detail::channel_attempt>(strand_, options_, learned_, workers);
  state_->listen();
  state_->open_timer_file();
}

ELASTIC_DECL bool worker_channels::is_open() const { return state_ && !state_->is_closing(); }

ELASTIC_DECL std::vector<std::pair<std::string, std::string>> worker_channels::environment() const {
  std::vector<std::pair<std::string, std::string>> variables;
  variables.emplace_back("ELASTIC_CONTROL", state_ ? state_->address : std::string());
  // If the FIFO could not be created, the workers must not write to whatever file has its path.
  if (options_.timer_file) {
    const bool is_there = state_ && state_->made_timer_file;
    variables.emplace_back("TORCHELASTIC_TIMER_FILE",
                           is_there ? state_->timer_path : std::string());
  }
  return variables;
}

ELASTIC_DECL void worker_channels::started(int local_rank) {
  if (state_) state_->started(local_rank);
}

ELASTIC_DECL void worker_channels::ended(int local_rank) {
  if (state_) state_->ended(local_rank);
}

ELASTIC_DECL void worker_channels::rests(int local_rank) {
  if (state_) state_->place_of(local_rank).liveness.end();
}

ELASTIC_DECL void worker_channels::catch_up() {
  if (!is_open()) return;
  for (std::size_t rank = 0; rank < state_->places.size(); ++rank) {
    state_->drain_input(static_cast<int>(rank));
  }
}

ELASTIC_DECL void worker_channels::pause() {
  if (state_) state_->pause();
}

ELASTIC_DECL void worker_channels::resume() {
  if (state_) state_->resume();
}

ELASTIC_DECL void worker_channels::announce_stop(duration grace) {
  if (state_) state_->send_all(control_messages::agent_message(control_messages::stop{grace}));
}

ELASTIC_DECL void worker_channels::tell_of_roles(std::int64_t revision) {
  if (is_open()) state_->tell_of_roles(revision);
}

ELASTIC_DECL bool worker_channels::survives(int local_rank) const {
  return state_ && state_->survives(local_rank);
}

ELASTIC_DECL bool worker_channels::tell_survivor(int local_rank,
                                                 const control_messages::agent_message& message) {
  return state_ && state_->send_survivor(local_rank, message);
}

ELASTIC_DECL task<worker_channels::checkpoint_outcome> worker_channels::checkpoint(
    duration timeout) & {
  return detail::channel_attempt::ask_checkpoint(state_, timeout);
}

ELASTIC_DECL task<void> worker_channels::close() & {
  const std::shared_ptr<detail::channel_attempt> state = state_;
  if (!state) co_return;
  state->shut();
  co_await state->tasks.stop();
}

ELASTIC_DECL void worker_channels::abandon() {
  if (state_) state_->shut();
}

}  // namespace elastic
