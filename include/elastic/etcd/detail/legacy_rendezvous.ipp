// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/etcd/detail/legacy_rendezvous.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/race.hpp>
#include <elastic/base/scope.hpp>
#include <elastic/etcd/detail/legacy_machine.hpp>
#include <elastic/net/local_address.hpp>
#include <elastic/rendezvous/detail/master_keys.hpp>

#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL legacy_rendezvous::legacy_rendezvous(legacy_rendezvous_options options)
    : parameters_(without_sharing(std::move(options.parameters))),
      settings_(parameters_.settings()),
      dialect_(options.dialect),
      store_of_(std::move(options.store_of)),
      keep_job_(options.keep_job),
      address_(std::move(options.address)),
      workers_(parameters_),
      lease_(new_shared<legacy_lease>(options.keys, std::move(options.keep_job),
                                      parameters_.time, parameters_.log)),
      shared_(options.keys, std::move(options.path), settings_, parameters_.time, lease_) {}

ELASTIC_DECL task<rendezvous_round> legacy_rendezvous::next_round() {
  co_await workers_.stop();
  auto executor = co_await asio::this_coro::executor;
  lease_->start(executor);
  co_await come_back();
  change_.reset();
  exit_ = {};
  co_await with_rollback(join(), give_up());
  co_return co_await placed_round();
}

ELASTIC_DECL task<rendezvous_change> legacy_rendezvous::wait_for_change() {
  if (!change_) co_await race(await_change(), give_up_in_time());
  co_return *change_;
}

ELASTIC_DECL task<void> legacy_rendezvous::wait_for_fence() {
  return lease_->sign().wait_for_kill();
}

ELASTIC_DECL task<void> legacy_rendezvous::give_up_in_time() {
  co_await lease_->sign().wait_for_notice();
  // A node whose workers are done has none to stop.
  if (exit_.has_begun()) co_await parameters_.time->sleep_until(time_point::max());
  if (!change_) {
    change_ = cut_off_change(lease_->sign(), lease_->last_problem(), restarts_);
  }
  is_cut_off_ = true;
}

ELASTIC_DECL task<void> legacy_rendezvous::come_back() {
  if (!is_cut_off_) co_return;
  task<void> looking = look_once();
  std::string why = cut_off_text(lease_->sign(), lease_->last_problem());
  co_await reach_again(parameters_.time, std::move(looking), std::move(why));
  is_cut_off_ = false;
}

ELASTIC_DECL task<void> legacy_rendezvous::look_once() { co_await shared_.look(); }

ELASTIC_DECL task<void> legacy_rendezvous::await_change() {
  while (!change_) {
    view current = co_await shared_.look();
    if (is_closed(current)) {
      const std::optional<job_ending> end = current.state->ending;
      std::optional<rendezvous_handler::job_end> how;
      if (end) how = end->how;
      const bool is_passed = co_await exit_.is_passed(how);
      if (!is_passed) throw closed_error(run_id(), end);
    } else {
      // Another coroutine may have detected a change meanwhile.
      if (!change_) change_ = change_of(current);
      if (change_) break;
    }
    const std::string token = current.token;
    const time_point limit = now() + legacy_ttl::lease;
    co_await shared_.wait_for_change(token, limit);
  }
}

ELASTIC_DECL task<rendezvous_change> legacy_rendezvous::report_failure(std::string reason) {
  co_await race(publish_failure(std::move(reason)), give_up_in_time());
  co_return *change_;
}

ELASTIC_DECL task<void> legacy_rendezvous::publish_failure(std::string reason) {
  const view current = co_await shared_.look();
  if (is_closed(current)) throw closed_error(run_id(), current.state->ending);
  if (!change_) change_ = change_of(current);
  if (!change_) {
    change_ =
        rendezvous_change{rendezvous_change::cause::worker_failed, std::move(reason), ++restarts_};
  }
}

ELASTIC_DECL task<void> legacy_rendezvous::exit_barrier() {
  const std::function<task<void>()> nothing;
  co_await exit_.wait(parameters_.time, settings_.silence(), nothing);
  // A node that has failed also comes here, so that PyTorch's agents do not wait for it.
  const view current = co_await shared_.look();
  const bool has_failed = is_closed(current) && current.state->ending &&
                          current.state->ending->how == rendezvous_handler::job_end::failed;
  if (has_failed) throw closed_error(run_id(), current.state->ending);
}

ELASTIC_DECL task<void> legacy_rendezvous::close(rendezvous_handler::job_end how, std::string why) {
  const time_point limit = now() + limits::rendezvous_reconnect_timeout;
  job_ending ending;
  ending.how = how;
  ending.why = std::move(why);
  const bool is_told =
      co_await with_deadline(*parameters_.time, limit, tell_end(std::move(ending)));
  if (!is_told) throw error(errc::timed_out, "the rendezvous' store does not answer");
}

ELASTIC_DECL task<void> legacy_rendezvous::shutdown() {
  co_await give_up();
  co_await lease_->stop();
  co_await workers_.stop();
}

ELASTIC_DECL rendezvous_parameters
legacy_rendezvous::without_sharing(rendezvous_parameters parameters) {
  parameters.share_worker_store = false;
  return parameters;
}

ELASTIC_DECL bool legacy_rendezvous::is_closed(const view& current) {
  return current.state && current.state->status == legacy_status::closed;
}

ELASTIC_DECL task<void> legacy_rendezvous::join() {
  const time_point deadline = now() + settings_.join_timeout;
  if (keep_job_) co_await keep_job_();
  co_await shared_.leave();
  std::string_view logged_reason;
  for (;;) {
    view current = co_await shared_.look();
    const legacy_decision next = shared_.decide(current, deadline);
    if (logged_reason != next.reason) {
      parameters_.log.debug("rendezvous '{}', version {}: {}", run_id(), shown_version(current),
                            next.reason);
    }
    logged_reason = next.reason;
    switch (next.action) {
      case legacy_action::placed: take_place(*current.state); co_return;
      case legacy_action::refuse_closed: throw closed_error(run_id(), current.state->ending);
      case legacy_action::refuse_timeout: throw_timeout(current); break;
      case legacy_action::wait: {
        const std::string token = current.token;
        co_await shared_.wait_for_change(token, next.until);
        break;
      }
      default: co_await shared_.carry_out(std::move(current), next.action);
    }
  }
}

ELASTIC_DECL std::string legacy_rendezvous::shown_version(const view& current) {
  return current.state && !current.state->version.empty() ? current.state->version : "(none)";
}

ELASTIC_DECL void legacy_rendezvous::take_place(const legacy_state& state) {
  round_ = std::stoll(state.version);
  version_ = state.version;
  rank_ = shared_.me().rank;
  size_ = state.participants;
  agents_ = store_of_(state.version);
  exit_ = torch_exit(agents_, rank_, size_, dialect_);
}

ELASTIC_DECL void legacy_rendezvous::throw_timeout(const view& current) const {
  throw error(errc::rendezvous_timeout,
              fmt::format("no place in a round of '{}' within {} s ({}): version {} has {} of {} "
                          "to {} nodes",
                          run_id(), std::chrono::duration<double>(settings_.join_timeout).count(),
                          parameters_.name_of("join_timeout"), shown_version(current),
                          current.state ? current.state->participants : 0, settings_.min_nodes,
                          settings_.max_nodes));
}

ELASTIC_DECL task<rendezvous_round> legacy_rendezvous::placed_round() {
  rendezvous_round round;
  round.round = round_;
  round.group_rank = rank_;
  round.group_world_size = size_;
  round.restarts = restarts_;
  round.agents = agents_;
  round.dialect = agents_of(dialect_);
  if (rank_ == 0) {
    const meeting_place nowhere;
    round.master = co_await workers_.serve(address_, is_loopback(address_), nowhere);
  }
  if (round.dialect == rendezvous_round::agent_dialect::gather) co_return round;
  // Agents of PyTorch 2.4 and newer agree on the master before they exchange information about
  // workers.
  const time_point limit = now() + settings_.join_timeout;
  task<rendezvous_round::master_endpoint> agreeing = agree_on_master(agents_, round.master, rank_);
  const std::optional<rendezvous_round::master_endpoint> agreed =
      co_await with_deadline(*parameters_.time, limit, std::move(agreeing));
  if (!agreed) {
    throw error(errc::rendezvous_timeout,
                "the node of rank 0 did not say where the workers' store is");
  }
  round.master = *agreed;
  co_return round;
}

ELASTIC_DECL std::optional<rendezvous_change> legacy_rendezvous::change_of(
    const view& current) const {
  const bool is_ours = current.state && current.state->status == legacy_status::complete &&
                       current.state->version == version_;
  if (!is_ours) {
    return change(rendezvous_change::cause::node_lost,
                  "the other nodes have gone on without this one");
  }
  for (int rank = 0; rank < size_; ++rank) {
    // If this node's own key has expired, it is created again.
    if (rank == rank_ || current.living.count(legacy_lease_name(rank)) != 0) continue;
    return change(rendezvous_change::cause::node_lost,
                  fmt::format("the node of group rank {} has left or does not answer", rank));
  }
  // A node whose workers are done does not start again for a latecomer.
  if (current.state->waiting > 0 && !exit_.has_begun()) {
    return change(rendezvous_change::cause::node_waiting,
                  fmt::format("{} node{} for the next round", current.state->waiting,
                              current.state->waiting == 1 ? " waits" : "s wait"));
  }
  return std::nullopt;
}

ELASTIC_DECL rendezvous_change legacy_rendezvous::change(rendezvous_change::cause kind,
                                                         std::string reason) const {
  return {kind, std::move(reason), restarts_};
}

ELASTIC_DECL task<void> legacy_rendezvous::tell_end(job_ending ending) {
  const bool has_failed = ending.how == rendezvous_handler::job_end::failed;
  co_await shared_.close(std::move(ending));
  if (has_failed) co_await exit_.release();
}

ELASTIC_DECL task<void> legacy_rendezvous::give_up() {
  return try_to_leave(shared_.give_up(), parameters_.time, parameters_.log);
}

}  // namespace elastic::detail
