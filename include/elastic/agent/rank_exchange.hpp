// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/rank_assignment.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/store/store.hpp>

#include <memory>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace elastic {

namespace detail {

// The same JSON type as for error files, so that only one is compiled.
using json_value = nlohmann::ordered_json;

/// The value if it is a whole number in [least, most]; empty otherwise.
ELASTIC_DECL std::optional<int> whole_number(const json_value& value, int least, int most);

// The keys of the exchange; a group rank follows.
inline constexpr const char* role_info_key = "torchelastic/role_info/";
inline constexpr const char* assigned_ranks_key = "torchelastic/assigned_ranks/";

/// Parses the text of another node. The result is neither an object nor an array if the text is
/// longer than any node writes.
ELASTIC_DECL json_value parse_exchanged(const std::string& text);

/// The JSON text that PyTorch's agents exchange, with the spacing of Python's json.dumps.
/// @param more  further fields; PyTorch's agents ignore them
ELASTIC_DECL std::string role_info_text(const role_info& info, int group_rank,
                                        const std::string& more = {});

ELASTIC_DECL std::string assigned_ranks_text(const assigned_ranks& ranks);

ELASTIC_DECL role_info parse_role_info(const std::string& text, int group_rank);

ELASTIC_DECL assigned_ranks parse_assigned_ranks(const std::string& text);

}  // namespace detail

/// Exchanges the numbers of workers with the other agents of a round, and determines this node's
/// ranks.
///
/// `agents` is the round's store. Result: the ranks of this node.
/// Errors: those of the store; `errc::protocol_violation` if a node sent invalid data;
/// `errc::invalid_argument` if `agents` is null, `mine` has no worker, or `group_rank` is not in 0
/// … group_world_size - 1.
/// Cancellation: all types; values that were written stay in the store.
ELASTIC_DECL task<assigned_ranks> exchange_ranks(
    std::shared_ptr<store> agents, role_info mine, int group_rank, int group_world_size,
    rendezvous_round::agent_dialect dialect = rendezvous_round::agent_dialect::assign);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/impl/rank_exchange.ipp>
#endif
