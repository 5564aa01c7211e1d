// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/slots/slot_socket.hpp>

#include <program/limits.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace elasticrun {

slot_address slot_address_of(const slot_plan& plan) {
  const std::string name = fmt::format("{}{}-{}", slot_socket_name, plan.step, ::geteuid());
  slot_address place;
  place.address.sun_family = AF_UNIX;
  // The zero byte before the name makes it an abstract one.
  const std::size_t size = std::min(name.size(), sizeof place.address.sun_path - 1);
  std::memcpy(place.address.sun_path + 1, name.data(), size);
  place.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
  place.text = "@" + name;
  return place;
}

int send_slot_message(int socket, const std::vector<std::string>& fields,
                      const std::vector<int>& descriptors) noexcept try {
  std::string text;
  for (const std::string& field : fields) text += field + '\0';
  if (text.size() > limits::slot_message_bytes) return EMSGSIZE;
  alignas(cmsghdr) unsigned char control[CMSG_SPACE(sizeof(int) * limits::slot_descriptors)]{};
  iovec part{text.data(), text.size()};
  msghdr packet{};
  packet.msg_iov = &part;
  packet.msg_iovlen = 1;
  const std::size_t size = sizeof(int) * descriptors.size();
  if (!descriptors.empty()) {
    packet.msg_control = control;
    packet.msg_controllen = CMSG_SPACE(size);
    cmsghdr* const head = CMSG_FIRSTHDR(&packet);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(size);
    std::memcpy(CMSG_DATA(head), descriptors.data(), size);
  }
  for (;;) {
    if (::sendmsg(socket, &packet, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return 0;
    if (errno != EINTR) return errno;
  }
} catch (...) {
  return ENOMEM;
}

namespace {

/// The texts of a message. Each ends with a zero byte; a message without the last one is malformed
/// and has none.
std::vector<std::string> slot_fields(std::string_view text) {
  std::vector<std::string> fields;
  if (text.empty() || text.back() != '\0') return fields;
  while (!text.empty()) {
    const std::size_t end = text.find('\0');
    fields.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return fields;
}

}  // namespace

std::optional<slot_message> receive_slot_message(int socket, int flags, bool& has_ended) {
  std::string text(limits::slot_message_bytes, '\0');
  alignas(cmsghdr) unsigned char control[CMSG_SPACE(sizeof(int) * limits::slot_descriptors)];
  iovec part{text.data(), text.size()};
  msghdr packet{};
  packet.msg_iov = &part;
  packet.msg_iovlen = 1;
  packet.msg_control = control;
  packet.msg_controllen = sizeof control;
  ssize_t size;
  do {
    size = ::recvmsg(socket, &packet, flags | MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return std::nullopt;
  has_ended = size <= 0;
  if (has_ended) return std::nullopt;
  slot_message message;
  for (cmsghdr* head = CMSG_FIRSTHDR(&packet); head; head = CMSG_NXTHDR(&packet, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t index = 0; index < count; ++index) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(head) + index * sizeof fd, sizeof fd);
      message.descriptors.emplace_back(fd);
    }
  }
  const bool is_whole = (packet.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
  text.resize(static_cast<std::size_t>(size));
  if (is_whole) message.fields = slot_fields(text);
  return message;
}

bool slot_peer::is_own_user() const noexcept { return uid == static_cast<long>(::geteuid()); }

std::string slot_peer::text() const { return fmt::format("process {} of user {}", pid, uid); }

slot_peer peer_of(int socket) noexcept {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  slot_peer peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return peer;
  peer.pid = credentials.pid;
  peer.uid = static_cast<long>(credentials.uid);
  return peer;
}

std::optional<int> slot_number(std::string_view text, int most) noexcept {
  int number = -1;
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc() || stop != end || number < 0 || number > most) return std::nullopt;
  return number;
}

}  // namespace elasticrun
