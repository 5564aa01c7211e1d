// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/task.hpp>
#include <elastic/torch/detail/torch_state.hpp>

#include <optional>
#include <string>

namespace elastic::detail {

/// A state as a backend holds it.
struct stored_state {
  torch_state state;
  /// Names this value: another one that is stored later has another token. Never empty.
  std::string token;
};

/// What came of storing a state.
struct set_outcome {
  /// What is stored now; none if nothing is.
  std::optional<stored_state> stored;
  /// Whether that is the state that was to be stored.
  bool was_set = false;
};

/// Where the nodes of a rendezvous without a server that decides keep the state that they agree on
/// (`dynamic_rendezvous`): one value, which is only ever replaced by whoever has seen it. Implement
/// it to keep the state somewhere of your own.
///
/// Errors of every member: `errc::connection_failed`, and `errc::rendezvous_state` if what is
/// stored cannot be understood; the message names the place, and nothing is overwritten.
/// Cancellation of every member: all types; a state that was to be stored may or may not be.
/// Thread-safety: one strand at a time; operations may run at the same time.
class rendezvous_backend {
 public:
  virtual ~rendezvous_backend() = default;

  /// What is stored; none if nothing is yet.
  virtual task<std::optional<stored_state>> get() = 0;

  /// Stores `state` in place of the value that `token` names; an empty token names that there is
  /// none. If something else is stored meanwhile, that stays.
  virtual task<set_outcome> set(torch_state state, std::string token) = 0;

  /// Returns when what is stored is not what `token` names, or may not be: at the latest when it is
  /// time to look again, if the place cannot tell by itself.
  virtual task<void> wait_for_change(std::string token) = 0;
};

}  // namespace elastic::detail
