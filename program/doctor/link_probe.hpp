// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/detail/byte_stream.hpp>
#include <elastic/net/detail/stream_listener.hpp>
#include <program/doctor/node_report.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace elasticrun {

/// Answers the other nodes of a job that measure the way to this one. Closes every connection that
/// does not begin with its token, sends too much or takes too long.
///
/// Thread-safety: one strand at a time, that of the executor.
class link_server {
 public:
  /// Listens at a numeric address of this host, at a free port.
  /// Errors: those of `stream_listener::at_address`.
  link_server(const elastic::asio::any_io_executor& executor, const std::string& address,
              std::shared_ptr<elastic::time_source> time);

  std::uint16_t port() const { return listener_.port(); }
  const std::string& token() const { return token_; }

  /// Serves. Cancellation: all types; only a cancellation or an error ends it, and then no
  /// connection is left.
  elastic::task<void> run();

 private:
  elastic::task<void> serve(std::unique_ptr<elastic::detail::byte_stream> stream);
  elastic::task<void> answer(elastic::detail::byte_stream& stream);

  std::shared_ptr<elastic::time_source> time_;
  elastic::detail::stream_listener listener_;
  std::string token_;
};

/// Measures the way to a node.
///
/// @param peer           what the node told
/// @param rank           the node's rank
/// @param measures_rate  whether data is sent, for some 80 ms
/// Errors: none; the result has them.
/// Cancellation: all types.
elastic::task<link_report> probe_link(node_report peer, int rank, bool measures_rate,
                                      std::shared_ptr<elastic::time_source> time);

}  // namespace elasticrun
