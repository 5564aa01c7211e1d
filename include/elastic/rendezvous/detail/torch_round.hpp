// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/rendezvous/node_id.hpp>
#include <elastic/rendezvous/rendezvous_backend.hpp>
#include <elastic/rendezvous/rendezvous_settings.hpp>
#include <elastic/rendezvous/round_machine.hpp>
#include <elastic/rendezvous/round_state.hpp>
#include <elastic/rendezvous/torch_dialect.hpp>
#include <elastic/rendezvous/torch_state.hpp>
#include <elastic/rendezvous/torch_state_clock.hpp>
#include <elastic/store/store.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic::detail {

/// One node's way to the state that the nodes of a rendezvous share: reads it in this node's time,
/// without those that are dead, changes it step by step, and says that this node lives.
///
/// Thread-safety: one strand at a time; operations may run at the same time.
class torch_round final : public std::enable_shared_from_this<torch_round> {
 public:
  /// The state as it was read, and what it means here and now.
  struct view {
    torch_state stored;
    /// Empty where nothing is stored.
    std::string token;
    /// In this node's time, without the nodes that are dead.
    round_state state;
    std::vector<node_id> dead;
  };

  torch_round(std::string run_id, node_id node, rendezvous_settings settings,
              torch_dialect dialect, std::shared_ptr<rendezvous_backend> backend,
              std::shared_ptr<store> agents, std::shared_ptr<time_source> time, logger log)
      : run_id_(std::move(run_id)),
        node_(std::move(node)),
        settings_(settings),
        dialect_(dialect),
        backend_(std::move(backend)),
        agents_(std::move(agents)),
        time_(std::move(time)),
        log_(std::move(log)) {}

  const node_id& node() const { return node_; }
  round_rules rules() const {
    return dialect_ == torch_dialect::torch_2_6 ? round_rules::torch_2_6 : round_rules::torch_1_13;
  }

  /// The prefix of the keys of one round in the agents' store.
  std::string prefix(std::int64_t round) const {
    return fmt::format("torch.rendezvous.{}.{}", run_id_, round);
  }

  /// The state as it is now.
  task<view> look() {
    const auto get = [](rendezvous_backend& from) { return from.get(); };
    std::optional<stored_state> stored = co_await patiently<std::optional<stored_state>>(get);
    co_return co_await take_in(std::move(stored));
  }

  /// Carries out one step of this node on what was seen.
  /// Result: what is stored then; the step was lost where another node's came first.
  task<view> carry_out(view seen, round_action action) {
    const time_point now = time_->now();
    apply(seen.state, action, node_, settings_, now);
    const bool has_place = is_named(seen.state);
    if (has_place) seen.stored.last_heartbeats[node_] = next_heartbeat();
    if (!has_place) seen.stored.last_heartbeats.erase(node_);
    co_return co_await write(std::move(seen));
  }

  /// Marks the rendezvous as closed.
  task<void> close() {
    view seen = co_await look();
    while (!seen.state.closed) {
      seen.state.closed = true;
      seen = co_await write(std::move(seen));
    }
  }

  /// Gives up whatever place this node has.
  /// @param rejoins  it goes on to the next round
  task<view> leave(bool rejoins) {
    view seen = co_await look();
    for (;;) {
      round_action action = decide_leave(seen.state, node_).action;
      if (action == round_action::wait || seen.state.closed) co_return seen;
      if (action == round_action::leave_round && seen.state.complete && rejoins) {
        // In one step: nobody sees the round without this node but that it waits for the next.
        action = round_action::leave_to_rejoin;
      }
      seen = co_await carry_out(std::move(seen), action);
      if (action == round_action::leave_to_rejoin && !contains(seen.state, node_)) co_return seen;
    }
  }

  /// Waits until the state may have changed, at most until `deadline`.
  task<void> wait_for_change(std::string token, time_point deadline) {
    try {
      task<void> waiting = backend_->wait_for_change(std::move(token));
      co_await with_deadline(*time_, deadline, std::move(waiting));
      co_return;
    } catch (const error& failure) {
      if (failure.code() != errc::connection_failed) throw;
      log_.debug("changes of the rendezvous' state are not told: {}", failure.what());
    }
    // Whether the place can be reached is found out, and judged, by whoever looks next.
    co_await time_->sleep_until(time_->now() + retry_pause);
  }

  /// Whether the workers of that node have ended: it waits for the others then, and its heartbeats
  /// cease because PyTorch's agents wait and write over one connection.
  task<bool> has_ended(std::int64_t round, int rank) {
    std::vector<std::string> keys;
    keys.push_back(fmt::format("{}/torchelastic/agent/terminal_state{}", prefix(round), rank));
    co_return co_await agents_->check(std::move(keys));
  }

  /// Says that the workers of this node have ended, where PyTorch's barrier only counts: this node
  /// waits there as well, and its heartbeats go on.
  task<void> tell_ended(std::int64_t round, int rank) {
    const std::string key = ended_prefix(round) + std::to_string(rank);
    const std::string text = "1";
    co_await agents_->set(key, text);
    const std::string count = ended_prefix(round) + count_name;
    co_await agents_->add(count, 1);
  }

  /// Says to a place that watches over its nodes that this one lives: before it takes a place.
  task<void> announce() {
    const auto say = [this](rendezvous_backend& to) { return answered(to.say_alive(node_)); };
    co_await patiently<bool>(say);
  }

  /// Says so no more.
  task<void> withdraw() { co_await backend_->say_gone(); }

  /// Begins to say that this node lives, as long as it has a place.
  void start_heartbeats(asio::any_io_executor executor) {
    if (ended_) return;
    ended_.emplace(executor);
    auto on_end = [self = shared_from_this()](std::exception_ptr) { self->ended_->set(); };
    asio::co_spawn(executor, keep_alive(),
                   asio::bind_cancellation_slot(cancel_.slot(), std::move(on_end)));
  }

  task<void> stop_heartbeats() {
    if (!ended_) co_return;
    cancel_.emit(asio::cancellation_type::terminal);
    co_await ended_->wait();
  }

  /// Whether nodes whose workers have ended may be silent. Who looks for a new round must not wait
  /// for them: they cannot know of it.
  void spare_ended(bool whether) { spares_ended_ = whether; }

  /// From now on a place that cannot be reached is not tried again.
  void hurry() { is_patient_ = false; }

 private:
  static constexpr std::chrono::milliseconds retry_pause{200};
  inline static const std::string count_name = "num_members";

  struct own_deadline {
    torch_time written;
    time_point at;
  };

  // A store that was reached before may come back.
  template <class T, class Ask>
  task<T> patiently(Ask ask) {
    if (backend_->is_patient()) co_return co_await ask(*backend_);
    const time_point limit = time_->now() + limits::rendezvous_absence;
    for (;;) {
      std::exception_ptr failure;
      try {
        task<T> asking = ask(*backend_);
        std::optional<T> answer = co_await with_deadline(
            *time_, time_->now() + settings_.silence(), std::move(asking));
        if (answer) {
          was_reached_ = true;
          co_return std::move(*answer);
        }
        throw error(errc::connection_failed, "the rendezvous' state cannot be had: no answer");
      } catch (const error& problem) {
        const bool may_come_back = problem.code() == errc::connection_failed && was_reached_ &&
                                   is_patient_ && time_->now() < limit;
        if (!may_come_back) throw;
        log_.debug("the rendezvous' state cannot be reached, trying again: {}", problem.what());
      }
      co_await time_->sleep_until(time_->now() + retry_pause);
    }
  }

  static task<bool> answered(task<void> work) {
    co_await std::move(work);
    co_return true;
  }

  bool is_named(const round_state& state) const {
    return contains(state, node_) || state.wait_list.count(node_) != 0 ||
           state.redundancy_list.count(node_) != 0;
  }

  // ---- reading --------------------------------------------------------------------------------

  task<view> take_in(std::optional<stored_state> stored) {
    view seen;
    if (stored) {
      seen.stored = std::move(stored->state);
      seen.token = std::move(stored->token);
    }
    clock_.observe(seen.stored, time_->now());
    seen.state = translated(seen.stored);
    const bool is_told = stored && stored->living;
    std::vector<node_id> silent = is_told ? missing(seen.stored, *stored->living)
                                          : clock_.dead(settings_.silence());
    std::erase(silent, node_);
    if (!silent.empty() && seen.state.complete && spares_ended_) {
      silent = co_await without_ended(std::move(silent), seen.state);
    }
    for (const node_id& node : silent) bury(seen, node);
    seen.dead = std::move(silent);
    co_return seen;
  }

  // By what the place itself tells of its nodes.
  static std::vector<node_id> missing(const torch_state& stored, const std::set<node_id>& living) {
    std::vector<node_id> nodes;
    for (const node_id& node : nodes_of(stored)) {
      if (living.count(node) == 0) nodes.push_back(node);
    }
    return nodes;
  }

  round_state translated(const torch_state& stored) const {
    round_state state;
    state.round = stored.round;
    state.complete = stored.complete;
    state.closed = stored.closed;
    state.participants = stored.participants;
    state.wait_list = stored.wait_list;
    state.redundancy_list = stored.redundancy_list;
    if (stored.deadline) {
      // Whoever set it waits so long from then on, by a clock that is not ours.
      const time_point seen = clock_.deadline_seen().value_or(time_->now());
      const bool is_own = own_deadline_ && own_deadline_->written == *stored.deadline;
      state.deadline = is_own ? own_deadline_->at : seen + settings_.last_call_timeout;
    }
    return state;
  }

  // Nodes that wait at the exit barrier are silent, and not dead for those that are in the round.
  task<std::vector<node_id>> without_ended(std::vector<node_id> silent, round_state in) {
    std::vector<node_id> dead;
    int arrived = co_await arrived_at_barrier(in.round);
    for (const node_id& node : silent) {
      const auto place = in.participants.find(node);
      bool is_spared = false;
      if (place != in.participants.end()) {
        is_spared = co_await has_said_its_end(in.round, place->second);
        if (!is_spared && arrived > 0) {
          is_spared = true;
          --arrived;
        }
      }
      if (!is_spared) dead.push_back(node);
    }
    co_return dead;
  }

  // PyTorch's newer barrier only counts: who has come there is not known, but how many. Nodes of
  // elasticrun say so by themselves, and are not among those that may be silent.
  task<int> arrived_at_barrier(std::int64_t round) {
    if (dialect_ != torch_dialect::torch_2_6) co_return 0;
    const std::string all = prefix(round) + "/torchelastic/agent/terminal_state/" + count_name;
    const std::string own = ended_prefix(round) + count_name;
    // This one first: it never counts more than the other.
    const std::int64_t told = co_await count_at(own);
    const std::int64_t arrived = co_await count_at(all);
    co_return static_cast<int>(arrived - told);
  }

  task<std::int64_t> count_at(std::string key) {
    std::vector<std::string> keys(1, key);
    const bool has_begun = co_await agents_->check(std::move(keys));
    if (!has_begun) co_return 0;
    co_return co_await agents_->add(key, 0);
  }

  task<bool> has_said_its_end(std::int64_t round, int rank) {
    if (dialect_ != torch_dialect::torch_2_6) co_return co_await has_ended(round, rank);
    std::vector<std::string> keys(1, ended_prefix(round) + std::to_string(rank));
    co_return co_await agents_->check(std::move(keys));
  }

  // Not part of torchrun's protocol.
  std::string ended_prefix(std::int64_t round) const {
    return prefix(round) + "/elastic/terminal_state/";
  }

  void bury(view& seen, const node_id& node) {
    round_state& state = seen.state;
    if (contains(state, node)) apply(state, round_action::leave_round, node, settings_, {});
    state.wait_list.erase(node);
    state.redundancy_list.erase(node);
    seen.stored.last_heartbeats.erase(node);
  }

  // ---- writing --------------------------------------------------------------------------------

  task<view> write(view wanted) {
    torch_state& stored = wanted.stored;
    const round_state& state = wanted.state;
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
    const auto set = [&wanted](rendezvous_backend& to) {
      return to.set(wanted.stored, wanted.token);
    };
    set_outcome outcome = co_await patiently<set_outcome>(set);
    co_return co_await take_in(std::move(outcome.stored));
  }

  torch_time wall_now() const {
    return std::chrono::time_point_cast<torch_time::duration>(time_->wall_now());
  }

  // Each is another one, also where the clock was set back: others look at whether it changes.
  torch_time next_heartbeat() {
    heartbeat_ = std::max(wall_now(), heartbeat_ + torch_time::duration(1));
    return heartbeat_;
  }

  // ---- heartbeats -----------------------------------------------------------------------------

  task<void> keep_alive() {
    for (;;) {
      co_await time_->sleep_until(time_->now() + settings_.keep_alive_interval);
      try {
        co_await beat();
      } catch (const error& failure) {
        // Whoever waits for the rendezvous hears of it, too.
        log_.debug("this node could not say that it lives: {}", failure.what());
      }
    }
  }

  task<void> beat() {
    if (backend_->watches_over_nodes()) {
      co_await announce();
      co_return;
    }
    view seen = co_await look();
    for (;;) {
      const auto mine = seen.stored.last_heartbeats.find(node_);
      if (mine == seen.stored.last_heartbeats.end()) co_return;
      const torch_time before = mine->second;
      mine->second = next_heartbeat();
      seen = co_await write(std::move(seen));
      const auto now = seen.stored.last_heartbeats.find(node_);
      if (now == seen.stored.last_heartbeats.end() || now->second > before) co_return;
    }
  }

  const std::string run_id_;
  const node_id node_;
  const rendezvous_settings settings_;
  const torch_dialect dialect_;
  const std::shared_ptr<rendezvous_backend> backend_;
  const std::shared_ptr<store> agents_;
  const std::shared_ptr<time_source> time_;
  const logger log_;
  torch_state_clock clock_;
  std::optional<own_deadline> own_deadline_;
  torch_time heartbeat_{};
  std::optional<event_flag> ended_;
  asio::cancellation_signal cancel_;
  bool spares_ended_ = false;
  bool was_reached_ = false;
  bool is_patient_ = true;
};

}  // namespace elastic::detail
