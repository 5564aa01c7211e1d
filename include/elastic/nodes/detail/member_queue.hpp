// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/detail/node_id.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace elastic::detail {

/// Members of a job, in the order in which a server forgets them when there are too many. Adding
/// and removing one takes O(log n).
class member_queue {
 public:
  /// The position of a member. Members with `is_kept_longer` come last; otherwise, the order is
  /// that of arrival.
  struct ticket {
    bool is_kept_longer = false;
    std::uint64_t number = 0;
    friend auto operator<=>(const ticket&, const ticket&) = default;
  };

  ticket add(const node_id& node, bool is_kept_longer = false) {
    const ticket next{is_kept_longer, ++last_};
    members_.emplace(next, node);
    return next;
  }

  /// Removes the member with this ticket, and resets the ticket. Does nothing without a ticket.
  void remove(std::optional<ticket>& held) {
    if (held) members_.erase(*std::exchange(held, std::nullopt));
  }

  std::size_t size() const { return members_.size(); }

  /// The member to forget first. There must be one.
  const node_id& first() const { return members_.begin()->second; }

 private:
  std::map<ticket, node_id> members_;
  std::uint64_t last_ = 0;
};

}  // namespace elastic::detail
