// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/wire/wire_terms.hpp>

#include <elastic/base/detail/nearest_name.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/printable_text.hpp>

#include <cstddef>
#include <vector>

#include <fmt/format.h>

namespace elastic {

namespace detail {

inline constexpr wire_up every_wire_up[] = {wire_up::jax, wire_up::mpi, wire_up::tf};

inline wire_up wire_up_named(std::string_view name) {
  std::vector<std::string> known;
  for (const wire_up kind : every_wire_up) {
    if (name == to_string(kind)) return kind;
    known.emplace_back(to_string(kind));
  }
  const std::string nearest = nearest_name(name, known);
  throw error(errc::invalid_argument,
              fmt::format("there is no wire-up {}{}; the wire-ups are jax, mpi and tf, separated "
                          "by commas",
                          in_quotes(name),
                          nearest.empty() ? "" : fmt::format(" (did you mean {}?)", nearest)));
}

}  // namespace detail

ELASTIC_DECL std::string_view to_string(wire_up kind) {
  switch (kind) {
    case wire_up::jax: return "jax";
    case wire_up::mpi: return "mpi";
    case wire_up::tf: return "tf";
  }
  return "";
}

ELASTIC_DECL std::set<wire_up> parse_wire_ups(std::string_view text) {
  std::set<wire_up> kinds;
  for (std::size_t comma = 0; comma != std::string_view::npos;) {
    comma = text.find(',');
    kinds.insert(detail::wire_up_named(text.substr(0, comma)));
    if (comma != std::string_view::npos) text.remove_prefix(comma + 1);
  }
  return kinds;
}

ELASTIC_DECL void validate(const wire_terms& terms) {
  if (terms.kinds.empty()) throw error(errc::invalid_argument, "no wire-up is named");
  if (!terms.kinds.contains(wire_up::jax) || !terms.kinds.contains(wire_up::mpi)) return;
  throw error(errc::invalid_argument,
              "the wire-ups jax and mpi exclude each other: JAX reads its processes from "
              "variables of Open MPI, which mislead an MPI library");
}

}  // namespace elastic
