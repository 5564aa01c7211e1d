// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/cli/detail/given_options.hpp>

#include <elastic/base/detail/nearest_name.hpp>
#include <elastic/base/printable_text.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL given_options::given_options(const std::vector<scanned_option>& scanned,
                                          const environment_map& environment) {
  for (const auto& [row, text] : scanned) values_[row].push_back({text, row->long_name()});
  for (const option_row& row : option_rows()) {
    if (values_.count(&row) > 0) continue;
    if (auto value = in_environment(row, environment)) values_[&row].push_back(*std::move(value));
  }
}

ELASTIC_DECL std::optional<option_value> given_options::in_environment(
    const option_row& row, const environment_map& environment) {
  for (const std::string& variable : {row.pet_variable(), std::string(row.variable)}) {
    auto text = find_variable(environment, variable);
    if (text && !text->empty()) return option_value{*std::move(text), variable};
  }
  return std::nullopt;
}

ELASTIC_DECL std::optional<option_value> given_options::find(std::string_view long_name) const {
  const auto values = values_.find(&option_named(long_name));
  if (values == values_.end()) return std::nullopt;
  return values->second.back();
}

ELASTIC_DECL void given_options::read_into(option_target& target,
                                           const command_line::facts& facts) const {
  for (const option_row& row : option_rows()) {
    const auto values = values_.find(&row);
    if (values == values_.end()) continue;
    if (!row.type.read || row.shows) continue;
    const auto first = row.repeats ? values->second.begin() : values->second.end() - 1;
    std::for_each(first, values->second.end(),
                  [&](const option_value& value) { row.type.read(value, facts, target); });
  }
}

ELASTIC_DECL std::vector<std::pair<const option_row*, option_value>> given_options::all() const {
  std::vector<std::pair<const option_row*, option_value>> options;
  for (const option_row& row : option_rows()) {
    const auto values = values_.find(&row);
    if (values == values_.end()) continue;
    const auto first = row.repeats ? values->second.begin() : values->second.end() - 1;
    std::for_each(first, values->second.end(),
                  [&](const option_value& value) { options.emplace_back(&row, value); });
  }
  return options;
}

ELASTIC_DECL void given_options::adopt(std::string_view long_name, option_value value,
                                       const command_line::facts& facts, option_target& target) {
  const option_row& row = option_named(long_name);
  row.type.read(value, facts, target);
  values_[&row] = {std::move(value)};
}

ELASTIC_DECL std::vector<std::string> misspelt_variables(const environment_map& environment) {
  const auto without_lines = [](std::string name) {
    std::erase(name, '_');
    return name;
  };
  std::vector<std::string> names;
  for (const option_row& row : option_rows()) names.push_back(row.pet_variable());
  std::vector<std::string> sentences;
  for (const auto& [variable, value] : environment) {
    if (!variable.starts_with("PET_")) continue;
    if (std::find(names.begin(), names.end(), variable) != names.end()) continue;
    const auto same = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
      return without_lines(name) == without_lines(variable);
    });
    const std::string nearest = same == names.end() ? nearest_name(variable, names) : *same;
    if (nearest.empty()) continue;
    sentences.push_back(
        fmt::format("{} has no effect: did you mean {}?", in_quotes(variable), nearest));
  }
  return sentences;
}

}  // namespace elastic::detail
