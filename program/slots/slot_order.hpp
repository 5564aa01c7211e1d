// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/contract/environment.hpp>
#include <elastic/process/detail/spawn.hpp>
#include <elastic/process/process_spec.hpp>
#include <program/slots/slot_socket.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace elasticrun {

/// The order to start a guard in a slot. The worker inherits everything else from the slot, such as
/// the variables and streams that the scheduler gives each task.
struct slot_order {
  std::string path;
  std::vector<std::string> arguments;
  std::string directory;
  std::string processors;
  std::vector<int> ignored_signals;
  std::optional<std::uint64_t> open_files;
  /// "NAME=value".
  std::vector<std::string> set;
  /// Names.
  std::vector<std::string> unset;
  /// One letter for each descriptor of the message after the first, which is for the reply: 's' the
  /// guard's socket, 'g' its program, 'i', 'o' and 'e' the streams, 'p' the passed descriptor.
  std::string descriptors;
};

/// The order for a request. Appends its descriptors to `descriptors`, which already holds the one
/// for the reply.
/// @param own  the environment of this process
slot_order slot_order_of(const elastic::detail::spawn_request& request,
                         const elastic::environment_map& own, std::vector<int>& descriptors);

/// The fields of a message, from its kind on.
std::vector<std::string> fields_of(const slot_order& order);

[[noreturn]] void refuse_slot_order();

/// Errors: `errc::protocol_violation` if the fields are not those of an order.
slot_order slot_order_from(const std::vector<std::string>& fields);

/// The environment of a worker in a slot.
/// @param own  that of the slot
std::vector<std::string> slot_environment(const slot_order& order, elastic::environment_map own);

}  // namespace elasticrun
