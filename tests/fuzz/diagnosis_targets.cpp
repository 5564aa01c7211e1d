// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Data of a worker under diagnosis.

#include "target.hpp"

#include <elastic/agent/detail/workers/unserved_store.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/contract/detail/printed_exception.hpp>
#include <elastic/diagnosis/detail/group_position.hpp>
#include <elastic/diagnosis/detail/process_texts.hpp>
#include <elastic/diagnosis/detail/rank_evidence.hpp>
#include <elastic/diagnosis/detail/rank_set.hpp>
#include <elastic/diagnosis/detail/recorder_dump.hpp>
#include <elastic/diagnosis/detail/stack_frame.hpp>
#include <elastic/diagnosis/detail/stack_groups.hpp>
#include <elastic/diagnosis/detail/stall_judge.hpp>
#include <elastic/diagnosis/detail/thread_stack.hpp>
#include <elastic/diagnosis/detail/worker_signs.hpp>
#include <elastic/diagnosis/detail/stall_verdict.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace elastic::fuzz {
namespace {

using detail::collective_call;
using detail::group_position;
using detail::judge_stall;
using detail::last_exception;
using detail::merge_stacks;
using detail::parse_digest;
using detail::parse_main_stack;
using detail::parse_process_state;
using detail::parse_recorder_dump;
using detail::parse_traceback;
using detail::parse_wait_channel;
using detail::rank_evidence;
using detail::rank_set;
using detail::recorder_state;
using detail::stack_frame;
using detail::stack_group;
using detail::stall_verdict;
using detail::store_addresses_in;
using detail::thread_stack;
using detail::to_digest;

void require_printable(std::string_view line, const char* promise) {
  for (const char byte : line) {
    require(static_cast<unsigned char>(byte) >= ' ' || byte == '\t', promise);
  }
}

void require_bounded(const group_position& position) {
  require(position.name.size() <= limits::group_name_bytes, "a group's name is short");
  require(position.description.size() <= limits::group_name_bytes, "its description, too");
  require(position.completed >= 0, "no operation has a negative number");
  require(position.completed <= position.enqueued, "what has ended has begun");
  if (!position.outstanding) return;
  const collective_call& call = *position.outstanding;
  require(call.operation.size() <= limits::collective_name_bytes, "an operation's name is short");
  require(call.sizes.size() <= limits::collective_sizes_bytes, "its sizes, too");
  require(call.types.size() <= limits::collective_types_bytes, "and its types");
}

void require_bounded(const std::vector<stack_frame>& stack) {
  require(stack.size() <= limits::stack_frames, "a stack is not deep");
  for (const stack_frame& frame : stack) {
    require(frame.file.size() <= limits::stack_file_bytes, "a file's name is short");
    require(frame.function.size() <= limits::stack_function_bytes, "a function's name, too");
    require(frame.line >= 0, "no line has a negative number");
  }
}

void recorder_dump(std::string_view input) {
  rank_evidence evidence;
  evidence.recorder = recorder_state::answered;
  evidence.groups = parse_recorder_dump(input, wall_time(std::chrono::hours(24)));
  require(evidence.groups.size() <= limits::recorder_groups, "groups are not many");
  for (const group_position& position : evidence.groups) require_bounded(position);
  parse_digest(to_digest(evidence));
}

void traceback_text(std::string_view input) {
  const std::vector<thread_stack> threads = parse_traceback(input);
  require(!threads.empty() && threads.size() <= limits::stack_threads, "threads are not many");
  for (const thread_stack& thread : threads) require_bounded(thread.frames);
  const auto groups = merge_stacks({{0, parse_main_stack(input)}, {1, threads.front().frames}});
  for (const stack_group& group : groups) {
    require_printable(to_string(group), "a line about stacks does nothing to a terminal");
  }
}

void process_text(std::string_view input) {
  parse_process_state(input);
  const std::string channel = parse_wait_channel(input);
  require(channel.size() <= limits::wait_channel_bytes, "a kernel function's name is short");
  require_printable(channel, "it does nothing to a terminal");
}

void ranks_text(std::string_view input) {
  const rank_set ranks = rank_set::parse(input);
  require(rank_set::parse(ranks.text()) == ranks, "what is written can be read");
}

/// Digests of a job's ranks, a line each.
void rank_digests(std::string_view input) {
  std::vector<rank_evidence> evidence;
  while (!input.empty() && evidence.size() < 16) {
    const std::string_view line = input.substr(0, input.find('\n'));
    input.remove_prefix(std::min(line.size() + 1, input.size()));
    const rank_evidence& rank = evidence.emplace_back(parse_digest(line));
    require_bounded(rank.stack);
    const std::string digest = to_digest(rank);
    require(digest.size() <= limits::rank_digest_bytes, "a digest keeps to its bound");
    require(parse_digest(digest).rank == rank.rank, "what is written can be read");
  }
  const stall_verdict verdict = judge_stall(evidence);
  require(!verdict.sentence.empty(), "a verdict has a sentence");
  require(verdict.sentence.size() <= limits::verdict_sentence_bytes, "which is short");
  require_printable(verdict.sentence, "a verdict does nothing to a terminal");
  require(verdict.ranks.size() <= evidence.size(), "each rank is blamed once");
  require(verdict.evidence.size() <= limits::verdict_evidence_lines, "evidence is short");
  for (const std::string& line : verdict.evidence) {
    require_printable(line, "evidence does nothing to a terminal");
  }
}

/// The last lines of a worker's stderr.
void stderr_lines(std::string_view input) {
  std::vector<std::string> lines;
  for (std::string_view rest = input; !rest.empty();) {
    lines.emplace_back(rest.substr(0, rest.find('\n')));
    rest.remove_prefix(std::min(lines.back().size() + 1, rest.size()));
  }
  const auto exception = last_exception(lines);
  const bool is_shown = std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
    return exception && line.ends_with(exception->text);
  });
  require(!exception || is_shown, "an exception is the end of a line");
}

/// A script, and what it gets as arguments.
void script_text(std::string_view input) {
  const std::vector<std::string> addresses = store_addresses_in(input);
  require(addresses.size() <= 8, "addresses are not many");
  for (const std::string& address : addresses) {
    require(input.find("tcp://" + address) != input.npos, "an address is in the text");
    require_printable(address, "an address does nothing to a terminal");
  }
}

}  // namespace

std::vector<target> diagnosis_targets() {
  return {
      {"recorder_dump", recorder_dump}, {"traceback_text", traceback_text},
      {"process_text", process_text},   {"ranks_text", ranks_text},
      {"rank_digests", rank_digests},   {"stderr_lines", stderr_lines},
      {"script_text", script_text},
  };
}

}  // namespace elastic::fuzz
