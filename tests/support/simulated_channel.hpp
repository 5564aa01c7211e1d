// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/base/task.hpp>
#include <elastic/net/detail/message_channel.hpp>
#include <elastic/net/detail/message_frame.hpp>

#include <memory>
#include <string>
#include <utility>

namespace elastic::test {

/// The client's end of a simulated connection. A pipe has the bytes on their way to the server
/// (`to_server`), the messages that have arrived (`inbox`, `arrived`), whether it is open
/// (`is_open`, `client_closed`, `close_client`), and `deliver_later`.
template <class Pipe>
class simulated_channel final : public detail::message_channel {
 public:
  explicit simulated_channel(std::shared_ptr<Pipe> over) : pipe_(std::move(over)) {}
  ~simulated_channel() override { close(); }

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
  std::shared_ptr<Pipe> pipe_;
};

}  // namespace elastic::test
