// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/stop_request.hpp>
#include <elastic/agent/worker_request.hpp>
#include <elastic/base/asio.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>

namespace elastic::detail {

/// To pass a signal on to the workers, which end or do not as they like.
struct signal_request {
  int number = 0;
};

using agent_request = std::variant<stop_request, signal_request, worker_request>;

/// Carries requests from any thread to the strand of the agent that they are for. Those that come
/// before the agent runs wait for it; those that come after it are dropped.
class request_inbox : public std::enable_shared_from_this<request_inbox> {
 public:
  /// From any thread.
  void push(agent_request request) {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    waiting_.push_back(std::move(request));
    if (strand_) asio::post(*strand_, [self = this->shared_from_this()] { self->deliver(); });
  }

  /// On the strand: from now on each request is given to `take`, there.
  void open(asio::any_io_executor strand, std::function<void(const agent_request&)> take) {
    take_ = std::move(take);
    {
      const std::lock_guard lock(mutex_);
      strand_ = std::move(strand);
    }
    deliver();
  }

  /// On the strand: nothing is taken any more, and the strand, whose context may end now, is let
  /// go of.
  void close() {
    take_ = nullptr;
    const std::lock_guard lock(mutex_);
    closed_ = true;
    strand_.reset();
  }

 private:
  void deliver() {
    while (take_) {
      agent_request request;
      {
        const std::lock_guard lock(mutex_);
        if (waiting_.empty()) return;
        request = std::move(waiting_.front());
        waiting_.pop_front();
      }
      take_(request);
    }
  }

  std::mutex mutex_;
  std::deque<agent_request> waiting_;
  bool closed_ = false;
  std::optional<asio::any_io_executor> strand_;
  std::function<void(const agent_request&)> take_;
};

/// What a cancellation asks for: the gentlest of the types that it has.
inline stop_request as_stop_request(asio::cancellation_type requested) {
  const auto gentle = asio::cancellation_type::partial | asio::cancellation_type::total;
  stop_request request;
  const bool kill = (requested & gentle) == asio::cancellation_type::none;
  request.signal = kill ? SIGKILL : SIGTERM;
  request.reason = "cancelled";
  return request;
}

}  // namespace elastic::detail
