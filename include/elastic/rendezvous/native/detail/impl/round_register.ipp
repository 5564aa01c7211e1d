// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/native/detail/round_register.hpp>

#include <elastic/base/detail/json_fields.hpp>
#include <elastic/base/detail/json_object.hpp>
#include <elastic/base/limits.hpp>

#include <charconv>
#include <cstddef>
#include <iterator>
#include <limits>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace elastic::detail {

/// 16 hexadecimal digits for each number.
inline std::string text_of_numbers(const std::vector<std::uint64_t>& numbers) {
  std::string text;
  for (const std::uint64_t number : numbers) {
    fmt::format_to(std::back_inserter(text), "{:016x}", number);
  }
  return text;
}

inline std::vector<std::uint64_t> read_numbers(const json_fields& fields, const char* name,
                                               std::size_t most) {
  constexpr std::size_t digits = 16;
  const std::string text = fields.text(name);
  if (text.size() % digits != 0 || text.size() / digits > most) {
    fields.refuse(
        fmt::format("has a \"{}\" that is not made of at most {} numbers of {} "
                    "hexadecimal digits",
                    name, most, digits));
  }
  std::vector<std::uint64_t> numbers;
  for (std::size_t begin = 0; begin < text.size(); begin += digits) {
    std::uint64_t number = 0;
    const char* end = text.data() + begin + digits;
    const auto [stop, failure] = std::from_chars(text.data() + begin, end, number, 16);
    if (failure != std::errc() || stop != end) {
      fields.refuse(fmt::format("has a \"{}\" with other signs than hexadecimal digits", name));
    }
    numbers.push_back(number);
  }
  return numbers;
}

ELASTIC_DECL std::uint64_t read_number(const json_fields& fields, const char* name) {
  const std::vector<std::uint64_t> numbers = read_numbers(fields, name, 1);
  if (numbers.empty()) fields.refuse(fmt::format("has a \"{}\" that is empty", name));
  return numbers.front();
}

ELASTIC_DECL bool has_same_content(const round_register& left, const round_register& right) {
  round_register same = right;
  same.term = left.term;
  same.sequence = left.sequence;
  same.is_uncertain = left.is_uncertain;
  return left == same;
}

ELASTIC_DECL void add_register(json_object& object, const round_register& value) {
  object.add("written_in", value.term)
      .add("sequence", value.sequence)
      .add("round", value.round)
      .add("members", text_of_numbers(value.members))
      .add("leader_node", text_of_numbers({value.leader_node}))
      .add("restarts", value.restarts)
      .add("uncertain", value.is_uncertain)
      .add("all_finished", value.all_finished);
  if (!value.excluded.empty()) object.add("excluded", text_of(value.excluded));
  if (!value.ending) return;
  object.add("end", value.ending->how == job_end::succeeded ? "succeeded" : "failed")
      .add("why", value.ending->why);
}

ELASTIC_DECL round_register read_register(const json_fields& fields) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 2;
  round_register value;
  value.term = fields.number("written_in", 0, most);
  value.sequence = fields.number("sequence", 0, most);
  value.round = fields.number("round", -1, most);
  value.members = read_numbers(fields, "members", limits::rendezvous_register_nodes);
  value.leader_node = read_number(fields, "leader_node");
  value.restarts = fields.small_number("restarts", 0, limits::job_restarts);
  value.is_uncertain = fields.flag("uncertain");
  value.all_finished = fields.flag("all_finished");
  if (fields.has("excluded")) value.excluded = read_exclusions(fields, "excluded");
  if (!fields.has("end")) return value;
  const std::string how = fields.text("end");
  if (how != "succeeded" && how != "failed") {
    fields.refuse(fmt::format("has an unknown \"end\": '{:.40}'", how));
  }
  const job_end end = how == "succeeded" ? job_end::succeeded : job_end::failed;
  value.ending = register_ending{end, fields.text("why")};
  return value;
}

}  // namespace elastic::detail
