// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/file/detail/key_file.hpp>

#include <elastic/base/error.hpp>

#include <charconv>
#include <system_error>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL std::uint64_t checksum(std::string_view bytes, std::uint64_t start) {
  std::uint64_t sum = start;
  for (const char byte : bytes) {
    sum ^= static_cast<unsigned char>(byte);
    sum *= 1099511628211U;
  }
  return sum;
}

ELASTIC_DECL std::string key_file_name(std::string_view key) {
  constexpr std::size_t longest = 200;
  std::string name;
  for (const char letter : key) {
    const bool is_plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                          (letter >= '0' && letter <= '9') || letter == '_' || letter == '-' ||
                          (letter == '.' && !name.empty());
    if (is_plain) name.push_back(letter);
    if (!is_plain) name += fmt::format("%{:02x}", static_cast<unsigned char>(letter));
  }
  if (name.empty()) return "%";
  if (name.size() <= longest) return name;
  const std::uint64_t first = checksum(key);
  return fmt::format("{}%-{:016x}{:016x}", name.substr(0, 150), first,
                     checksum(key, first ^ 0x9e3779b97f4a7c15U));
}

ELASTIC_DECL std::string key_file::to_text(std::string_view version, std::string_view key,
                                           std::string_view value) {
  std::string body(key);
  body += '\n';
  body += value;
  return fmt::format("{} {} {} {} {:016x}\n{}", first_word, version, key.size(), value.size(),
                     checksum(body), body);
}

ELASTIC_DECL std::optional<key_file> key_file::parse(std::string_view text, std::string_view key) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  std::string_view words[5];
  std::string_view line = text.substr(0, end);
  for (std::string_view& word : words) {
    const std::size_t blank = line.find(' ');
    word = line.substr(0, blank);
    line.remove_prefix(blank == std::string_view::npos ? line.size() : blank + 1);
  }
  const std::string_view body = text.substr(end + 1);
  std::size_t key_size = 0;
  std::size_t value_size = 0;
  const bool is_ours = words[0] == first_word && !words[1].empty() && line.empty() &&
                       read_number(words[2], key_size) && read_number(words[3], value_size) &&
                       key_size == key.size() && key_size + 1 <= body.size() &&
                       value_size == body.size() - key_size - 1 &&
                       words[4] == fmt::format("{:016x}", checksum(body)) &&
                       body.substr(0, key_size) == key && body[key_size] == '\n';
  if (!is_ours) return std::nullopt;
  key_file file;
  file.version = std::string(words[1]);
  file.value = std::string(body.substr(key_size + 1));
  return file;
}

ELASTIC_DECL bool key_file::read_number(std::string_view digits, std::size_t& number) {
  const char* end = digits.data() + digits.size();
  const auto [stop, failure] = std::from_chars(digits.data(), end, number);
  return failure == std::errc() && stop == end;
}

}  // namespace elastic::detail
