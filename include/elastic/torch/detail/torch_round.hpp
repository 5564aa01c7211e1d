// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/task_group.hpp>
#include <elastic/base/time.hpp>
#include <elastic/nodes/detail/round_machine.hpp>
#include <elastic/nodes/detail/round_state.hpp>
#include <elastic/rendezvous/detail/node_id.hpp>
#include <elastic/rendezvous/rendezvous_settings.hpp>
#include <elastic/store/store.hpp>
#include <elastic/torch/detail/life_sign.hpp>
#include <elastic/torch/detail/rendezvous_backend.hpp>
#include <elastic/torch/detail/torch_dialect.hpp>
#include <elastic/torch/detail/torch_state.hpp>
#include <elastic/torch/detail/torch_state_clock.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace elastic::detail {

/// One node's access to the state that the nodes of a rendezvous share. It reads the state in this
/// node's time, without dead nodes, changes it step by step, and shows that this node lives.
///
/// Thread-safety: one strand at a time; operations may run at the same time.
class torch_round final : public std::enable_shared_from_this<torch_round> {
 public:
  /// The state that was read, and its meaning for this node at that time.
  struct view {
    torch_state stored;
    /// Empty if nothing is stored.
    std::string token;
    /// In this node's time, without the nodes that are dead.
    round_state state;
    std::vector<node_id> dead;
  };

  ELASTIC_DECL torch_round(std::string run_id, node_id node, rendezvous_settings settings,
                           torch_dialect dialect, std::shared_ptr<rendezvous_backend> backend,
                           std::shared_ptr<store> agents, std::shared_ptr<time_source> time,
                           logger log);

  const node_id& node() const { return node_; }

  /// The prefix of the keys of one round in the agents' store.
  ELASTIC_DECL std::string prefix(std::int64_t round) const;

  /// Reads the current state.
  ELASTIC_DECL task<view> look();

  /// Carries out one step of this node on `current`.
  /// Result: the state that is stored then; the step was lost if another node was faster.
  ELASTIC_DECL task<view> carry_out(view current, round_action action);

  /// Marks the rendezvous as closed.
  ELASTIC_DECL task<void> close();

  /// Gives up this node's place, in the round or on a list.
  /// @param rejoins  it continues with the next round
  ELASTIC_DECL task<view> leave(bool rejoins);

  /// Waits until the state may have changed, at most until `deadline`.
  ELASTIC_DECL task<void> wait_for_change(std::string token, time_point deadline);

  /// Whether the workers of that node have ended. Then it waits for the others, and its heartbeats
  /// cease, because PyTorch's agents wait and write over one connection.
  ELASTIC_DECL task<bool> has_ended(std::int64_t round, int rank);

  /// Shows that the workers of this node have ended, if PyTorch's barrier only counts. This node
  /// waits there as well, and its heartbeats continue.
  ELASTIC_DECL task<void> tell_ended(std::int64_t round, int rank);

  /// Starts to show that this node lives, as long as it has a place.
  ELASTIC_DECL void start_heartbeats(asio::any_io_executor executor);
  ELASTIC_DECL task<void> stop_heartbeats();

  /// Sets whether nodes whose workers have ended may be silent. A node that looks for a new round
  /// must not wait for them, because they cannot know of it.
  void spare_ended(bool whether) { spares_ended_ = whether; }

  /// Whether the rendezvous was closed when the state was last read.
  bool is_closed() const { return is_closed_; }

  /// When the other nodes last heard this node, as far as it knows.
  const life_sign& sign() const { return sign_; }

  /// Shows that this node lives, unless it did so within an interval.
  ELASTIC_DECL task<void> refresh_sign();

  /// Why the last attempt to reach the state failed.
  const std::string& last_problem() const { return last_problem_; }

  /// From now on, does not retry if the backend is unreachable.
  void hurry() { is_patient_ = false; }

 private:
  static constexpr std::chrono::milliseconds retry_pause{200};
  inline static const std::string count_name = "num_members";

  struct own_deadline {
    torch_time written;
    time_point time;
  };

  // A store that was reached before may come back.
  template <class T, class Ask>
  task<T> patiently(Ask ask) {
    const time_point limit = time_->now() + limits::rendezvous_reconnect_timeout;
    for (;;) {
      std::exception_ptr failure;
      try {
        task<T> asking = ask(*backend_);
        std::optional<T> answer =
            co_await with_deadline(*time_, time_->now() + settings_.silence(), std::move(asking));
        if (answer) {
          was_reached_ = true;
          co_return std::move(*answer);
        }
        throw error(errc::connection_failed, "cannot read the rendezvous state: no reply");
      } catch (const error& problem) {
        const bool may_come_back = problem.code() == errc::connection_failed && was_reached_ &&
                                   is_patient_ && time_->now() < limit;
        last_problem_ = problem.what();
        if (!may_come_back) throw;
        log_.debug("cannot reach the rendezvous state, trying again: {}", problem.what());
      }
      co_await time_->sleep_until(time_->now() + retry_pause);
    }
  }

  ELASTIC_DECL bool is_named(const round_state& state) const;

  // ---- reading --------------------------------------------------------------------------------

  ELASTIC_DECL task<view> take_in(std::optional<stored_state> stored);

  ELASTIC_DECL round_state translated(const torch_state& stored) const;

  // Nodes that wait at the exit barrier are silent. To the nodes in the round they are not dead.
  ELASTIC_DECL task<std::vector<node_id>> without_ended(std::vector<node_id> silent,
                                                        round_state state);

  // PyTorch's newer barrier only counts: it shows how many nodes have arrived, but not which. Nodes
  // of elasticrun report their arrival separately, and are not among those that may be silent.
  ELASTIC_DECL task<int> arrived_at_barrier(std::int64_t round);
  ELASTIC_DECL task<int> count_at(std::string key);
  ELASTIC_DECL task<bool> has_said_its_end(std::int64_t round, int rank);

  // Not part of torchrun's protocol.
  ELASTIC_DECL std::string ended_prefix(std::int64_t round) const;
  ELASTIC_DECL void remove_dead_node(view& current, const node_id& node);

  // ---- writing --------------------------------------------------------------------------------

  ELASTIC_DECL task<view> write(view next);
  ELASTIC_DECL torch_time wall_now() const;

  // Each heartbeat differs from the last one, even if the clock was set back: other nodes check
  // whether it changes.
  ELASTIC_DECL torch_time next_heartbeat();

  // Whether that heartbeat of this node is visible in the state.
  ELASTIC_DECL bool shows(const torch_state& stored, torch_time heartbeat) const;

  // ---- heartbeats -----------------------------------------------------------------------------

  ELASTIC_DECL static task<void> keep_alive(std::shared_ptr<torch_round> round);
  ELASTIC_DECL task<void> beat();

  const std::string run_id_;
  const node_id node_;
  const rendezvous_settings settings_;
  const torch_dialect dialect_;
  const std::shared_ptr<rendezvous_backend> backend_;
  const std::shared_ptr<store> agents_;
  const std::shared_ptr<time_source> time_;
  const logger log_;
  life_sign sign_;
  std::string last_problem_ = "no reply";
  torch_state_clock clock_;
  std::optional<own_deadline> own_deadline_;
  torch_time heartbeat_{};
  std::optional<task_group> heartbeats_;
  bool spares_ended_ = false;
  bool is_closed_ = false;
  bool was_reached_ = false;
  bool is_patient_ = true;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/torch/detail/torch_round.ipp>
#endif
