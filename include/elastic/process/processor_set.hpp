// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>

#include <sched.h>

#include <charconv>
#include <climits>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

namespace elastic {

/// Some of the machine's logical processors, by their numbers.
///
/// Thread-safety: that of a value.
class processor_set {
 public:
  /// Numbers are less than this.
  static constexpr int limit = 8192;

  /// A list as the kernel writes it: "0-3,8".
  ///
  /// Errors: `errc::invalid_argument` for anything else, and for a number of `limit` or more.
  static processor_set parse(std::string_view text);

  /// Those on which the calling thread may run; empty where the kernel does not say.
  static processor_set allowed_here();

  processor_set& add(int number) {
    numbers_.insert(number);
    return *this;
  }

  bool contains(int number) const { return numbers_.count(number) > 0; }
  bool empty() const { return numbers_.empty(); }
  std::size_t size() const { return numbers_.size(); }
  auto begin() const { return numbers_.begin(); }
  auto end() const { return numbers_.end(); }

  /// As `parse` reads it.
  std::string text() const;

  /// As the kernel wants it: a bit for each processor.
  std::vector<unsigned long> mask() const {
    if (numbers_.empty()) return {};
    std::vector<unsigned long> words(static_cast<std::size_t>(*numbers_.rbegin()) / word + 1);
    for (const int number : numbers_) {
      const auto place = static_cast<std::size_t>(number);
      words[place / word] |= 1UL << (place % word);
    }
    return words;
  }

  friend bool operator==(const processor_set&, const processor_set&) = default;

 private:
  static constexpr std::size_t word = sizeof(unsigned long) * CHAR_BIT;
  std::set<int> numbers_;
};

namespace detail {

/// "4" or "0-3". Result: false where it is neither.
inline bool add_processors(std::string_view text, processor_set& all) {
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
  for (int number = first; number <= last; ++number) all.add(number);
  return first <= last;
}

}  // namespace detail

inline processor_set processor_set::parse(std::string_view text) {
  processor_set all;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    if (!detail::add_processors(rest.substr(0, comma), all)) {
      throw error(errc::invalid_argument,
                  fmt::format("'{}' is no list of processors: numbers from 0 to {} and ranges are "
                              "needed, such as 0-3,8",
                              text, limit - 1));
    }
    if (comma == std::string_view::npos) return all;
    rest.remove_prefix(comma + 1);
  }
}

inline processor_set processor_set::allowed_here() {
  unsigned long words[limit / word] = {};
  processor_set all;
  if (::sched_getaffinity(0, sizeof words, reinterpret_cast<cpu_set_t*>(words)) != 0) return all;
  for (int number = 0; number < limit; ++number) {
    const auto place = static_cast<std::size_t>(number);
    if ((words[place / word] >> (place % word) & 1UL) != 0) all.add(number);
  }
  return all;
}

inline std::string processor_set::text() const {
  std::string list;
  for (auto at = numbers_.begin(); at != numbers_.end();) {
    const int first = *at;
    int last = first;
    for (++at; at != numbers_.end() && *at == last + 1; ++at) last = *at;
    if (!list.empty()) list += ',';
    list += first == last ? std::to_string(first) : fmt::format("{}-{}", first, last);
  }
  return list;
}

}  // namespace elastic
