// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/contract/environment.hpp>

#include <string>
#include <vector>

namespace elastic::detail {

/// The NUMA nodes of the NVIDIA GPUs that are visible to workers, in the workers' order: that of
/// CUDA_VISIBLE_DEVICES, or else all GPUs by PCI address. -1: a node is unknown. Empty: there are
/// no GPUs. Uses no driver library.
///
/// @param root  a prefix for /proc and /sys
ELASTIC_DECL std::vector<int> gpu_nodes(const environment_map& environment,
                                        const std::string& root = "");

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/detail/gpu_nodes.ipp>
#endif
