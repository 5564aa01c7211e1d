// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/task.hpp>
#include <elastic/net/detail/message_channel.hpp>
#include <elastic/nodes/detail/rendezvous_message.hpp>

#include <deque>
#include <string>
#include <utility>

namespace elastic::test {

/// A node's end of a connection to a rendezvous server that the test plays: the test defines what
/// `send` does with the node's messages, and answers them.
class scripted_channel : public detail::message_channel {
 public:
  explicit scripted_channel(asio::any_io_executor executor) : changed_(std::move(executor)) {}

  task<std::string> receive() override {
    while (answers_.empty() && !has_ended_) {
      changed_.reset();
      co_await changed_.wait();
    }
    if (answers_.empty()) throw error(errc::connection_failed, "it broke");
    std::string text = std::move(answers_.front());
    answers_.pop_front();
    co_return text;
  }
  task<void> flush() override { co_return; }
  void close() override {
    has_ended_ = true;
    changed_.set();
  }
  bool is_in_handshake() const override { return in_handshake; }
  std::string local_address() const override { return "10.0.0.2"; }
  std::string remote_address() const override { return "10.0.0.1"; }

  bool has_ended() const { return has_ended_; }

  bool in_handshake = false;

  /// Makes the node receive a message.
  void answer(const detail::rendezvous_answer& message) { answer(detail::to_text(message)); }
  void answer(std::string message) {
    answers_.push_back(std::move(message));
    changed_.set();
  }

 private:
  std::deque<std::string> answers_;
  event_flag changed_;
  bool has_ended_ = false;
};

}  // namespace elastic::test
