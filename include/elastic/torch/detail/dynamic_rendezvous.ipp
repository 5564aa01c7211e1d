// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/torch/detail/dynamic_rendezvous.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/detail/required.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/race.hpp>
#include <elastic/base/scope.hpp>
#include <elastic/net/local_address.hpp>
#include <elastic/nodes/detail/round_machine.hpp>
#include <elastic/rendezvous/detail/master_keys.hpp>
#include <elastic/store/prefix_store.hpp>
#include <elastic/store/tcp_store.hpp>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL dynamic_rendezvous::dynamic_rendezvous(dynamic_rendezvous_options options)
    : parameters_(std::move(options.parameters)),
      settings_(parameters_.settings()),
      dialect_(options.dialect),
      agents_(required(std::move(options.agents), "dynamic_rendezvous: the store")),
      host_(std::move(options.host)),
      address_(std::move(options.address)),
      workers_(with_sharing(parameters_, dialect_), worker_store_host::ports::kept),
      shared_(new_shared<torch_round>(
          parameters_.run_id, std::move(options.node), settings_, dialect_,
          required(std::move(options.backend), "dynamic_rendezvous: the backend"), agents_,
          parameters_.time, parameters_.log)),
      failures_(agents_, parameters_.run_id) {}

ELASTIC_DECL task<void> dynamic_rendezvous::meet() { met_ = co_await next_round(); }

ELASTIC_DECL task<rendezvous_round> dynamic_rendezvous::next_round() {
  if (met_) co_return *std::exchange(met_, std::nullopt);
  rendezvous_round round = co_await another_round();
  if (host_) host_->forget_rounds(run_id(), round.round - 1);
  co_return round;
}

ELASTIC_DECL task<rendezvous_round> dynamic_rendezvous::another_round() {
  auto executor = co_await asio::this_coro::executor;
  for (;;) {
    co_await workers_.stop();
    shared_->start_heartbeats(executor);
    co_await come_back();
    const bool has_failed = change_ && change_->kind == rendezvous_change::cause::worker_failed;
    if (has_failed && counts_alone() && !change_->on_other_node) {
      co_await await_failures_at_torchrun();
    }
    was_alone_ = counts_alone();
    change_.reset();
    exit_ = {};
    counting_.reset();
    members_.clear();
    shared_->spare_ended(false);
    co_await with_rollback(join(), try_to_leave(give_up_any_place()));
    std::optional<rendezvous_round> round = co_await placed_round();
    if (round) {
      co_await shared_->refresh_sign();
      co_return std::move(*round);
    }
    parameters_.log.debug("rendezvous '{}', round {}: meeting again: {}", run_id(), round_,
                          change_->reason);
  }
}

ELASTIC_DECL task<rendezvous_change> dynamic_rendezvous::wait_for_change() {
  if (!change_) co_await race(await_change(), give_up_in_time());
  co_return *change_;
}

ELASTIC_DECL task<void> dynamic_rendezvous::wait_for_fence() {
  co_await shared_->sign().wait_for_kill();
  // Nobody continues a job that was closed.
  if (shared_->is_closed()) co_await parameters_.time->sleep_until(time_point::max());
}

ELASTIC_DECL task<void> dynamic_rendezvous::give_up_in_time() {
  co_await shared_->sign().wait_for_notice();
  // A node whose workers are done has none to stop.
  if (exit_.has_begun()) co_await parameters_.time->sleep_until(time_point::max());
  note(cut_off_change(shared_->sign(), shared_->last_problem(), restarts_));
  is_cut_off_ = true;
}

ELASTIC_DECL task<void> dynamic_rendezvous::come_back() {
  if (!is_cut_off_) co_return;
  task<void> looking = look_once();
  std::string why = cut_off_text(shared_->sign(), shared_->last_problem());
  co_await reach_again(parameters_.time, std::move(looking), std::move(why));
  is_cut_off_ = false;
}

ELASTIC_DECL task<void> dynamic_rendezvous::look_once() { co_await shared_->look(); }

ELASTIC_DECL task<void> dynamic_rendezvous::await_change() {
  while (!change_) {
    view current = co_await shared_->look();
    if (current.state.closed) {
      const std::optional<job_ending> end = co_await ending();
      std::optional<rendezvous_handler::job_end> how;
      if (end) how = end->how;
      const bool is_passed = co_await exit_.is_passed(how);
      if (!closed_since_) closed_since_ = now();
      // Nodes of this round that have learned of the end do not come to its barrier.
      const bool is_alone = end && now() >= *closed_since_ + settings_.silence();
      if (!is_passed || is_alone) throw closed_error(run_id(), end);
    } else {
      std::optional<rendezvous_change> detected = co_await explained_change_of(current);
      if (detected) note(std::move(*detected));
      if (change_) break;
    }
    const time_point limit = now() + settings_.keep_alive_interval;
    co_await shared_->wait_for_change(current.token, limit);
  }
}

ELASTIC_DECL task<rendezvous_change> dynamic_rendezvous::report_failure(std::string reason) {
  co_await race(publish_failure(std::move(reason)), give_up_in_time());
  co_return *change_;
}

ELASTIC_DECL task<void> dynamic_rendezvous::publish_failure(std::string reason) {
  const view current = co_await shared_->look();
  if (current.state.closed) co_await throw_closed();
  if (!change_) {
    std::optional<rendezvous_change> detected = co_await explained_change_of(current);
    if (detected) note(std::move(*detected));
  }
  if (!change_) {
    rendezvous_change failed = co_await count_failure(std::move(reason));
    note(std::move(failed));
  }
}

ELASTIC_DECL void dynamic_rendezvous::note(rendezvous_change detected) {
  if (change_) return;
  if (counts_alone() && detected.kind == rendezvous_change::cause::worker_failed) {
    restarts_ = ++own_failures_;
    detected.restarts = restarts_;
  }
  change_ = std::move(detected);
}

ELASTIC_DECL task<void> dynamic_rendezvous::exit_barrier() {
  const std::function<task<void>()> announce = [this] {
    return shared_->tell_ended(round_, rank_);
  };
  co_await exit_.wait(parameters_.time, settings_.silence(), announce);
  // A node that has failed also comes here, so that PyTorch's agents do not wait for it.
  const std::optional<job_ending> end = co_await ending();
  if (end && end->how == rendezvous_handler::job_end::failed) throw closed_error(run_id(), end);
}

ELASTIC_DECL task<void> dynamic_rendezvous::close(rendezvous_handler::job_end how,
                                                  std::string why) {
  end_ = how;
  // After the success of the job, the node that served the state may have left.
  shared_->hurry();
  const time_point limit = now() + limits::rendezvous_reconnect_timeout;
  bool is_told = false;
  try {
    is_told = co_await with_deadline(*parameters_.time, limit, tell_end(how, std::move(why)));
  } catch (const error& failure) {
    if (how == rendezvous_handler::job_end::failed || failure.code() != errc::connection_failed) {
      throw;
    }
    is_told = true;
  }
  if (!is_told) throw error(errc::timed_out, "the rendezvous' store does not answer");
}

ELASTIC_DECL task<void> dynamic_rendezvous::shutdown() {
  if (host_ && !end_) co_await close_before_leaving();
  shared_->hurry();
  co_await shared_->stop_heartbeats();
  co_await workers_.stop();
  co_await try_to_leave(give_up_any_place());
  if (host_) co_await end_host();
}

ELASTIC_DECL task<void> dynamic_rendezvous::close_before_leaving() {
  try {
    co_await close(rendezvous_handler::job_end::failed,
                   "the node that hosts the rendezvous has left the job");
  } catch (const error& failure) {
    parameters_.log.debug("could not close the rendezvous: {}", failure.what());
  }
}

ELASTIC_DECL task<void> dynamic_rendezvous::end_host() {
  const duration patience = end_ == rendezvous_handler::job_end::succeeded
                                ? duration(linger_timeout)
                                : duration(short_linger_timeout);
  const time_point limit = now() + patience;
  while (host_->connections() > 0 && now() < limit) {
    co_await parameters_.time->sleep_until(now() + linger_pause);
  }
  const std::shared_ptr<rendezvous_host> ended = std::move(host_);
  co_await ended->stop();
}

ELASTIC_DECL rendezvous_parameters
dynamic_rendezvous::with_sharing(rendezvous_parameters parameters, torch_dialect dialect) {
  if (agents_of(dialect) == rendezvous_round::agent_dialect::gather) {
    parameters.share_worker_store = false;
  }
  return parameters;
}

ELASTIC_DECL task<void> dynamic_rendezvous::join() {
  time_point deadline = now() + settings_.join_timeout;
  view current = co_await shared_->leave(true);
  task<void> introduction = failures_.introduce(shared_->node());
  co_await with_deadline(*parameters_.time, deadline, std::move(introduction));
  std::string_view logged_reason;
  for (;;) {
    const round_decision next = decide_join(
        current.state, shared_->node(), settings_, rules_of(dialect_), now(), deadline);
    if (logged_reason != next.reason) {
      parameters_.log.debug("rendezvous '{}', round {}: {}", run_id(), current.state.round,
                            next.reason);
    }
    logged_reason = next.reason;
    switch (next.action) {
      case round_action::placed:
        if (is_whole(current.state)) {
          take_place(current.state);
          co_return;
        }
        current =
            co_await shared_->carry_out(std::move(current), round_action::leave_to_rejoin);
        break;
      case round_action::refuse_closed: co_await throw_closed(); break;
      case round_action::refuse_timeout: throw_timeout(current.state); break;
      case round_action::wait:
        co_await shared_->wait_for_change(current.token, next_look(current.state, deadline));
        current = co_await shared_->look();
        break;
      case round_action::enter_round:
        co_await clear_worker_keys(current.state.round);
        current = co_await shared_->carry_out(std::move(current), next.action);
        break;
      default:
        // The join timeout of a node that stood by starts again.
        if (next.action == round_action::leave_redundancy_list) {
          deadline = now() + settings_.join_timeout;
        }
        current = co_await shared_->carry_out(std::move(current), next.action);
    }
  }
}

ELASTIC_DECL time_point dynamic_rendezvous::next_look(const round_state& state,
                                                      time_point deadline) const {
  time_point next = now() + settings_.keep_alive_interval;
  if (state.deadline && *state.deadline > now()) next = std::min(next, *state.deadline);
  if (deadline >= now()) next = std::min(next, deadline + std::chrono::milliseconds(1));
  return next;
}

ELASTIC_DECL bool dynamic_rendezvous::is_whole(const round_state& state) const {
  const int size = static_cast<int>(state.participants.size());
  return size >= settings_.min_nodes &&
         std::all_of(state.participants.begin(), state.participants.end(),
                     [size](const auto& entry) { return entry.second < size; });
}

ELASTIC_DECL void dynamic_rendezvous::take_place(const round_state& state) {
  members_ = state.participants;
  round_ = state.round;
  rank_ = members_.at(shared_->node());
  shared_->spare_ended(true);
  round_agents_ = new_shared<prefix_store>(shared_->prefix(round_), agents_);
  exit_ = torch_exit(round_agents_, rank_, size(), dialect_);
}

ELASTIC_DECL void dynamic_rendezvous::throw_timeout(const round_state& state) const {
  throw error(errc::rendezvous_timeout,
              fmt::format("no place in a round of '{}' within {} s ({}): round {} has {} of {} to "
                          "{} nodes",
                          run_id(), std::chrono::duration<double>(settings_.join_timeout).count(),
                          parameters_.name_of("join_timeout"), state.round,
                          state.participants.size(), settings_.min_nodes, settings_.max_nodes));
}

ELASTIC_DECL task<std::optional<rendezvous_round>> dynamic_rendezvous::placed_round() {
  rendezvous_round round;
  round.round = round_;
  round.group_rank = rank_;
  round.group_world_size = size();
  round.agents = round_agents_;
  round.dialect = agents_of(dialect_);
  if (rank_ == 0) {
    const meeting_place nowhere;
    round.master = co_await workers_.serve(address_, is_loopback(address_), nowhere);
  }
  const bool has_count = co_await agree_on_restarts();
  if (!has_count) co_return std::nullopt;
  round.restarts = restarts_;
  if (gathers()) co_return round;
  const std::optional<rendezvous_round::master_endpoint> master =
      co_await shared_master(round.master);
  if (!master) co_return std::nullopt;
  round.master = *master;
  co_return round;
}

ELASTIC_DECL task<bool> dynamic_rendezvous::agree_on_restarts() {
  const time_point limit = now() + settings_.join_timeout;
  std::optional<job_failures::agreement> agreed;
  const std::map<node_id, int> members = members_;
  task<void> agreeing = keep(failures_.agree(round_agents_, members, rank_), agreed);
  task<void> agreeing_in_round = agree_or_change(std::move(agreeing));
  co_await with_deadline(*parameters_.time, limit, std::move(agreeing_in_round));
  if (!agreed && change_) co_return false;
  if (!agreed) {
    throw error(errc::rendezvous_timeout,
                "the node of rank 0 did not say how often workers of the job have failed");
  }
  counting_ = agreed->is_joint ? counting::together : counting::alone;
  restarts_ = agreed->is_joint ? agreed->restarts : own_failures_;
  co_return true;
}

ELASTIC_DECL task<std::optional<rendezvous_round::master_endpoint>>
dynamic_rendezvous::shared_master(rendezvous_round::master_endpoint mine) {
  mine.served_by_agent = parameters_.share_worker_store;
  if (rank_ == 0 && mine.served_by_agent && !counts_together()) {
    mine = co_await remembered_master(mine);
  }
  std::optional<rendezvous_round::master_endpoint> agreed =
      co_await agreed_master(mine, now() + master_patience);
  if (!agreed && !change_ && !master_) {
    master_ = co_await earlier_master(round_);
    if (master_) master_->served_by_agent = mine.served_by_agent;
  }
  if (!agreed && !change_ && !master_) {
    agreed = co_await agreed_master(mine, now() + settings_.join_timeout);
  }
  if (agreed) master_ = agreed;
  if (!agreed && change_) co_return std::nullopt;
  if (master_) co_return *master_;
  throw error(errc::rendezvous_timeout,
              "the node of rank 0 did not say where it serves the workers' store");
}

ELASTIC_DECL task<std::optional<rendezvous_round::master_endpoint>>
dynamic_rendezvous::agreed_master(rendezvous_round::master_endpoint mine, time_point limit) {
  std::optional<rendezvous_round::master_endpoint> agreed;
  task<void> agreeing = keep(agree_on_master(round_agents_, mine, rank_), agreed);
  task<void> agreeing_in_round = agree_or_change(std::move(agreeing));
  co_await with_deadline(*parameters_.time, limit, std::move(agreeing_in_round));
  co_return agreed;
}

ELASTIC_DECL task<rendezvous_round::master_endpoint> dynamic_rendezvous::remembered_master(
    rendezvous_round::master_endpoint mine) {
  std::optional<rendezvous_round::master_endpoint> earlier = master_;
  if (!earlier) earlier = co_await earlier_master(round_);
  if (!earlier || (earlier->address == mine.address && earlier->port == mine.port)) co_return mine;
  const auto client = worker_store_at(*earlier, co_await asio::this_coro::executor);
  task<void> connecting = client->connect();
  const bool is_served =
      co_await with_deadline(*parameters_.time, now() + second_look, std::move(connecting));
  client->close();
  if (is_served) {
    mine.address = earlier->address;
    mine.port = earlier->port;
  }
  co_return mine;
}

ELASTIC_DECL std::shared_ptr<tcp_store> dynamic_rendezvous::worker_store_at(
    const rendezvous_round::master_endpoint& master, asio::any_io_executor executor) const {
  tcp_store::options options;
  options.host = master.address;
  options.port = master.port;
  options.generation = tcp_store_generation::torch_2_2;
  options.log = parameters_.log;
  options.time = parameters_.time;
  return new_shared<tcp_store>(executor, std::move(options));
}

ELASTIC_DECL task<void> dynamic_rendezvous::clear_worker_keys(std::int64_t round) {
  const bool may_be_mixed = round_ < 0 || was_alone_;
  const bool is_shared = !gathers() && parameters_.share_worker_store;
  if (!is_shared || !may_be_mixed || round == 0 || cleared_round_ == round) co_return;
  cleared_round_ = round;
  const std::optional<rendezvous_round::master_endpoint> earlier = co_await earlier_master(round);
  if (!earlier) co_return;
  const auto client = worker_store_at(*earlier, co_await asio::this_coro::executor);
  task<void> clearing = clear_store(client, round);
  std::string problem;
  try {
    const bool is_done =
        co_await with_deadline(*parameters_.time, now() + second_look, std::move(clearing));
    if (!is_done) problem = "no answer";
  } catch (const error& failure) {
    problem = failure.what();
  }
  client->close();
  if (problem.empty()) co_return;
  parameters_.log.debug("the keys of earlier workers at {}:{} stay: {}", earlier->address,
                        earlier->port, problem);
}

ELASTIC_DECL task<void> dynamic_rendezvous::clear_store(std::shared_ptr<tcp_store> workers,
                                                        std::int64_t round) {
  const std::vector<std::string> keys = co_await workers->list_keys();
  const view current = co_await shared_->look();
  if (current.state.complete || current.state.round != round) co_return;
  // Some agents let the workers meet in their own store, which has data of the job itself.
  const bool is_of_agents = std::any_of(keys.begin(), keys.end(), [](const std::string& key) {
    return key.rfind("torch.rendezvous.", 0) == 0;
  });
  if (is_of_agents) co_return;
  for (const std::string& key : keys) co_await workers->erase(key);
}

ELASTIC_DECL task<std::optional<rendezvous_round::master_endpoint>>
dynamic_rendezvous::earlier_master(std::int64_t before) {
  for (std::int64_t round = before - 1; round >= std::max<std::int64_t>(0, before - 64); --round) {
    const auto agents = new_shared<prefix_store>(shared_->prefix(round), agents_);
    std::vector<std::string> keys;
    keys.push_back("MASTER_ADDR");
    keys.push_back("MASTER_PORT");
    const bool is_known = co_await agents->check(std::move(keys));
    if (!is_known) continue;
    rendezvous_round::master_endpoint master = co_await read_master(agents);
    co_return master;
  }
  co_return std::nullopt;
}

ELASTIC_DECL task<void> dynamic_rendezvous::agree_or_change(task<void> agreeing) {
  co_await race(std::move(agreeing), await_change());
}

ELASTIC_DECL task<std::optional<rendezvous_change>> dynamic_rendezvous::explained_change_of(
    view current) {
  std::optional<rendezvous_change> detected = co_await change_of(std::move(current));
  if (detected && counts_alone() && detected->kind == rendezvous_change::cause::worker_failed) {
    // Needed once the nodes count together again.
    counted_failures failure;
    failure.round = round_;
    failure.cause = detected->reason;
    co_await failures_.count(std::move(failure));
  }
  if (!detected || !counts_together()) co_return detected;
  const counted_failures counted = co_await failures_.counted();
  if (counted.round == round_) detected = failure_of(counted);
  co_return detected;
}

ELASTIC_DECL task<rendezvous_change> dynamic_rendezvous::count_failure(std::string reason) {
  counted_failures failure;
  failure.round = round_;
  failure.rank = rank_;
  failure.cause = fmt::format("node {}: {}", shared_->node().text(), reason);
  const counted_failures counted = co_await failures_.count(std::move(failure));
  if (counts_alone()) co_return change(rendezvous_change::cause::worker_failed, std::move(reason));
  if (counted.round != round_) {
    co_return change(rendezvous_change::cause::node_lost,
                     "the other nodes have gone on without this one");
  }
  if (counted.rank == rank_) ++own_failures_;
  co_return failure_of(counted);
}

ELASTIC_DECL task<void> dynamic_rendezvous::await_failures_at_torchrun() {
  const time_point limit = now() + limits::mixed_failure_patience;
  const std::vector<node_id> nodes = co_await failures_.strangers(members_);
  for (;;) {
    view current = co_await shared_->look();
    const round_state& state = current.state;
    const bool is_over = state.closed || state.round != round_ || now() >= limit;
    const bool is_awaited = std::any_of(nodes.begin(), nodes.end(), [&](const node_id& node) {
      const bool is_dead = std::count(current.dead.begin(), current.dead.end(), node) != 0;
      return !is_dead && contains(state, node);
    });
    if (is_over || !is_awaited) co_return;
    const time_point next = std::min(limit, now() + settings_.keep_alive_interval);
    co_await shared_->wait_for_change(current.token, next);
  }
}

ELASTIC_DECL rendezvous_change
dynamic_rendezvous::failure_of(const counted_failures& counted) const {
  rendezvous_change failed{rendezvous_change::cause::worker_failed, counted.cause,
                           counted.restarts};
  failed.on_other_node = counted.rank != rank_;
  return failed;
}

ELASTIC_DECL task<std::optional<rendezvous_change>> dynamic_rendezvous::change_of(view current) {
  const round_state& state = current.state;
  const std::map<node_id, int> members = members_;
  if (state.round != round_ || !contains(state, shared_->node())) {
    co_return change(rendezvous_change::cause::node_lost,
                     "the other nodes have gone on without this one");
  }
  for (const auto& [node, its_rank] : members) {
    if (contains(state, node)) continue;
    if (state.wait_list.count(node) != 0) {
      co_return departure_of(node, state);
    }
    const bool is_dead = std::count(current.dead.begin(), current.dead.end(), node) != 0;
    if (!is_dead && gathers() && co_await shared_->has_ended(round_, its_rank)) continue;
    co_return change(rendezvous_change::cause::node_lost,
                     fmt::format("node {} {}", node.text(),
                                 is_dead ? "does not answer" : "has left or was given up"));
  }
  // A node whose workers are done does not start again for a latecomer. Nor does a full round: it
  // would not admit that node, and would end again and again.
  const bool has_room = static_cast<int>(state.participants.size()) < settings_.max_nodes;
  if (!state.wait_list.empty() && has_room && !exit_.has_begun()) {
    co_return change(rendezvous_change::cause::node_waiting,
                     fmt::format("node {} waits to join", state.wait_list.begin()->text()));
  }
  co_return std::nullopt;
}

ELASTIC_DECL rendezvous_change
dynamic_rendezvous::departure_of(const node_id& node, const round_state& state) const {
  const bool is_joined = std::any_of(state.wait_list.begin(), state.wait_list.end(),
                                     [&](const node_id& other) { return !members_.count(other); });
  rendezvous_change departure =
      change(rendezvous_change::cause::node_waiting,
             fmt::format("node {} has left the round to meet again", node.text()));
  if (counts_alone() && !is_joined) {
    departure.kind = rendezvous_change::cause::worker_failed;
    departure.on_other_node = true;
  }
  return departure;
}

ELASTIC_DECL rendezvous_change dynamic_rendezvous::change(rendezvous_change::cause kind,
                                                          std::string reason) const {
  return {kind, std::move(reason), restarts_};
}

ELASTIC_DECL std::string dynamic_rendezvous::ending_key() const {
  return fmt::format("torch.rendezvous.{}.elastic/end", run_id());
}

ELASTIC_DECL auto dynamic_rendezvous::ending() -> task<std::optional<job_ending>> {
  std::vector<std::string> keys(1, ending_key());
  const bool is_told = co_await agents_->check(std::move(keys));
  if (!is_told) co_return std::nullopt;
  const std::string key = ending_key();
  const std::string text = co_await agents_->get(key);
  job_ending end;
  const bool has_succeeded = text.rfind(succeeded_word, 0) == 0;
  if (has_succeeded) end.how = rendezvous_handler::job_end::succeeded;
  const std::string& word = has_succeeded ? succeeded_word : failed_word;
  end.why = text.substr(std::min(text.size(), word.size()));
  co_return end;
}

ELASTIC_DECL task<void> dynamic_rendezvous::throw_closed() {
  const std::optional<job_ending> end = co_await ending();
  throw closed_error(run_id(), end);
}

ELASTIC_DECL task<void> dynamic_rendezvous::tell_end(rendezvous_handler::job_end how,
                                                     std::string why) {
  const std::string text =
      (how == rendezvous_handler::job_end::failed ? failed_word : succeeded_word) + why;
  const std::string key = ending_key();
  const std::string nothing;
  co_await agents_->compare_set(key, nothing, text);
  co_await shared_->close();
  if (how == rendezvous_handler::job_end::failed) co_await exit_.release();
}

ELASTIC_DECL task<void> dynamic_rendezvous::try_to_leave(task<void> leaving) {
  return detail::try_to_leave(std::move(leaving), parameters_.time, parameters_.log);
}

ELASTIC_DECL task<void> dynamic_rendezvous::give_up_any_place() { co_await shared_->leave(false); }

}  // namespace elastic::detail
