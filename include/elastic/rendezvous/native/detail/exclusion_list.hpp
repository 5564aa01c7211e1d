// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// A node that is kept out of its job, because somebody called it bad.
struct exclusion {
  /// See `as_node_name`.
  std::string name;
  /// For how much longer.
  duration remaining{};
  std::string why;

  friend bool operator==(const exclusion&, const exclusion&) = default;
};

/// The nodes that are kept out of a job, each for its time. Pure: names and times in, answers out.
/// Bounded: beyond `limits::excluded_nodes` the one that was excluded first is forgotten.
class exclusion_list {
 public:
  /// Of two of one name the one that ends later counts.
  ELASTIC_DECL void add(const exclusion& added, time_point now);

  bool is_empty() const { return entries_.empty(); }

  /// Why the node of this name is kept out; none: it is not, or no longer.
  ELASTIC_DECL std::optional<exclusion> find(std::string_view name, time_point now) const;

  /// When it may come back; `time_point::max()` if it is not kept out.
  ELASTIC_DECL time_point end_of(std::string_view name) const;

  /// The one of these nodes that was excluded first; empty: none of them is.
  ELASTIC_DECL std::string first_of(const std::vector<std::string>& names) const;

  /// Keeps it out no longer.
  ELASTIC_DECL void forgive(std::string_view name);

  /// Forgets those whose time is over.
  ELASTIC_DECL void forget_past(time_point now);

  /// All of them, the one that was excluded first at the beginning.
  ELASTIC_DECL std::vector<exclusion> at(time_point now) const;

  /// The same with the time that each was given, so that it does not change by itself.
  ELASTIC_DECL std::vector<exclusion> in_full() const;

 private:
  struct entry {
    exclusion original;
    time_point until;
  };

  std::vector<entry> entries_;
};

/// A line for each: "MILLISECONDS NAME WHY".
ELASTIC_DECL std::string text_of(const std::vector<exclusion>& exclusions);

/// Printable, on one line and of so many bytes at most; no letter is cut in two.
ELASTIC_DECL std::string short_line(std::string_view text, std::size_t most);

/// What can stand in such a line: 1 to `limits::node_name_bytes` letters, digits and signs of
/// ASCII. Others are replaced by "_".
ELASTIC_DECL std::string as_node_name(std::string_view text);

ELASTIC_DECL bool is_node_name(std::string_view text);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/native/detail/impl/exclusion_list.ipp>
#endif
