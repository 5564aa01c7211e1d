// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/detail/port_use.hpp>

#include <elastic/process/detail/proc_snapshot.hpp>
#include <elastic/process/detail/process_tree.hpp>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

namespace elastic::detail {

/// The next word of a line, which is taken off it.
inline std::string_view take_word(std::string_view& line) {
  const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
  line.remove_prefix(begin);
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size());
  return word;
}

/// A whole word as a number; empty if it is none.
inline std::optional<std::uint64_t> number_in(std::string_view word, int base) {
  std::uint64_t number = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, failure] = std::from_chars(word.data(), end, number, base);
  if (failure != std::errc() || stop != end || word.empty()) return std::nullopt;
  return number;
}

ELASTIC_DECL void find_sockets(std::string_view table, std::uint16_t port, sockets_to_port& found) {
  // As linux/tcp_states.h has them.
  constexpr std::uint64_t established = 1;
  constexpr std::uint64_t syn_sent = 2;
  while (!table.empty()) {
    std::string_view line = table.substr(0, table.find('\n'));
    table.remove_prefix(std::min(line.size() + 1, table.size()));
    take_word(line);  // its number
    take_word(line);  // the own end
    const std::string_view peer = take_word(line);
    const auto state = number_in(take_word(line), 16);
    const auto peer_port = number_in(peer.substr(std::min(peer.find(':') + 1, peer.size())), 16);
    if (!state || peer_port != port) continue;
    // Queues, timer, retransmissions, user and time-out.
    for (int skipped = 0; skipped < 5; ++skipped) take_word(line);
    const auto inode = number_in(take_word(line), 10);
    if (!inode) continue;
    if (*state == established) found.connected.insert(*inode);
    if (*state == syn_sent) found.connecting.insert(*inode);
  }
}

/// What the descriptors of one process say; takes those that it looks at off `left`.
inline std::optional<port_use> port_use_of_process(pid_t pid, const sockets_to_port& sockets,
                                                   std::size_t& left) {
  namespace fs = std::filesystem;
  std::error_code failure;
  port_use use = port_use::none;
  fs::directory_iterator entry(fmt::format("/proc/{}/fd", pid), failure);
  if (failure) return std::nullopt;
  for (; entry != fs::directory_iterator(); entry.increment(failure)) {
    if (failure || left == 0) return std::nullopt;
    --left;
    std::error_code gone;
    const std::string target = fs::read_symlink(entry->path(), gone).native();
    constexpr std::string_view begin = "socket:[";
    if (gone || !target.starts_with(begin) || !target.ends_with(']')) continue;
    const std::string_view digits = std::string_view(target).substr(begin.size());
    const auto inode = number_in(digits.substr(0, digits.size() - 1), 10);
    if (!inode) continue;
    if (sockets.connected.contains(*inode)) return port_use::connected;
    if (sockets.connecting.contains(*inode)) use = port_use::connecting;
  }
  return use;
}

ELASTIC_DECL std::optional<port_use> look_at_port_use(pid_t root, std::uint16_t port,
                                                      std::size_t most_files) {
  sockets_to_port sockets;
  for (const char* table : {"tcp", "tcp6"}) {
    find_sockets(text_of(fmt::format("/proc/{}/net/{}", root, table)), port, sockets);
  }
  port_use best = port_use::none;
  std::size_t left = most_files;
  // It grows while it is walked. Descendants that vanish meanwhile are passed over.
  std::vector<pid_t> tree{root};
  for (std::size_t next = 0; next < tree.size(); ++next) {
    if (left == 0) return std::nullopt;
    --left;
    const auto use = port_use_of_process(tree[next], sockets, left);
    if (!use && (left == 0 || tree[next] == root)) return std::nullopt;
    if (use == port_use::connected) return use;
    if (use == port_use::connecting) best = port_use::connecting;
    const std::vector<pid_t> children = read_children(tree[next]);
    tree.insert(tree.end(), children.begin(), children.end());
  }
  return best;
}

}  // namespace elastic::detail
