// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// A set of ranks of a job, as ranges with a stride: "0-7,9" or "0-1022/2". It is small even for
/// many ranks, because groups of ranks are regular. Equal sets compare equal.
class rank_set {
 public:
  /// The empty set.
  rank_set() = default;

  /// @param ranks  in any order, each at least 0; duplicates count once
  ELASTIC_DECL explicit rank_set(std::vector<int> ranks);

  bool empty() const { return ranges_.empty(); }
  ELASTIC_DECL std::size_t size() const;
  ELASTIC_DECL bool contains(int rank) const;

  /// Parses the text of a set: at most `limits::rank_set_bytes` bytes, each rank below
  /// `limits::job_ranks`.
  ///
  /// Errors: `errc::protocol_violation` if it is anything else, or its ranges do not ascend.
  ELASTIC_DECL static rank_set parse(std::string_view text);

  /// In ascending order.
  ELASTIC_DECL std::vector<int> ranks() const;

  /// The canonical text; "" for the empty set.
  ELASTIC_DECL std::string text() const;

  friend bool operator==(const rank_set&, const rank_set&) = default;

 private:
  struct range {
    int first = 0;
    int last = 0;
    int stride = 1;
    friend bool operator==(const range&, const range&) = default;
  };

  std::vector<range> ranges_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/diagnosis/detail/rank_set.ipp>
#endif
