// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/cli/program_config.hpp>

#include <string>
#include <string_view>

namespace elastic::detail {

using chaos_plan = program_config::chaos_plan;

/// Reads "kill=rank:3@20s,stop=rank:2@10s+5s,slow=rank:0@1m+30s,kill=node:1@2m,cut=node:1@30s+10s,
/// random=7@20s", without blanks. A time has a unit: ms, s, m or h. Errors:
/// `errc::invalid_argument`, with the part that is wrong and what is allowed.
ELASTIC_DECL chaos_plan parse_chaos_plan(std::string_view text);

/// The fault or the plan as it is written there.
ELASTIC_DECL std::string to_text(const chaos_plan::fault& fault);
ELASTIC_DECL std::string to_text(const chaos_plan& plan);

/// The ranks and nodes that the plan names and that a world of this size lacks, such as "rank 8,
/// node 2"; empty if there is none.
ELASTIC_DECL std::string missing_targets(const chaos_plan& plan, int world_size, int nodes);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/cli/detail/chaos_text.ipp>
#endif
