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

/// A node that is excluded from its job because it was marked as bad.
struct exclusion {
  /// See `as_node_name`.
  std::string name;
  /// The remaining time of the exclusion.
  duration remaining{};
  std::string why;

  friend bool operator==(const exclusion&, const exclusion&) = default;
};

/// The nodes that are excluded from a job, each for its own time. Pure: no clocks, no I/O. Holds at
/// most `limits::excluded_nodes` nodes; beyond that, it forgets the one that was excluded first.
class exclusion_list {
 public:
  /// Of two exclusions of one name, the one that ends later counts.
  ELASTIC_DECL void add(const exclusion& added, time_point now);

  bool is_empty() const { return entries_.empty(); }

  /// The exclusion of the node with this name; empty: it is not excluded, or no longer.
  ELASTIC_DECL std::optional<exclusion> find(std::string_view name, time_point now) const;

  /// The time at which the node may return; `time_point::max()` if it is not excluded.
  ELASTIC_DECL time_point end_of(std::string_view name) const;

  /// The one of these nodes that was excluded first; empty: none is excluded.
  ELASTIC_DECL std::string first_of(const std::vector<std::string>& names) const;

  /// Readmits the node.
  ELASTIC_DECL void readmit(std::string_view name);

  /// Removes the exclusions that are over.
  ELASTIC_DECL void remove_expired(time_point now);

  /// All exclusions, in the order in which they began.
  ELASTIC_DECL std::vector<exclusion> at(time_point now) const;

  /// The same with the full duration of each exclusion, so that the result does not change with
  /// time.
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

/// Makes a text printable, on one line, and at most `most` bytes long, without splitting a
/// character.
ELASTIC_DECL std::string short_line(std::string_view text, std::size_t most);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/nodes/detail/exclusion_list.ipp>
#endif
