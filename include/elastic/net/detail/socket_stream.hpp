// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_local.hpp>
#include <elastic/base/detail/asio_tcp.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/detail/byte_stream.hpp>
#include <elastic/net/endpoint.hpp>

#include <cstddef>
#include <string>
#include <utility>

namespace elastic::detail {

/// Opens the socket anew, and connects it.
/// @param patience  the longest wait for an answer
/// Result: why that failed; `timed_out` after the wait.
/// Cancellation: all types; the result is `operation_aborted` then.
ELASTIC_DECL task<asio_error_code> connect_one(asio::ip::tcp::socket& socket,
                                               asio::ip::tcp::endpoint end,
                                               duration patience = duration::max());

/// Connects to a port of a host, at the first address that accepts.
///
/// Errors: `errc::connection_failed`, naming each address that was tried and its error, or the name
/// that cannot be resolved.
/// Cancellation: all types.
ELASTIC_DECL task<asio::ip::tcp::socket> connect_tcp(endpoint server);

/// A connection over TCP or a Unix socket, without encryption.
class ELASTIC_EXPORT socket_stream final : public byte_stream {
 public:
  explicit socket_stream(asio::generic::stream_protocol::socket connected)
      : socket_(std::move(connected)) {}

  ELASTIC_DECL task<std::size_t> read_some(asio::mutable_buffer buffer) override;
  ELASTIC_DECL task<void> write(std::string bytes) override;
  ELASTIC_DECL void close() override;

 private:
  ELASTIC_DECL void throw_if(asio_error_code failure) const;

  asio::generic::stream_protocol::socket socket_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/net/detail/socket_stream.ipp>
#endif
