// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/roles/detail/role_plan.hpp>

#include <cstddef>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace elastic::detail {

/// The roles of a group for `role_group::dump`, even while the strand of the group does not answer.
///
/// Thread-safety: any thread.
class group_monitor {
 public:
  struct entry {
    std::string name;
    std::string_view state;
    std::string reason;
    /// Empty while the role does not run.
    std::optional<role_plan::runner> runner;
  };

  void take(std::vector<entry> roles) {
    const std::lock_guard lock(mutex_);
    roles_.swap(roles);
  }

  /// @param waiting  how many requests the run has not taken
  void dump(std::ostream& out, std::size_t waiting) const {
    const std::vector<entry> roles = snapshot();
    std::string text = roles.empty() ? "role_group: not begun\n" : "role_group:\n";
    if (waiting > 0) text += fmt::format("  requests that its strand has not taken: {}\n", waiting);
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
    for (const entry& role : roles) {
      text = fmt::format("role '{}': {}{}{}\n", role.name, role.state,
                         role.reason.empty() ? "" : ": ", role.reason);
      out.write(text.data(), static_cast<std::streamsize>(text.size()));
      if (role.runner) std::visit([&](const auto& each) { each->dump(out); }, *role.runner);
    }
  }

 private:
  std::vector<entry> snapshot() const {
    const std::lock_guard lock(mutex_);
    return roles_;
  }

  mutable std::mutex mutex_;
  std::vector<entry> roles_;
};

}  // namespace elastic::detail
