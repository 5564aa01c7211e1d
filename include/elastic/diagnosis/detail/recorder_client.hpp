// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace elastic::detail {

/// Asks PyTorch's own server in a worker, at a Unix socket (see embedded/inspection_hook.py).
///
/// Errors: `errc::connection_failed` if no process listens there, `errc::protocol_violation` if the
/// answer is not HTTP or exceeds `most_bytes`, `errc::invalid_argument` if another user listens
/// there. Cancellation: all types. Time limits are the caller's.
/// @param handler  the name of the server's handler, such as "fr_trace_json"
/// Result: empty if the server has no such handler.
ELASTIC_DECL task<std::string> ask_recorder(std::string socket, std::string handler,
                                            std::size_t most_bytes);

/// Reads the flight recorders as JSON: that of NCCL, if PyTorch was built with it, and that of the
/// other backends. Errors: those of `ask_recorder`.
ELASTIC_DECL task<std::vector<std::string>> read_recorders(std::string socket);

/// The recorders that a worker left in files when an exception ended it.
///
/// @param socket  the socket at which its server listened
/// Result: empty if it has left none, or if they exceed `limits::recorder_bytes`.
ELASTIC_DECL std::vector<std::string> read_left_recorders(const std::string& socket);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/diagnosis/detail/recorder_client.ipp>
#endif
