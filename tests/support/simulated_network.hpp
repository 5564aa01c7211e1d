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
#include <elastic/net/detail/message_frame.hpp>
#include <elastic/nodes/detail/rendezvous_service.hpp>
#include <elastic/process/detail/syscalls.hpp>
#include <elastic/store/memory_store.hpp>
#include <elastic/store/store.hpp>
#include <support/simulated_channel.hpp>
#include <support/host_clock.hpp>
#include <support/manual_time.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace elastic::test {

/// A rendezvous server and a network between it and the nodes. Messages take time or get stuck:
/// each node's path to the server can be cut and restored, its connections can break, and the
/// server can stall. Like TCP, each connection keeps the order of its messages. Everything follows
/// from the seed of `random`.
class simulated_network {
 public:
  simulated_network(manual_time& time, elastic::detail::random_source& random)
      : time_(time), random_(random) {
    start_server("10.0.0.1");
  }

  /// Ends the server. Once the context has run out of work, nothing of the network is left.
  void end() { stop_server(); }

  // ---- faults ---------------------------------------------------------------------------------

  /// Silently blocks all traffic between the node and the server.
  void part(int node) { parted_.insert(node); }
  /// Unblocks the traffic; held messages get through.
  void mend(int node) {
    parted_.erase(node);
    for (const auto& entry : std::vector(pipes_)) entry->deliver_later();
    for (const auto& entry : std::vector(dying_)) entry->deliver_later();
  }
  /// Breaks the node's connections; both ends learn of it.
  void reset(int node) {
    for (const auto& entry : std::vector(pipes_)) {
      if (entry->node == node) entry->break_off();
    }
  }
  /// The same, but all messages in transit except the first are lost: each end has received less
  /// than the other has sent, and does not know how much.
  void reset_and_lose(int node) {
    for (const auto& entry : std::vector(pipes_)) {
      if (entry->node != node) continue;
      entry->to_server.resize(random_.below(entry->to_server.size() + 1));
      entry->to_client.resize(random_.below(entry->to_client.size() + 1));
      entry->deliver();
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
      broken->lose_server_end();
    }
  }
  /// Kills the node: the server sees its connections end, and nothing works any more for the node.
  void kill(int node) {
    dead_.insert(node);
    reset(node);
  }
  /// Until then, the server neither accepts nor answers anything.
  void stall(duration span) {
    stalled_until_ = std::max(stalled_until_, time_.now() + span);
    deliver_all_later(span);
  }

  /// Kills the server, which forgets everything. Its connections end, new ones fail, and so do
  /// requests to its store.
  void stop_server() {
    if (!life_) return;
    life_->cancel.emit(asio::cancellation_type::terminal);
    life_->ended.set();
    for (const auto& entry : std::vector(pipes_)) entry->die();
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
  std::shared_ptr<store> store_of(int node) { return std::make_shared<far_store>(*this, node); }

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

  // One connection, with a queue for each direction.
  struct pipe : std::enable_shared_from_this<pipe> {
    pipe(simulated_network& of, int from)
        : net(of),
          node(from),
          server_address(of.life_->address),
          arrived(of.time_.context().get_executor()) {}

    // ---- the client's end -----------------------------------------------------------------
    simulated_network& net;
    int node;
    std::string server_address;
    event_flag arrived;
    std::deque<std::string> inbox;
    bool is_open = true;

    // ---- the server's end -----------------------------------------------------------------
    struct server_end final : detail::store_extension::client {
      explicit server_end(pipe& of) : pipe_(of) {}
      void send(std::string_view bytes) override {
        pipe_.to_client.emplace_back(bytes);
        pipe_.deliver_later();
      }
      void hang_up() override {
        pipe_.hangs_up = true;
        pipe_.deliver_later();
      }
      asio::ip::tcp::endpoint here() const override {
        return {asio::ip::make_address(pipe_.server_address), 1};
      }
      asio::ip::tcp::endpoint there() const override { return {}; }
      pipe& pipe_;
    };
    server_end server{*this};
    std::unique_ptr<detail::store_extension::conversation> conversation;
    bool hangs_up = false;
    bool client_closed = false;
    bool has_died = false;
    bool has_lost_server = false;

    std::deque<std::string> to_server;
    std::deque<std::string> to_client;

    void deliver_later() {
      const duration delay = net.delay();
      asio::co_spawn(net.time_.context(), deliver_after(shared_from_this(), delay),
                     [](std::exception_ptr) {});
    }

    static task<void> deliver_after(std::shared_ptr<pipe> self, duration delay) {
      co_await self->net.time_.sleep_until(self->net.time_.now() + delay);
      self->deliver();
    }

    void deliver() {
      if (!conversation && !is_open) return;
      if (net.is_cut_off(node) && net.dead_.count(node) == 0) return;
      if (net.time_.now() < net.stalled_until_) return;
      const auto self = shared_from_this();
      while (conversation && !to_server.empty()) {
        const std::string bytes = std::move(to_server.front());
        to_server.pop_front();
        conversation->received(bytes);
      }
      if (client_closed || (!is_open && !to_client.empty())) close_server();
      // There is no server to receive the messages.
      if (has_lost_server && !to_server.empty()) close_client();
      while (is_open && !to_client.empty()) {
        frames.append(to_client.front());
        to_client.pop_front();
        while (const auto message = frames.next()) inbox.emplace_back(*message);
        arrived.set();
      }
      if (hangs_up && to_client.empty()) {
        close_client();
        close_server();
      }
      if (!has_died) return;
      close_client();
      std::erase(net.dying_, self);
    }

    // Ends the connection for the server.
    void lose_server_end() {
      const auto self = shared_from_this();
      has_lost_server = true;
      to_server.clear();
      to_client.clear();
      close_server();
    }

    // The connection ends with the server: messages that the server sent arrive, followed by the
    // end, if there is a path.
    void die() {
      const auto self = shared_from_this();
      has_died = true;
      to_server.clear();
      close_server();
      net.dying_.push_back(self);
      deliver_later();
    }

    void close_client() {
      if (!std::exchange(is_open, false)) return;
      arrived.set();
    }
    void close_server() {
      const auto ending = std::move(conversation);
      net.forget(*this);
    }
    // Breaks the connection; both ends learn of it, each after its own delay.
    void break_off() {
      close_client();
      if (net.dead_.count(node) != 0) to_server.clear();
      client_closed = true;
      deliver_later();
    }
    detail::frame_reader frames{limits::rendezvous_message_bytes};
  };

  using channel = simulated_channel<pipe>;

  class connector final : public detail::message_connector {
   public:
    connector(simulated_network& of, int node) : net_(of), node_(node) {}
    std::string name() const override { return "the server"; }
    task<std::shared_ptr<detail::message_channel>> connect() override {
      co_await net_.pass(node_);
      if (!net_.life_) throw error(errc::connection_failed, "Connection refused");
      auto made = std::make_shared<pipe>(net_, node_);
      made->conversation = net_.life_->service->begin(made->server);
      net_.pipes_.push_back(made);
      co_return std::make_shared<channel>(std::move(made));
    }

   private:
    simulated_network& net_;
    int node_;
  };

  // The store that the agents of a round share, over the same network. It dies with the server.
  class far_store final : public store {
   public:
    far_store(simulated_network& of, int node) : net_(of), node_(node) {}

    task<void> set(std::string key, std::string value) override {
      auto life = co_await reach();
      memory_store inner(*detail::internals::make<memory_store>(life->engine));
      co_await inner.set(std::move(key), std::move(value));
    }
    task<std::string> get(std::string key) override {
      std::vector<std::string> keys(1, key);
      co_await wait(std::move(keys));
      auto life = co_await reach();
      memory_store inner(*detail::internals::make<memory_store>(life->engine));
      co_return co_await inner.get(std::move(key));
    }
    task<std::int64_t> add(std::string key, std::int64_t delta) override {
      auto life = co_await reach();
      memory_store inner(*detail::internals::make<memory_store>(life->engine));
      co_return co_await inner.add(std::move(key), delta);
    }
    task<std::string> compare_set(std::string key, std::string expected,
                                  std::string desired) override {
      auto life = co_await reach();
      memory_store inner(*detail::internals::make<memory_store>(life->engine));
      co_return co_await inner.compare_set(std::move(key), std::move(expected), std::move(desired));
    }
    task<void> wait(key_list keys) override {
      auto life = co_await reach();
      memory_store inner(*detail::internals::make<memory_store>(life->engine));
      co_await race(inner.wait(std::move(keys)), life->ended.wait());
      if (life->ended.is_set()) throw gone();
    }
    task<bool> check(key_list keys) override {
      auto life = co_await reach();
      memory_store inner(*detail::internals::make<memory_store>(life->engine));
      co_return co_await inner.check(std::move(keys));
    }
    task<bool> erase(std::string key) override {
      auto life = co_await reach();
      memory_store inner(*detail::internals::make<memory_store>(life->engine));
      co_return co_await inner.erase(std::move(key));
    }
    task<std::int64_t> num_keys() override {
      auto life = co_await reach();
      memory_store inner(*detail::internals::make<memory_store>(life->engine));
      co_return co_await inner.num_keys();
    }
    task<void> append(std::string key, std::string value) override {
      auto life = co_await reach();
      memory_store inner(*detail::internals::make<memory_store>(life->engine));
      co_await inner.append(std::move(key), std::move(value));
    }
    task<std::vector<std::string>> multi_get(key_list keys) override {
      std::vector<std::string> waited = keys;
      co_await wait(std::move(waited));
      auto life = co_await reach();
      memory_store inner(*detail::internals::make<memory_store>(life->engine));
      co_return co_await inner.multi_get(std::move(keys));
    }
    task<void> multi_set(key_value_list pairs) override {
      auto life = co_await reach();
      memory_store inner(*detail::internals::make<memory_store>(life->engine));
      co_await inner.multi_set(std::move(pairs));
    }

   private:
    static error gone() { return error(errc::connection_failed, "the server is gone"); }
    task<std::shared_ptr<server_life>> reach() {
      co_await net_.pass(node_);
      if (!net_.life_) throw gone();
      co_return net_.life_;
    }

    simulated_network& net_;
    int node_;
  };

  /// The delay of one message: mostly short, sometimes long.
  duration delay() {
    const std::uint64_t longest = random_.below(20) == 0 ? 100'000 : 2'000;
    return std::chrono::microseconds(random_.below(longest));
  }

  /// Carries a message from a node to the server as soon as there is a path.
  task<void> pass(int node) {
    constexpr std::chrono::milliseconds retransmission{50};
    co_await time_.sleep_until(time_.now() + delay());
    while (is_cut_off(node) || time_.now() < stalled_until_) {
      co_await time_.sleep_until(time_.now() + retransmission);
    }
  }

  void deliver_all_later(duration span) {
    asio::co_spawn(time_.context(), deliver_all_after(span), [](std::exception_ptr) {});
  }
  task<void> deliver_all_after(duration span) {
    co_await time_.sleep_until(time_.now() + span);
    for (const auto& entry : std::vector(pipes_)) entry->deliver_later();
  }

  void forget(pipe& ended) {
    std::erase_if(pipes_, [&](const auto& entry) { return entry.get() == &ended; });
  }

  manual_time& time_;
  elastic::detail::random_source& random_;
  /// Null while the server is dead.
  std::shared_ptr<server_life> life_;
  std::vector<std::shared_ptr<pipe>> pipes_;
  /// The connections whose clients do not know yet that the server has died.
  std::vector<std::shared_ptr<pipe>> dying_;
  std::set<int> parted_;
  std::set<int> dead_;
  time_point stalled_until_ = time_point::min();
  /// Until when no further connection of a node may break at one end.
  std::map<int, time_point> unsafe_until_;
};

}  // namespace elastic::test
