// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/processor_set.hpp>

#include <elastic/base/error.hpp>

#include <sched.h>

#include <charconv>
#include <system_error>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL processor_set& processor_set::add(int number) {
  numbers_.insert(number);
  return *this;
}

ELASTIC_DECL std::vector<unsigned long> processor_set::mask() const {
  if (numbers_.empty()) return {};
  std::vector<unsigned long> words(static_cast<std::size_t>(*numbers_.rbegin()) / word + 1);
  for (const int number : numbers_) {
    const auto place = static_cast<std::size_t>(number);
    words[place / word] |= 1UL << (place % word);
  }
  return words;
}

namespace detail {

/// "4" or "0-3". Result: false if it is neither.
inline bool add_processors(std::string_view text, processor_set& processors) {
  const auto read = [](std::string_view digits, int& number) {
    const char* const end = digits.data() + digits.size();
    const auto [stop, failure] = std::from_chars(digits.data(), end, number);
    return failure == std::errc() && stop == end && number >= 0 && number < processor_set::limit;
  };
  const std::size_t dash = text.find('-');
  int first = 0;
  int last = 0;
  if (!read(text.substr(0, dash), first)) return false;
  if (dash == std::string_view::npos) {
    last = first;
  } else if (!read(text.substr(dash + 1), last)) {
    return false;
  }
  for (int number = first; number <= last; ++number) processors.add(number);
  return first <= last;
}

}  // namespace detail

ELASTIC_DECL processor_set processor_set::parse(std::string_view text) {
  processor_set processors;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    if (!detail::add_processors(rest.substr(0, comma), processors)) {
      throw error(
          errc::invalid_argument,
          fmt::format("'{}' is not a list of processors: numbers from 0 to {} and ranges are "
                      "needed, such as 0-3,8",
                      text, limit - 1));
    }
    if (comma == std::string_view::npos) return processors;
    rest.remove_prefix(comma + 1);
  }
}

ELASTIC_DECL processor_set processor_set::allowed_here() {
  unsigned long words[limit / word] = {};
  processor_set processors;
  if (::sched_getaffinity(0, sizeof words, reinterpret_cast<cpu_set_t*>(words)) != 0)
    return processors;
  for (int number = 0; number < limit; ++number) {
    const auto place = static_cast<std::size_t>(number);
    if ((words[place / word] >> (place % word) & 1UL) != 0) processors.add(number);
  }
  return processors;
}

ELASTIC_DECL std::string processor_set::text() const {
  std::string list;
  for (auto position = numbers_.begin(); position != numbers_.end();) {
    const int first = *position;
    int last = first;
    for (++position; position != numbers_.end() && *position == last + 1; ++position)
      last = *position;
    if (!list.empty()) list += ',';
    list += first == last ? std::to_string(first) : fmt::format("{}-{}", first, last);
  }
  return list;
}

}  // namespace elastic
