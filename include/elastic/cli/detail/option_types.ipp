// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/cli/detail/option_types.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/process/detail/signal_number.hpp>
#include <elastic/process/exit_status.hpp>

#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <system_error>

#include <fmt/ranges.h>

namespace elastic::detail {

ELASTIC_DECL void refuse_value(const option_value& option, std::string_view allowed) {
  throw error(errc::invalid_argument,
              fmt::format("{} {}: {}", option.source, in_quotes(option.text), allowed));
}

ELASTIC_DECL std::optional<int> number_between(std::string_view text, int low, int high) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  if (failure != std::errc() || stop != end || value < low || value > high) return std::nullopt;
  return value;
}

ELASTIC_DECL std::optional<std::uint64_t> size_of(std::string_view text) {
  int shift = 0;
  if (!text.empty()) {
    const char unit = text.back();
    shift = unit == 'k' || unit == 'K'   ? 10
            : unit == 'm' || unit == 'M' ? 20
            : unit == 'g' || unit == 'G' ? 30
                                         : 0;
  }
  if (shift > 0) text.remove_suffix(1);
  const auto number = number_between(text, 1, std::numeric_limits<int>::max());
  if (!number) return std::nullopt;
  return static_cast<std::uint64_t>(*number) << shift;
}

/// The longest time that an option takes: three years.
inline constexpr std::chrono::seconds longest_time{100'000'000};

/// Empty for what is not a time in seconds from 0 to `most`.
inline std::optional<duration> seconds_in(std::string_view text, std::chrono::seconds most) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  const bool is_number = failure == std::errc() && stop == end;
  if (!is_number || !(value >= 0) || value > static_cast<double>(most.count())) {
    return std::nullopt;
  }
  return std::chrono::milliseconds(std::llround(value * 1000));
}

ELASTIC_DECL duration seconds_of(const option_value& option) {
  const std::optional<duration> time = seconds_in(option.text, longest_time);
  if (time) return *time;
  refuse_value(option,
               fmt::format("a number of seconds from 0 to {} is needed", longest_time.count()));
}

ELASTIC_DECL option_type text_type(option_field<std::string> field) {
  option_type type;
  type.read = [=](const option_value& option, const command_line::facts&, option_target& target) {
    field(target) = option.text;
  };
  type.show = [=](const option_target& target) { return shown(field, target); };
  return type;
}

ELASTIC_DECL option_type filled_text_type(std::string allowed, option_field<std::string> field) {
  option_type type = text_type(std::move(field));
  type.read = [allowed = std::move(allowed), read = std::move(type.read)](
                  const option_value& option, const command_line::facts& facts,
                  option_target& target) {
    if (option.text.empty()) refuse_value(option, allowed);
    read(option, facts, target);
  };
  return type;
}

ELASTIC_DECL option_type flag_type(option_field<bool> field) {
  option_type type;
  type.read = [=](const option_value& option, const command_line::facts&, option_target& target) {
    constexpr int most = std::numeric_limits<int>::max();
    const auto number = number_between(option.text, std::numeric_limits<int>::min(), most);
    if (!number) refuse_value(option, "must be 0 (off) or 1 (on)");
    field(target) = *number != 0;
  };
  return type;
}

inline std::function<std::string(const option_target&)> show_seconds(option_field<duration> field) {
  return [=](const option_target& target) {
    return fmt::format("{}", std::chrono::duration<double>(shown(field, target)).count());
  };
}

ELASTIC_DECL option_type seconds_type(option_field<duration> field) {
  option_type type;
  type.read = [=](const option_value& option, const command_line::facts&, option_target& target) {
    field(target) = seconds_of(option);
  };
  type.show = show_seconds(field);
  return type;
}

ELASTIC_DECL option_type bounded_seconds_type(std::chrono::seconds most,
                                              option_field<duration> field, zero_seconds zero) {
  option_type type;
  type.read = [=](const option_value& option, const command_line::facts&, option_target& target) {
    const std::optional<duration> time = seconds_in(option.text, most);
    const bool needs_more = zero == zero_seconds::refused;
    if (!time || (needs_more && *time == duration::zero())) {
      refuse_value(option, fmt::format("a number of seconds {} {} is needed",
                                       needs_more ? "over 0 and up to" : "from 0 to",
                                       most.count()));
    }
    field(target) = *time;
  };
  type.show = show_seconds(field);
  return type;
}

ELASTIC_DECL option_type streams_type(option_field<stream_selection> field) {
  option_type type;
  type.read = [=](const option_value& option, const command_line::facts&, option_target& target) {
    try {
      field(target) = stream_selection::parse(option.text);
    } catch (const error&) {
      refuse_value(option,
                   "must be 0 (none), 1 (stdout), 2 (stderr) or 3 (both) for all workers, or "
                   "a list such as 0:3,1:1 by local rank (one digit)");
    }
  };
  type.show = [=](const option_target& target) {
    return shown(field, target) == stream_selection() ? std::string("0") : std::string();
  };
  return type;
}

ELASTIC_DECL option_type ends_type(option_field<exit_selection> field) {
  option_type type;
  type.read = [=](const option_value& option, const command_line::facts&, option_target& target) {
    try {
      field(target) = exit_selection::parse(option.text);
    } catch (const error& refusal) {
      throw error(errc::invalid_argument, fmt::format("{}: {}", option.source, refusal.what()));
    }
  };
  return type;
}

ELASTIC_DECL option_type signals_type(option_field<std::vector<int>> field) {
  option_type type;
  type.read = [=](const option_value& option, const command_line::facts&, option_target& target) {
    std::vector<int> numbers;
    std::string_view rest = option.text;
    for (std::size_t comma = 0; comma != std::string_view::npos;) {
      comma = rest.find(',');
      const auto number = signal_number(trimmed(rest.substr(0, comma)));
      if (!number) refuse_value(option, "names of signals are needed, such as SIGTERM,SIGUSR1");
      numbers.push_back(*number);
      if (comma != std::string_view::npos) rest.remove_prefix(comma + 1);
    }
    field(target) = std::move(numbers);
  };
  type.show = [=](const option_target& target) {
    std::vector<std::string> names;
    for (const int number : shown(field, target)) names.push_back(signal_name(number));
    return fmt::format("{}", fmt::join(names, ","));
  };
  return type;
}

inline std::vector<std::string> split_texts(std::string_view list) {
  std::vector<std::string> texts(1);
  for (std::size_t index = 0; index < list.size(); ++index) {
    if (list[index] != ',') {
      texts.back() += list[index];
    } else if (list.substr(index + 1).starts_with(',')) {
      texts.back() += ',';
      ++index;
    } else {
      texts.emplace_back();
    }
  }
  std::erase(texts, "");
  return texts;
}

ELASTIC_DECL option_type texts_type(option_field<std::vector<std::string>> field) {
  option_type type;
  type.read = [=](const option_value& option, const command_line::facts&, option_target& target) {
    auto texts = split_texts(option.text);
    if (texts.empty()) refuse_value(option, "texts are needed, such as loss,error");
    field(target) = std::move(texts);
  };
  return type;
}

ELASTIC_DECL std::string enumerated(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

ELASTIC_DECL option_type ignored_choice_type(std::vector<std::string> names) {
  option_type type;
  type.read = [=](const option_value& option, const command_line::facts&, option_target&) {
    if (std::find(names.begin(), names.end(), option.text) != names.end()) return;
    refuse_value(option, "must be " + enumerated(names));
  };
  type.choices = names;
  return type;
}

}  // namespace elastic::detail
