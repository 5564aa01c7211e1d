// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/detail/byte_stream.hpp>
#include <elastic/net/detail/socket_stream.hpp>
#include <elastic/net/detail/stream_listener.hpp>
#include <program/doctor/node_report.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace elasticrun {

/// Answers other nodes of a job that measure their link to this one. Closes every connection that
/// does not begin with the token, sends too much or takes too long.
///
/// Thread-safety: one strand at a time, that of the executor.
class link_server {
 public:
  /// Listens at a free port of a numeric address of this host.
  /// Errors: those of `stream_listener::at_address`.
  link_server(const elastic::asio::any_io_executor& executor, const std::string& address,
              std::shared_ptr<elastic::time_source> time);

  std::uint16_t port() const { return listener_.port(); }
  const std::string& token() const { return token_; }

  /// Serves until a cancellation ends it; no connection is left then.
  /// Cancellation: all types.
  elastic::task<void> run();

 private:
  elastic::task<void> serve(elastic::detail::socket_stream stream);
  elastic::task<void> answer(elastic::detail::byte_stream& stream);

  std::shared_ptr<elastic::time_source> time_;
  elastic::detail::stream_listener listener_;
  std::string token_;
};

/// Measures the link to a node.
///
/// @param peer           the node's report
/// @param rank           the node's rank
/// @param measures_rate  whether to measure the rate as well, which takes about 80 ms
/// Errors: none; `link_report::failure` describes them.
/// Cancellation: all types.
elastic::task<link_report> probe_link(node_report peer, int rank, bool measures_rate,
                                      std::shared_ptr<elastic::time_source> time);

}  // namespace elasticrun
