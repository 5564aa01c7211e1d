// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/inspection/detail/recorder_client.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/net/detail/byte_stream.hpp>
#include <elastic/net/detail/http_connection.hpp>
#include <elastic/net/detail/stream_listener.hpp>

#include <memory>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL task<std::string> ask_recorder(std::string socket, std::string handler,
                                            std::size_t most_bytes) {
  std::unique_ptr<byte_stream> stream = co_await connect_path(std::move(socket));
  http_connection connection(std::move(stream), "localhost");
  http_request request;
  request.method = "POST";
  request.target = "/handler/" + handler;
  const int status = co_await connection.begin(std::move(request));
  std::string body;
  for (;;) {
    const std::string piece = co_await connection.next_piece();
    if (piece.empty()) break;
    if (body.size() + piece.size() > most_bytes) {
      throw error(errc::protocol_violation,
                  fmt::format("its answer to {} exceeds {} bytes", handler, most_bytes));
    }
    body += piece;
  }
  co_return status == 200 ? body : std::string();
}

ELASTIC_DECL task<std::string> read_recorder(std::string socket) {
  // With NCCL this one has the states and times of the device, too.
  std::string recorded = co_await ask_recorder(socket, "dump_nccl_trace_json",
                                               limits::recorder_bytes);
  if (recorded.empty()) {
    recorded = co_await ask_recorder(socket, "fr_trace_json", limits::recorder_bytes);
  }
  co_return recorded;
}

}  // namespace elastic::detail
