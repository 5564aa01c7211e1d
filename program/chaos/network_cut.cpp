// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/chaos/network_cut.hpp>

#include <elastic/base/error.hpp>
#include <elastic/net/detail/socket_hook.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

namespace elasticrun {

namespace {

std::atomic<int> cut_count{0};

/// The key of the signatures. Each process has its own, so that two processes that are cut off do
/// not reach each other.
const std::array<std::uint32_t, 4>& cut_key() {
  static const std::array<std::uint32_t, 4> key = [] {
    std::random_device device;
    return std::array<std::uint32_t, 4>{device(), device(), device(), device()};
  }();
  return key;
}

int socket_option(int fd, int option) {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

bool is_tcp(int fd) {
  const int family = socket_option(fd, SO_DOMAIN);
  return (family == AF_INET || family == AF_INET6) && socket_option(fd, SO_PROTOCOL) == IPPROTO_TCP;
}

/// The TCP sockets of this process. Its standard streams belong to the process that started it.
std::vector<int> tcp_sockets() {
  std::vector<int> sockets;
  std::error_code failure;
  for (std::filesystem::directory_iterator entry("/proc/self/fd", failure), end;
       !failure && entry != end; entry.increment(failure)) {
    const std::string name = entry->path().filename();
    int fd = -1;
    std::from_chars(name.data(), name.data() + name.size(), fd);
    if (fd > STDERR_FILENO && is_tcp(fd)) sockets.push_back(fd);
  }
  return sockets;
}

/// The prefix of all IPv4 addresses.
sockaddr_storage any_ipv4() {
  sockaddr_storage address{};
  address.ss_family = AF_INET;
  return address;
}

/// The prefix of all IPv6 addresses.
/// @param is_mapped  whether it is the prefix of IPv4-mapped addresses
sockaddr_storage any_ipv6(bool is_mapped) {
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  if (is_mapped) any.sin6_addr.s6_addr[10] = any.sin6_addr.s6_addr[11] = 0xff;
  sockaddr_storage address{};
  std::memcpy(&address, &any, sizeof any);
  return address;
}

enum class address_kind { prefix, peer };

/// Sets or removes the key for the traffic with an address or with all addresses of a prefix.
bool set_key(int fd, const sockaddr_storage& address, address_kind kind, bool is_cut) {
  tcp_md5sig signature{};
  signature.tcpm_addr = address;
  if (kind == address_kind::prefix) signature.tcpm_flags = TCP_MD5SIG_FLAG_PREFIX;
  if (is_cut) {
    signature.tcpm_keylen = sizeof cut_key();
    std::memcpy(signature.tcpm_key, cut_key().data(), sizeof cut_key());
  }
  return ::setsockopt(fd, IPPROTO_TCP, TCP_MD5SIG_EXT, &signature, sizeof signature) == 0;
}

bool set_keys(int fd, bool is_cut) {
  if (socket_option(fd, SO_DOMAIN) == AF_INET)
    return set_key(fd, any_ipv4(), address_kind::prefix, is_cut);
  const bool was_set = set_key(fd, any_ipv6(false), address_kind::prefix, is_cut);
  return set_key(fd, any_ipv6(true), address_kind::prefix, is_cut) || was_set;
}

void restore(int fd) {
  set_keys(fd, false);
  // A socket that was accepted meanwhile has inherited the port's key, but for its own peer.
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return;
  set_key(fd, peer, address_kind::peer, false);
}

}  // namespace

network_cut::network_cut() {
  ++cut_count;
  elastic::detail::tcp_socket_hook = cut_new_socket;
  int failure = 0;
  for (const int fd : tcp_sockets()) {
    if (set_keys(fd, true)) {
      ++count_;
    } else {
      failure = errno;
    }
  }
  if (failure == 0 || count_ > 0) return;
  --cut_count;
  throw elastic::error(elastic::errc::not_supported,
                       fmt::format("the kernel cannot sign TCP segments (TCP_MD5SIG): {}",
                                   std::generic_category().message(failure)));
}

network_cut::~network_cut() {
  if (--cut_count > 0) return;
  for (const int fd : tcp_sockets()) restore(fd);
}

void cut_new_socket(int fd) {
  if (cut_count > 0) set_keys(fd, true);
}

}  // namespace elasticrun
