// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/race.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/host_name.hpp>
#include <elastic/net/local_address.hpp>
#include <elastic/rendezvous/detail/job_failures.hpp>
#include <elastic/rendezvous/detail/torch_round.hpp>
#include <elastic/rendezvous/exit_barrier.hpp>
#include <elastic/rendezvous/gather.hpp>
#include <elastic/rendezvous/master_keys.hpp>
#include <elastic/rendezvous/node_id.hpp>
#include <elastic/rendezvous/rendezvous_backend.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/rendezvous/rendezvous_settings.hpp>
#include <elastic/rendezvous/round_machine.hpp>
#include <elastic/rendezvous/torch_dialect.hpp>
#include <elastic/rendezvous/worker_store_host.hpp>
#include <elastic/store/prefix_store.hpp>
#include <elastic/store/store.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic {

/// What a dynamic_rendezvous is made from.
struct dynamic_rendezvous_options {
  rendezvous_parameters parameters;
  /// How the agents of the job talk.
  torch_dialect dialect = torch_dialect::torch_2_6;
  /// Where the state is kept, and a store for what else agents tell each other. Must be set.
  std::shared_ptr<rendezvous_backend> backend;
  std::shared_ptr<store> agents;
  /// Tells this agent from all others.
  node_id node;
  /// A numeric address of this host that the other nodes can reach.
  std::string address = "127.0.0.1";
};

/// A rendezvous without a server that decides, as torchrun's: nodes share one state and each takes
/// its own steps in it, by the rules of torchrun, whose nodes may be among them.
///
/// A node that is silent for `keep_alive_interval` x `keep_alive_max_attempt` is lost; no clock of
/// another node counts. In a round of nodes of elasticrun alone failures of workers are counted
/// for the job, and its nodes agree on the count. In one with nodes of torchrun each node counts
/// those of its own workers, as these do.
///
/// Thread-safety: one strand at a time.
/// Source: torch.distributed.elastic.rendezvous.dynamic_rendezvous.
class dynamic_rendezvous final : public rendezvous_handler {
 public:
  /// Errors: `errc::invalid_argument` for a setting out of bounds.
  explicit dynamic_rendezvous(dynamic_rendezvous_options options)
      : parameters_(std::move(options.parameters)),
        settings_(parameters_.settings()),
        dialect_(options.dialect),
        agents_(std::move(options.agents)),
        address_(std::move(options.address)),
        workers_(with_sharing(parameters_, dialect_)),
        shared_(std::make_shared<detail::torch_round>(
            parameters_.run_id, std::move(options.node), settings_, dialect_,
            std::move(options.backend), agents_, parameters_.time, parameters_.log)),
        failures_(agents_, parameters_.run_id) {}

  std::string backend() const override { return parameters_.backend; }
  std::string run_id() const override { return parameters_.run_id; }

  task<rendezvous_round> next_round() override {
    auto executor = co_await asio::this_coro::executor;
    for (;;) {
      co_await workers_.stop();
      shared_->start_heartbeats(executor);
      change_.reset();
      is_finished_ = false;
      counts_together_ = false;
      members_.clear();
      shared_->spare_ended(false);
      co_await with_rollback(join(), give_up_place());
      std::optional<rendezvous_round> met = co_await placed_round();
      if (met) co_return std::move(*met);
      parameters_.log.debug("rendezvous '{}', round {}: meeting again: {}", run_id(), round_,
                            change_->what);
    }
  }

  task<rendezvous_change> wait_for_change() override {
    while (!change_) {
      view seen = co_await shared_->look();
      if (seen.state.closed) {
        co_await check_end();
      } else {
        std::optional<rendezvous_change> found = co_await explained_change_of(seen);
        // It may have been found by another meanwhile.
        if (found && !change_) change_ = std::move(found);
        if (change_) break;
      }
      const time_point limit = now() + settings_.keep_alive_interval;
      co_await shared_->wait_for_change(seen.token, limit);
    }
    co_return *change_;
  }

  task<rendezvous_change> report_failure(std::string what) override {
    const view seen = co_await shared_->look();
    if (seen.state.closed) co_await throw_closed();
    if (!change_) {
      std::optional<rendezvous_change> found = co_await explained_change_of(seen);
      if (!change_) change_ = std::move(found);
    }
    if (!change_) {
      rendezvous_change failed = co_await count_failure(std::move(what));
      if (!change_) change_ = std::move(failed);
    }
    co_return *change_;
  }

  task<void> exit_barrier() override {
    is_finished_ = true;
    task<void> meeting = gathers() ? gather_at_exit() : count_at_exit();
    co_await std::move(meeting);
    // A node that has failed comes here as well, so that PyTorch's agents do not wait for it.
    const std::optional<job_ending> end = co_await ending();
    if (end && end->how == job_end::failed) throw error(errc::rendezvous_closed, end->why);
  }

  task<int> num_nodes_waiting() override {
    const view seen = co_await shared_->look();
    co_return static_cast<int>(seen.state.wait_list.size());
  }

  task<bool> is_closed() override {
    const view seen = co_await shared_->look();
    co_return seen.state.closed;
  }

  task<void> close(job_end how, std::string why) override {
    // Whoever served the state may have left, once the job has succeeded.
    shared_->hurry();
    const time_point limit = now() + limits::rendezvous_absence;
    bool is_told = false;
    try {
      is_told = co_await with_deadline(*parameters_.time, limit, tell_end(how, std::move(why)));
    } catch (const error& failure) {
      if (how == job_end::failed || failure.code() != errc::connection_failed) throw;
      is_told = true;
    }
    if (!is_told) throw error(errc::timed_out, "the rendezvous' store does not answer");
  }

  task<void> shutdown() override {
    shared_->hurry();
    co_await shared_->stop_heartbeats();
    co_await workers_.stop();
    co_await say_farewell(depart());
  }

 private:
  using view = detail::torch_round::view;
  using counted_failures = detail::counted_failures;
  using job_failures = detail::job_failures;

  struct job_ending {
    job_end how = job_end::failed;
    std::string why;
  };

  inline static const std::string terminal_state = "torchelastic/agent/terminal_state";
  inline static const std::string failed_word = "failed: ";
  inline static const std::string succeeded_word = "succeeded: ";
  /// How long the node of rank 0 has to say where it serves the workers of a round: PyTorch's
  /// agents of 2.6 and newer may say so in the first round only.
  static constexpr std::chrono::seconds master_patience{5};

  // Agents of before 2.4 do not serve the workers' store.
  static rendezvous_parameters with_sharing(rendezvous_parameters parameters,
                                            torch_dialect dialect) {
    if (dialect != torch_dialect::torch_2_6) parameters.share_worker_store = false;
    return parameters;
  }

  bool gathers() const { return dialect_ != torch_dialect::torch_2_6; }
  int size() const { return static_cast<int>(members_.size()); }
  time_point now() const { return parameters_.time->now(); }

  // ---- joining --------------------------------------------------------------------------------

  task<void> join() {
    time_point deadline = now() + settings_.join_timeout;
    co_await shared_->announce();
    view seen = co_await shared_->leave(true);
    task<void> introduction = failures_.introduce(shared_->node());
    co_await with_deadline(*parameters_.time, deadline, std::move(introduction));
    std::string_view told;
    for (;;) {
      const round_decision next = decide_join(seen.state, shared_->node(), settings_,
                                              shared_->rules(), now(), deadline);
      if (told != next.reason) {
        parameters_.log.debug("rendezvous '{}', round {}: {}", run_id(), seen.state.round,
                              next.reason);
      }
      told = next.reason;
      switch (next.action) {
        case round_action::placed:
          if (is_whole(seen.state)) {
            take_place(seen.state);
            co_return;
          }
          seen = co_await shared_->carry_out(std::move(seen), round_action::leave_to_rejoin);
          break;
        case round_action::refuse_closed: co_await throw_closed(); break;
        case round_action::refuse_timeout: throw_timeout(seen.state); break;
        case round_action::wait:
          co_await shared_->wait_for_change(seen.token, next_look(seen.state, deadline));
          seen = co_await shared_->look();
          break;
        default:
          // Who stood by begins to wait anew.
          if (next.action == round_action::leave_redundancy_list) {
            deadline = now() + settings_.join_timeout;
          }
          seen = co_await shared_->carry_out(std::move(seen), next.action);
      }
    }
  }

  // When time alone makes a difference.
  time_point next_look(const round_state& state, time_point deadline) const {
    time_point next = now() + settings_.keep_alive_interval;
    if (state.deadline && *state.deadline > now()) next = std::min(next, *state.deadline);
    if (deadline >= now()) next = std::min(next, deadline + std::chrono::milliseconds(1));
    return next;
  }

  // Some may have left a round before this node saw it complete: then its ranks do not fit, or its
  // nodes are too few. That the last of the ranks are missing does not show; those who saw them in
  // the round notice that they are gone, and all meet again.
  bool is_whole(const round_state& state) const {
    const int size = static_cast<int>(state.participants.size());
    return size >= settings_.min_nodes &&
           std::all_of(state.participants.begin(), state.participants.end(),
                       [size](const auto& place) { return place.second < size; });
  }

  void take_place(const round_state& state) {
    members_ = state.participants;
    round_ = state.round;
    rank_ = members_.at(shared_->node());
    shared_->spare_ended(true);
    round_agents_ = std::make_shared<prefix_store>(shared_->prefix(round_), agents_);
  }

  [[noreturn]] void throw_timeout(const round_state& state) const {
    throw error(errc::rendezvous_timeout,
                fmt::format("no place in a round of '{}' within {} s (--rdzv-conf join_timeout): "
                            "round {} has {} of {} to {} nodes",
                            run_id(), std::chrono::duration<double>(settings_.join_timeout).count(),
                            state.round, state.participants.size(), settings_.min_nodes,
                            settings_.max_nodes));
  }

  // None where the round is to end already.
  task<std::optional<rendezvous_round>> placed_round() {
    rendezvous_round met;
    met.round = round_;
    met.group_rank = rank_;
    met.group_world_size = size();
    met.agents = round_agents_;
    met.dialect = gathers() ? agent_dialect::gather : agent_dialect::assign;
    if (rank_ == 0) {
      met.master = workers_.serve(co_await asio::this_coro::executor, address_,
                                  is_loopback(address_));
    }
    const bool has_count = co_await agree_on_restarts();
    if (!has_count) co_return std::nullopt;
    met.restarts = restarts_;
    if (gathers()) co_return met;
    const std::optional<master_endpoint> master = co_await shared_master(met.master);
    if (!master) co_return std::nullopt;
    met.master = *master;
    co_return met;
  }

  // How often workers of the job have failed before this round, as the node of rank 0 says: one
  // that fails early in the round changes it for nobody. Result: false where the round is to end
  // first.
  task<bool> agree_on_restarts() {
    const time_point limit = now() + settings_.join_timeout;
    std::optional<job_failures::agreement> told;
    const std::map<node_id, int> members = members_;
    task<void> agreeing = keep(failures_.agree(round_agents_, members, rank_), told);
    task<void> agreeing_in_round = agree_or_change(std::move(agreeing));
    co_await with_deadline(*parameters_.time, limit, std::move(agreeing_in_round));
    if (!told && change_) co_return false;
    if (!told) {
      throw error(errc::rendezvous_timeout,
                  "the node of rank 0 did not say how often workers of the job have failed");
    }
    counts_together_ = told->is_joint;
    restarts_ = told->is_joint ? told->restarts : own_failures_;
    co_return true;
  }

  // Agents of PyTorch 2.4 and newer agree on it before they tell about their workers. None where
  // the round is to end first: the node of rank 0 may be the one that is lost.
  task<std::optional<master_endpoint>> shared_master(master_endpoint mine) {
    mine.served_by_agent = parameters_.share_worker_store;
    const time_point limit = now() + (master_ ? duration(master_patience) : settings_.join_timeout);
    std::optional<master_endpoint> told;
    task<void> agreeing = keep(agree_on_master(round_agents_, mine, rank_), told);
    task<void> agreeing_in_round = agree_or_change(std::move(agreeing));
    co_await with_deadline(*parameters_.time, limit, std::move(agreeing_in_round));
    if (told) master_ = told;
    if (!told && change_) co_return std::nullopt;
    if (master_) co_return *master_;
    throw error(errc::rendezvous_timeout,
                "the node of rank 0 did not say where it serves the workers' store");
  }

  template <class T>
  static task<void> keep(task<T> work, std::optional<T>& result) {
    result = co_await std::move(work);
  }

  task<void> agree_or_change(task<void> agreeing) {
    co_await race(std::move(agreeing), note_change());
  }

  task<void> note_change() { co_await wait_for_change(); }

  // ---- what happens in a round ----------------------------------------------------------------

  // A node that leaves because its workers failed looks like one that leaves to meet another.
  task<std::optional<rendezvous_change>> explained_change_of(view seen) {
    std::optional<rendezvous_change> found = co_await change_of(std::move(seen));
    if (!found || !counts_together_) co_return found;
    const counted_failures counted = co_await failures_.counted();
    if (counted.round == round_) found = failure_of(counted);
    co_return found;
  }

  // Once for each round, whoever fails in it.
  task<rendezvous_change> count_failure(std::string what) {
    std::string text = fmt::format("node {}: {}", shared_->node().text(), what);
    const std::string mine = counted_failures::shortened(text);
    const counted_failures counted = co_await failures_.count(round_, std::move(text));
    if (counts_together_ && counted.round != round_) {
      co_return change(change_kind::node_lost, "the other nodes have gone on without this one");
    }
    if (!counts_together_ || counted.what == mine) ++own_failures_;
    if (counts_together_) co_return failure_of(counted);
    restarts_ = own_failures_;
    co_return change(change_kind::worker_failed, std::move(what));
  }

  static rendezvous_change failure_of(const counted_failures& counted) {
    return {change_kind::worker_failed, counted.what, counted.restarts};
  }

  task<std::optional<rendezvous_change>> change_of(view seen) {
    const round_state& state = seen.state;
    const std::map<node_id, int> members = members_;
    if (state.round != round_ || !detail::contains(state, shared_->node())) {
      co_return change(change_kind::node_lost, "the other nodes have gone on without this one");
    }
    for (const auto& [node, its_rank] : members) {
      if (detail::contains(state, node)) continue;
      if (state.wait_list.count(node) != 0) {
        co_return change(change_kind::node_waiting,
                         fmt::format("node {} has left the round to meet again", node.text()));
      }
      const bool is_dead = std::count(seen.dead.begin(), seen.dead.end(), node) != 0;
      if (!is_dead && gathers() && co_await shared_->has_ended(round_, its_rank)) continue;
      co_return change(change_kind::node_lost,
                       fmt::format("node {} {}", node.text(),
                                   is_dead ? "does not answer" : "has left or was given up"));
    }
    // Whose workers are done does not begin anew for one that comes late, nor does a full round:
    // it would not take that node in, and would end again and again.
    const bool has_room = static_cast<int>(state.participants.size()) < settings_.max_nodes;
    if (!state.wait_list.empty() && has_room && !is_finished_) {
      co_return change(change_kind::node_waiting, fmt::format("node {} waits to join",
                                                              state.wait_list.begin()->text()));
    }
    co_return std::nullopt;
  }

  rendezvous_change change(change_kind kind, std::string what) const {
    return {kind, std::move(what), restarts_};
  }

  // ---- the end --------------------------------------------------------------------------------

  task<void> gather_at_exit() {
    const std::string mine = std::to_string(rank_);
    co_await detail::tell_and_read(round_agents_, terminal_state, mine, rank_, size());
    if (rank_ != 0) co_return;
    // All have come: one that does not get to read that has died meanwhile.
    const time_point limit = now() + settings_.silence();
    task<void> reading = detail::wait_for_readers(round_agents_, terminal_state, size());
    co_await with_deadline(*parameters_.time, limit, std::move(reading));
  }

  task<void> count_at_exit() {
    const std::int64_t arrived = co_await detail::come_to_exit_barrier(round_agents_, size());
    if (arrived >= size()) co_return;
    co_await shared_->tell_ended(round_, rank_);
    co_await detail::wait_at_exit_barrier(round_agents_);
  }

  /// Not part of torchrun's protocol: how the job has ended, for nodes of elasticrun.
  std::string ending_key() const {
    return fmt::format("torch.rendezvous.{}.elastic/end", run_id());
  }

  task<std::optional<job_ending>> ending() {
    std::vector<std::string> keys(1, ending_key());
    const bool is_told = co_await agents_->check(std::move(keys));
    if (!is_told) co_return std::nullopt;
    const std::string key = ending_key();
    const std::string text = co_await agents_->get(key);
    job_ending end;
    const bool has_succeeded = text.rfind(succeeded_word, 0) == 0;
    if (has_succeeded) end.how = job_end::succeeded;
    const std::string& word = has_succeeded ? succeeded_word : failed_word;
    end.why = text.substr(std::min(text.size(), word.size()));
    co_return end;
  }

  task<void> throw_closed() {
    const std::optional<job_ending> end = co_await ending();
    if (!end) {
      throw error(errc::rendezvous_closed,
                  fmt::format("the rendezvous '{}' was closed by a node of torchrun, which does "
                              "not say how the job has ended",
                              run_id()));
    }
    throw error(end->how == job_end::succeeded ? errc::rendezvous_finished
                                               : errc::rendezvous_closed,
                end->why);
  }

  /// The rendezvous was closed: an error, unless all workers have succeeded and only this node is
  /// still about to hear of it.
  task<void> check_end() {
    if (is_finished_) {
      const std::optional<job_ending> end = co_await ending();
      if (end && end->how == job_end::succeeded) co_return;
      if (!end && co_await all_have_ended()) co_return;
    }
    co_await throw_closed();
  }

  task<void> tell_end(job_end how, std::string why) {
    const std::string text = (how == job_end::failed ? failed_word : succeeded_word) + why;
    const std::string key = ending_key();
    const std::string nothing;
    co_await agents_->compare_set(key, nothing, text);
    co_await shared_->close();
    if (how == job_end::failed) co_await release_barrier();
  }

  task<bool> all_have_ended() {
    std::vector<std::string> keys;
    if (gathers()) keys = detail::rank_keys(terminal_state, size(), "");
    if (!gathers()) keys.push_back(terminal_state + "/last_member");
    co_return co_await round_agents_->check(std::move(keys));
  }

  // PyTorch's agents, whose workers may have succeeded, would wait for this node's.
  task<void> release_barrier() {
    if (!gathers() || members_.empty()) co_return;
    const std::string key = terminal_state + std::to_string(rank_);
    std::vector<std::pair<std::string, std::string>> pairs;
    pairs.emplace_back(key, std::to_string(rank_));
    pairs.emplace_back(key + detail::gathered_suffix, "FIN");
    co_await round_agents_->multi_set(std::move(pairs));
  }

  task<void> give_up_place() { return say_farewell(give_up_any_place()); }

  task<void> say_farewell(task<void> words) {
    const time_point limit = now() + limits::rendezvous_farewell;
    try {
      co_await with_deadline(*parameters_.time, limit, std::move(words));
    } catch (const error& failure) {
      // Then the others find out that this node is gone.
      parameters_.log.debug("could not leave the rendezvous: {}", failure.what());
    }
  }

  task<void> give_up_any_place() { co_await shared_->leave(false); }

  task<void> depart() {
    co_await shared_->leave(false);
    co_await shared_->withdraw();
  }

  rendezvous_parameters parameters_;
  rendezvous_settings settings_;
  torch_dialect dialect_;
  std::shared_ptr<store> agents_;
  std::string address_;
  worker_store_host workers_;
  std::shared_ptr<detail::torch_round> shared_;
  /// The round that this node is in: its nodes with their ranks.
  std::map<node_id, int> members_;
  std::int64_t round_ = -1;
  int rank_ = 0;
  std::shared_ptr<store> round_agents_;
  /// Where the workers of the last round met.
  std::optional<master_endpoint> master_;
  std::optional<rendezvous_change> change_;
  job_failures failures_;
  /// Whether the round's nodes agree on `restarts_`; if not, these are `own_failures_`.
  bool counts_together_ = false;
  int restarts_ = 0;
  int own_failures_ = 0;
  bool is_finished_ = false;
};

}  // namespace elastic
