// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/detail/port_use.hpp>

#include <elastic/base/limits.hpp>
#include <elastic/process/detail/proc_file.hpp>
#include <elastic/process/detail/process_tree.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

namespace elastic::detail {

/// Removes the next word from a line and returns it.
inline std::string_view take_word(std::string_view& line) {
  const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
  line.remove_prefix(begin);
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size());
  return word;
}

/// A whole word as a number; empty if it is not a number.
inline std::optional<std::uint64_t> number_in(std::string_view word, int base) {
  std::uint64_t number = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, failure] = std::from_chars(word.data(), end, number, base);
  if (failure != std::errc() || stop != end || word.empty()) return std::nullopt;
  return number;
}

/// A socket in /proc/net/tcp or tcp6. Ends and queues are as the kernel writes them:
/// "0100007F:733C".
struct listed_socket {
  std::string_view own;
  std::string_view peer;
  std::string_view queues;
  std::uint64_t state = 0;
  std::uint64_t inode = 0;
};

// Values of net/tcp_states.h.
inline constexpr std::uint64_t socket_established = 1;
inline constexpr std::uint64_t socket_syn_sent = 2;
inline constexpr std::uint64_t socket_listen = 10;

/// Calls `take` for each socket in a table; skips other lines.
template <class Taker>
void for_each_socket(std::string_view table, const Taker& take) {
  while (!table.empty()) {
    std::string_view line = table.substr(0, table.find('\n'));
    table.remove_prefix(std::min(line.size() + 1, table.size()));
    take_word(line);  // slot number
    listed_socket each;
    each.own = take_word(line);
    each.peer = take_word(line);
    const auto state = number_in(take_word(line), 16);
    each.queues = take_word(line);
    // Timer, retransmissions, user and time-out.
    for (int skipped = 0; skipped < 4; ++skipped) take_word(line);
    const auto inode = number_in(take_word(line), 10);
    if (!state || !inode) continue;
    each.state = *state;
    each.inode = *inode;
    take(each);
  }
}

/// The same for all sockets in the network of a process. Result: whether the tables were read to
/// their ends.
template <class Taker>
bool for_each_socket_near(pid_t pid, const Taker& take) {
  bool is_whole = true;
  for (const char* table : {"tcp", "tcp6"}) {
    const std::string path = fmt::format("/proc/{}/net/{}", pid, table);
    const std::string text = read_proc_file(path, limits::socket_table_bytes);
    if (text.size() == limits::socket_table_bytes) is_whole = false;
    for_each_socket(text, take);
  }
  return is_whole;
}

/// Notes a socket that leads to a port, or listens there.
inline void add_socket(const listed_socket& each, std::uint16_t port, sockets_to_port& found) {
  const std::string_view end = each.state == socket_listen ? each.own : each.peer;
  if (number_in(end.substr(std::min(end.find(':') + 1, end.size())), 16) != port) return;
  if (each.state == socket_established) found.connected.insert(each.inode);
  if (each.state == socket_syn_sent) found.connecting.insert(each.inode);
  if (each.state == socket_listen) found.listening.insert(each.inode);
}

ELASTIC_DECL void find_sockets(std::string_view table, std::uint16_t port, sockets_to_port& found) {
  for_each_socket(table, [&](const listed_socket& each) { add_socket(each, port, found); });
}

/// Calls `take` for the inode of each socket of one process, until it returns true. Subtracts the
/// number of inspected descriptors from `left`. Result: false if not all could be inspected.
template <class Taker>
bool look_at_sockets(pid_t pid, std::size_t& left, const Taker& take) {
  namespace fs = std::filesystem;
  std::error_code failure;
  fs::directory_iterator entry(fmt::format("/proc/{}/fd", pid), failure);
  if (failure) return false;
  for (; entry != fs::directory_iterator(); entry.increment(failure)) {
    if (left == 0) return false;
    --left;
    std::error_code gone;
    const std::string target = fs::read_symlink(entry->path(), gone).native();
    constexpr std::string_view begin = "socket:[";
    if (gone || !target.starts_with(begin) || !target.ends_with(']')) continue;
    const std::string_view digits = std::string_view(target).substr(begin.size());
    const auto inode = number_in(digits.substr(0, digits.size() - 1), 10);
    if (inode && take(*inode)) return true;
  }
  // A failure ends the list.
  return !failure;
}

/// The same for a process and its descendants.
template <class Taker>
bool look_at_sockets_of_tree(pid_t root, std::size_t left, const Taker& take) {
  bool is_found = false;
  const auto take_once = [&](std::uint64_t inode) { return is_found = take(inode); };
  // `tree` grows during the loop. Descendants that vanish meanwhile are skipped.
  std::vector<pid_t> tree{root};
  for (std::size_t next = 0; next < tree.size() && !is_found; ++next) {
    if (left == 0) return false;
    --left;
    const bool is_seen = look_at_sockets(tree[next], left, take_once);
    if (!is_seen && (left == 0 || tree[next] == root)) return false;
    const std::vector<pid_t> children = read_children(tree[next]);
    tree.insert(tree.end(), children.begin(), children.end());
  }
  return true;
}

inline sockets_to_port sockets_of(pid_t pid, std::uint16_t port) {
  sockets_to_port sockets;
  sockets.is_whole = for_each_socket_near(pid, [&](const listed_socket& each) {
    add_socket(each, port, sockets);
  });
  return sockets;
}

ELASTIC_DECL std::optional<port_use> look_at_port_use(pid_t root, std::uint16_t port,
                                                      std::size_t most_files) {
  const sockets_to_port sockets = sockets_of(root, port);
  port_use best = port_use::none;
  const bool is_seen = look_at_sockets_of_tree(root, most_files, [&](std::uint64_t inode) {
    if (sockets.connected.contains(inode)) best = port_use::connected;
    if (best != port_use::connected && sockets.connecting.contains(inode)) {
      best = port_use::connecting;
    }
    return best == port_use::connected;
  });
  const bool is_sure = is_seen && (sockets.is_whole || best == port_use::connected);
  return is_sure ? std::optional(best) : std::nullopt;
}

ELASTIC_DECL std::optional<bool> has_unsent_data(pid_t root, std::size_t most_files) {
  std::set<std::uint64_t> unsent;
  for_each_socket_near(root, [&](const listed_socket& each) {
    const auto bytes = number_in(each.queues.substr(0, each.queues.find(':')), 16);
    if (bytes.value_or(0) > 0) unsent.insert(each.inode);
  });
  if (unsent.empty()) return false;
  bool is_found = false;
  const bool is_seen = look_at_sockets_of_tree(root, most_files, [&](std::uint64_t inode) {
    is_found = unsent.contains(inode);
    return is_found;
  });
  return is_seen ? std::optional(is_found) : std::nullopt;
}

/// "10.0.0.9:29500" for "0900000A:733C": the digits are those of 32-bit words in memory.
inline std::string peer_of(std::string_view end) {
  const std::size_t colon = end.find(':');
  if (colon == end.npos || colon % 8 != 0) return {};
  const auto port = number_in(end.substr(colon + 1), 16);
  std::array<std::uint32_t, 4> words{};
  if (!port || colon > 8 * words.size()) return {};
  for (std::size_t word = 0; word < colon / 8; ++word) {
    words[word] = static_cast<std::uint32_t>(number_in(end.substr(8 * word, 8), 16).value_or(0));
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool is_v4 = colon == 8;
  ::inet_ntop(is_v4 ? AF_INET : AF_INET6, words.data(), text.data(), text.size());
  return fmt::format(fmt::runtime(is_v4 ? "{}:{}" : "[{}]:{}"), text.data(), *port);
}

ELASTIC_DECL std::vector<std::string> silent_peers(pid_t root, std::size_t most_files) {
  std::map<std::uint64_t, std::string> known;
  for_each_socket_near(root, [&](const listed_socket& each) {
    if (each.state == socket_syn_sent) known[each.inode] = peer_of(each.peer);
  });
  std::set<std::string> peers;
  if (known.empty()) return {};
  look_at_sockets_of_tree(root, most_files, [&](std::uint64_t inode) {
    const auto peer = known.find(inode);
    if (peer != known.end()) peers.insert(peer->second);
    return false;
  });
  return {peers.begin(), peers.end()};
}

ELASTIC_DECL bool is_listened_at(pid_t pid, std::uint16_t port) {
  return !sockets_of(pid, port).listening.empty();
}

ELASTIC_DECL std::string listener_at(pid_t pid, std::uint16_t port) {
  const std::set<std::uint64_t> listening = sockets_of(pid, port).listening;
  if (listening.empty()) return {};
  std::size_t left = limits::watched_files;
  for (const pid_t each : numbered_entries("/proc")) {
    bool is_its = false;
    look_at_sockets(each, left, [&](std::uint64_t inode) {
      return is_its = listening.contains(inode);
    });
    if (!is_its) continue;
    const std::string name =
        read_proc_file(fmt::format("/proc/{}/comm", each), limits::proc_file_bytes);
    return fmt::format("{} (pid {})", name.substr(0, name.find('\n')), each);
  }
  return left == 0 ? "another process" : "a process of another user";
}

ELASTIC_DECL std::optional<bool> listens_at(pid_t root, std::uint16_t port,
                                            std::size_t most_files) {
  const sockets_to_port sockets = sockets_of(root, port);
  bool is_found = false;
  const bool is_seen = look_at_sockets_of_tree(root, most_files, [&](std::uint64_t inode) {
    is_found = sockets.listening.contains(inode);
    return is_found;
  });
  const bool is_sure = is_seen && (sockets.is_whole || is_found);
  return is_sure ? std::optional(is_found) : std::nullopt;
}

}  // namespace elastic::detail
