// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/nodes/detail/job_file_record.hpp>

#include <elastic/base/detail/json.hpp>
#include <elastic/base/detail/json_fields.hpp>
#include <elastic/base/detail/json_object.hpp>
#include <elastic/base/detail/record.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/nodes/detail/proven_text.hpp>
#include <elastic/nodes/detail/rendezvous_message.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL bool job_file_record::note(leader newest) {
  const auto known = std::find(leaders.begin(), leaders.end(), newest);
  if (known != leaders.end()) return false;
  std::erase_if(leaders, [&](const leader& each) { return each.run_id == newest.run_id; });
  leaders.push_back(std::move(newest));
  if (leaders.size() > limits::roles) leaders.erase(leaders.begin());
  return true;
}

inline void describe(job_file_record::leader& leader, record_rows& rows) {
  rows.text("run_id", leader.run_id, limits::run_id_bytes);
  rows.text("host", leader.address.host, limits::host_name_bytes);
  rows.number("port", leader.address.port, 1, std::numeric_limits<std::uint16_t>::max());
  rows.text("password", leader.password, limits::registry_password_bytes);
}

inline void describe(job_file_record& record, record_rows& rows) {
  rows.text("fingerprint", record.fingerprint, rendezvous_messages::hello::most_fingerprint);
  std::string text;
  for (const job_file_record::leader& each : record.leaders) {
    json_object object;
    write_record(object, each);
    text += (text.empty() ? "" : ", ") + object.text();
  }
  const auto* list = rows.list("leaders", "[" + text + "]", limits::roles);
  if (list == nullptr) return;
  for (const nlohmann::ordered_json& each : *list) {
    read_record(json_fields("one of the leaders", each), record.leaders.emplace_back());
  }
}

ELASTIC_DECL std::string registry_text(const job_file_record& record,
                                       const std::optional<job_secret>& secret) {
  return proven_text(record, secret);
}

ELASTIC_DECL job_file_record parse_job_file_record(std::string_view text, const std::string& place,
                                                   const std::optional<job_secret>& secret) {
  return parse_proven<job_file_record>(text, place, secret);
}

}  // namespace elastic::detail
