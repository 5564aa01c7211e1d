// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/diagnosis/detail/user_frame.hpp>

#include <elastic/base/printable_text.hpp>

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL std::string_view ending_of(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  text.remove_prefix(text.size() - most);
  const auto is_continuation = [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
  };
  while (!text.empty() && is_continuation(text.front())) text.remove_prefix(1);
  return text;
}

inline bool is_user_file(std::string_view file) {
  static constexpr std::array<std::string_view, 4> foreign{"/site-packages/", "/dist-packages/",
                                                           "/lib/python", "/lib64/python"};
  if (file.empty() || file.starts_with('<')) return false;
  return std::none_of(foreign.begin(), foreign.end(),
                      [&](std::string_view part) { return file.find(part) != file.npos; });
}

ELASTIC_DECL std::size_t user_frame_index(const std::vector<stack_frame>& stack) {
  const auto found = std::find_if(stack.begin(), stack.end(), [](const stack_frame& frame) {
    return is_user_file(frame.file);
  });
  return found == stack.end() ? 0 : static_cast<std::size_t>(found - stack.begin());
}

ELASTIC_DECL const stack_frame* user_frame(const std::vector<stack_frame>& stack) {
  return stack.empty() ? nullptr : &stack[user_frame_index(stack)];
}

ELASTIC_DECL std::string to_string(const stack_frame& frame) {
  const std::string_view file = frame.file;
  // Without a slash, rfind is npos, and npos + 1 is 0.
  const std::string name = printable_line(file.substr(file.rfind('/') + 1));
  return fmt::format("{}:{} {}", name, frame.line, printable_line(frame.function));
}

}  // namespace elastic::detail
