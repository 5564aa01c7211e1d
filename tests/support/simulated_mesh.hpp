// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/internals.hpp>
#include <elastic/base/detail/random.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/detail/message_channel.hpp>
#include <elastic/store/detail/key_value_engine.hpp>
#include <elastic/store/detail/store_extension.hpp>
#include <elastic/store/memory_store.hpp>
#include <support/asio.hpp>
#include <support/manual_time.hpp>
#include <support/world.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace elastic::test {

/// A network of nodes. Some of them serve at well-known addresses, each of which one node after
/// another may serve. Messages take time. A node can be cut off in one or both directions, lose its
/// connections, also at one end only, or die. Everything follows from the seed of `random`.
class simulated_mesh final : public world {
 public:
  using world::world;

  // ---- servers --------------------------------------------------------------------------------

  /// Makes the node serve at an address from now on. The former server keeps its present clients.
  void serve(int place, int node, std::shared_ptr<detail::store_extension> extension) {
    auto made = std::make_shared<server>();
    made->node = node;
    made->extension = std::move(extension);
    const auto former = std::exchange(servers_[place], made);
    if (former) replaced_.push_back(former);
    asio::co_spawn(
        time_.context(), made->extension->run(),
        asio::bind_cancellation_slot(made->cancel.slot(), [made](std::exception_ptr) {}));
  }

  bool is_served(int place) const { return servers_.count(place) != 0; }

  /// Which node serves at each address.
  std::map<int, int> serving_nodes() const {
    std::map<int, int> nodes;
    for (const auto& [place, host] : servers_) nodes[place] = host->node;
    return nodes;
  }

  /// Stops the node's servers, if it has any.
  void stop(int node) {
    for (auto position = servers_.begin(); position != servers_.end();) {
      if (position->second->node != node) {
        ++position;
        continue;
      }
      const auto ended = position->second;
      position = servers_.erase(position);
      for (const auto& entry : pipes()) {
        if (entry->server == ended) entry->break_off();
      }
      ended->cancel.emit(asio::cancellation_type::terminal);
    }
  }

  /// Closes the server at the address once its clients have been sent all pending messages.
  void close(int place) {
    const auto position = servers_.find(place);
    if (position == servers_.end()) return;
    const auto ended = position->second;
    servers_.erase(position);
    for (const auto& entry : pipes()) {
      if (entry->server == ended) entry->hang_up();
    }
    ended->cancel.emit(asio::cancellation_type::terminal);
  }

  void end() {
    for (const auto& entry : pipes()) cut(*entry);
    pipes_.clear();
    for (const auto& [place, host] : servers_) replaced_.push_back(host);
    for (const auto& host : replaced_) host->cancel.emit(asio::cancellation_type::terminal);
    replaced_.clear();
    servers_.clear();
  }

  // ---- faults ---------------------------------------------------------------------------------

  /// Silently blocks the traffic in one direction: from the node (mute) or to the node (deafen).
  void mute(int node) { muted_.insert(node); }
  void deafen(int node) { deaf_.insert(node); }
  void mend(int node) {
    muted_.erase(node);
    deaf_.erase(node);
    world::mend(node);
  }
  /// Prevents new connections from and to the node.
  void bar(int node) { barred_.insert(node); }
  /// Breaks all connections of the node, at both ends simultaneously; those without a working path
  /// do not break.
  void reset_both_ends(int node) {
    for (const auto& entry : pipes()) {
      const bool has_ways =
          has_way(entry->node, entry->server_node) && has_way(entry->server_node, entry->node);
      if (!entry->touches(node) || !has_ways) continue;
      cut(*entry);
      forget(*entry);
    }
  }
  /// Breaks one of the node's connections at one end; the other end learns of it after `later`.
  ///
  /// Never breaks both connections between two nodes at once: agents take that as the end of a
  /// process.
  void break_one_end(int node, duration later) {
    std::vector<std::shared_ptr<pipe>> breakable;
    for (const auto& entry : pipes_) {
      const bool is_within_a_host = entry->node == entry->server_node;
      const auto safe = safe_from_.find({entry->node, entry->server_node});
      const bool is_safe = safe == safe_from_.end() || safe->second <= time_.now();
      if (entry->touches(node) && !is_within_a_host && is_safe) breakable.push_back(entry);
    }
    if (breakable.empty()) return;
    const auto broken = breakable[random_.below(breakable.size())];
    safe_from_[{broken->node, broken->server_node}] = time_.now() + later + std::chrono::seconds(1);
    const bool is_at_client = random_.below(2) == 0;
    if (is_at_client) {
      broken->close_client();
    } else {
      broken->close_server();
    }
    run_after(later, [this, broken] {
      cut(*broken);
      forget(*broken);
    });
  }
  void kill(int node) {
    world::kill(node);
    stop(node);
  }

  std::shared_ptr<detail::message_connector> connector_of(int node, int place) {
    return std::make_shared<connector>(*this, node, place);
  }
  std::shared_ptr<store> store_of(int node, int place) {
    return std::make_shared<place_store>(*this, node, place);
  }

 private:
  struct server {
    int node = -1;
    std::shared_ptr<detail::store_extension> extension;
    std::shared_ptr<detail::key_value_engine> engine = std::make_shared<detail::key_value_engine>();
    asio::cancellation_signal cancel;
  };

  void deliver(pipe& of) override {
    if (!of.conversation && !of.is_open) return;
    const bool is_lost = is_dead(of.node) || is_dead(of.server_node);
    const auto self = of.shared_from_this();
    if (is_lost || has_way(of.node, of.server_node)) {
      of.deliver_to_server();
      if (of.client_closed) of.close_server();
    }
    if (is_lost || has_way(of.server_node, of.node)) of.deliver_to_client();
  }

  static void cut(pipe& of) {
    of.close_client();
    of.conversation.reset();
  }

  class connector final : public detail::message_connector {
   public:
    connector(simulated_mesh& of, int node, int place) : net_(of), node_(node), place_(place) {}
    std::string name() const override { return "place " + std::to_string(place_); }
    task<std::shared_ptr<detail::message_channel>> connect() override {
      const auto to = co_await net_.pass(node_, place_);
      if (!to) throw error(errc::connection_failed, "nobody serves there");
      auto made = std::make_shared<pipe>(net_, node_);
      made->server_node = to->node;
      made->server = to;
      co_return net_.open(std::move(made), *to->extension);
    }

   private:
    simulated_mesh& net_;
    int node_;
    int place_;
  };

  // The store that the agents of a round share, over the same network.
  class place_store final : public far_store {
   public:
    place_store(simulated_mesh& of, int node, int place) : net_(of), node_(node), place_(place) {}

   private:
    // Waits for a server that is gone, as long as the caller does.
    task<std::shared_ptr<store>> reach() override {
      for (;;) {
        const auto to = co_await net_.pass(node_, place_);
        if (to) co_return elastic::detail::internals::make<memory_store>(to->engine);
      }
    }

    simulated_mesh& net_;
    int node_;
    int place_;
  };

  bool has_way(int from, int to) const {
    const bool is_stuck = parted_.count(from) + parted_.count(to) != 0;
    return from == to || (!is_stuck && muted_.count(from) == 0 && deaf_.count(to) == 0);
  }

  // Reaches the server at an address as soon as there is a path; null if nobody serves there.
  task<std::shared_ptr<server>> pass(int node, int place) {
    co_await time_.sleep_until(time_.now() + delay());
    for (;;) {
      const auto position = servers_.find(place);
      if (position == servers_.end()) co_return nullptr;
      const auto to = position->second;
      const bool is_barred = barred_.count(node) + barred_.count(to->node) != 0;
      if (is_barred && to->node != node) co_return nullptr;
      const bool has_ways = has_way(node, to->node) && has_way(to->node, node);
      if (has_ways && dead_.count(node) == 0) co_return to;
      co_await time_.sleep_until(time_.now() + retransmission);
    }
  }

  std::map<int, std::shared_ptr<server>> servers_;
  std::vector<std::shared_ptr<server>> replaced_;
  std::set<int> barred_;
  std::set<int> muted_;
  std::set<int> deaf_;
  /// When another connection between two nodes may break at one end again.
  std::map<std::pair<int, int>, time_point> safe_from_;
};

}  // namespace elastic::test
