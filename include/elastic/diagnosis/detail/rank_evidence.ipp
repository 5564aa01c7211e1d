// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/diagnosis/detail/rank_evidence.hpp>

#include <elastic/base/detail/json.hpp>
#include <elastic/base/detail/json_text.hpp>
#include <elastic/base/detail/record.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/diagnosis/detail/user_frame.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <utility>

namespace elastic::detail {

inline constexpr auto digest_most_number = std::int64_t{1} << 61;

/// A text of at most `most_bytes`. A longer one is cut on writing, and again on reading: each
/// invalid UTF-8 byte is written as three bytes.
inline void digest_text(record_rows& rows, const char* name, std::string& value,
                        std::size_t most_bytes) {
  std::string shown(beginning_of(value, most_bytes));
  if (!rows.text(name, shown, limits::rank_digest_bytes, presence::sparse)) return;
  value = beginning_of(shown, most_bytes);
}

/// A list of records; `Record` has rows.
template <class Record>
void digest_list(record_rows& rows, const char* name, std::vector<Record>& records,
                 std::size_t most) {
  std::string written;
  if (!rows.reads()) {
    for (const Record& record : records) {
      json_object object;
      write_record(object, record);
      written += (written.empty() ? "[" : ", ") + object.text();
    }
    if (!written.empty()) written += ']';
  }
  const nlohmann::ordered_json* const list = rows.list(name, written, most, presence::sparse);
  if (list == nullptr) return;
  for (const nlohmann::ordered_json& each : *list) {
    read_record(json_fields("an entry of the evidence of a rank", each), records.emplace_back());
  }
}

inline void describe(stack_frame& frame, record_rows& rows) {
  digest_text(rows, "file", frame.file, limits::stack_file_bytes);
  rows.number("line", frame.line, 0, std::numeric_limits<int>::max(), presence::sparse);
  digest_text(rows, "function", frame.function, limits::stack_function_bytes);
}

inline void describe(collective_call& call, record_rows& rows) {
  static constexpr std::array<std::string_view, 3> states{"scheduled", "started", "completed"};
  rows.text("operation", call.operation, limits::collective_name_bytes);
  rows.number("sequence", call.sequence, 0, digest_most_number);
  digest_text(rows, "sizes", call.sizes, limits::collective_sizes_bytes);
  digest_text(rows, "types", call.types, limits::collective_types_bytes);
  rows.choice("state", call.state, states);
  rows.flag("p2p", call.is_point_to_point, presence::sparse);
  rows.milliseconds("age_ms", call.age, presence::sparse);
}

/// Writes only the fields that are compared between ranks.
inline void describe_previous(collective_call& call, record_rows& rows) {
  rows.text("previous", call.operation, limits::collective_name_bytes);
  rows.number("previous_sequence", call.sequence, 0, digest_most_number);
  digest_text(rows, "previous_sizes", call.sizes, limits::collective_sizes_bytes);
  digest_text(rows, "previous_types", call.types, limits::collective_types_bytes);
  call.state = collective_state::completed;
}

inline void describe(group_position& position, record_rows& rows) {
  digest_text(rows, "name", position.name, limits::group_name_bytes);
  digest_text(rows, "description", position.description, limits::group_name_bytes);
  std::string members = position.members.text();
  if (members.size() > limits::rank_set_bytes) members.clear();
  if (rows.text("members", members, limits::rank_set_bytes, presence::sparse)) {
    position.members = rank_set::parse(members);
  }
  rows.number("enqueued", position.enqueued, 0, digest_most_number, presence::sparse);
  rows.number("completed", position.completed, 0, digest_most_number, presence::sparse);
  if (rows.has_group("operation", position.outstanding.has_value())) {
    describe(rows.reads() ? position.outstanding.emplace() : *position.outstanding, rows);
  }
  if (rows.has_group("previous", position.previous.has_value())) {
    describe_previous(rows.reads() ? position.previous.emplace() : *position.previous, rows);
  }
}

inline void describe(rank_evidence& evidence, record_rows& rows) {
  static constexpr std::array<std::string_view, 7> states{"unknown", "R", "S", "D", "T", "Z",
                                                          "gone"};
  static constexpr std::array<std::string_view, 3> recorders{"absent", "answered", "silent"};
  rows.number("rank", evidence.rank, 0, limits::job_ranks);
  rows.number("local_rank", evidence.local_rank, 0, limits::local_world_size, presence::sparse);
  rows.number("group_rank", evidence.group_rank, 0, limits::nodes, presence::sparse);
  digest_text(rows, "node", evidence.node, limits::node_name_bytes);
  rows.choice("recorder", evidence.recorder, recorders);
  rows.choice("state", evidence.state, states);
  digest_text(rows, "wait_channel", evidence.wait_channel, limits::wait_channel_bytes);
  rows.real("processor_share", evidence.processor_share);
  std::int64_t steps = evidence.step + 1;  // 0 is not written and means none
  if (rows.number("steps", steps, 0, digest_most_number, presence::sparse)) {
    evidence.step = steps - 1;
  }
  if (rows.has_group("step_age_ms", evidence.step_age.has_value())) {
    rows.milliseconds("step_age_ms",
                      rows.reads() ? evidence.step_age.emplace() : *evidence.step_age);
  }
  digest_list(rows, "groups", evidence.groups, limits::recorder_groups);
  digest_list(rows, "stack", evidence.stack, limits::stack_frames);
  rows.flag("moved", evidence.stack_moved, presence::sparse);
  digest_text(rows, "failure", evidence.failure, limits::failure_digest_bytes);
}

inline void halve(std::string& text) { text = beginning_of(text, text.size() / 2); }

/// Leaves out the least informative part of the evidence.
inline void shorten(rank_evidence& evidence) {
  std::vector<stack_frame>& stack = evidence.stack;
  const std::size_t user = user_frame_index(stack);
  if (stack.size() > 2 || (stack.size() == 2 && user == 0)) {
    // Keeps the innermost frame and the user's innermost frame.
    stack.erase(user + 1 == stack.size() ? stack.end() - 2 : stack.end() - 1);
    return;
  }
  auto& groups = evidence.groups;
  const auto with_previous = std::find_if(groups.rbegin(), groups.rend(), [](const auto& position) {
    return position.previous.has_value();
  });
  if (with_previous != groups.rend()) {
    with_previous->previous.reset();
    return;
  }
  if (groups.size() > 1) {
    const auto settled = std::find_if(groups.rbegin(), groups.rend(), [](const auto& position) {
      return !position.outstanding.has_value();
    });
    groups.erase(settled == groups.rend() ? groups.end() - 1 : std::prev(settled.base()));
    return;
  }
  for (stack_frame& frame : stack) {
    frame.file = ending_of(frame.file, frame.file.size() / 2);
    halve(frame.function);
  }
  for (group_position& position : groups) {
    halve(position.name);
    halve(position.description);
    if (!position.outstanding) continue;
    halve(position.outstanding->operation);
    halve(position.outstanding->sizes);
    halve(position.outstanding->types);
  }
  for (std::string* text : {&evidence.node, &evidence.wait_channel, &evidence.failure}) {
    halve(*text);
  }
}

ELASTIC_DECL std::string to_digest(const rank_evidence& evidence) {
  rank_evidence shown = evidence;
  if (shown.groups.size() > limits::recorder_groups) shown.groups.resize(limits::recorder_groups);
  if (shown.stack.size() > limits::stack_frames) shown.stack.resize(limits::stack_frames);
  for (stack_frame& frame : shown.stack) {
    frame.file = ending_of(frame.file, limits::stack_file_bytes);
  }
  while (true) {
    json_object object;
    write_record(object, shown);
    std::string text = object.text();
    if (text.size() <= limits::rank_digest_bytes) return text;
    shorten(shown);
  }
}

ELASTIC_DECL rank_evidence parse_digest(std::string_view text) {
  rank_evidence evidence;
  read_record(
      json_fields("the evidence of a rank", text, limits::rank_digest_bytes), evidence);
  return evidence;
}

}  // namespace elastic::detail
