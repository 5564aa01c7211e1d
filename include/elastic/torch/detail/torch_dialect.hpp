// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/nodes/detail/round_machine.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>

#include <string_view>

namespace elastic::detail {

/// The format in which the agents of a PyTorch release write the state of their rendezvous. Agents
/// of different dialects cannot read each other's state.
enum class torch_dialect {
  /// PyTorch up to 1.13: nodes have an `fqdn`, and times are in UTC without a timezone.
  torch_1_13,
  /// PyTorch 2.0 up to 2.2: nodes have an `addr`.
  torch_2_0,
  /// PyTorch 2.6 and later: a redundancy list, and times with the timezone UTC.
  torch_2_6,
};

/// How agents of a dialect exchange information about their workers.
constexpr rendezvous_round::agent_dialect agents_of(torch_dialect dialect) {
  return dialect == torch_dialect::torch_2_6 ? rendezvous_round::agent_dialect::assign
                                             : rendezvous_round::agent_dialect::gather;
}

/// The rules by which agents of a dialect meet.
constexpr round_rules rules_of(torch_dialect dialect) {
  return dialect == torch_dialect::torch_2_6 ? round_rules::torch_2_6 : round_rules::torch_1_13;
}

/// "1.13", "2.0" or "2.6": the first release with the dialect.
ELASTIC_DECL std::string_view to_text(torch_dialect dialect);

/// The dialect whose `to_text` is `text`.
/// Errors: `errc::invalid_argument` for any other text.
ELASTIC_DECL torch_dialect parse_torch_dialect(std::string_view text);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/torch/detail/torch_dialect.ipp>
#endif
