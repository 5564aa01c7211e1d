// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/internals.hpp>
#include <elastic/base/detail/random.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/race.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/detail/message_channel.hpp>
#include <elastic/nodes/detail/rendezvous_service.hpp>
#include <elastic/store/memory_store.hpp>
#include <elastic/store/store.hpp>
#include <support/host_clock.hpp>
#include <support/manual_time.hpp>
#include <support/world.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace elastic::test {

/// A rendezvous server and a network between it and the nodes. Messages take time or get stuck:
/// each node's path to the server can be cut and restored, its connections can break, and the
/// server can stall. Everything follows from the seed of `random`.
class simulated_network final : public world {
 public:
  simulated_network(manual_time& time, elastic::detail::random_source& random)
      : world(time, random) {
    start_server("10.0.0.1");
  }

  /// Ends the server. Once the context has run out of work, nothing of the network is left.
  void end() { stop_server(); }

  // ---- faults ---------------------------------------------------------------------------------

  void mend(int node) {
    world::mend(node);
    for (const auto& entry : std::vector(dying_)) entry->deliver_later();
  }
  /// Like `reset`, but the later messages in transit are lost: each end has received less than the
  /// other has sent, and does not know how much.
  void reset_and_lose(int node) {
    for (const auto& entry : pipes()) {
      if (entry->node != node) continue;
      entry->to_server.resize(random_.below(entry->to_server.size() + 1));
      entry->to_client.resize(random_.below(entry->to_client.size() + 1));
      deliver(*entry);
      entry->to_server.clear();
      entry->to_client.clear();
      entry->break_off();
    }
  }
  /// Breaks one of the node's connections at one end; the other end learns of it when it sends
  /// something.
  ///
  /// Never breaks both connections of a node at once: agents take that as the end of a process.
  void reset_one_end(int node) {
    const auto unsafe = unsafe_until_.find(node);
    if (unsafe != unsafe_until_.end() && time_.now() < unsafe->second) return;
    std::vector<std::shared_ptr<pipe>> its_own;
    for (const auto& entry : pipes_) {
      if (entry->node == node && entry->is_open && !entry->client_closed) its_own.push_back(entry);
    }
    if (its_own.empty()) return;
    unsafe_until_[node] = time_.now() + std::chrono::seconds(1);
    const std::shared_ptr<pipe> broken = its_own[random_.below(its_own.size())];
    if (random_.below(2) == 0) {
      broken->close_client();
    } else {
      lose_server_end(*broken);
    }
  }
  /// Until then, the server neither accepts nor answers anything.
  void stall(duration span) {
    stalled_until_ = std::max(stalled_until_, time_.now() + span);
    run_after(span, [this] {
      for (const auto& entry : pipes()) entry->deliver_later();
    });
  }

  /// Kills the server, which forgets everything. Its connections end, new ones fail, and so do
  /// requests to its store.
  void stop_server() {
    if (!life_) return;
    life_->cancel.emit(asio::cancellation_type::terminal);
    life_->ended.set();
    for (const auto& entry : pipes()) die(*entry);
    stalled_until_ = time_point::min();
    life_.reset();
  }
  /// Starts a new server, with its own time of day.
  void start_server(std::string address) {
    life_ = std::make_shared<server_life>(time_.context().get_executor(),
                                          random_clock(time_, random_), std::move(address));
    life_->clock->wall_offset =
        std::chrono::seconds(random_.below(2'000'000)) - std::chrono::seconds(1'000'000);
    asio::co_spawn(
        time_.context(), life_->service->run(),
        asio::bind_cancellation_slot(life_->cancel.slot(), [of = life_](std::exception_ptr) {}));
  }
  bool has_server() const { return life_ != nullptr; }

  bool is_cut_off(int node) const { return parted_.count(node) + dead_.count(node) != 0; }

  /// A node's connector to the server.
  std::shared_ptr<detail::message_connector> connector_of(int node) {
    return std::make_shared<connector>(*this, node);
  }

  /// The server's store over the network of one node.
  std::shared_ptr<store> store_of(int node) { return std::make_shared<server_store>(*this, node); }

 private:
  // One run of the server, from its start to its death.
  struct server_life {
    server_life(asio::any_io_executor executor, std::shared_ptr<host_clock> its_clock,
                std::string its_address)
        : clock(std::move(its_clock)),
          address(std::move(its_address)),
          service(std::make_shared<detail::rendezvous_service>(logger(), clock)),
          ended(std::move(executor)) {}
    std::shared_ptr<host_clock> clock;
    std::string address;
    std::shared_ptr<detail::key_value_engine> engine = std::make_shared<detail::key_value_engine>();
    std::shared_ptr<detail::rendezvous_service> service;
    event_flag ended;
    asio::cancellation_signal cancel;
  };

  void deliver(pipe& of) override {
    if (!of.conversation && !of.is_open) return;
    if (is_cut_off(of.node) && !is_dead(of.node)) return;
    if (time_.now() < stalled_until_) return;
    const auto self = of.shared_from_this();
    of.deliver_to_server();
    if (of.client_closed || (!of.is_open && !of.to_client.empty())) of.close_server();
    // There is no server to receive the messages.
    if (of.has_lost_server && !of.to_server.empty()) of.close_client();
    of.deliver_to_client();
    if (std::erase(dying_, self) != 0) of.close_client();
  }

  void lose_server_end(pipe& of) {
    const auto self = of.shared_from_this();
    of.has_lost_server = true;
    of.to_server.clear();
    of.to_client.clear();
    of.close_server();
  }

  // The connection ends with the server: messages that the server sent arrive, followed by the end,
  // if there is a path.
  void die(pipe& of) {
    const auto self = of.shared_from_this();
    of.to_server.clear();
    of.close_server();
    dying_.push_back(self);
    of.deliver_later();
  }

  class connector final : public detail::message_connector {
   public:
    connector(simulated_network& of, int node) : net_(of), node_(node) {}
    std::string name() const override { return "the server"; }
    task<std::shared_ptr<detail::message_channel>> connect() override {
      co_await net_.pass(node_);
      if (!net_.life_) throw error(errc::connection_failed, "Connection refused");
      auto made = std::make_shared<pipe>(net_, node_);
      made->server_address = net_.life_->address;
      made->server_end = {asio::ip::make_address(made->server_address), 1};
      co_return net_.open(std::move(made), *net_.life_->service);
    }

   private:
    simulated_network& net_;
    int node_;
  };

  // The store that the agents of a round share, over the same network. It dies with the server.
  class server_store final : public far_store {
   public:
    server_store(simulated_network& of, int node) : net_(of), node_(node) {}

    task<std::string> get(std::string key) override {
      std::vector<std::string> keys(1, key);
      co_await wait(std::move(keys));
      const auto inner = co_await reach();
      co_return co_await inner->get(std::move(key));
    }
    task<void> wait(key_list keys) override {
      const auto inner = co_await reach();
      const auto life = net_.life_;
      co_await race(inner->wait(std::move(keys)), life->ended.wait());
      if (life->ended.is_set()) throw gone();
    }
    task<std::vector<std::string>> multi_get(key_list keys) override {
      std::vector<std::string> waited = keys;
      co_await wait(std::move(waited));
      const auto inner = co_await reach();
      co_return co_await inner->multi_get(std::move(keys));
    }

   private:
    static error gone() { return error(errc::connection_failed, "the server is gone"); }
    task<std::shared_ptr<store>> reach() override {
      co_await net_.pass(node_);
      if (!net_.life_) throw gone();
      co_return detail::internals::make<memory_store>(net_.life_->engine);
    }

    simulated_network& net_;
    int node_;
  };

  /// Carries a message from a node to the server as soon as there is a path.
  task<void> pass(int node) {
    co_await time_.sleep_until(time_.now() + delay());
    while (is_cut_off(node) || time_.now() < stalled_until_) {
      co_await time_.sleep_until(time_.now() + retransmission);
    }
  }

  /// Null while the server is dead.
  std::shared_ptr<server_life> life_;
  /// The connections whose clients do not know yet that the server has died.
  std::vector<std::shared_ptr<pipe>> dying_;
  time_point stalled_until_ = time_point::min();
  /// Until when no further connection of a node may break at one end.
  std::map<int, time_point> unsafe_until_;
};

}  // namespace elastic::test
