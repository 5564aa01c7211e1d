// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/random.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/detail/message_channel.hpp>
#include <elastic/net/detail/message_frame.hpp>
#include <elastic/store/detail/store_extension.hpp>
#include <elastic/store/store.hpp>
#include <support/asio.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace elastic::test {

/// What simulations of a network share: a virtual clock, a seed, nodes that are cut off or dead,
/// and connections between a node and a server, each of which keeps the order of its messages, like
/// TCP. A derived class has the servers, and says which messages get through.
class world {
 public:
  world(manual_time& time, elastic::detail::random_source& random) : time_(time), random_(random) {}
  world(const world&) = delete;
  world& operator=(const world&) = delete;

  // ---- faults ---------------------------------------------------------------------------------

  /// Silently blocks all traffic of the node.
  void part(int node) { parted_.insert(node); }
  /// Unblocks the traffic; held messages get through.
  void mend(int node) {
    parted_.erase(node);
    for (const auto& entry : pipes()) entry->deliver_later();
  }
  /// Breaks all connections of the node; both ends learn of it.
  void reset(int node) {
    for (const auto& entry : pipes()) {
      if (entry->touches(node)) entry->break_off();
    }
  }
  /// Kills the node: its connections end, and nothing works any more for it.
  void kill(int node) {
    dead_.insert(node);
    reset(node);
  }

 protected:
  ~world() = default;

  /// One connection, with a queue for each direction.
  struct pipe final : detail::store_extension::client, std::enable_shared_from_this<pipe> {
    pipe(world& of, int from) : net(of), node(from), arrived(of.time_.context().get_executor()) {}

    // ---- the server's end -----------------------------------------------------------------

    void send(std::string_view bytes) override {
      to_client.emplace_back(bytes);
      deliver_later();
    }
    void hang_up() override {
      hangs_up = true;
      deliver_later();
    }
    asio::ip::tcp::endpoint here() const override { return server_end; }
    asio::ip::tcp::endpoint there() const override { return {}; }

    // ---- delivery -------------------------------------------------------------------------

    void deliver_later() {
      net.run_after(net.delay(), [self = shared_from_this()] { self->net.deliver(*self); });
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
    }
    void deliver_to_client() {
      while (is_open && !to_client.empty()) {
        frames.append(to_client.front());
        to_client.pop_front();
        while (const auto message = frames.next()) inbox.emplace_back(*message);
        arrived.set();
      }
      if (!hangs_up || !to_client.empty()) return;
      close_client();
      close_server();
    }

    // ---- ends -----------------------------------------------------------------------------

    bool touches(int which) const { return node == which || server_node == which; }
    void close_client() {
      if (std::exchange(is_open, false)) arrived.set();
    }
    void close_server() {
      const auto ending = std::move(conversation);
      net.forget(*this);
    }
    /// Breaks the connection; both ends learn of it, each after its own delay. Messages in transit
    /// are lost if their sender is dead.
    void break_off() {
      close_client();
      if (net.is_dead(node)) to_server.clear();
      if (net.is_dead(server_node)) to_client.clear();
      client_closed = true;
      deliver_later();
    }

    world& net;
    int node;
    /// The node and what serves there; -1 and null: the server is no node.
    int server_node = -1;
    std::shared_ptr<void> server;
    std::string server_address = "127.0.0.1";
    asio::ip::tcp::endpoint server_end;
    std::unique_ptr<detail::store_extension::conversation> conversation;
    bool is_open = true;
    bool client_closed = false;
    bool hangs_up = false;
    /// The server's end is gone; the client learns of it when it sends something.
    bool has_lost_server = false;
    std::deque<std::string> to_server;
    std::deque<std::string> to_client;
    detail::frame_reader frames{limits::rendezvous_message_bytes};
    std::deque<std::string> inbox;
    event_flag arrived;
  };

  /// The client's end of a connection.
  class channel final : public detail::message_channel {
   public:
    explicit channel(std::shared_ptr<pipe> over) : pipe_(std::move(over)) {}
    ~channel() override { close(); }

    void send(std::string message) override {
      if (!pipe_->is_open) return;
      std::string frame;
      detail::append_frame(frame, message);
      pipe_->to_server.push_back(std::move(frame));
      pipe_->deliver_later();
    }

    task<std::string> receive() override {
      const auto from = pipe_;
      while (from->inbox.empty()) {
        if (!from->is_open) throw error(errc::connection_failed, "the connection ended");
        from->arrived.reset();
        co_await from->arrived.wait();
      }
      std::string message = std::move(from->inbox.front());
      from->inbox.pop_front();
      co_return message;
    }

    task<void> flush() override { co_return; }

    void close() override {
      if (!pipe_->is_open) return;
      pipe_->close_client();
      pipe_->client_closed = true;
      pipe_->deliver_later();
    }

    std::string local_address() const override { return "127.0.0.1"; }
    std::string remote_address() const override { return pipe_->server_address; }

   private:
    std::shared_ptr<pipe> pipe_;
  };

  /// A store at the other side of the network. Each operation first reaches it.
  class far_store : public store {
   public:
    /// Errors: those of a node that does not reach it.
    virtual task<std::shared_ptr<store>> reach() = 0;

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
  };

  /// Delivers what gets through.
  virtual void deliver(pipe& of) = 0;

  /// Connects a new pipe to what serves at its end.
  template <class Server>
  std::shared_ptr<detail::message_channel> open(std::shared_ptr<pipe> made, Server& serving) {
    made->conversation = serving.begin(*made);
    pipes_.push_back(made);
    return std::make_shared<channel>(std::move(made));
  }

  /// A copy, since connections that end leave the list.
  std::vector<std::shared_ptr<pipe>> pipes() const { return pipes_; }
  void forget(const pipe& ended) {
    std::erase_if(pipes_, [&](const auto& entry) { return entry.get() == &ended; });
  }

  /// The delay of one message: mostly short, sometimes long.
  duration delay() {
    const std::uint64_t longest = random_.below(20) == 0 ? 100'000 : 2'000;
    return std::chrono::microseconds(random_.below(longest));
  }

  void run_after(duration wait, std::function<void()> event) {
    asio::co_spawn(time_.context(), call_after(&time_, wait, std::move(event)),
                   [](std::exception_ptr) {});
  }

  bool is_dead(int node) const { return dead_.count(node) != 0; }

  /// The pause between two tries to get a message through.
  static constexpr std::chrono::milliseconds retransmission{50};

  manual_time& time_;
  elastic::detail::random_source& random_;
  std::vector<std::shared_ptr<pipe>> pipes_;
  std::set<int> parted_;
  std::set<int> dead_;

 private:
  static task<void> call_after(manual_time* time, duration wait, std::function<void()> event) {
    co_await time->sleep_until(time->now() + wait);
    event();
  }
};

}  // namespace elastic::test
