// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/diagnosis/detail/process_texts.hpp>

#include <elastic/base/limits.hpp>

#include <algorithm>
#include <cstddef>

namespace elastic::detail {

inline process_state state_of_letter(char letter) {
  switch (letter) {
    case 'R': return process_state::running;
    case 'S':
    case 'I': return process_state::sleeping;
    case 'D': return process_state::uninterruptible;
    case 'T':
    case 't': return process_state::stopped;
    case 'Z':
    case 'X':
    case 'x': return process_state::zombie;
    default: return process_state::unknown;
  }
}

ELASTIC_DECL process_state parse_process_state(std::string_view text) {
  constexpr std::string_view row = "\nState:\t";
  std::size_t letter = text.find(row);
  if (text.starts_with("Name:") && letter != text.npos) {
    letter += row.size();
  } else {
    // The name is in parentheses and may itself contain parentheses.
    letter = text.rfind(") ");
    if (letter == text.npos) return process_state::unknown;
    letter += 2;
  }
  const bool is_whole = letter + 1 < text.size() && text[letter + 1] == ' ';
  return is_whole ? state_of_letter(text[letter]) : process_state::unknown;
}

ELASTIC_DECL std::string parse_wait_channel(std::string_view text) {
  const auto is_of_name = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '_' || letter == '.';
  };
  const auto end = std::find_if_not(text.begin(), text.end(), is_of_name);
  text = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  return text == "0" ? std::string() : std::string(text.substr(0, limits::wait_channel_bytes));
}

}  // namespace elastic::detail
