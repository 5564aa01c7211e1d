// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/detail/node_id.hpp>

#include <elastic/base/limits.hpp>
#include <elastic/net/host_name.hpp>

#include <unistd.h>

#include <atomic>
#include <random>

#include <fmt/format.h>

namespace elastic::detail {

inline constexpr int local_id_random_bits = 40;

ELASTIC_DECL std::string node_id::text() const {
  const std::int64_t count = local_id >> local_id_random_bits;
  return fmt::format("{}_{}_{}", host, pid, count > 0 ? count - 1 : local_id);
}

ELASTIC_DECL std::string node_id::key() const {
  return fmt::format("{}_{}_{}", host, pid, local_id);
}

ELASTIC_DECL node_id::random_number new_node_number() {
  std::random_device device;
  const auto next = [&device] {
    const std::uint64_t high = device();
    return high << 32 | device();
  };
  node_id::random_number number;
  number.high = next();
  number.low = next();
  return number;
}

ELASTIC_DECL node_id new_node(const std::string& host) {
  static std::atomic<std::int64_t> next = 0;
  return {host.empty() ? host_name() : host, ::getpid(), next++, {}};
}

ELASTIC_DECL node_id new_unnumbered_node(const std::string& host) {
  constexpr std::int64_t end = std::int64_t{1} << local_id_random_bits;
  node_id node = new_node(host);
  const auto random = static_cast<std::int64_t>(new_node_number().low % end);
  node.local_id = (node.local_id + 1) * end + random;
  return node;
}

inline bool is_name_letter(char letter) { return letter > ' ' && letter <= '~'; }

ELASTIC_DECL bool is_node_name(std::string_view text) {
  return !text.empty() && text.size() <= limits::node_name_bytes &&
         std::all_of(text.begin(), text.end(), is_name_letter);
}

ELASTIC_DECL std::string as_node_name(std::string_view text) {
  std::string name(text.substr(0, limits::node_name_bytes));
  if (name.empty()) name = "_";
  for (char& letter : name) {
    if (!is_name_letter(letter)) letter = '_';
  }
  return name;
}

}  // namespace elastic::detail
