// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/control/agent_message.hpp>
#include <elastic/control/worker_message.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace elastic::detail {

using worker_messages::worker_message;

/// The message as a line, including the line end; at most `limits::control_line_bytes`: a JSON
/// object whose "kind" is the name of the struct. Long texts and names are cut; metrics that make
/// the line too long are left out.
/// Errors: `errc::invalid_argument` if the environment of `rejoin` does not fit into a line.
ELASTIC_DECL std::string to_line(const worker_message& message);
ELASTIC_DECL std::string to_line(const control_messages::agent_message& message);

/// Parses a worker's line without its end.
/// Errors: `errc::protocol_violation`, with the problem and what is allowed.
ELASTIC_DECL worker_message parse_worker_message(std::string_view line);

/// Parses an agent's line; empty if the kind is unknown: newer agents may send more kinds.
/// Errors: `errc::protocol_violation`, with the problem.
ELASTIC_DECL std::optional<control_messages::agent_message> parse_agent_message(
    std::string_view line);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/control/detail/control_message.ipp>
#endif
