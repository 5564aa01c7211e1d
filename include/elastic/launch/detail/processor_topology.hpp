// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <string>
#include <vector>

namespace elastic::detail {

/// A logical processor, and what it is part of. Groups have the number of their first processor,
/// NUMA nodes their own.
struct logical_processor {
  int number = 0;
  /// The physical core, whose threads share its units.
  int core = 0;
  /// Those that share the last level of cache: a core complex.
  int complex = 0;
  int numa_node = 0;
  int socket = 0;

  friend bool operator==(const logical_processor&, const logical_processor&) = default;
};

/// The online processors of a machine, in the order of their numbers.
using processor_topology = std::vector<logical_processor>;

/// Reads the topology from sysfs, which is mounted at `sys`. What a kernel does not tell is left
/// at one node, one socket, a core for each processor.
///
/// Errors: `errc::file_access` if the online processors are not listed;
/// `errc::invalid_argument` if a file there is not as it should be.
ELASTIC_DECL processor_topology read_processor_topology(const std::string& sys = "/sys");

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/detail/impl/processor_topology.ipp>
#endif
