// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/nodes/detail/leader_record.hpp>

#include <elastic/base/detail/record.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/nodes/detail/message_rows.hpp>
#include <elastic/nodes/detail/proven_text.hpp>

#include <limits>

namespace elastic::detail {

inline void describe(leader_record& record, record_rows& rows) {
  rows.text("host", record.address.host, limits::host_name_bytes);
  rows.number("port", record.address.port, 0, std::numeric_limits<std::uint16_t>::max());
  rows.text("password", record.password, limits::registry_password_bytes);
  number_row(rows, "agent", record.agent);
  rows.milliseconds("silence_ms", record.silence);
  rows.milliseconds("lease_ms", record.lease);
  describe(record.kept, rows);
}

inline void describe(loss_claim& claim, record_rows& rows) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 2;
  rows.number("term", claim.term, 0, most);
  rows.number("round", claim.round, -1, most);
  rows.milliseconds("wait_ms", claim.wait);
}

ELASTIC_DECL std::string registry_text(const leader_record& record,
                                       const std::optional<job_secret>& secret) {
  return proven_text(record, secret);
}

ELASTIC_DECL std::string registry_text(const loss_claim& claim,
                                       const std::optional<job_secret>& secret) {
  return proven_text(claim, secret);
}

ELASTIC_DECL leader_record parse_leader_record(std::string_view text, const std::string& place,
                                               const std::optional<job_secret>& secret) {
  return parse_proven<leader_record>(text, place, secret);
}

ELASTIC_DECL loss_claim parse_loss_claim(std::string_view text, const std::string& place,
                                         const std::optional<job_secret>& secret) {
  return parse_proven<loss_claim>(text, place, secret);
}

}  // namespace elastic::detail
