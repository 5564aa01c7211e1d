// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// The exception that a program of Python has printed.
struct printed_exception {
  /// "ValueError: no such shard".
  std::string text;
  /// The program ends by it. Otherwise the script may have caught it and only shown it.
  bool is_fatal = false;
};

/// A line without the "[rank3]: " that PyTorch puts before each line of an uncaught exception.
inline std::string_view without_rank(std::string_view line) {
  const std::size_t end = line.find("]:");
  if (!line.starts_with("[rank") || end == line.npos) return line;
  line.remove_prefix(end + 2);
  if (line.starts_with(' ')) line.remove_prefix(1);
  return line;
}

/// A line that may follow the exception: an entry of PyTorch's log, or a part of the message.
inline bool may_follow(std::string_view line) {
  return line.empty() || line.starts_with("[W") || line.starts_with("[E") ||
         line.starts_with("frame #") || line.starts_with("Exception raised from");
}

/// Whether a line is "ValueError: no such shard" or "KeyboardInterrupt".
inline bool names_exception(std::string_view line) {
  const auto is_of_name = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '_' || letter == '.';
  };
  const auto end = std::find_if_not(line.begin(), line.end(), is_of_name);
  return end != line.begin() && (end == line.end() || *end == ':');
}

/// Whether the lines before an exception are a traceback that begins in a module.
inline bool begins_in_module(const std::vector<std::string>& lines, std::size_t exception) {
  std::size_t first = exception;
  while (first > 0 && without_rank(lines[first - 1]).starts_with(' ')) --first;
  if (first == 0 || first == exception) return false;
  const std::string_view frame = without_rank(lines[first]);
  return without_rank(lines[first - 1]).starts_with("Traceback (most recent call last)") &&
         (frame.ends_with(", in <module>") || frame.find("_run_module_as_main") != frame.npos);
}

/// The exception with which a program of Python seems to end, from the last lines of its stderr:
/// the last line of a traceback that begins in a module, or that PyTorch's hook for uncaught
/// exceptions has printed, which puts the rank before each line. Nothing was printed after it but
/// messages of PyTorch's own log. Empty if the lines end in another way.
inline std::optional<printed_exception> last_exception(const std::vector<std::string>& lines) {
  std::size_t last = lines.size();
  while (last > 0 && may_follow(without_rank(lines[last - 1]))) --last;
  if (last < 2) return std::nullopt;
  const std::size_t exception = last - 1;
  const std::string_view line = without_rank(lines[exception]);
  const bool is_traceback =
      names_exception(line) && without_rank(lines[exception - 1]).starts_with(' ');
  const bool is_of_hook = line.size() < lines[exception].size();
  if (!is_traceback || !(is_of_hook || begins_in_module(lines, exception))) return std::nullopt;
  return printed_exception{std::string(line), is_of_hook};
}

}  // namespace elastic::detail
