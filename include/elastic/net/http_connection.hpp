// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/asio.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/task.hpp>
#include <elastic/net/byte_stream.hpp>
#include <elastic/net/http_response_parser.hpp>

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic {

/// What is asked of an HTTP server.
struct http_request {
  std::string method = "GET";
  /// From the first slash on, encoded as it is to be sent.
  std::string target = "/";
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
};

/// What it answers.
struct http_response {
  int status = 0;
  /// By their names in small letters.
  std::map<std::string, std::string> headers;
  std::string body;
};

/// A connection to an HTTP/1.1 server, over which one request goes after the other.
///
/// Time limits are the caller's: `with_deadline(time, deadline, connection.exchange(request))`.
///
/// Errors of every member that waits: `errc::connection_failed`, `errc::protocol_violation`.
/// Cancellation of every member that waits: all types; the connection is of no use then.
/// Thread-safety: one strand at a time; one request at a time.
class http_connection {
 public:
  /// @param host  what the server is told that it was called: "host:port"
  http_connection(std::unique_ptr<byte_stream> stream, std::string host)
      : stream_(std::move(stream)), host_(std::move(host)) {}

  /// Sends a request and reads the whole response.
  task<http_response> exchange(http_request request) {
    co_await begin(std::move(request));
    while (!parser_->is_complete()) co_await read_some();
    http_response response;
    response.status = parser_->status();
    response.headers = parser_->headers();
    response.body = parser_->take_body();
    is_usable_ = parser_->keeps_connection();
    co_return response;
  }

  /// Sends a request and reads the beginning of a response whose body comes bit by bit.
  /// Result: the status.
  task<int> begin(http_request request) {
    // Until the response is complete, whatever ends this ends the connection with it.
    is_usable_ = false;
    parser_.emplace();
    std::string bytes = text_of(request);
    co_await stream_->write(std::move(bytes));
    while (!parser_->has_head()) co_await read_some();
    co_return parser_->status();
  }

  /// The next bytes of the body of a response that was begun; empty at its end.
  task<std::string> next_piece() {
    std::string piece = parser_->take_body();
    while (piece.empty() && !parser_->is_complete()) {
      co_await read_some();
      piece = parser_->take_body();
    }
    if (piece.empty()) is_usable_ = parser_->keeps_connection();
    co_return piece;
  }

  /// Whether a further request may be sent.
  bool is_usable() const { return is_usable_; }

  /// Whether the server has answered anything to the last request.
  bool was_answered() const { return parser_ && parser_->has_begun(); }

 private:
  std::string text_of(const http_request& request) const {
    std::string text = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", request.method,
                                   request.target, host_);
    for (const auto& [name, value] : request.headers) {
      text += fmt::format("{}: {}\r\n", name, value);
    }
    text += fmt::format("Content-Length: {}\r\n\r\n", request.body.size());
    return text + request.body;
  }

  task<void> read_some() {
    const asio::mutable_buffer into = asio::buffer(piece_);
    const std::size_t size = co_await stream_->read_some(into);
    if (size > 0) {
      parser_->feed({piece_.data(), size});
    } else if (!parser_->has_begun()) {
      throw error(errc::connection_failed, "the server hung up without an answer");
    } else if (!parser_->has_head() || !ends_with_connection()) {
      throw error(errc::connection_failed, "the server hung up in the middle of its answer");
    } else {
      parser_->end();
    }
  }

  bool ends_with_connection() const {
    return parser_->header("content-length").empty() &&
           parser_->header("transfer-encoding").empty();
  }

  std::unique_ptr<byte_stream> stream_;
  std::string host_;
  std::optional<http_response_parser> parser_;
  std::array<char, 16 * 1024> piece_;
  bool is_usable_ = true;
};

}  // namespace elastic
