// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>

#include <cstddef>
#include <string>

namespace elastic::detail {

/// What PyTorch's own server in a worker answers, at a Unix socket (see `inspection_hook`).
///
/// Errors: `errc::connection_failed` if nobody listens, `errc::protocol_violation` if the answer is
/// not HTTP or exceeds `most_bytes`, `errc::invalid_argument` if another user listens there.
/// Cancellation: all types. Time limits are the caller's.
/// @param handler  its name, such as "fr_trace_json"
/// Result: empty if the server has no such handler.
ELASTIC_DECL task<std::string> ask_recorder(std::string socket, std::string handler,
                                            std::size_t most_bytes);

/// The flight recorder of NCCL, or else that of all backends, as JSON; errors as above.
ELASTIC_DECL task<std::string> read_recorder(std::string socket);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/inspection/detail/impl/recorder_client.ipp>
#endif
