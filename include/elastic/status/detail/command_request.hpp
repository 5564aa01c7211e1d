// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/job_command.hpp>
#include <elastic/base/config.hpp>
#include <elastic/net/detail/http_parser.hpp>
#include <elastic/status/detail/status_answer.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

namespace elastic::detail {

/// The client that asks a status server for a command, and its rights.
struct command_peer {
  /// The user of the process at the other end of a Unix socket; none: it came by TCP.
  std::optional<std::uint32_t> user = {};
  /// The user of this process.
  std::uint32_t self = 0;
  /// Whether there is somebody who carries out commands.
  bool has_handler = false;
};

/// Whether a path is that of commands, known or not.
ELASTIC_DECL bool is_command_path(std::string_view path);

/// Reads a command, without I/O. Result: the command, or an answer that says why the request has no
/// valid command or why this client may not send it.
/// @param body  empty, or one JSON object: "reason" (text), and of a checkpoint "within" (seconds)
ELASTIC_DECL std::variant<job_command, status_answer> read_command(const http_head& request,
                                                                   std::string_view body,
                                                                   const command_peer& peer);

/// The outcome: as JSON, or as text for clients that want text.
ELASTIC_DECL status_answer command_answer(const http_head& request,
                                          const job_command::outcome& outcome);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/status/detail/command_request.ipp>
#endif
