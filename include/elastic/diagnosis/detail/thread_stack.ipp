// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/diagnosis/detail/thread_stack.hpp>

#include <elastic/base/detail/json_text.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/diagnosis/detail/user_frame.hpp>

#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

inline std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == text.npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

/// `  File "train.py", line 12 in step`
inline std::optional<stack_frame> parse_frame(std::string_view line) {
  constexpr std::string_view begin = "  File \"";
  constexpr std::string_view middle = "\", line ";
  constexpr std::string_view before_function = " in ";
  const std::size_t name_end = line.rfind(middle);
  if (!line.starts_with(begin) || name_end == line.npos || name_end < begin.size()) return {};
  const std::string_view file = line.substr(begin.size(), name_end - begin.size());
  std::string_view rest = line.substr(name_end + middle.size());
  stack_frame frame;
  // Python writes "???" for an unknown number.
  const auto [end, failure] = std::from_chars(rest.data(), rest.data() + rest.size(), frame.line);
  if (failure != std::errc() || frame.line < 0) frame.line = 0;
  const std::size_t function = rest.find(before_function);
  if (function == rest.npos) return {};
  rest.remove_prefix(function + before_function.size());
  frame.file = ending_of(file, limits::stack_file_bytes);
  frame.function = beginning_of(rest, limits::stack_function_bytes);
  return frame;
}

inline bool begins_thread(std::string_view line) {
  return line.starts_with("Thread 0x") || line.starts_with("Current thread 0x") ||
         line.starts_with("Stack (");
}

ELASTIC_DECL std::vector<thread_stack> parse_traceback(std::string_view text) {
  if (text.size() > limits::traceback_bytes) {
    throw error(errc::protocol_violation,
                fmt::format("a traceback is {} bytes long; up to {} are taken", text.size(),
                            limits::traceback_bytes));
  }
  std::vector<thread_stack> threads;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (begins_thread(line)) {
      if (threads.size() == limits::stack_threads) threads.erase(threads.begin());
      threads.emplace_back().is_current = !line.starts_with("Thread");
    } else if (!threads.empty() && threads.back().frames.size() < limits::stack_frames) {
      if (auto frame = parse_frame(line)) {
        threads.back().frames.push_back(std::move(*frame));
      }
    }
  }
  if (threads.empty()) throw error(errc::protocol_violation, "a traceback names no thread");
  return threads;
}

ELASTIC_DECL std::vector<stack_frame> parse_main_stack(std::string_view text) {
  std::vector<thread_stack> threads = parse_traceback(text);
  const std::size_t end = text.find_last_not_of("\r\n");
  const bool is_cut = text.substr(0, end + 1).ends_with("\n...");
  return is_cut ? std::vector<stack_frame>() : std::move(threads.back().frames);
}

}  // namespace elastic::detail
