// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/pending_command.hpp>
#include <elastic/agent/stop_request.hpp>
#include <elastic/agent/worker_request.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_core.hpp>
#include <elastic/base/task.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <variant>

namespace elastic::detail {

/// To pass a signal on to the workers, which end or do not as they like.
struct signal_request {
  int number = 0;
};

/// To send a signal to one worker of the job, if it runs on this node.
struct rank_signal_request {
  int rank = 0;
  int number = 0;
  /// Logged with it; empty: it is not logged but for debugging.
  std::string reason = {};
};

using agent_request = std::variant<stop_request, signal_request, rank_signal_request,
                                   worker_request, std::shared_ptr<pending_command>>;

/// Carries requests from any thread to the strand of the agent that they are for. Those that come
/// before the agent runs wait for it; those that come after it are dropped.
class request_inbox : public std::enable_shared_from_this<request_inbox> {
 public:
  /// From any thread.
  ELASTIC_DECL void push(agent_request request);

  /// On the strand: from now on each request is given to `take`, there.
  ELASTIC_DECL void open(asio::any_io_executor strand,
                         std::function<void(const agent_request&)> take);

  /// On the strand: nothing is taken any more, and the strand, whose context may end now, is let
  /// go of.
  ELASTIC_DECL void close();

 private:
  ELASTIC_DECL void deliver();

  std::mutex mutex_;
  std::deque<agent_request> waiting_;
  bool closed_ = false;
  std::optional<asio::any_io_executor> strand_;
  std::function<void(const agent_request&)> take_;
};

/// What a cancellation asks for: the gentlest of the types that it has.
ELASTIC_DECL stop_request as_stop_request(asio::cancellation_type requested);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/impl/request_inbox.ipp>
#endif
