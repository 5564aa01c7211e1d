// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/process/exit_status.hpp>

#include <set>
#include <string_view>

namespace elastic {

/// A set of ways in which a process can end: exit codes and signals.
///
/// Thread-safety: that of a value.
class exit_selection {
 public:
  /// A list such as "93,SIGSEGV": exit codes from 0 to 255, and signals by their names.
  ///
  /// Errors: `errc::invalid_argument`, which names the part that is neither.
  ELASTIC_DECL static exit_selection parse(std::string_view text);
  ELASTIC_DECL exit_selection& add_code(int code);
  ELASTIC_DECL exit_selection& add_signal(int number);

  bool empty() const { return codes_.empty() && signals_.empty(); }

  /// Whether a process ended in one of these ways; false if it is unknown how it ended.
  ELASTIC_DECL bool contains(const exit_status& status) const;

  friend bool operator==(const exit_selection&, const exit_selection&) = default;

 private:
  std::set<int> codes_;
  std::set<int> signals_;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/impl/exit_selection.ipp>
#endif
