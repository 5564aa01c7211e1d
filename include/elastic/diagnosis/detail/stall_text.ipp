// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/diagnosis/detail/stall_text.hpp>

#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/diagnosis/detail/user_frame.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL std::string name_of(const rank_evidence& rank) {
  const std::string node = rank.node.empty() ? "" : printable_line(rank.node) + ", ";
  return fmt::format("rank {} ({}local rank {})", rank.rank, node, rank.local_rank);
}

ELASTIC_DECL std::string names_of(const std::vector<rank_evidence>& evidence,
                                  const std::vector<std::size_t>& ranks) {
  if (ranks.size() == 1) return name_of(evidence[ranks.front()]);
  std::vector<int> numbers;
  for (const std::size_t rank : ranks) numbers.push_back(evidence[rank].rank);
  std::string text = rank_set(std::move(numbers)).text();
  constexpr std::size_t shown_bytes = 60;
  if (text.size() > shown_bytes) text = text.substr(0, shown_bytes) + "…";
  return fmt::format("ranks {}", text);
}

ELASTIC_DECL std::string without_name(const std::string& sentence) {
  constexpr std::string_view last_part = "local rank ";
  const std::size_t part = sentence.find(last_part);
  const std::size_t end = sentence.find(')', part);
  if (!sentence.starts_with("rank ") || end == std::string::npos) return sentence;
  return "it" + sentence.substr(end + 1);
}

ELASTIC_DECL std::string count_of_others(std::size_t count) {
  return fmt::format("{} {}", count, count == 1 ? "other" : "others");
}

ELASTIC_DECL std::string for_time(duration time) {
  if (time <= duration::zero()) return {};
  return fmt::format(" for {:.0f} s", std::chrono::duration<double>(time).count());
}

ELASTIC_DECL std::string in_frame(const rank_evidence& rank) {
  const stack_frame* const frame = user_frame(rank.stack);
  return frame == nullptr ? std::string() : ", in " + to_string(*frame);
}

ELASTIC_DECL std::string inputs_of(const collective_call& call) {
  if (call.sizes.empty() || call.sizes == "[]") return {};
  return fmt::format(" with {} {}", printable_line(call.sizes), printable_line(call.types));
}

inline std::string operation_name(const awaited_operation& operation) {
  return fmt::format("{} #{} of group {}", printable_line(operation.call->operation),
                     operation.call->sequence, printable_line(operation.group->label));
}

inline std::string waiting_others(const awaited_operation& operation) {
  const bool is_timed = operation.age > duration::zero();
  const std::string_view verb = operation.waiting == 1 ? "has" : "have";
  if (is_timed) return fmt::format("{} {} waited", count_of_others(operation.waiting), verb);
  return fmt::format("{} {}", count_of_others(operation.waiting),
                     operation.waiting == 1 ? "waits" : "wait");
}

ELASTIC_DECL std::string to_text(const awaited_operation& operation) {
  return fmt::format("{}, in which {}{}", operation_name(operation), waiting_others(operation),
                     for_time(operation.age));
}

ELASTIC_DECL std::string while_others_wait(const awaited_operation& operation) {
  if (operation.call == nullptr) return {};
  return fmt::format("; {} in {}{}", waiting_others(operation), operation_name(operation),
                     for_time(operation.age));
}

ELASTIC_DECL std::string failure_in_parentheses(const rank_evidence& rank) {
  return rank.failure.empty() ? std::string() : fmt::format(" ({})", printable_line(rank.failure));
}

ELASTIC_DECL std::string by_failure(const rank_evidence& rank) {
  return rank.failure.empty() ? std::string() : " by " + printable_line(rank.failure);
}

ELASTIC_DECL std::string_view file_system_of(std::string_view wait_channel) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 8> parts{{
      {"nfs", "NFS"},
      {"rpc_", "NFS"},
      {"request_wait_answer", "a FUSE file system"},
      {"fuse", "a FUSE file system"},
      {"cl_sync_io", "Lustre"},
      {"ptlrpc", "Lustre"},
      {"ceph", "Ceph"},
      {"cifs", "CIFS"},
  }};
  const auto found = std::find_if(parts.begin(), parts.end(), [&](const auto& part) {
    return wait_channel.starts_with(part.first);
  });
  return found == parts.end() ? std::string_view() : found->second;
}

inline std::string kernel_wait(const rank_evidence& rank) {
  if (rank.wait_channel.empty()) return "it is in uninterruptible sleep";
  const std::string_view system = file_system_of(rank.wait_channel);
  const std::string channel = printable_line(rank.wait_channel);
  if (system.empty()) return fmt::format("it is in uninterruptible sleep in {}", channel);
  return fmt::format("it waits in the kernel for {} ({})", system, channel);
}

/// The least share of a processor for a process that does more than wait.
inline constexpr double least_computing_share = 0.1;

/// On an overloaded machine, a process may be runnable without getting a processor.
ELASTIC_DECL bool computes(const rank_evidence& rank) {
  return rank.state == process_state::running ||
         rank.processor_share.value_or(0) >= least_computing_share;
}

ELASTIC_DECL std::string whereabouts(const rank_evidence& rank, stall_verdict::kind cause) {
  const stack_frame* const frame = user_frame(rank.stack);
  const std::string frame_text = frame == nullptr ? std::string() : to_string(*frame);
  const std::string place = frame == nullptr ? "its stack is not known" : "it is in " + frame_text;
  switch (cause) {
    case stall_verdict::kind::blocked: return kernel_wait(rank) + in_frame(rank);
    case stall_verdict::kind::left: {
      if (rank.failure.empty()) return place + ", at its end";
      return fmt::format("it left its work by {}{}", printable_line(rank.failure), in_frame(rank));
    }
    case stall_verdict::kind::slow: return place + " and computes: it is slow, not hung";
    default: break;
  }
  if (!computes(rank)) return place;
  const bool is_measured = rank.processor_share.value_or(0) >= least_computing_share;
  const std::string share =
      is_measured ? fmt::format("uses {:.0f} % of a processor", *rank.processor_share * 100)
                  : "runs";
  return fmt::format("{} and {}: it computes or loops", place, share);
}

/// "[[5, 7], [2]]" → "35,2"; empty if the text is cut or has another format.
inline std::string element_counts(std::string_view sizes) {
  std::string counts;
  std::int64_t product = 1;
  int depth = 0;
  for (std::size_t index = 0; index < sizes.size(); ++index) {
    const char sign = sizes[index];
    if (sign == '[') {
      if (++depth == 2) product = 1;
    } else if (sign == ']') {
      if (depth-- == 2) counts += fmt::format("{},", product);
    } else if (sign >= '0' && sign <= '9') {
      std::int64_t size = 0;
      const auto parsed = std::from_chars(sizes.data() + index, sizes.data() + sizes.size(), size);
      if (parsed.ec != std::errc() || __builtin_mul_overflow(product, size, &product)) return {};
      index = static_cast<std::size_t>(parsed.ptr - sizes.data()) - 1;
    }
  }
  return depth == 0 ? counts : std::string();
}

ELASTIC_DECL std::string signature_of(const collective_call& call) {
  static constexpr std::array<std::string_view, 6> uniform{
      "all_reduce", "allreduce", "broadcast", "reduce", "_all_gather_base", "_reduce_scatter_base"};
  if (std::find(uniform.begin(), uniform.end(), call.operation) == uniform.end()) {
    return call.operation;
  }
  return fmt::format("{} {} {}", call.operation, element_counts(call.sizes), call.types);
}

ELASTIC_DECL std::string collective_in(const std::vector<stack_frame>& stack) {
  static constexpr std::array<std::string_view, 5> others{
      "init_process_group", "new_group", "destroy_process_group", "wrapper", "get_rank"};
  for (const stack_frame& frame : stack) {
    if (!frame.file.ends_with("torch/distributed/distributed_c10d.py")) continue;
    const bool is_other =
        std::find(others.begin(), others.end(), frame.function) != others.end();
    return is_other ? std::string() : printable_line(frame.function);
  }
  return {};
}

ELASTIC_DECL bool is_in_teardown(const std::vector<stack_frame>& stack) {
  static constexpr std::array<std::string_view, 4> ends{"destroy_process_group", "_shutdown",
                                                        "_exit_function", "_run_exitfuncs"};
  return std::any_of(stack.begin(), stack.end(), [](const stack_frame& frame) {
    return std::find(ends.begin(), ends.end(), frame.function) != ends.end();
  });
}

/// The module of Python's library that a file is: "concurrent.futures.thread"; empty for another.
inline std::string library_module(std::string_view file) {
  constexpr std::string_view library = "/lib/python";
  const std::size_t begin = file.find(library);
  if (begin == file.npos) return {};
  file.remove_prefix(begin + library.size());
  file.remove_prefix(std::min(file.find('/') + 1, file.size()));
  std::string module(file.substr(0, file.rfind('.')));
  std::replace(module.begin(), module.end(), '/', '.');
  return module;
}

/// The code that Python runs when it exits: an installed package, a module of its library, or else
/// the user's file. Empty if the stack does not show that.
inline std::string holder_at_end(const std::vector<stack_frame>& stack) {
  if (stack.empty() || stack.size() >= limits::stack_frames) return {};
  // `_shutdown` of threading waits for threads, and calls the functions that were registered there.
  const bool is_shutdown = stack.back().function == "_shutdown" &&
                           stack.back().file.ends_with("/threading.py");
  const bool calls_other = is_shutdown && stack.size() > 1;
  const stack_frame& called = calls_other ? stack[stack.size() - 2] : stack.back();
  if (called.function == "<module>" || called.function == "_run_module_as_main") return {};
  if (is_shutdown && called.file == stack.back().file) return "a thread that is not a daemon";
  std::string_view file = called.file;
  constexpr std::string_view installed = "-packages/";
  const std::size_t package = file.rfind(installed);
  if (package != file.npos) {
    file.remove_prefix(package + installed.size());
    return printable_line(file.substr(0, file.find('/')));
  }
  const std::string module = library_module(file);
  return printable_line(module.empty() ? file.substr(file.rfind('/') + 1) : module);
}

ELASTIC_DECL std::string place_of(const rank_evidence& rank) {
  const stack_frame* const frame = user_frame(rank.stack);
  if (frame == nullptr) {
    if (rank.wait_channel.empty()) return {};
    return "; its main thread waits in the kernel, in " + printable_line(rank.wait_channel);
  }
  const std::string holder = holder_at_end(rank.stack);
  if (holder.empty()) return "; it is in " + to_string(*frame);
  return fmt::format("; its interpreter does not end, since {} holds it, in {}", holder,
                     to_string(*frame));
}

inline std::string_view to_text(process_state state) {
  static constexpr std::array<std::string_view, 7> texts{
      "not known", "running", "sleeping", "in uninterruptible sleep", "stopped", "a zombie",
      "gone"};
  return texts[static_cast<std::size_t>(state)];
}

ELASTIC_DECL std::vector<std::string> lines_about(const rank_evidence& rank) {
  std::vector<std::string> lines;
  std::string process = fmt::format("rank {}: its process is {}", rank.rank, to_text(rank.state));
  if (!rank.wait_channel.empty()) process += " in " + printable_line(rank.wait_channel);
  if (rank.processor_share) {
    process += fmt::format(", with {:.0f} % of a processor", *rank.processor_share * 100);
  }
  if (rank.step >= 0) process += fmt::format("; its last step is {}", rank.step);
  if (rank.step >= 0 && rank.step_age) {
    const double age = std::chrono::duration<double>(*rank.step_age).count();
    process += fmt::format(", {:.0f} s ago", age);
  }
  lines.push_back(std::move(process));
  constexpr std::size_t shown_groups = 2;
  for (std::size_t each = 0; each < rank.groups.size() && each < shown_groups; ++each) {
    const group_position& position = rank.groups[each];
    const std::string& label = position.description.empty() ? position.name : position.description;
    lines.push_back(fmt::format("rank {}: in group {} it has entered {} operations and ended {}",
                                rank.rank, printable_line(label), position.enqueued,
                                position.completed));
  }
  constexpr std::size_t shown_frames = 4;
  std::string stack;
  for (std::size_t each = 0; each < rank.stack.size() && each < shown_frames; ++each) {
    stack += (each == 0 ? "" : " < ") + to_string(rank.stack[each]);
  }
  if (!stack.empty()) lines.push_back(fmt::format("rank {}: {}", rank.rank, stack));
  return lines;
}

}  // namespace elastic::detail
