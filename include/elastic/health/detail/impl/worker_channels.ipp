// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/health/detail/worker_channels.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/new_shared.hpp>

namespace elastic::detail {

ELASTIC_DECL worker_channels::worker_channels(asio::any_io_executor strand,
                                              worker_channels_options options)
    : strand_(std::move(strand)),
      options_(std::move(options)),
      learned_(new_shared<learned_timeouts>(options_.liveness)) {
  if (!options_.time) options_.time = new_shared<system_time>();
}

ELASTIC_DECL void worker_channels::open(int workers) {
  abandon();
  state_ = new_shared<channel_attempt>(strand_, options_, learned_, workers);
  state_->listen();
  state_->open_timer_file();
}

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

ELASTIC_DECL void worker_channels::catch_up() {
  if (!is_open()) return;
  for (std::size_t rank = 0; rank < state_->places.size(); ++rank) {
    state_->drain_input(static_cast<int>(rank));
  }
}

ELASTIC_DECL void worker_channels::rests(int local_rank) {
  if (state_) state_->places.at(static_cast<std::size_t>(local_rank)).liveness.end();
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

ELASTIC_DECL task<checkpoint_outcome> worker_channels::checkpoint(duration within) {
  return channel_attempt::ask_checkpoint(state_, within);
}

ELASTIC_DECL task<void> worker_channels::close_all(state_pointer state) {
  if (!state) co_return;
  state->shut();
  co_await state->tasks.stop();
}

ELASTIC_DECL void worker_channels::abandon() {
  if (state_) state_->shut();
}

}  // namespace elastic::detail
