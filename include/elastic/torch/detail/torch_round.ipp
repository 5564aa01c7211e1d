// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/torch/detail/torch_round.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/rendezvous/detail/exit_keys.hpp>

#include <algorithm>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL torch_round::torch_round(std::string run_id, node_id node,
                                      rendezvous_settings settings, torch_dialect dialect,
                                      std::shared_ptr<rendezvous_backend> backend,
                                      std::shared_ptr<store> agents,
                                      std::shared_ptr<time_source> time, logger log)
    : run_id_(std::move(run_id)),
      node_(std::move(node)),
      settings_(settings),
      dialect_(dialect),
      backend_(std::move(backend)),
      agents_(std::move(agents)),
      time_(std::move(time)),
      log_(std::move(log)),
      sign_(time_, settings.silence()) {}

ELASTIC_DECL std::string torch_round::prefix(std::int64_t round) const {
  return fmt::format("torch.rendezvous.{}.{}", run_id_, round);
}

ELASTIC_DECL auto torch_round::look() -> task<view> {
  const auto get = [](rendezvous_backend& backend) { return backend.get(); };
  std::optional<stored_state> stored = co_await patiently<std::optional<stored_state>>(get);
  co_return co_await take_in(std::move(stored));
}

ELASTIC_DECL auto torch_round::carry_out(view current, round_action action) -> task<view> {
  const time_point now = time_->now();
  apply(current.state, action, node_, settings_, now);
  const bool has_place = is_named(current.state);
  const torch_time heartbeat = next_heartbeat();
  if (has_place) current.stored.last_heartbeats[node_] = heartbeat;
  if (!has_place) current.stored.last_heartbeats.erase(node_);
  view written = co_await write(std::move(current));
  if (shows(written.stored, heartbeat)) sign_.heard(now);
  co_return written;
}

ELASTIC_DECL task<void> torch_round::close() {
  view current = co_await look();
  while (!current.state.closed) {
    current.state.closed = true;
    current = co_await write(std::move(current));
  }
}

ELASTIC_DECL auto torch_round::leave(bool rejoins) -> task<view> {
  view current = co_await look();
  for (;;) {
    round_action action = decide_leave(current.state, node_).action;
    if (action == round_action::wait || current.state.closed) co_return current;
    if (action == round_action::leave_round && current.state.complete && rejoins) {
      // In one step, so that no node sees the round without this node unless it waits for the next
      // one.
      action = round_action::leave_to_rejoin;
    }
    current = co_await carry_out(std::move(current), action);
    if (action == round_action::leave_to_rejoin && !contains(current.state, node_))
      co_return current;
  }
}

ELASTIC_DECL task<void> torch_round::wait_for_change(std::string token, time_point deadline) {
  try {
    task<void> waiting = backend_->wait_for_change(std::move(token));
    co_await with_deadline(*time_, deadline, std::move(waiting));
    co_return;
  } catch (const error& failure) {
    if (failure.code() != errc::connection_failed) throw;
    log_.debug("changes of the rendezvous' state are not reported: {}", failure.what());
  }
  // The next read finds out whether the backend is reachable, and reports it.
  co_await time_->sleep_until(time_->now() + retry_pause);
}

ELASTIC_DECL task<bool> torch_round::has_ended(std::int64_t round, int rank) {
  std::vector<std::string> keys;
  keys.push_back(fmt::format("{}/{}{}", prefix(round), exit_state, rank));
  co_return co_await agents_->check(std::move(keys));
}

ELASTIC_DECL task<void> torch_round::tell_ended(std::int64_t round, int rank) {
  // First the count: if this node dies between the two, the others miss it. In the other order,
  // they would take another node that dies for one of torchrun, which is silent at the barrier.
  const std::string count = ended_prefix(round) + count_name;
  co_await agents_->add(count, 1);
  const std::string key = ended_prefix(round) + std::to_string(rank);
  const std::string text = "1";
  co_await agents_->set(key, text);
}

ELASTIC_DECL task<void> torch_round::refresh_sign() {
  if (sign_.age() > settings_.keep_alive_interval) co_await beat();
}

ELASTIC_DECL void torch_round::start_heartbeats(asio::any_io_executor executor) {
  if (heartbeats_) return;
  heartbeats_.emplace(executor);
  heartbeats_->spawn(keep_alive(shared_from_this()));
}

ELASTIC_DECL task<void> torch_round::stop_heartbeats() {
  if (heartbeats_) co_await heartbeats_->stop();
}

ELASTIC_DECL bool torch_round::is_named(const round_state& state) const {
  return contains(state, node_) || state.wait_list.count(node_) != 0 ||
         state.redundancy_list.count(node_) != 0;
}

ELASTIC_DECL auto torch_round::take_in(std::optional<stored_state> stored) -> task<view> {
  view current;
  if (stored) {
    current.stored = std::move(stored->state);
    current.token = std::move(stored->token);
  }
  clock_.observe(current.stored, time_->now());
  current.state = translated(current.stored);
  is_closed_ = current.state.closed;
  std::vector<node_id> silent = clock_.dead(settings_.silence());
  std::erase(silent, node_);
  if (!silent.empty() && current.state.complete && spares_ended_) {
    silent = co_await without_ended(std::move(silent), current.state);
  }
  for (const node_id& node : silent) remove_dead_node(current, node);
  current.dead = std::move(silent);
  co_return current;
}

ELASTIC_DECL round_state torch_round::translated(const torch_state& stored) const {
  round_state state;
  state.round = stored.round;
  state.complete = stored.complete;
  state.closed = stored.closed;
  state.participants = stored.participants;
  state.wait_list = stored.wait_list;
  state.redundancy_list = stored.redundancy_list;
  if (stored.deadline) {
    // The node that set the deadline waits that long from then on, by its own clock.
    const time_point current = clock_.deadline_seen().value_or(time_->now());
    const bool is_own = own_deadline_ && own_deadline_->written == *stored.deadline;
    state.deadline = is_own ? own_deadline_->time : current + settings_.last_call_timeout;
  }
  return state;
}

ELASTIC_DECL task<std::vector<node_id>> torch_round::without_ended(std::vector<node_id> silent,
                                                                   round_state state) {
  std::vector<node_id> dead;
  int arrived = co_await arrived_at_barrier(state.round);
  for (const node_id& node : silent) {
    const auto place = state.participants.find(node);
    bool is_spared = false;
    if (place != state.participants.end()) {
      is_spared = co_await has_said_its_end(state.round, place->second);
      if (!is_spared && arrived > 0) {
        is_spared = true;
        --arrived;
      }
    }
    if (!is_spared) dead.push_back(node);
  }
  co_return dead;
}

ELASTIC_DECL task<int> torch_round::arrived_at_barrier(std::int64_t round) {
  if (dialect_ != torch_dialect::torch_2_6) co_return 0;
  const std::string joint = fmt::format("{}/{}", prefix(round), exit_count);
  const std::string own = ended_prefix(round) + count_name;
  // Read first, so that it never exceeds the other.
  const int replies = co_await count_at(own);
  const int arrived = co_await count_at(joint);
  co_return arrived - replies;
}

ELASTIC_DECL task<int> torch_round::count_at(std::string key) {
  std::vector<std::string> keys(1, key);
  const bool has_begun = co_await agents_->check(std::move(keys));
  if (!has_begun) co_return 0;
  const std::int64_t count = co_await agents_->add(key, 0);
  co_return static_cast<int>(std::clamp<std::int64_t>(count, 0, limits::nodes));
}

ELASTIC_DECL task<bool> torch_round::has_said_its_end(std::int64_t round, int rank) {
  if (dialect_ != torch_dialect::torch_2_6) co_return co_await has_ended(round, rank);
  std::vector<std::string> keys(1, ended_prefix(round) + std::to_string(rank));
  co_return co_await agents_->check(std::move(keys));
}

ELASTIC_DECL std::string torch_round::ended_prefix(std::int64_t round) const {
  return prefix(round) + "/elastic/terminal_state/";
}

ELASTIC_DECL void torch_round::remove_dead_node(view& current, const node_id& node) {
  round_state& state = current.state;
  if (contains(state, node)) apply(state, round_action::leave_round, node, settings_, {});
  state.wait_list.erase(node);
  state.redundancy_list.erase(node);
  current.stored.last_heartbeats.erase(node);
}

ELASTIC_DECL auto torch_round::write(view next) -> task<view> {
  torch_state& stored = next.stored;
  const round_state& state = next.state;
  stored.round = state.round;
  stored.complete = state.complete;
  stored.closed = state.closed;
  stored.participants = state.participants;
  stored.wait_list = state.wait_list;
  stored.redundancy_list = state.redundancy_list;
  if (!state.deadline) stored.deadline.reset();
  if (state.deadline && !stored.deadline) {
    own_deadline_ = own_deadline{wall_now() + std::chrono::duration_cast<torch_time::duration>(
                                                  *state.deadline - time_->now()),
                                 *state.deadline};
    stored.deadline = own_deadline_->written;
  }
  const auto set = [&next](rendezvous_backend& backend) {
    return backend.set(next.stored, next.token);
  };
  set_outcome outcome = co_await patiently<set_outcome>(set);
  co_return co_await take_in(std::move(outcome.stored));
}

ELASTIC_DECL torch_time torch_round::wall_now() const {
  return std::chrono::time_point_cast<torch_time::duration>(time_->wall_now());
}

ELASTIC_DECL torch_time torch_round::next_heartbeat() {
  heartbeat_ = std::max(wall_now(), heartbeat_ + torch_time::duration(1));
  return heartbeat_;
}

ELASTIC_DECL bool torch_round::shows(const torch_state& stored, torch_time heartbeat) const {
  const auto mine = stored.last_heartbeats.find(node_);
  return mine != stored.last_heartbeats.end() && mine->second == heartbeat;
}

ELASTIC_DECL task<void> torch_round::keep_alive(std::shared_ptr<torch_round> round) {
  time_source& time = *round->time_;
  for (;;) {
    co_await time.sleep_until(time.now() + round->settings_.keep_alive_interval);
    try {
      co_await round->beat();
    } catch (const error& failure) {
      // The coroutine that waits for the rendezvous gets the error, too.
      round->log_.debug("this node could not refresh its keep-alive: {}", failure.what());
    }
  }
}

ELASTIC_DECL task<void> torch_round::beat() {
  view current = co_await look();
  for (;;) {
    const auto mine = current.stored.last_heartbeats.find(node_);
    if (mine == current.stored.last_heartbeats.end()) co_return;
    const torch_time before = mine->second;
    const torch_time heartbeat = next_heartbeat();
    mine->second = heartbeat;
    const time_point begun = time_->now();
    current = co_await write(std::move(current));
    if (shows(current.stored, heartbeat)) sign_.heard(begun);
    const auto now = current.stored.last_heartbeats.find(node_);
    if (now == current.stored.last_heartbeats.end() || now->second > before) co_return;
  }
}

}  // namespace elastic::detail
