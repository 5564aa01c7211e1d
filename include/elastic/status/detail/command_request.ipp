// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/command_request.hpp>

#include <elastic/base/detail/json.hpp>
#include <elastic/base/detail/record.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace elastic::detail {

inline constexpr std::string_view command_path_prefix = "/api/v1/commands/";
/// A GET of this path gives the command "stacks", which changes nothing.
inline constexpr std::string_view stacks_path = "/api/v1/stacks";

inline std::string known_commands() {
  std::string names;
  for (const auto& [kind, name] : job_command_names) {
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return names;
}

inline std::vector<int> read_ranks(const json_fields& fields) {
  const nlohmann::ordered_json& list = fields.field("ranks");
  const auto is_rank = [](const nlohmann::ordered_json& rank) {
    return rank.is_number_integer() && rank.get<std::int64_t>() >= 0 &&
           rank.get<std::int64_t>() < limits::job_ranks;
  };
  if (!list.is_array() || !std::all_of(list.begin(), list.end(), is_rank)) {
    fields.refuse("has ranks that are not a list of numbers from 0 on");
  }
  std::vector<int> ranks;
  for (const nlohmann::ordered_json& rank : list) ranks.push_back(rank.get<int>());
  return ranks;
}

/// Errors: `errc::protocol_violation`.
inline job_command read_command_body(job_command::kind kind, std::string_view body,
                                     std::uint32_t user) {
  job_command command;
  command.what = kind;
  command.reason = fmt::format("by user {}", user);
  if (body.empty()) return command;
  const json_fields fields("the body", body, limits::http_request_body_bytes);
  record_rows rows(fields);
  if (kind == job_command::kind::checkpoint) {
    fields.allow({"reason", "within"});
    rows.seconds("within", command.within, limits::command_time, presence::lenient);
  } else if (kind == job_command::kind::stacks) {
    fields.allow({"reason", "ranks"});
    if (fields.has("ranks")) command.ranks = read_ranks(fields);
  } else {
    fields.allow({"reason"});
  }
  std::string reason;
  rows.text("reason", reason, limits::command_reason_bytes, presence::lenient);
  const std::string shown = printable_line(reason);
  if (!shown.empty()) command.reason += ": " + shown;
  return command;
}

ELASTIC_DECL bool is_command_path(std::string_view path) {
  return path.starts_with(command_path_prefix) || path == stacks_path;
}

ELASTIC_DECL std::variant<job_command, status_answer> read_command(const http_head& request,
                                                                   std::string_view body,
                                                                   const command_peer& peer) {
  if (!peer.user) {
    return refusal_answer(
        403, "commands are accepted only over a Unix socket, such as that of --status unix:PATH");
  }
  if (*peer.user != peer.self && *peer.user != 0) {
    const std::string others = peer.self == 0 ? "" : fmt::format("user {} and ", peer.self);
    return refusal_answer(403, fmt::format("commands are accepted only from {}root, not from user "
                                           "{}",
                                           others, *peer.user));
  }
  const bool is_stacks = request.path == stacks_path;
  if (is_stacks && request.method != "GET") {
    status_answer answer = refusal_answer(405, "stacks are read by GET");
    answer.headers.emplace_back("Allow", "GET");
    return answer;
  }
  if (!is_stacks && request.method != "POST") {
    status_answer answer = refusal_answer(405, "a command is a POST");
    answer.headers.emplace_back("Allow", "POST");
    return answer;
  }
  const std::string name = is_stacks ? "stacks" : request.path.substr(command_path_prefix.size());
  const auto kind = job_command_of(name);
  if (!kind) return refusal_answer(404, "there are these commands: " + known_commands());
  if (!peer.has_handler) return refusal_answer(501, "this program takes no commands");
  if (!body.empty() && request.header("content-type") != "application/json") {
    return refusal_answer(415, "a command's body is of the type application/json");
  }
  try {
    return read_command_body(*kind, body, *peer.user);
  } catch (const error& refused) {
    return refusal_answer(400, refused.what());
  }
}

ELASTIC_DECL status_answer command_answer(const http_head& request,
                                          const job_command::outcome& outcome) {
  status_answer answer;
  answer.status = outcome.is_done ? 200 : 409;
  if (request.header("accept") == "text/plain") {
    answer.body = outcome.text + "\n";
  } else {
    answer.type = "application/json";
    answer.body =
        json_object().add("done", outcome.is_done).add("text", outcome.text).text() + "\n";
  }
  return answer;
}

}  // namespace elastic::detail
