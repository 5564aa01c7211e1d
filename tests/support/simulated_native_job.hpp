// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/worker_state.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/nodes/detail/c10d_rendezvous.hpp>
#include <support/coordinated_job.hpp>
#include <support/simulated_network.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace elastic::test {

/// The most recent of a sequence of periods.
struct stretch {
  time_point from = time_point::min();
  time_point until = time_point::min();

  void begin(time_point now, duration span) {
    if (until < now) from = now;
    until = std::max(until, now + span);
  }
};

/// A job with one server. It promises, besides what every coordinated job does:
///
/// - No worker runs at the same time as one of a newer round, even if the server was killed and
///   replaced, unless no node of the former server contacts the new one.
/// - Every node that knows of earlier restarts carries their count over to a new server.
/// - A node fails only if it could not reach a server for too long, finds no round in time, or the
///   job has ended.
class simulated_native_job : public coordinated_job {
 public:
  simulated_native_job(manual_time& time, std::uint64_t seed)
      : coordinated_job(time, seed),
        network_(time, random_),
        is_hosted_(random_.below(2) == 0),
        host_grace_(5 + random_.below(30)) {}

 private:
  std::shared_ptr<rendezvous_handler> make_handler(
      simulated_node& node, rendezvous_parameters parameters) override {
    // All nodes use the settings of the first.
    if (random_.below(4) == 0) parameters.keep_alive_interval = std::chrono::seconds(1);
    if (random_.below(4) == 0) parameters.keep_alive_max_attempt = 2;
    parameters.log = log_of(node);
    parameters.conf["host_grace"] = std::to_string(host_grace_.count());
    // The first node that starts while the server has no host node.
    const bool hosts = is_hosted_ && network_.has_server() && !host_;
    if (hosts) host_ = node.id;
    return std::make_shared<elastic::detail::c10d_rendezvous>(
        std::move(parameters), network_.connector_of(node.id), network_.store_of(node.id), hosts);
  }

  int kinds_of_trouble() const override { return 9; }
  task<void> trouble(simulated_node& node, duration span) override {
    switch (random_.below(9)) {
      case 7:
      case 8:
        note(fmt::format("one end of a connection of node {} breaks", node.id));
        network_.reset_one_end(node.id);
        // Sometimes nothing gets through, either.
        if (random_.below(3) == 0) co_await part_for(node, span);
        break;
      case 6: co_await kill_server(span); break;
      case 0: co_await part_for(node, span); break;
      case 1:
        note(fmt::format("node {} loses its connection", node.id));
        network_.reset(node.id);
        break;
      case 2:
      case 3:
        note(fmt::format("node {} loses its connection, and what was under way", node.id));
        network_.reset_and_lose(node.id);
        break;
      case 4: stall_server(span / 4); break;
      default: node.clock->wall_offset = span * 1000;
    }
  }

  task<void> part_for(simulated_node& node, duration span) {
    note(fmt::format("node {} is cut off", node.id));
    network_.part(node.id);
    disturb(node.id, span);
    co_await time_.sleep_until(time_.now() + span);
    note(fmt::format("node {} is reached again", node.id));
    network_.mend(node.id);
  }

  void stall_server(duration span) {
    note("the server stalls");
    network_.stall(span);
    stalls_.begin(time_.now(), span);
    for (const auto& node : nodes_) disturb(node->id, span);
  }

  /// Kills the server and its host node. The server returns mostly at once, often soon, sometimes
  /// at another host, or too late for the waiting nodes.
  task<void> kill_server(duration span) {
    if (!network_.has_server()) co_return;
    if (host_ && !nodes_[static_cast<std::size_t>(*host_)]->ended) {
      // The crash of its host kills the server.
      co_return crash(*nodes_[static_cast<std::size_t>(*host_)]);
    }
    lose_server(span);
  }

  void lose_server(duration span) {
    note("the server is killed");
    lost_at_ = stalls_.until < time_.now() ? time_.now() : stalls_.from;
    stalls_ = {};
    ++deaths_;
    host_.reset();
    network_.stop_server();
    // The server's knowledge of how the job ended is lost.
    for (const auto& node : nodes_) {
      if (node->ended) node->is_informed = false;
    }
    if (random_.below(2) == 0) span /= 20;
    if (random_.below(8) == 0) span *= 2;
    spawn(return_server(time_.now() + span));
  }

  task<void> return_server(time_point when) {
    const int before = ++returns_;
    co_await time_.sleep_until(when);
    if (!over_ && returns_ == before) start_server();
  }

  void start_server() {
    if (network_.has_server()) return;
    ++returns_;
    const bool moves = random_.below(4) == 0;
    if (moves) address_ = "10.0.0." + std::to_string(2 + random_.below(200));
    note(fmt::format("a server starts at {}", address_));
    longest_absence_ = std::max(longest_absence_, time_.now() - lost_at_);
    for (const auto& node : nodes_) disturb(node->id, std::chrono::seconds(0));
    network_.start_server(address_);
    if (is_hosted_) start_node_after(std::chrono::milliseconds(random_.below(20)));
  }

  void cut_for_good(simulated_node& node) override {
    network_.kill(node.id);
    if (host_ == node.id) lose_server(std::chrono::milliseconds(random_.below(20'000)));
  }
  void end_troubles() override {
    start_server();
    for (const auto& node : nodes_) {
      if (!node->crashed) network_.mend(node->id);
    }
  }
  void close_up() override { network_.end(); }

  // The outcome of the job is forgotten with the server that made the node's round.
  bool could_know(const simulated_node& node) const override {
    const auto position = deaths_before_.find(node.id);
    return position == deaths_before_.end() || position->second == deaths_;
  }

  void entered_round(const simulated_node& node) override {
    deaths_before_[node.id] = deaths_;
    if (terms_[node.id] != 0 && terms_[node.id] != node.round->term) {
      returned_to_.insert(node.round->term);
    }
    terms_[node.id] = node.round->term;
  }

  // The server ensures that a node's workers are gone before the others continue without it.
  void found_other_round(const simulated_node& starting, const simulated_node& other,
                         const fake_process& worker, round_name its_round) override {
    const std::int64_t term = starting.round->term;
    if (its_round.term != term && returned_to_.count(term) == 0) return;
    coordinated_job::found_other_round(starting, other, worker, its_round);
  }

  // ---- whether an error had a cause ------------------------------------------------------------

  // Notes that the node cannot reach the server for `span`.
  void disturb(int node, duration span) { disturbances_[node].begin(time_.now(), span); }
  bool was_disturbed(int node, time_point since) const {
    const auto position = disturbances_.find(node);
    return position != disturbances_.end() && position->second.until >= since;
  }

  // How long the node has been without a reachable server; if there is a server, the longest time
  // without one so far.
  duration absence_for(int node) const {
    if (network_.has_server()) return longest_absence_;
    const bool was_disturbed_before = was_disturbed(node, lost_at_);
    return time_.now() -
           (was_disturbed_before ? std::min(lost_at_, disturbances_.at(node).from) : lost_at_);
  }

  void check_failure(const simulated_node& node) override {
    if (node.failure_code == errc::connection_failed) {
      const auto longest = limits::rendezvous_reconnect_timeout + slack;
      if (was_disturbed(node.id, time_.now() - longest)) return;
      const duration longest_wait = std::min<duration>(host_grace_, join_timeout);
      if (absence_for(node.id) >= longest_wait / 100 * 98) return;
    } else if (node.failure_code == errc::rendezvous_timeout) {
      if (lacked_nodes(node)) return;
    } else if (node.failure_code == errc::rendezvous_closed) {
      // Checked when all have ended: the node that closed the rendezvous may end last.
      return;
    }
    complain(fmt::format("node {} fails without a cause: {}", node.id, node.failure));
  }

  // Whether too few nodes, including the waiting one, were available for a round all the time since
  // it began to wait: reachable, and with workers that were not done.
  bool lacked_nodes(const simulated_node& waiting) const {
    const time_point since = waiting.joins_since - slack;
    int ready = 0;
    for (const auto& node : nodes_) {
      // No worker is stopped for a node that arrives after some workers have succeeded.
      if (node->is_done || node->done_until >= since) return true;
      if (node->ended && !node->crashed && node->ended_at >= since && node->result) return true;
      const bool was_there = !node->crashed && (!node->ended || node.get() == &waiting) &&
                             node->started_at <= waiting.joins_since;
      if (was_there && !was_disturbed(node->id, since)) ++ready;
    }
    return ready < plan_.min_nodes;
  }

  void check_ends() override {
    bool has_succeeded = false;
    bool has_failed = false;
    int survivors = 0;
    for (const auto& node : nodes_) {
      has_succeeded = has_succeeded || (node->result && node->result->state == succeeded);
      has_failed = has_failed || (node->result && node->result->state == failed);
      // A node whose patience ends soon after the faults may be out of time; `check_failure` judges
      // it.
      if (!node->crashed && (!node->ended || node->ended_at > calm_since_ + slack)) ++survivors;
    }
    const bool host_has_left = std::any_of(nodes_.begin(), nodes_.end(), [](const auto& node) {
      return node->failure.find("that hosts the rendezvous has left") != std::string::npos;
    });
    if (host_has_left) return;
    for (const auto& node : nodes_) {
      if (node->crashed || node->failure_code != errc::rendezvous_closed || has_failed) continue;
      complain(fmt::format("node {} is told of a failed job that no node knows of: {}", node->id,
                           node->failure));
    }
    if (has_succeeded || has_failed || survivors < plan_.min_nodes) return;
    complain(fmt::format("{} nodes survived the troubles, and the job did not succeed", survivors));
  }

  static constexpr auto succeeded = worker_state::succeeded;
  static constexpr auto failed = worker_state::failed;
  /// The time for messages to arrive and for nodes to notice.
  static constexpr std::chrono::seconds slack{20};

  simulated_network network_;
  /// Whether a node hosts the server and dies with it, and which one.
  const bool is_hosted_;
  const std::chrono::seconds host_grace_;
  std::optional<int> host_;
  std::string address_ = "10.0.0.1";
  stretch stalls_;
  /// Since when the killed server has not answered.
  time_point lost_at_ = time_point::min();
  duration longest_absence_{};
  int returns_ = 0;
  /// How often the server died: in total, and before each node's last round.
  int deaths_ = 0;
  std::map<int, int> deaths_before_;
  /// The term of each node's last round, and the terms that nodes of an earlier term have joined.
  std::map<int, std::int64_t> terms_;
  std::set<std::int64_t> returned_to_;
  std::map<int, stretch> disturbances_;
};

}  // namespace elastic::test
