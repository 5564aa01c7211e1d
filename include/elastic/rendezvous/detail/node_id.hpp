// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <compare>
#include <cstdint>
#include <string>
#include <utility>

namespace elastic::detail {

/// Identifies one agent in a rendezvous. The order of the ids, which is the same on every node,
/// gives the nodes of a round their ranks.
struct node_id {
  /// Distinguishes an agent from all others: 128 random bits, generated once in its life. Anyone
  /// who knows it can take the agent's place, so no message or log for users shows it.
  struct random_number {
    std::uint64_t high = 0;
    std::uint64_t low = 0;

    friend auto operator<=>(const random_number&, const random_number&) = default;
    friend bool operator==(const random_number&, const random_number&) = default;
  };

  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  node_id() = default;
  node_id(std::string machine, std::int64_t process, std::int64_t local)
      : host(std::move(machine)), pid(process), local_id(local) {}
  node_id(std::string machine, std::int64_t process, std::int64_t local, random_number random)
      : host(std::move(machine)), pid(process), local_id(local), number(random) {}

  /// The name or address of the machine; compared byte by byte.
  std::string host;
  /// The process of the agent.
  std::int64_t pid = 0;
  /// Distinguishes the agents of one process, from 0.
  std::int64_t local_id = 0;
  /// Needed because two containers may have the other members in common. 0 in the state that
  /// PyTorch's agents share, which has no room for it.
  random_number number;

  friend auto operator<=>(const node_id&, const node_id&) = default;
  friend bool operator==(const node_id&, const node_id&) = default;

  /// "host_pid_localid", the form for messages, without the part that makes it unique.
  ELASTIC_DECL std::string text() const;

  /// "host_pid_localid" with all of `local_id`, as the name of a key.
  ELASTIC_DECL std::string key() const;
};

/// A unique number, from the kernel's source of randomness.
/// Errors: what `std::random_device` throws if there is no such source.
ELASTIC_DECL node_id::random_number new_node_number();

/// A new id, without a number, for an agent of this process: each of its handlers is a separate
/// node.
/// @param host  what the user calls this host; empty: its own name
ELASTIC_DECL node_id new_node(const std::string& host);

/// The same if only the first three members can be sent to others: 40 random bits in the local id
/// distinguish it from an id in another container. `text()` omits them.
/// Errors: those of `new_node_number`.
ELASTIC_DECL node_id new_unnumbered_node(const std::string& host);

/// The name of a node made from any text: 1 to `limits::node_name_bytes` ASCII letters, digits and
/// punctuation characters. Other characters become "_".
ELASTIC_DECL std::string as_node_name(std::string_view text);

ELASTIC_DECL bool is_node_name(std::string_view text);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/detail/node_id.ipp>
#endif
