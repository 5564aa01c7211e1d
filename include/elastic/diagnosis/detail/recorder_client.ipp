// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/diagnosis/detail/recorder_client.hpp>

#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/net/detail/byte_stream.hpp>
#include <elastic/net/detail/http_connection.hpp>
#include <elastic/net/detail/stream_listener.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string_view>
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

ELASTIC_DECL task<std::vector<std::string>> read_recorders(std::string socket) {
  std::vector<std::string> recorded;
  for (const std::string_view handler : {"dump_nccl_trace_json", "fr_trace_json"}) {
    std::string answer = co_await ask_recorder(socket, std::string(handler),
                                               limits::recorder_bytes);
    if (!answer.empty()) recorded.push_back(std::move(answer));
  }
  co_return recorded;
}

ELASTIC_DECL std::vector<std::string> read_left_recorders(const std::string& socket) {
  const std::string path = socket + ".last";
  const unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  constexpr std::size_t most_bytes = 2 * limits::recorder_bytes;
  struct stat status{};
  const bool is_file = file && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode);
  if (!is_file || static_cast<std::size_t>(status.st_size) > most_bytes) return {};
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t more = ::read(file.get(), text.data() + size, text.size() - size);
    if (more <= 0) break;
    size += static_cast<std::size_t>(more);
  }
  text.resize(size);
  std::vector<std::string> recorded;
  for (std::size_t end = text.find('\n'); end != std::string::npos && recorded.size() < 2;
       end = text.find('\n')) {
    recorded.push_back(text.substr(0, end));
    text.erase(0, end + 1);
  }
  return recorded;
}

}  // namespace elastic::detail
