// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/cli/detail/slurm_hosts.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

/// Reads one list of hosts from its begin to its end.
class slurm_host_reader {
 public:
  explicit slurm_host_reader(std::string_view list) : rest_(list) {}

  std::vector<std::string> read() {
    do {
      std::vector<std::string> names = read_element();
      check_count(hosts_.size() + names.size());
      std::move(names.begin(), names.end(), std::back_inserter(hosts_));
    } while (skip(','));
    return std::move(hosts_);
  }

 private:
  [[noreturn]] static void refuse(std::string_view sentence) {
    throw error(errc::invalid_argument, std::string(sentence));
  }

  static void check_count(std::size_t count) {
    if (count <= static_cast<std::size_t>(limits::nodes)) return;
    refuse(fmt::format("it has more than {} hosts", limits::nodes));
  }

  bool skip(char letter) {
    if (!rest_.starts_with(letter)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  /// "rack[0-1]n[08-10,12]": all that stands between two commas outside of brackets.
  std::vector<std::string> read_element() {
    std::vector<std::string> names(1);
    while (!rest_.empty() && rest_.front() != ',') {
      if (skip('[')) {
        names = each_with(names, read_numbers());
      } else {
        names = each_with(names, {read_letters()});
      }
    }
    if (names.front().empty()) refuse("a host has no name");
    return names;
  }

  std::string read_letters() {
    const auto is_of_name = [](char letter) {
      return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
             (letter >= '0' && letter <= '9') || letter == '-' || letter == '_' || letter == '.';
    };
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), is_of_name);
    const auto length = static_cast<std::size_t>(end - rest_.begin());
    if (length == 0) refuse("it has a character that no host name has");
    const std::string letters(rest_.substr(0, length));
    rest_.remove_prefix(length);
    return letters;
  }

  /// "08-10,12]".
  std::vector<std::string> read_numbers() {
    std::vector<std::string> numbers;
    do {
      const auto [least, width] = read_number();
      const std::uint64_t most = skip('-') ? read_number().first : least;
      if (most < least) refuse("a range in it ends before it begins");
      if (most - least >= static_cast<std::uint64_t>(limits::nodes)) check_count(most - least);
      check_count(numbers.size() + (most - least) + 1);
      for (std::uint64_t number = least; number <= most; ++number) {
        numbers.push_back(fmt::format("{:0{}}", number, width));
      }
    } while (skip(','));
    if (!skip(']')) refuse("a bracket in it is not closed");
    return numbers;
  }

  /// A number, and with how many digits it is written.
  std::pair<std::uint64_t, std::size_t> read_number() {
    constexpr std::size_t most_digits = 18;
    std::uint64_t number = 0;
    const auto [end, failure] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    const auto digits = static_cast<std::size_t>(end - rest_.data());
    if (failure != std::errc() || digits > most_digits) {
      refuse("within brackets it takes numbers, ranges and commas");
    }
    rest_.remove_prefix(digits);
    return {number, digits};
  }

  static std::vector<std::string> each_with(const std::vector<std::string>& names,
                                            const std::vector<std::string>& ends) {
    check_count(names.size() * ends.size());
    std::vector<std::string> longer;
    longer.reserve(names.size() * ends.size());
    for (const std::string& name : names) {
      for (const std::string& end : ends) {
        if (name.size() + end.size() > limits::host_name_bytes) {
          refuse(fmt::format("a host's name is longer than {} bytes", limits::host_name_bytes));
        }
        longer.push_back(name + end);
      }
    }
    return longer;
  }

  std::string_view rest_;
  std::vector<std::string> hosts_;
};

ELASTIC_DECL std::vector<std::string> parse_slurm_hosts(std::string_view list) {
  return slurm_host_reader(list).read();
}

}  // namespace elastic::detail
