// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/contract/environment.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace elastic::detail {

/// The names that a template may use, without "$", and their values.
using macro_values = std::map<std::string, std::string, std::less<>>;

inline bool starts_macro_name(char letter) {
  return letter == '_' || (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
}

/// The longest name at the start of `text`; empty if there is none.
inline std::string_view leading_macro_name(std::string_view text) {
  if (text.empty() || !starts_macro_name(text[0])) return {};
  std::size_t length = 1;
  while (length < text.size() &&
         (starts_macro_name(text[length]) || (text[length] >= '0' && text[length] <= '9'))) {
    ++length;
  }
  return text.substr(0, length);
}

/// The reference after a "$": its name and its length with braces; length 0 if no name follows.
struct macro_reference {
  std::string_view name;
  std::size_t length = 0;
};

/// The start of a reference to a port, such as "{port.http}". Only names of ports contain a dot.
inline constexpr std::string_view port_macro_begin = "{port.";

inline macro_reference read_port_reference(std::string_view text) {
  if (!text.starts_with(port_macro_begin)) return {};
  const std::string_view name = leading_macro_name(text.substr(port_macro_begin.size()));
  const std::size_t end = port_macro_begin.size() + name.size();
  if (name.empty() || end >= text.size() || text[end] != '}') return {};
  return {text.substr(1, end - 1), end + 1};
}

inline macro_reference read_macro_reference(std::string_view text) {
  if (!text.empty() && text[0] == '{') {
    const std::string_view name = leading_macro_name(text.substr(1));
    const bool closed = text.size() > name.size() + 1 && text[name.size() + 1] == '}';
    if (name.empty() || !closed) return {};
    return {name, name.size() + 2};
  }
  const std::string_view name = leading_macro_name(text);
  return {name, name.size()};
}

/// Replaces `$name` and `${name}` by their values and `$$` by `$`, by the rules of Python's
/// `string.Template.safe_substitute`: a name that is not in `values` and a `$` that starts no name
/// are kept. In braces, a name may also be that of a port, such as "port.http".
inline std::string substitute_macros(std::string_view text, const macro_values& values) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t dollar = text.find('$');
    result += text.substr(0, dollar);
    if (dollar == std::string_view::npos) break;
    text.remove_prefix(dollar + 1);
    if (!text.empty() && text[0] == '$') {
      result += '$';
      text.remove_prefix(1);
      continue;
    }
    const bool is_port = text.starts_with(port_macro_begin);
    const macro_reference reference =
        is_port ? read_port_reference(text) : read_macro_reference(text);
    const auto value = values.find(reference.name);
    if (reference.length > 0 && value != values.end()) {
      result += value->second;
    } else {
      result += '$';
      result += text.substr(0, reference.length);
    }
    text.remove_prefix(reference.length);
  }
  return result;
}

/// The names of the ports in the arguments of a worker: "http" of "--port=${port.http}".
/// Errors: `errc::invalid_argument` for an invalid name and for more than `limits::worker_ports`
/// names; the message says what is allowed.
ELASTIC_DECL std::set<std::string> port_names(const std::vector<std::string>& arguments);

/// Replaces the local rank and the ports in an argument of a worker.
ELASTIC_DECL std::string substitute_ports(
    std::string_view argument, int local_rank,
    const std::map<std::string, std::uint16_t, std::less<>>& ports);

/// What stands for a worker and its job in a template, such as `${rank}` and `${world_size}`.
ELASTIC_DECL macro_values macros_of(const worker_identity& worker, const job_context& job);

/// Whether a template has a name whose value may be another one in another epoch.
ELASTIC_DECL bool changes_by_epoch(std::string_view text);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/contract/detail/macros.ipp>
#endif
