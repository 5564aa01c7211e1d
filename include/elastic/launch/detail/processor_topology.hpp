// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <string>
#include <vector>

namespace elastic::detail {

/// A logical processor and the groups that it belongs to. A group's number is that of its first
/// processor; NUMA nodes have their own numbers.
struct logical_processor {
  int number = 0;
  /// Its physical core.
  int core = 0;
  /// Its core complex: the processors that share a last-level cache.
  int complex = 0;
  int numa_node = 0;
  int socket = 0;

  friend bool operator==(const logical_processor&, const logical_processor&) = default;
};

/// The online processors of a machine, in the order of their numbers.
using processor_topology = std::vector<logical_processor>;

/// Reads the topology from sysfs, which is mounted at `sys`. If the kernel does not provide a fact,
/// assumes one node, one socket and one core for each processor.
///
/// Errors: `errc::file_access` if the online processors are not listed; `errc::invalid_argument` if
/// a file there has an invalid format.
ELASTIC_DECL processor_topology read_processor_topology(const std::string& sys = "/sys");

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/detail/processor_topology.ipp>
#endif
