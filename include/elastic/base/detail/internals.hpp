// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

namespace elastic::detail {

/// Reaches what a public type holds for other parts of the library: such types make it private, and
/// this their friend.
struct internals {
  /// The members that a public struct keeps in its field `internal`.
  template <class Public>
  static auto& of(Public& owner) {
    return owner.internal.members_;
  }

  /// A `T` by a private constructor.
  template <class T, class... Arguments>
  static std::shared_ptr<T> make(Arguments&&... arguments) {
    return std::shared_ptr<T>(new T(std::forward<Arguments>(arguments)...));
  }

  /// A log file, opened by other system calls.
  template <class File, class... Arguments>
  static auto open(Arguments&&... arguments) {
    return File::open(std::forward<Arguments>(arguments)...);
  }

  /// What a public handle shares with its copies and its run.
  template <class Handle>
  static const auto& core_of(const Handle& handle) {
    return handle.core_;
  }

  /// The output tails of a role of a roles_monitor.
  template <class Roles>
  static const auto& tails_of(const Roles& roles, std::size_t role) {
    return roles.parts_[role].tails;
  }

  /// Starts a process of a process_set, of whose parameters nobody else needs a copy.
  template <class Processes, class Process>
  static auto start(Processes& processes, std::size_t index, Process plan) {
    return Processes::start_in(processes.state_, index, std::move(plan));
  }

  /// The last stderr lines of a process of a process_set, with their place in the stream.
  template <class Processes>
  static auto kept(const Processes& processes, std::size_t index) {
    return processes.kept(index);
  }

  /// The table of a memory_store, or of a server of stores.
  template <class Store>
  static auto engine_of(const Store& owner) {
    return owner.engine();
  }

  /// The keys of a job_secret.
  template <class Secret>
  static const auto& state_of(const Secret& secret) {
    return *secret.state_;
  }

  /// The workers of a worker_group that outlive an attempt.
  template <class Group>
  static const auto& survivors_of(const Group& group) {
    return group.survivors_;
  }

  /// Replaces all guests of a worker_group by those of an agent, before it starts.
  template <class Group, class Parts>
  static void attach(Group& group, Parts parts) {
    group.attach(std::move(parts));
  }
};

}  // namespace elastic::detail
