// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/run/pending_command.hpp>
#include <elastic/agent/stop_request.hpp>
#include <elastic/agent/worker_request.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_core.hpp>
#include <elastic/base/task.hpp>

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>

namespace elastic::detail {

/// Passes a signal on to the workers. It need not end them.
struct signal_request {
  int number = 0;
};

/// Sends a signal to one worker of the job, if it runs on this node.
struct rank_signal_request {
  int rank = 0;
  int number = 0;
  /// The reason for the log; empty: the signal is logged at debug level only.
  std::string reason = {};
};

using agent_request = std::variant<stop_request, signal_request, rank_signal_request,
                                   worker_request, std::shared_ptr<pending_command>>;

/// Carries requests from any thread to the strand of an agent. Requests that arrive before the
/// agent runs are kept for it; requests that arrive after it are dropped.
class request_inbox : public std::enable_shared_from_this<request_inbox> {
 public:
  /// Adds a request. Any thread may call it.
  ELASTIC_DECL void push(agent_request request);

  /// Called on the strand: from now on, passes each request to `take` there.
  ELASTIC_DECL void open(asio::any_io_executor strand,
                         std::function<void(const agent_request&)> take);

  /// Called on the strand, or if the inbox was never opened: accepts no more requests, and releases
  /// the strand, so that its context can end.
  ELASTIC_DECL void close();

  /// The number of requests that the strand has not taken yet. Any thread may call it.
  ELASTIC_DECL std::size_t waiting() const;

 private:
  ELASTIC_DECL void deliver();

  mutable std::mutex mutex_;
  std::deque<agent_request> waiting_;
  bool closed_ = false;
  std::optional<asio::any_io_executor> strand_;
  std::function<void(const agent_request&)> take_;
};

/// The end of an inbox that belongs to a run. It closes the inbox when the run has ended, when it
/// is destroyed with its context, and when it never begins.
class inbox_reader {
 public:
  explicit inbox_reader(std::shared_ptr<request_inbox> inbox) : inbox_(std::move(inbox)) {}
  inbox_reader(inbox_reader&&) noexcept = default;
  inbox_reader& operator=(inbox_reader&&) = delete;
  ~inbox_reader() {
    if (inbox_) inbox_->close();
  }

  const std::shared_ptr<request_inbox>& inbox() const { return inbox_; }

 private:
  std::shared_ptr<request_inbox> inbox_;
};

/// Reaches the inbox and the monitor of an object whose run may outlive the object.
struct inbox_access {
  template <class Runner>
  static std::shared_ptr<request_inbox> of(const Runner& runner) {
    return runner.inbox_;
  }
  template <class Runner>
  static const auto& monitor_of(const Runner& runner) {
    return *runner.monitor_;
  }
};

/// The stop that a cancellation requests: that of its gentlest type.
ELASTIC_DECL stop_request as_stop_request(asio::cancellation_type requested);

/// The stop that the destructor of an object requests for its run.
ELASTIC_DECL stop_request stop_by_destructor(const char* type);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/run/request_inbox.ipp>
#endif
