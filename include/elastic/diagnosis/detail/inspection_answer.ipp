// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/diagnosis/detail/inspection_answer.hpp>

#include <elastic/base/detail/json.hpp>
#include <elastic/base/detail/json_fields.hpp>
#include <elastic/base/detail/json_object.hpp>
#include <elastic/base/detail/json_text.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/diagnosis/detail/rank_set.hpp>
#include <elastic/diagnosis/detail/recorder_dump.hpp>
#include <elastic/diagnosis/detail/stack_groups.hpp>
#include <elastic/diagnosis/detail/thread_stack.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

/// Invalid text says nothing about the worker, so the readers leave the evidence unchanged.
inline void read_stacks(const std::string& text, rank_evidence& evidence) {
  try {
    if (!text.empty()) evidence.stack = parse_main_stack(text);
  } catch (const error&) {
    evidence.stack.clear();
  }
}

inline void read_recorder(const std::string& text, wall_time now, rank_evidence& evidence) {
  try {
    // A group that uses both NCCL and gloo appears once for each; only NCCL's entry lists its
    // members.
    std::vector<group_position> groups = parse_recorder_dump(text, now);
    std::move(groups.begin(), groups.end(), std::back_inserter(evidence.groups));
    evidence.recorder = recorder_state::answered;
  } catch (const error&) {
    // The other recorder may still be valid.
  }
}

inline std::string stack_json(const std::vector<stack_frame>& stack) {
  std::string text = "[";
  for (const stack_frame& frame : stack) {
    if (text.size() > 1) text += ",";
    text += fmt::format("[{},{},{}]", json_string(frame.file), frame.line,
                        json_string(frame.function));
  }
  return text + "]";
}

inline inspected_rank rank_of(const worker_inspection& found, time_point now, wall_time wall) {
  inspected_rank rank;
  rank.is_hooked = found.is_hooked;
  rank.looked_at = now;
  rank_evidence& evidence = rank.evidence;
  evidence.rank = found.worker.rank;
  evidence.local_rank = found.worker.local_rank;
  evidence.step = found.worker.step;
  if (evidence.step >= 0) evidence.step_age = now - found.worker.step_at;
  evidence.failure = found.worker.end.substr(0, limits::failure_digest_bytes);
  evidence.state = process_state::gone;
  // After the end of the worker, another process may have its pid.
  if (found.facts && found.worker.end.empty()) {
    const thread_facts& main = found.facts->threads.front();
    evidence.state = main.state;
    evidence.wait_channel = main.wait_channel;
    rank.system_call = main.system_call.value_or(-1);
    rank.processor_time = found.facts->processor_time;
  }
  if (found.is_silent) evidence.recorder = recorder_state::silent;
  read_stacks(found.stacks, evidence);
  for (const std::string& recorder : found.recorders) read_recorder(recorder, wall, evidence);
  return rank;
}

ELASTIC_DECL std::vector<inspected_rank> ranks_of(const std::vector<worker_inspection>& found,
                                                  time_point now, wall_time wall) {
  std::vector<inspected_rank> ranks;
  for (const worker_inspection& each : found) ranks.push_back(rank_of(each, now, wall));
  return ranks;
}

ELASTIC_DECL void compare_looks(const std::vector<inspected_rank>& before,
                                std::vector<inspected_rank>& after) {
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    const inspected_rank& first = before[i];
    inspected_rank& last = after[i];
    if (first.evidence.rank != last.evidence.rank) continue;
    const std::chrono::duration<double> between = last.looked_at - first.looked_at;
    const bool are_known = !first.evidence.stack.empty() && !last.evidence.stack.empty();
    last.evidence.stack_moved = are_known && first.evidence.stack != last.evidence.stack;
    const bool is_measured = between.count() > 0 && first.processor_time && last.processor_time &&
                             *last.processor_time >= *first.processor_time;
    if (!is_measured) continue;
    const std::chrono::duration<double> used = *last.processor_time - *first.processor_time;
    last.evidence.processor_share = used / between;
  }
}

ELASTIC_DECL stall_look look_of(const std::vector<inspected_rank>& ranks) {
  // The largest share of a processor for a process that only waits.
  constexpr double little = 0.05;
  stall_look look;
  look.is_idle = true;
  for (const inspected_rank& rank : ranks) {
    const rank_evidence& evidence = rank.evidence;
    if (evidence.processor_share.value_or(0) > little) look.is_idle = false;
    if (evidence.recorder != recorder_state::answered) continue;
    duration wait = look.longest_wait.value_or(duration::zero());
    for (const group_position& group : evidence.groups) {
      if (group.outstanding) wait = std::max(wait, group.outstanding->age);
    }
    look.longest_wait = wait;
  }
  return look;
}

ELASTIC_DECL std::string to_text(const node_answer& answer, bool with_stacks) {
  json_object head;
  head.add("node", answer.node).add("group_rank", answer.group_rank);
  std::string text = head.text() + "\n";
  for (const inspected_rank& rank : answer.ranks) {
    json_object line;
    line.add_json("digest", to_digest(rank.evidence));
    line.add("system_call", rank.system_call).add("is_hooked", rank.is_hooked);
    if (with_stacks) line.add_json("stack", stack_json(rank.evidence.stack));
    const std::string written = line.text() + "\n";
    if (text.size() + written.size() > limits::inspection_answer_bytes) break;
    text += written;
  }
  return text;
}

inline std::vector<stack_frame> read_stack_field(const json_fields& fields) {
  std::vector<stack_frame> stack;
  const nlohmann::ordered_json& frames = fields.field("stack");
  if (!frames.is_array() || frames.size() > limits::stack_frames) {
    fields.refuse(fmt::format("has a stack that is not a list of at most {} frames",
                              limits::stack_frames));
  }
  for (const nlohmann::ordered_json& frame : frames) {
    const bool is_frame = frame.is_array() && frame.size() == 3 && frame[0].is_string() &&
                          frame[1].is_number_integer() && frame[2].is_string();
    if (!is_frame) fields.refuse("has a frame that is not a file, a line and a function");
    stack.push_back({frame[0].get<std::string>(), frame[1].get<int>(),
                     frame[2].get<std::string>()});
  }
  return stack;
}

inline inspected_rank parse_inspected_rank(std::string_view line) {
  const json_fields fields("an inspected rank", line, limits::inspection_answer_bytes);
  inspected_rank rank;
  rank.evidence = parse_digest(fields.field("digest").dump());
  rank.system_call = fields.number("system_call", -1, std::numeric_limits<int>::max());
  rank.is_hooked = fields.flag("is_hooked");
  if (fields.has("stack")) rank.evidence.stack = read_stack_field(fields);
  return rank;
}

ELASTIC_DECL node_answer parse_node_answer(std::string_view text) {
  node_answer answer;
  for (bool is_head = true; !text.empty(); is_head = false) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!is_head) {
      answer.ranks.push_back(parse_inspected_rank(line));
      continue;
    }
    const json_fields fields("an inspection's answer", line, limits::rank_digest_bytes);
    answer.node = fields.text("node");
    answer.group_rank = static_cast<int>(
        fields.number("group_rank", 0, std::numeric_limits<int>::max()));
  }
  return answer;
}

inline std::string_view to_words(process_state state) {
  switch (state) {
    case process_state::running: return "running";
    case process_state::sleeping: return "sleeping";
    case process_state::uninterruptible: return "in uninterruptible sleep";
    case process_state::stopped: return "stopped";
    case process_state::zombie: return "ended, with threads that have not";
    case process_state::gone: return "ended";
    case process_state::unknown: break;
  }
  return "in an unknown state";
}

/// The kernel's view of a rank: "sleeping in futex_do_wait, system call 202".
inline std::string kernel_words(const inspected_rank& rank) {
  std::string text(to_words(rank.evidence.state));
  if (!rank.evidence.failure.empty()) {
    return fmt::format("{}: {}", text, printable_line(rank.evidence.failure));
  }
  if (!rank.evidence.wait_channel.empty()) {
    text += fmt::format(" in {}", printable_line(rank.evidence.wait_channel));
  }
  if (rank.system_call >= 0) text += fmt::format(", system call {}", rank.system_call);
  return text;
}

inline std::string name_of(const rank_set& ranks, const inspected_rank& first) {
  if (ranks.size() > 1) return fmt::format("ranks {}", ranks.text());
  return fmt::format("rank {} ({}, local rank {})", first.evidence.rank,
                     printable_line(first.evidence.node), first.evidence.local_rank);
}

inline std::string groups_text(const std::map<int, const inspected_rank*>& ranks) {
  std::vector<rank_stack> stacks;
  std::map<std::string, std::vector<int>> without_stack;
  for (const auto& [number, rank] : ranks) {
    if (rank->evidence.stack.empty()) {
      without_stack[kernel_words(*rank)].push_back(number);
    } else {
      stacks.push_back({number, rank->evidence.stack});
    }
  }
  std::string text;
  for (const stack_group& group : merge_stacks(std::move(stacks))) {
    const inspected_rank& first = *ranks.at(group.ranks.ranks().front());
    text += fmt::format("{}: {}\n", name_of(group.ranks, first), kernel_words(first));
    for (const stack_frame& frame : group.frames) {
      text += fmt::format("    {}:{} {}\n", printable_line(frame.file), frame.line,
                          printable_line(frame.function));
    }
  }
  for (const auto& [words, numbers] : without_stack) {
    text += fmt::format("{}: {}\n", name_of(rank_set(numbers), *ranks.at(numbers.front())), words);
  }
  return text;
}

/// Notes about missing stacks, with the reasons.
inline std::string notes_text(const std::vector<node_answer>& nodes,
                              const std::vector<int>& silent_nodes, bool opens_workers) {
  std::string text;
  std::vector<int> without_stack;
  for (const node_answer& node : nodes) {
    for (const inspected_rank& rank : node.ranks) {
      if (!rank.is_hooked) without_stack.push_back(rank.evidence.rank);
    }
  }
  for (const int node : silent_nodes) {
    text += fmt::format("the agent of node {} did not answer within {} ms\n", node,
                        limits::inspection_answer.count());
  }
  if (!opens_workers) {
    text +=
        "only the workers on this host, and no Python stacks: name the unix:PATH of a job that was "
        "started with --diagnose\n";
  } else if (!without_stack.empty()) {
    text += fmt::format("no Python stacks of ranks {}: their program is not named python…\n",
                        rank_set(without_stack).text());
  }
  return text;
}

/// Parses the answers of nodes; leaves out missing and invalid ones.
inline std::vector<node_answer> read_answers(
    const std::vector<std::optional<std::string>>& answers, std::vector<int>& silent_nodes) {
  std::vector<node_answer> nodes;
  for (std::size_t node = 0; node < answers.size(); ++node) {
    try {
      if (answers[node]) {
        nodes.push_back(parse_node_answer(*answers[node]));
        continue;
      }
    } catch (const error&) {
      // Another release may write another format.
    }
    silent_nodes.push_back(static_cast<int>(node));
  }
  return nodes;
}

ELASTIC_DECL std::vector<rank_evidence> evidence_in(
    const std::vector<std::optional<std::string>>& answers) {
  std::vector<int> silent_nodes;
  std::vector<rank_evidence> evidence;
  for (node_answer& node : read_answers(answers, silent_nodes)) {
    for (inspected_rank& rank : node.ranks) evidence.push_back(std::move(rank.evidence));
  }
  return evidence;
}

/// The ranks that run on these nodes.
inline std::vector<int> known_ranks(const std::vector<node_answer>& nodes) {
  std::vector<int> known;
  for (const node_answer& node : nodes) {
    for (const inspected_rank& rank : node.ranks) known.push_back(rank.evidence.rank);
  }
  return known;
}

/// "there is no rank 9: the job has ranks 0-3".
inline std::string missing_text(const std::vector<int>& missing, const std::vector<int>& known) {
  if (missing.empty()) return {};
  if (known.empty()) return "no rank runs now\n";
  return fmt::format("there is no rank {}: the job has {} {}\n", rank_set(missing).text(),
                     known.size() == 1 ? "rank" : "ranks", rank_set(known).text());
}

ELASTIC_DECL stacks_report report_stacks(const std::vector<std::optional<std::string>>& answers,
                                         const std::vector<int>& wanted, bool opens_workers) {
  std::vector<int> silent_nodes;
  const std::vector<node_answer> nodes = read_answers(answers, silent_nodes);
  const std::vector<int> known = known_ranks(nodes);
  stacks_report report;
  for (const int rank : wanted) {
    const bool is_known = std::find(known.begin(), known.end(), rank) != known.end();
    if (!is_known && silent_nodes.empty()) report.missing.push_back(rank);
  }
  std::map<int, const inspected_rank*> ranks;
  for (const node_answer& node : nodes) {
    for (const inspected_rank& rank : node.ranks) {
      const bool is_wanted = wanted.empty() || std::find(wanted.begin(), wanted.end(),
                                                         rank.evidence.rank) != wanted.end();
      if (is_wanted) ranks.emplace(rank.evidence.rank, &rank);
    }
  }
  report.text = groups_text(ranks) + missing_text(report.missing, known);
  if (!opens_workers) silent_nodes.clear();
  report.text += notes_text(nodes, silent_nodes, opens_workers);
  return report;
}

}  // namespace elastic::detail
