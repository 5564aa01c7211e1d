// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/nodes/detail/round_register.hpp>

#include <elastic/base/detail/record.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/nodes/detail/message_rows.hpp>

#include <limits>

namespace elastic::detail {

ELASTIC_DECL bool has_same_content(const round_register& left, const round_register& right) {
  round_register same = right;
  same.term = left.term;
  same.sequence = left.sequence;
  same.is_uncertain = left.is_uncertain;
  return left == same;
}

ELASTIC_DECL void describe(round_register& value, record_rows& rows) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 2;
  rows.number("written_in", value.term, 0, most);
  rows.number("sequence", value.sequence, 0, most);
  rows.number("round", value.round, -1, most);
  number_row(rows, "members", value.members, limits::rendezvous_register_nodes);
  number_row(rows, "leader_node", value.leader_node);
  rows.number("restarts", value.restarts, 0, limits::job_restarts);
  rows.flag("uncertain", value.is_uncertain);
  rows.flag("all_finished", value.all_finished);
  exclusion_row(rows, value.excluded);
  if (!rows.has_group("end", value.ending.has_value())) return;
  if (rows.reads()) value.ending.emplace();
  rows.choice("end", value.ending->how, job_end_names);
  rows.sentence("why", value.ending->why, limits::ending_text_bytes);
}

}  // namespace elastic::detail
