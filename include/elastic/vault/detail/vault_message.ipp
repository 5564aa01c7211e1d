// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/vault/detail/vault_message.hpp>

#include <elastic/base/detail/json_object.hpp>
#include <elastic/base/detail/record.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>

#include <limits>
#include <optional>

#include <fmt/format.h>

namespace elastic::detail {

inline void vault_reason(record_rows& rows, std::string& reason) {
  std::string shown = reason;
  if (!rows.text("reason", shown, limits::vault_message_bytes)) return;
  reason = printable_text(shown).substr(0, limits::control_text_bytes);
}

inline void describe(vault_requests::begin& message, record_rows& rows) {
  auto bytes = static_cast<std::int64_t>(message.bytes);
  constexpr std::int64_t least = limits::vault_header_bytes + 1;
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 4;
  if (rows.number("bytes", bytes, least, most)) message.bytes = static_cast<std::uint64_t>(bytes);
}

inline void describe(vault_requests::committed& message, record_rows& rows) {
  rows.number("slot", message.slot, 0, 1);
}

inline void describe(vault_requests::skip& message, record_rows& rows) {
  vault_reason(rows, message.reason);
}

inline void describe(vault_requests::find& message, record_rows& rows) {
  rows.number("rank", message.rank);
}

inline void describe(vault_requests::restored& message, record_rows& rows) {
  std::optional<double> seconds = message.seconds;
  if (!rows.real("seconds", seconds)) return;
  message.seconds = seconds.value_or(0);
  constexpr double most = limits::vault_restore.count();
  if (message.seconds >= 0 && message.seconds <= most) return;
  rows.refuse(fmt::format("has \"seconds\" of {}; 0 to {} are allowed", message.seconds, most));
}

inline void describe(vault_requests::damaged& message, record_rows& rows) {
  vault_reason(rows, message.reason);
}

inline constexpr kind_names<vault_request> vault_request_kinds{"begin", "committed", "skip",
                                                               "find",  "restored",  "damaged"};

ELASTIC_DECL vault_request parse_vault_request(std::string_view packet) {
  const json_fields fields("a message to the vault", packet, limits::vault_message_bytes);
  return read_message<vault_request>(fields, vault_request_kinds);
}

inline json_object vault_packet(std::string_view kind) {
  json_object packet;
  packet.add("kind", kind);
  return packet;
}

ELASTIC_DECL std::string write_packet(std::size_t slot, std::uint64_t bytes,
                                      const vault_generation& id, int rank, int world_size) {
  json_object packet = vault_packet("write");
  packet.add("slot", static_cast<std::int64_t>(slot));
  packet.add("bytes", static_cast<std::int64_t>(bytes));
  packet.add("epoch", id.epoch).add("generation", id.number);
  packet.add("rank", rank).add("world_size", world_size);
  return packet.text();
}

ELASTIC_DECL std::string skipped_packet(std::string_view reason) {
  return vault_packet("skipped").add("reason", reason).text();
}

ELASTIC_DECL std::string found_packet(const vault_generation& id, std::int64_t step) {
  json_object packet = vault_packet("found");
  packet.add("epoch", id.epoch).add("generation", id.number).add("step", step);
  return packet.text();
}

ELASTIC_DECL std::string nothing_packet() { return vault_packet("nothing").text(); }

ELASTIC_DECL std::string refused_packet(std::string_view reason) {
  return vault_packet("refused").add("reason", reason).text();
}

}  // namespace elastic::detail
