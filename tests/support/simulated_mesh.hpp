// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/internals.hpp>
#include <elastic/base/detail/random.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/detail/message_channel.hpp>
#include <elastic/net/detail/message_frame.hpp>
#include <elastic/store/detail/key_value_engine.hpp>
#include <elastic/store/detail/store_extension.hpp>
#include <elastic/store/memory_store.hpp>
#include <support/asio.hpp>
#include <support/simulated_channel.hpp>
#include <support/manual_time.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace elastic::test {

/// A network of nodes. Some of them serve at well-known addresses, each of which one node after
/// another may serve. Messages take time. A node can be cut off in one or both directions, lose its
/// connections, also at one end only, or die. Each connection keeps the order of its messages.
/// Everything follows from the seed of `random`.
class simulated_mesh {
 public:
  simulated_mesh(manual_time& time, elastic::detail::random_source& random)
      : time_(time), random_(random) {}

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
      for (const auto& entry : std::vector(pipes_)) {
        if (entry->at == ended) entry->break_off();
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
    for (const auto& entry : std::vector(pipes_)) {
      if (entry->at == ended) entry->end.hang_up();
    }
    ended->cancel.emit(asio::cancellation_type::terminal);
  }

  void end() {
    for (const auto& entry : std::vector(pipes_)) entry->cut();
    pipes_.clear();
    for (const auto& [place, host] : servers_) replaced_.push_back(host);
    for (const auto& host : replaced_) host->cancel.emit(asio::cancellation_type::terminal);
    replaced_.clear();
    servers_.clear();
  }

  // ---- faults ---------------------------------------------------------------------------------

  /// Silently blocks all traffic between the node and the others.
  void part(int node) { parted_.insert(node); }
  /// The same in one direction: traffic from the node (mute) or to the node (deafen).
  void mute(int node) { muted_.insert(node); }
  void deafen(int node) { deaf_.insert(node); }
  void mend(int node) {
    for (auto* nodes : {&parted_, &muted_, &deaf_}) nodes->erase(node);
    for (const auto& entry : std::vector(pipes_)) entry->deliver_later();
  }
  /// Prevents new connections from and to the node.
  void bar(int node) { barred_.insert(node); }
  /// Breaks all connections of the node; every end learns of it.
  void reset(int node) {
    for (const auto& entry : std::vector(pipes_)) {
      if (entry->touches(node)) entry->break_off();
    }
  }
  /// The same at both ends simultaneously; connections without a working path do not break.
  void reset_both_ends(int node) {
    for (const auto& entry : std::vector(pipes_)) {
      const bool has_ways =
          has_way(entry->node, entry->at->node) && has_way(entry->at->node, entry->node);
      if (!entry->touches(node) || !has_ways) continue;
      entry->cut();
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
      const bool is_within_a_host = entry->node == entry->at->node;
      const auto safe = safe_from_.find({entry->node, entry->at->node});
      const bool is_safe = safe == safe_from_.end() || safe->second <= time_.now();
      if (entry->touches(node) && !is_within_a_host && is_safe) breakable.push_back(entry);
    }
    if (breakable.empty()) return;
    const auto broken = breakable[random_.below(breakable.size())];
    safe_from_[{broken->node, broken->at->node}] = time_.now() + later + std::chrono::seconds(1);
    const bool is_at_client = random_.below(2) == 0;
    if (is_at_client) {
      broken->close_client();
    } else {
      broken->close_server();
    }
    asio::co_spawn(time_.context(), pipe::end_after(broken, later), [](std::exception_ptr) {});
  }
  void kill(int node) {
    dead_.insert(node);
    reset(node);
    stop(node);
  }

  std::shared_ptr<detail::message_connector> connector_of(int node, int place) {
    return std::make_shared<connector>(*this, node, place);
  }
  std::shared_ptr<store> store_of(int node, int place) {
    return std::make_shared<far_store>(*this, node, place);
  }

 private:
  struct server {
    int node = -1;
    std::shared_ptr<detail::store_extension> extension;
    std::shared_ptr<detail::key_value_engine> engine = std::make_shared<detail::key_value_engine>();
    asio::cancellation_signal cancel;
  };

  struct pipe : std::enable_shared_from_this<pipe> {
    pipe(simulated_mesh& of, int from, std::shared_ptr<server> to)
        : net(of), node(from), at(std::move(to)), arrived(of.time_.context().get_executor()) {}

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
      asio::ip::tcp::endpoint here() const override { return {}; }
      asio::ip::tcp::endpoint there() const override { return {}; }
      pipe& pipe_;
    };

    bool touches(int which) const { return node == which || at->node == which; }
    void deliver_later() {
      asio::co_spawn(net.time_.context(), deliver_after(shared_from_this(), net.delay()),
                     [](std::exception_ptr) {});
    }
    static task<void> deliver_after(std::shared_ptr<pipe> self, duration delay) {
      co_await self->net.time_.sleep_until(self->net.time_.now() + delay);
      self->deliver();
    }
    static task<void> end_after(std::shared_ptr<pipe> self, duration delay) {
      co_await self->net.time_.sleep_until(self->net.time_.now() + delay);
      self->cut();
      self->net.forget(*self);
    }

    void deliver() {
      if (!conversation && !is_open) return;
      const bool is_dead = net.dead_.count(node) + net.dead_.count(at->node) != 0;
      const auto self = shared_from_this();
      if (is_dead || net.has_way(node, at->node)) deliver_to_server();
      if (is_dead || net.has_way(at->node, node)) deliver_to_client();
    }

    void deliver_to_server() {
      while (conversation && !to_server.empty()) {
        const std::string bytes = std::move(to_server.front());
        to_server.pop_front();
        try {
          conversation->received(bytes);
        } catch (const error&) {
          hangs_up = true;
        }
      }
      if (client_closed) close_server();
    }

    void deliver_to_client() {
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
    }

    void close_client() {
      if (std::exchange(is_open, false)) arrived.set();
    }
    void close_server() {
      const auto ending = std::move(conversation);
      net.forget(*this);
    }
    // Messages in transit are lost if an end dies.
    void break_off() {
      if (net.dead_.count(node) != 0) to_server.clear();
      if (net.dead_.count(at->node) != 0) to_client.clear();
      close_client();
      client_closed = true;
      deliver_later();
    }
    void cut() {
      close_client();
      conversation.reset();
    }

    simulated_mesh& net;
    int node;
    std::shared_ptr<server> at;
    event_flag arrived;
    std::deque<std::string> inbox;
    bool is_open = true;
    server_end end{*this};
    std::unique_ptr<detail::store_extension::conversation> conversation;
    bool hangs_up = false;
    bool client_closed = false;
    const std::string server_address = "127.0.0.1";
    std::deque<std::string> to_server;
    std::deque<std::string> to_client;
    detail::frame_reader frames{limits::rendezvous_message_bytes};
  };

  using channel = simulated_channel<pipe>;

  class connector final : public detail::message_connector {
   public:
    connector(simulated_mesh& of, int node, int place) : net_(of), node_(node), place_(place) {}
    std::string name() const override { return "place " + std::to_string(place_); }
    task<std::shared_ptr<detail::message_channel>> connect() override {
      const auto to = co_await net_.pass(node_, place_);
      if (!to) throw error(errc::connection_failed, "nobody serves there");
      auto made = std::make_shared<pipe>(net_, node_, to);
      made->conversation = to->extension->begin(made->end);
      net_.pipes_.push_back(made);
      co_return std::make_shared<channel>(std::move(made));
    }

   private:
    simulated_mesh& net_;
    int node_;
    int place_;
  };

  // The store that the agents of a round share, over the same network.
  class far_store final : public store {
   public:
    far_store(simulated_mesh& of, int node, int place) : net_(of), node_(node), place_(place) {}

    task<void> set(std::string key, std::string value) override {
      const auto inner = co_await reach();
      co_await inner->set(std::move(key), std::move(value));
    }
    task<std::string> get(std::string key) override {
      const auto inner = co_await reach();
      std::string value = co_await inner->get(std::move(key));
      co_await reach();
      co_return value;
    }
    task<std::int64_t> add(std::string key, std::int64_t delta) override {
      const auto inner = co_await reach();
      co_return co_await inner->add(std::move(key), delta);
    }
    task<std::string> compare_set(std::string key, std::string expected,
                                  std::string desired) override {
      const auto inner = co_await reach();
      co_return co_await inner->compare_set(std::move(key), std::move(expected),
                                            std::move(desired));
    }
    task<void> wait(key_list keys) override {
      const auto inner = co_await reach();
      co_await inner->wait(std::move(keys));
    }
    task<bool> check(key_list keys) override {
      const auto inner = co_await reach();
      co_return co_await inner->check(std::move(keys));
    }
    task<bool> erase(std::string key) override {
      const auto inner = co_await reach();
      co_return co_await inner->erase(std::move(key));
    }
    task<std::int64_t> num_keys() override {
      const auto inner = co_await reach();
      co_return co_await inner->num_keys();
    }
    task<void> append(std::string key, std::string value) override {
      const auto inner = co_await reach();
      co_await inner->append(std::move(key), std::move(value));
    }
    task<std::vector<std::string>> multi_get(key_list keys) override {
      const auto inner = co_await reach();
      co_return co_await inner->multi_get(std::move(keys));
    }
    task<void> multi_set(key_value_list pairs) override {
      const auto inner = co_await reach();
      co_await inner->multi_set(std::move(pairs));
    }

   private:
    // Waits for a server that is gone, as long as the caller does.
    task<std::shared_ptr<memory_store>> reach() {
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

  duration delay() {
    const std::uint64_t longest = random_.below(20) == 0 ? 100'000 : 2'000;
    return std::chrono::microseconds(random_.below(longest));
  }

  // Reaches the server at an address as soon as there is a path; null if nobody serves there.
  task<std::shared_ptr<server>> pass(int node, int place) {
    constexpr std::chrono::milliseconds retransmission{50};
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

  void forget(pipe& ended) {
    std::erase_if(pipes_, [&](const auto& entry) { return entry.get() == &ended; });
  }

  manual_time& time_;
  elastic::detail::random_source& random_;
  std::map<int, std::shared_ptr<server>> servers_;
  std::vector<std::shared_ptr<server>> replaced_;
  std::vector<std::shared_ptr<pipe>> pipes_;
  std::set<int> parted_;
  std::set<int> barred_;
  std::set<int> muted_;
  std::set<int> deaf_;
  std::set<int> dead_;
  /// When another connection between two nodes may break at one end again.
  std::map<std::pair<int, int>, time_point> safe_from_;
};

}  // namespace elastic::test
