// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/launch/detail/processor_topology.hpp>
#include <elastic/launch/launch_config.hpp>
#include <elastic/process/processor_set.hpp>

#include <cstddef>
#include <vector>

namespace elastic::detail {

/// The NUMA nodes of `count` workers: for each the node of the GPU with the worker's local rank, if
/// `gpu_nodes` contains it. Otherwise the nodes with allowed processors in turn, in blocks of
/// consecutive ranks.
ELASTIC_DECL std::vector<int> nodes_of_workers(const processor_topology& topology,
                                               const processor_set& allowed, std::size_t count,
                                               const std::vector<int>& gpu_nodes);

/// The processors of the workers of this machine, by local rank.
///
/// @param allowed  the processors that may be used
/// @param nodes    the NUMA node of each worker; each must have an allowed processor
/// Result: empty for `launch_config::processor_binding::none`. Errors: `errc::invalid_argument` if
/// a node has too few cores for `exclusive`.
ELASTIC_DECL std::vector<processor_set> place_workers(launch_config::processor_binding how,
                                                      const processor_topology& topology,
                                                      const processor_set& allowed,
                                                      const std::vector<int>& nodes);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/detail/numa_placement.ipp>
#endif
