// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/net/detail/http_connection.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>

#include <cstddef>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL http_connection::http_connection(std::unique_ptr<byte_stream> stream, std::string host)
    : stream_(std::move(stream)), host_(std::move(host)) {}

ELASTIC_DECL task<http_response> http_connection::exchange(http_request request) {
  co_await begin(std::move(request));
  while (parser_->current() != http_parser::state::complete) co_await read_some();
  http_response response;
  response.status = parser_->head().status;
  response.headers = parser_->head().headers;
  response.body = parser_->take_body();
  is_usable_ = parser_->head().keeps_connection;
  co_return response;
}

ELASTIC_DECL task<int> http_connection::begin(http_request request) {
  // Anything that interrupts this before the response is complete makes the connection unusable.
  is_usable_ = false;
  // The number of headers is bounded by their bytes.
  const http_parser::bounds most{limits::http_head_bytes, limits::http_head_bytes,
                                 limits::http_body_bytes};
  parser_.emplace(http_parser::message::response, most);
  std::string bytes = text_of(request);
  co_await stream_->write(std::move(bytes));
  while (!parser_->has_head()) co_await read_some();
  co_return parser_->head().status;
}

ELASTIC_DECL task<std::string> http_connection::next_piece() {
  std::string piece = parser_->take_body();
  while (piece.empty() && parser_->current() != http_parser::state::complete) {
    co_await read_some();
    piece = parser_->take_body();
  }
  if (piece.empty()) is_usable_ = parser_->head().keeps_connection;
  co_return piece;
}

ELASTIC_DECL std::string http_connection::text_of(const http_request& request) const {
  std::string text =
      fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", request.method, request.target, host_);
  for (const auto& [name, value] : request.headers) {
    text += fmt::format("{}: {}\r\n", name, value);
  }
  text += fmt::format("Content-Length: {}\r\n\r\n", request.body.size());
  return text + request.body;
}

inline error refusal_error(const http_refusal& refusal) {
  const bool is_too_long = refusal.status == 413 || refusal.status == 431;
  return error(errc::protocol_violation,
               fmt::format("the answer is {}: {}", is_too_long ? "too long" : "not valid HTTP/1.1",
                           refusal.problem));
}

ELASTIC_DECL task<void> http_connection::read_some() {
  const asio::mutable_buffer piece = asio::buffer(piece_);
  const std::size_t size = co_await stream_->read_some(piece);
  if (size > 0) {
    const std::size_t taken = parser_->feed({piece_.data(), size});
    if (parser_->current() == http_parser::state::refused) throw refusal_error(parser_->refusal());
    if (taken < size) throw refusal_error({400, "there are bytes behind its end"});
  } else if (!parser_->has_begun()) {
    throw error(errc::connection_failed, "the server hung up without an answer");
  } else if (!parser_->has_head() || !ends_with_connection()) {
    throw error(errc::connection_failed, "the server hung up in the middle of its answer");
  } else {
    parser_->end();
  }
}

ELASTIC_DECL bool http_connection::ends_with_connection() const {
  const http_head& head = parser_->head();
  return head.header("content-length").empty() && head.header("transfer-encoding").empty();
}

}  // namespace elastic::detail
