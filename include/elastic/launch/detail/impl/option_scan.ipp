// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/detail/option_scan.hpp>

#include <elastic/base/error.hpp>
#include <elastic/launch/early_exit.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

/// How many letters must be put in, left out or replaced to make one word of the other.
inline std::size_t edit_distance(std::string_view one, std::string_view other) {
  std::vector<std::size_t> row(other.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= one.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= other.size(); ++j) {
      const std::size_t replaced = diagonal + (one[i - 1] == other[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

class option_scanner {
 public:
  option_scanner(const option_table& table, const std::vector<std::string>& arguments)
      : table_(table), arguments_(arguments) {}

  scanned_arguments scan() {
    while (next_ < arguments_.size() && !result_.help && !result_.version) {
      const std::string& argument = arguments_[next_];
      const bool is_option = argument.size() > 1 && argument[0] == '-';
      if (!is_option) break;
      ++next_;
      if (argument == "--") break;
      if (argument[1] == '-') {
        scan_long(argument);
      } else {
        scan_short(argument);
      }
    }
    result_.operands.assign(arguments_.begin() + static_cast<std::ptrdiff_t>(next_),
                            arguments_.end());
    return std::move(result_);
  }

 private:
  /// "--name", "--name=value".
  void scan_long(std::string_view argument) {
    const std::size_t equals = argument.find('=');
    const CLI::Option& option = resolve(argument.substr(0, equals));
    std::optional<std::string> value;
    if (equals != std::string_view::npos) value = argument.substr(equals + 1);
    take(option, option_table::long_name(option), std::move(value));
  }

  /// "-t", "-t3", "-t=3", "-mt3".
  void scan_short(std::string_view argument) {
    for (std::size_t at = 1; at < argument.size(); ++at) {
      const CLI::Option* option = find_short(argument[at]);
      if (option == nullptr) refuse_short(argument[at], argument);
      const std::string shown = fmt::format("-{}", argument[at]);
      std::string_view rest = argument.substr(at + 1);
      if (!option_table::takes_value(*option) && !rest.starts_with('=')) {
        take(*option, shown, std::nullopt);
        continue;
      }
      std::optional<std::string> value;
      if (!rest.empty()) value = rest.substr(rest[0] == '=' ? 1 : 0);
      take(*option, shown, std::move(value));
      return;
    }
  }

  /// One option, with the value that was attached to it, if any.
  void take(const CLI::Option& option, const std::string& shown, std::optional<std::string> value) {
    const std::string name = option_table::long_name(option);
    if (!option_table::takes_value(option)) {
      if (value) {
        throw error(errc::invalid_argument,
                    fmt::format("{} takes no value, but was given {}", shown, in_quotes(*value)));
      }
      result_.help = result_.help || name == "--help";
      result_.version = result_.version || name == "--version";
      result_.tokens.push_back(name);
      return;
    }
    if (!value) value = next_value(shown);
    result_.tokens.push_back(name);
    result_.tokens.push_back(*std::move(value));
  }

  /// The argument after an option that needs a value. It may start with "-", but an option's own
  /// name there means that the value was forgotten.
  std::string next_value(const std::string& shown) {
    const bool is_there = next_ < arguments_.size();
    if (!is_there || is_option_name(arguments_[next_])) {
      throw error(errc::invalid_argument,
                  fmt::format("{} needs a value{}", shown,
                              is_there ? fmt::format("; to mean the text {}, attach it by =",
                                                     in_quotes(arguments_[next_]))
                                       : std::string()));
    }
    return arguments_[next_++];
  }

  bool is_option_name(std::string_view text) const {
    if (text == "--") return true;
    if (text.starts_with("--")) return matches(text.substr(0, text.find('='))).size() == 1;
    return text.size() == 2 && text[0] == '-' && find_short(text[1]) != nullptr;
  }

  const CLI::Option* find_short(char letter) const {
    for (const CLI::Option* option : table_.options()) {
      const auto& names = option->get_snames();
      if (std::find(names.begin(), names.end(), std::string(1, letter)) != names.end()) {
        return option;
      }
    }
    return nullptr;
  }

  static std::string with_dashes(std::string_view name) {
    std::string normal(name);
    std::replace(normal.begin(), normal.end(), '_', '-');
    return normal;
  }

  /// The options that a name means: the one that has it, else all of torchrun's that begin with
  /// it, else all others that do.
  std::vector<const CLI::Option*> matches(std::string_view name) const {
    const std::string wanted = with_dashes(name);
    std::vector<const CLI::Option*> found;
    std::vector<const CLI::Option*> own;
    for (std::size_t i = 0; i < table_.options().size(); ++i) {
      const CLI::Option* const option = table_.options()[i];
      const std::string full = option_table::long_name(*option);
      if (full == wanted) return {option};
      if (full.starts_with(wanted)) (option_rows[i].is_own ? own : found).push_back(option);
    }
    return found.empty() ? own : found;
  }

  const CLI::Option& resolve(std::string_view name) const {
    const auto found = matches(name);
    if (found.size() == 1) return *found[0];
    if (found.empty()) refuse_unknown(name, nearest_name(with_dashes(name)));
    std::string names;
    for (const CLI::Option* option : found) {
      names += (names.empty() ? "" : ", ") + option_table::long_name(*option);
    }
    throw error(errc::invalid_argument,
                fmt::format("option {} is ambiguous: it could be {}", in_quotes(name), names));
  }

  /// The long name that `wanted` is likely to be meant for: few letters are wrong, or it has begun
  /// that way. Empty where there is none.
  std::string nearest_name(std::string_view wanted) const {
    std::string nearest;
    std::size_t least = std::max<std::size_t>(1, (wanted.size() - 2) / 4) + 1;
    for (const CLI::Option* option : table_.options()) {
      const std::string full = option_table::long_name(*option);
      const std::string_view beginning = std::string_view(full).substr(0, wanted.size() + 1);
      const std::size_t distance =
          std::min(edit_distance(wanted, full), edit_distance(wanted, beginning));
      if (distance >= least) continue;
      least = distance;
      nearest = full;
    }
    return nearest;
  }

  [[noreturn]] static void refuse_unknown(std::string_view name, std::string_view meant) {
    throw error(errc::invalid_argument,
                fmt::format("unknown option {}; {}", in_quotes(name),
                            meant.empty() ? "see elasticrun --help for those that there are"
                                          : fmt::format("did you mean {}?", meant)));
  }

  /// `letter` of an argument such as "-mx" is no option; the whole may lack a second dash.
  [[noreturn]] void refuse_short(char letter, std::string_view argument) const {
    const std::string as_long = fmt::format("-{}", argument.substr(0, argument.find('=')));
    const auto found = matches(as_long);
    if (argument.size() > 2 && found.size() == 1) {
      refuse_unknown(argument, option_table::long_name(*found[0]));
    }
    if (argument.size() == 2) refuse_unknown(argument, {});
    throw error(errc::invalid_argument,
                fmt::format("unknown option '-{}' in {}; see elasticrun --help for those that "
                            "there are",
                            letter, in_quotes(argument)));
  }

  const option_table& table_;
  const std::vector<std::string>& arguments_;
  std::size_t next_ = 0;
  scanned_arguments result_;
};

ELASTIC_DECL scanned_arguments scan_options(const option_table& table,
                                            const std::vector<std::string>& arguments) {
  return option_scanner(table, arguments).scan();
}

}  // namespace elastic::detail
