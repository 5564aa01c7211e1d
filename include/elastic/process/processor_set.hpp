// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <climits>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace elastic {

/// A set of the machine's logical processors, by number.
///
/// Thread-safety: that of a value.
class processor_set {
 public:
  /// Every number is less than this.
  static constexpr int limit = 8192;

  /// A list as the kernel writes it: "0-3,8".
  ///
  /// Errors: `errc::invalid_argument` for anything else, and for a number of `limit` or more.
  ELASTIC_DECL static processor_set parse(std::string_view text);

  /// The processors on which the calling thread may run; empty if the kernel does not say.
  ELASTIC_DECL static processor_set allowed_here();
  ELASTIC_DECL processor_set& add(int number);

  bool contains(int number) const { return numbers_.count(number) > 0; }
  bool empty() const { return numbers_.empty(); }
  std::size_t size() const { return numbers_.size(); }
  auto begin() const { return numbers_.begin(); }
  auto end() const { return numbers_.end(); }

  /// The list in the form that `parse` reads.
  ELASTIC_DECL std::string text() const;

  /// The kernel's form: one bit for each processor.
  ELASTIC_DECL std::vector<unsigned long> mask() const;

  friend bool operator==(const processor_set&, const processor_set&) = default;

 private:
  static constexpr std::size_t word = sizeof(unsigned long) * CHAR_BIT;
  std::set<int> numbers_;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/impl/processor_set.ipp>
#endif
