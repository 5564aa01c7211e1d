// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: for etcd.

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/net/detail/byte_stream.hpp>
#include <elastic/net/detail/http_parser.hpp>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace elastic::detail {

/// A request to an HTTP server.
struct http_request {
  std::string method = "GET";
  /// From the first slash on, in the encoding in which it is sent.
  std::string target = "/";
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
};

/// The server's response.
struct http_response {
  int status = 0;
  /// By their names in lower case.
  std::map<std::string, std::string> headers;
  std::string body;
};

/// A connection to an HTTP/1.1 server that sends one request after another.
///
/// The caller limits the time: `with_deadline(time, deadline, connection.exchange(request))`.
///
/// Errors of every member that waits: `errc::connection_failed`, `errc::protocol_violation`.
/// Cancellation of every member that waits: all types; the connection is unusable then.
/// Thread-safety: one strand at a time; one request at a time.
class http_connection {
 public:
  /// @param host  the server's name in requests: "host:port"
  ELASTIC_DECL http_connection(std::unique_ptr<byte_stream> stream, std::string host);

  /// Sends a request and reads the complete response.
  ELASTIC_DECL task<http_response> exchange(http_request request);

  /// Sends a request and reads the beginning of a response whose body arrives in pieces.
  /// Result: the status.
  ELASTIC_DECL task<int> begin(http_request request);

  /// The next bytes of the body after `begin`; empty at its end.
  ELASTIC_DECL task<std::string> next_piece();

  /// Whether another request may be sent.
  bool is_usable() const { return is_usable_; }

  /// Whether the server has begun to answer the last request.
  bool was_answered() const { return parser_ && parser_->has_begun(); }

 private:
  ELASTIC_DECL std::string text_of(const http_request& request) const;
  ELASTIC_DECL task<void> read_some();
  ELASTIC_DECL bool ends_with_connection() const;

  std::unique_ptr<byte_stream> stream_;
  std::string host_;
  /// Of the present response; empty before the first request.
  std::optional<http_parser> parser_;
  std::array<char, 16 * 1024> piece_;
  bool is_usable_ = true;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/net/detail/http_connection.ipp>
#endif
