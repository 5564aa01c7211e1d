// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/vault/detail/vault_report.hpp>

#include <elastic/base/detail/json.hpp>
#include <elastic/base/detail/json_object.hpp>
#include <elastic/base/detail/record.hpp>
#include <elastic/base/limits.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace elastic::detail {

/// Epoch, generation, world size, rank, and whether it is damaged.
using commit_numbers = std::array<std::int64_t, 5>;

inline constexpr std::int64_t last_count = std::numeric_limits<std::int64_t>::max();

/// The numbers of a commit; empty: the list has another form.
inline std::optional<commit_numbers> numbers_of(const nlohmann::ordered_json& list) {
  commit_numbers numbers{};
  if (!list.is_array() || list.size() != numbers.size()) return {};
  for (std::size_t index = 0; index < numbers.size(); ++index) {
    const nlohmann::ordered_json& value = list[index];
    if (!value.is_number_unsigned()) return {};
    numbers[index] = value.get<std::int64_t>();
    if (numbers[index] < 0) return {};
  }
  const auto [epoch, number, world_size, rank, is_damaged] = numbers;
  if (rank >= world_size || world_size > limits::job_ranks) return {};
  return numbers;
}

inline void vault_commits_row(record_rows& rows, std::vector<vault_commit>& commits) {
  std::vector<commit_numbers> lists;
  for (const vault_commit& each : commits) {
    lists.push_back(
        {each.id.epoch, each.id.number, each.world_size, each.rank, each.is_damaged ? 1 : 0});
  }
  const std::string written = fmt::format("{}", lists);
  const auto* list = rows.list("commits", written, limits::vault_report_entries);
  if (list == nullptr) return;
  for (const nlohmann::ordered_json& value : *list) {
    const std::optional<commit_numbers> numbers = numbers_of(value);
    if (!numbers) rows.refuse("has a commit that is not of five numbers within their bounds");
    const auto [epoch, number, world_size, rank, is_damaged] = *numbers;
    commits.push_back(
        {static_cast<int>(rank), static_cast<int>(world_size), {epoch, number}, is_damaged != 0});
  }
}

inline void describe(vault_report& report, record_rows& rows) {
  rows.text("node", report.node, limits::host_name_bytes);
  rows.number("base_rank", report.base_rank, 0, limits::job_ranks - 1);
  rows.number("workers", report.workers, 1, limits::local_world_size);
  vault_commits_row(rows, report.commits);
  rows.number("complete_epoch", report.complete.epoch, 0, last_count);
  rows.number("complete_number", report.complete.number, 0, last_count);
  rows.number("restored_epoch", report.restored.epoch, 0, last_count);
  rows.number("restored_number", report.restored.number, 0, last_count);
  rows.number("restores", report.restores, 0, limits::vault_restores);
}

ELASTIC_DECL std::string text_of(const vault_report& report) {
  json_object object;
  write_record(object, report);
  return object.text();
}

ELASTIC_DECL vault_report parse_vault_report(std::string_view text) {
  vault_report report;
  read_record(json_fields("a node's report about its vault", text, limits::vault_report_bytes),
              report);
  return report;
}

}  // namespace elastic::detail
