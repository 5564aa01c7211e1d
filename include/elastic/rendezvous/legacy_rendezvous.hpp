// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/scope.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/local_address.hpp>
#include <elastic/rendezvous/detail/legacy_lease.hpp>
#include <elastic/rendezvous/detail/legacy_round.hpp>
#include <elastic/rendezvous/exit_barrier.hpp>
#include <elastic/rendezvous/gather.hpp>
#include <elastic/rendezvous/legacy_machine.hpp>
#include <elastic/rendezvous/legacy_state.hpp>
#include <elastic/rendezvous/master_keys.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/rendezvous/rendezvous_settings.hpp>
#include <elastic/rendezvous/torch_dialect.hpp>
#include <elastic/rendezvous/worker_store_host.hpp>
#include <elastic/store/leased_keys.hpp>
#include <elastic/store/store.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic {

/// What a legacy_rendezvous is made from.
struct legacy_rendezvous_options {
  rendezvous_parameters parameters;
  /// How the agents of the job talk, once they have met.
  torch_dialect dialect = torch_dialect::torch_1_13;
  /// The keys of this job, and where they are, as all nodes name it. Must be set.
  std::shared_ptr<leased_keys> keys;
  std::string path;
  /// The store of a version, for what agents tell each other. Must be set.
  std::function<std::shared_ptr<store>(const std::string& version)> store_of;
  /// Has all that is kept of the job stay for its time; may be empty.
  std::function<task<void>()> keep_job;
  /// A numeric address of this host that the other nodes can reach.
  std::string address = "127.0.0.1";
};

/// The rendezvous that torchrun names "etcd", whose nodes may be among those that meet: each takes
/// its own steps in a state that all share, has a key that ends unless it is prolonged, and those
/// who wait for the next version end one that has lost a node.
///
/// A node of this kind sees at once what changes, a key that has ended included; one of torchrun
/// looks every few seconds whether somebody waits. Worker failures are counted by each node for
/// itself.
///
/// Thread-safety: one strand at a time.
/// Source: torch.distributed.elastic.rendezvous.etcd_rendezvous.
class legacy_rendezvous final : public rendezvous_handler {
 public:
  /// Errors: `errc::invalid_argument` for a setting out of bounds.
  explicit legacy_rendezvous(legacy_rendezvous_options options)
      : parameters_(without_sharing(std::move(options.parameters))),
        settings_(parameters_.settings()),
        dialect_(options.dialect),
        store_of_(std::move(options.store_of)),
        keep_job_(options.keep_job),
        address_(std::move(options.address)),
        workers_(parameters_),
        lease_(std::make_shared<detail::legacy_lease>(options.keys, std::move(options.keep_job),
                                                      parameters_.time, parameters_.log)),
        shared_(options.keys, std::move(options.path), settings_, parameters_.time, lease_) {}

  std::string backend() const override { return parameters_.backend; }
  std::string run_id() const override { return parameters_.run_id; }

  task<rendezvous_round> next_round() override {
    co_await workers_.stop();
    auto executor = co_await asio::this_coro::executor;
    lease_->start(executor);
    change_.reset();
    is_finished_ = false;
    size_ = 0;
    co_await with_rollback(join(), say_farewell(shared_.give_up()));
    co_return co_await placed_round();
  }

  task<rendezvous_change> wait_for_change() override {
    while (!change_) {
      view seen = co_await shared_.look();
      if (is_closed(seen)) {
        co_await check_end(seen);
      } else {
        // It may have been found by another meanwhile.
        if (!change_) change_ = change_of(seen);
        if (change_) break;
      }
      const std::string token = seen.token;
      const time_point limit = now() + legacy_lives::lease;
      co_await shared_.wait_for_change(token, limit);
    }
    co_return *change_;
  }

  task<rendezvous_change> report_failure(std::string what) override {
    const view seen = co_await shared_.look();
    if (is_closed(seen)) throw_closed(seen);
    if (!change_) change_ = change_of(seen);
    if (!change_) {
      change_ = rendezvous_change{change_kind::worker_failed, std::move(what), ++restarts_};
    }
    co_return *change_;
  }

  task<void> exit_barrier() override {
    is_finished_ = true;
    if (gathers()) {
      const std::string mine = std::to_string(rank_);
      co_await gather(agents_, terminal_state, mine, rank_, size_);
    } else {
      co_await elastic::exit_barrier(agents_, size_);
    }
    // A node that has failed comes here as well, so that PyTorch's agents do not wait for it.
    const view seen = co_await shared_.look();
    const bool has_failed =
        is_closed(seen) && seen.state->ending && seen.state->ending->how == job_end::failed;
    if (has_failed) throw_closed(seen);
  }

  task<int> num_nodes_waiting() override {
    const view seen = co_await shared_.look();
    co_return seen.state ? seen.state->waiting : 0;
  }

  task<bool> is_closed() override {
    const view seen = co_await shared_.look();
    co_return is_closed(seen);
  }

  task<void> close(job_end how, std::string why) override {
    const time_point limit = now() + limits::rendezvous_absence;
    legacy_ending ending;
    ending.how = how;
    ending.why = std::move(why);
    const bool is_told =
        co_await with_deadline(*parameters_.time, limit, tell_end(std::move(ending)));
    if (!is_told) throw error(errc::timed_out, "the rendezvous' store does not answer");
  }

  task<void> shutdown() override {
    co_await say_farewell(shared_.give_up());
    co_await lease_->stop();
    co_await workers_.stop();
  }

 private:
  using view = detail::legacy_round::view;

  inline static const std::string terminal_state = "torchelastic/agent/terminal_state";

  // Its agents never serve the workers' store.
  static rendezvous_parameters without_sharing(rendezvous_parameters parameters) {
    parameters.share_worker_store = false;
    return parameters;
  }

  bool gathers() const { return dialect_ != torch_dialect::torch_2_6; }
  time_point now() const { return parameters_.time->now(); }

  static bool is_closed(const view& seen) {
    return seen.state && seen.state->status == legacy_status::closed;
  }

  // ---- joining --------------------------------------------------------------------------------

  task<void> join() {
    const time_point deadline = now() + settings_.join_timeout;
    if (keep_job_) co_await keep_job_();
    co_await shared_.leave();
    std::string_view told;
    for (;;) {
      view seen = co_await shared_.look();
      const legacy_decision next = shared_.decide(seen, deadline);
      if (told != next.reason) {
        parameters_.log.debug("rendezvous '{}', version {}: {}", run_id(), shown_version(seen),
                              next.reason);
      }
      told = next.reason;
      switch (next.action) {
        case legacy_action::placed: take_place(*seen.state); co_return;
        case legacy_action::refuse_closed: throw_closed(seen); break;
        case legacy_action::refuse_timeout: throw_timeout(seen); break;
        case legacy_action::wait: {
          const std::string token = seen.token;
          co_await shared_.wait_for_change(token, next.until);
          break;
        }
        default: co_await shared_.carry_out(std::move(seen), next.action);
      }
    }
  }

  static std::string shown_version(const view& seen) {
    return seen.state && !seen.state->version.empty() ? seen.state->version : "(none)";
  }

  void take_place(const legacy_state& state) {
    round_ = std::stoll(state.version);
    version_ = state.version;
    rank_ = shared_.me().rank;
    size_ = state.participants;
    agents_ = store_of_(state.version);
  }

  [[noreturn]] void throw_timeout(const view& seen) const {
    throw error(errc::rendezvous_timeout,
                fmt::format("no place in a round of '{}' within {} s (--rdzv-conf join_timeout): "
                            "version {} has {} of {} to {} nodes",
                            run_id(), std::chrono::duration<double>(settings_.join_timeout).count(),
                            shown_version(seen), seen.state ? seen.state->participants : 0,
                            settings_.min_nodes, settings_.max_nodes));
  }

  task<rendezvous_round> placed_round() {
    rendezvous_round met;
    met.round = round_;
    met.group_rank = rank_;
    met.group_world_size = size_;
    met.restarts = restarts_;
    met.agents = agents_;
    met.dialect = gathers() ? agent_dialect::gather : agent_dialect::assign;
    if (rank_ == 0) {
      met.master =
          workers_.serve(co_await asio::this_coro::executor, address_, is_loopback(address_));
    }
    if (gathers()) co_return met;
    // Agents of PyTorch 2.4 and newer agree on it before they tell about their workers.
    const time_point limit = now() + settings_.join_timeout;
    task<master_endpoint> agreeing = agree_on_master(agents_, met.master, rank_);
    const std::optional<master_endpoint> told =
        co_await with_deadline(*parameters_.time, limit, std::move(agreeing));
    if (!told) {
      throw error(errc::rendezvous_timeout,
                  "the node of rank 0 did not say where the workers' store is");
    }
    met.master = *told;
    co_return met;
  }

  // ---- what happens in a round ----------------------------------------------------------------

  std::optional<rendezvous_change> change_of(const view& seen) const {
    const bool is_ours = seen.state && seen.state->status == legacy_status::complete &&
                         seen.state->version == version_;
    if (!is_ours) {
      return change(change_kind::node_lost, "the other nodes have gone on without this one");
    }
    for (int rank = 0; rank < size_; ++rank) {
      // Its own key is made again where it has ended.
      if (rank == rank_ || seen.living.count(legacy_lease_name(rank)) != 0) continue;
      return change(change_kind::node_lost,
                    fmt::format("the node of group rank {} has left or does not answer", rank));
    }
    // Whose workers are done does not begin anew for one that comes late.
    if (seen.state->waiting > 0 && !is_finished_) {
      return change(change_kind::node_waiting,
                    fmt::format("{} node{} for the next round", seen.state->waiting,
                                seen.state->waiting == 1 ? " waits" : "s wait"));
    }
    return std::nullopt;
  }

  rendezvous_change change(change_kind kind, std::string what) const {
    return {kind, std::move(what), restarts_};
  }

  // ---- the end --------------------------------------------------------------------------------

  [[noreturn]] void throw_closed(const view& seen) const {
    const std::optional<legacy_ending>& end = seen.state->ending;
    if (!end) {
      throw error(errc::rendezvous_closed,
                  fmt::format("the rendezvous '{}' was closed by a node of torchrun, which does "
                              "not say how the job has ended",
                              run_id()));
    }
    throw error(
        end->how == job_end::succeeded ? errc::rendezvous_finished : errc::rendezvous_closed,
        end->why);
  }

  /// The rendezvous was closed: an error, unless all workers have succeeded and only this node is
  /// still about to hear of it.
  task<void> check_end(view seen) {
    if (is_finished_) {
      const std::optional<legacy_ending>& end = seen.state->ending;
      if (end && end->how == job_end::succeeded) co_return;
      if (!end && co_await all_have_ended()) co_return;
    }
    throw_closed(seen);
  }

  task<bool> all_have_ended() {
    std::vector<std::string> keys;
    if (gathers()) keys = detail::rank_keys(terminal_state, size_, "");
    if (!gathers()) keys.push_back(terminal_state + "/last_member");
    co_return co_await agents_->check(std::move(keys));
  }

  task<void> tell_end(legacy_ending ending) {
    const bool has_failed = ending.how == job_end::failed;
    co_await shared_.close(std::move(ending));
    if (has_failed) co_await release_barrier();
  }

  // PyTorch's agents, whose workers may have succeeded, would wait for this node's.
  task<void> release_barrier() {
    if (!gathers() || size_ == 0) co_return;
    const std::string key = terminal_state + std::to_string(rank_);
    std::vector<std::pair<std::string, std::string>> pairs;
    pairs.emplace_back(key, std::to_string(rank_));
    pairs.emplace_back(key + detail::gathered_suffix, "FIN");
    co_await agents_->multi_set(std::move(pairs));
  }

  task<void> say_farewell(task<void> words) {
    const time_point limit = now() + limits::rendezvous_farewell;
    try {
      co_await with_deadline(*parameters_.time, limit, std::move(words));
    } catch (const error& failure) {
      // Then the others find out that this node is gone.
      parameters_.log.debug("could not leave the rendezvous: {}", failure.what());
    }
  }

  rendezvous_parameters parameters_;
  rendezvous_settings settings_;
  torch_dialect dialect_;
  std::function<std::shared_ptr<store>(const std::string&)> store_of_;
  std::function<task<void>()> keep_job_;
  std::string address_;
  worker_store_host workers_;
  std::shared_ptr<detail::legacy_lease> lease_;
  detail::legacy_round shared_;
  /// The version that this node is in.
  std::int64_t round_ = -1;
  std::string version_;
  int rank_ = 0;
  int size_ = 0;
  std::shared_ptr<store> agents_;
  std::optional<rendezvous_change> change_;
  int restarts_ = 0;
  bool is_finished_ = false;
};

}  // namespace elastic
