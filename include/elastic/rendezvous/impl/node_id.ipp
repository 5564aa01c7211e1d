// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/node_id.hpp>

#include <elastic/net/host_name.hpp>

#include <unistd.h>

#include <atomic>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL std::string node_id::text() const {
  return fmt::format("{}_{}_{}", host, pid, local_id);
}

ELASTIC_DECL node_id new_node(const std::string& host) {
  static std::atomic<std::int64_t> next = 0;
  return {host.empty() ? host_name() : host, ::getpid(), next++};
}

}  // namespace elastic
