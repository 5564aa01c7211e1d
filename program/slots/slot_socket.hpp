// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/cli/program_config.hpp>

#include <sys/socket.h>
#include <sys/un.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The sockets between the tasks of a node. A message is a list of texts without zero bytes, and may
// carry descriptors. Its first text is its kind:
//
//   slot → agent   hello VERSION PLACE COUNT, with stdout and stderr
//   agent → slot   refuse REASON
//                  start and the fields of a slot_order, with a socket for the reply and more
//                  end CODE, the last one: the slot ends when the agent has
//   reply          spawned FAILURE STAGE, with the pidfd of the guard
namespace elasticrun {

using slot_plan = elastic::program_config::slot_plan;

/// The prefix of the abstract socket's name, so that people recognise it.
inline constexpr std::string_view slot_socket_name = "elastic-slot-";

/// The abstract address at which the tasks of a node meet.
struct slot_address {
  sockaddr_un address{};
  socklen_t size = 0;
  /// The name as users see it: "@elastic-slot-4711.0-0-1000".
  std::string text;
};

/// The address for the step of the plan, which must be valid, and this user.
slot_address slot_address_of(const slot_plan& plan);

struct slot_message {
  std::vector<std::string> fields;
  std::vector<elastic::detail::unique_fd> descriptors;

  std::string_view kind() const { return fields.empty() ? std::string_view() : fields.front(); }
};

/// Sends without waiting. Result: 0, or the `errno`; EMSGSIZE for a message over
/// `limits::slot_message_bytes`.
int send_slot_message(int socket, const std::vector<std::string>& fields,
                      const std::vector<int>& descriptors = {}) noexcept;

/// The next message; `flags` are those of `recvmsg`. Result: empty if none has arrived. Then
/// `has_ended` says whether the other end is closed, so that none will arrive. A message that is
/// too long or malformed has no fields.
std::optional<slot_message> receive_slot_message(int socket, int flags, bool& has_ended);

/// The process at the other end of a socket.
struct slot_peer {
  int pid = 0;
  /// The user of the process; -1 if the kernel does not report it.
  long uid = -1;

  bool is_own_user() const noexcept;

  /// "process 17 of user 1000".
  std::string text() const;
};

slot_peer peer_of(int socket) noexcept;

/// A whole number from 0 to `most`.
std::optional<int> slot_number(std::string_view text, int most) noexcept;

}  // namespace elasticrun
