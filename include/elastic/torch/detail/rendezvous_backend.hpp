// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/task.hpp>
#include <elastic/torch/detail/torch_state.hpp>

#include <optional>
#include <string>

namespace elastic::detail {

/// A state in a backend.
struct stored_state {
  torch_state state;
  /// Identifies this value: another value that is stored later has another token. Never empty.
  std::string token;
};

/// The result of storing a state.
struct set_outcome {
  /// The state that is stored now; empty if there is none.
  std::optional<stored_state> stored;
  /// Whether that is the state to be stored.
  bool was_set = false;
};

/// Where the nodes of a rendezvous without a server that decides (`dynamic_rendezvous`) store the
/// state on which they agree: one value, which a node replaces only if it has seen the current one.
/// Implement it to store the state elsewhere.
///
/// Errors of every member: `errc::connection_failed`, and `errc::rendezvous_state` if the stored
/// state is malformed; the message names the place, and nothing is overwritten.
/// Cancellation of every member: all types; the state may or may not have been stored.
/// Thread-safety: one strand at a time; operations may run at the same time.
class rendezvous_backend {
 public:
  virtual ~rendezvous_backend() = default;

  /// The stored state; empty if there is none yet.
  virtual task<std::optional<stored_state>> get() = 0;

  /// Stores `state` in place of the value that `token` identifies; an empty token means that there
  /// is none. If another state is stored meanwhile, that one stays.
  virtual task<set_outcome> set(torch_state state, std::string token) = 0;

  /// Returns when `token` no longer identifies the stored state, or may not: if the backend cannot
  /// report changes, when it is time to read again.
  virtual task<void> wait_for_change(std::string token) = 0;
};

}  // namespace elastic::detail
