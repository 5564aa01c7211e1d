// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/contract/environment.hpp>

#include <string>
#include <vector>

namespace elastic::detail {

/// The NUMA nodes of the NVIDIA GPUs that workers see, in the order in which they see them: those
/// of CUDA_VISIBLE_DEVICES, else all by their PCI addresses; -1 if a node is not known. Empty
/// if there are none. No driver library is asked.
///
/// @param root  what stands before /proc and /sys
ELASTIC_DECL std::vector<int> gpu_nodes(const environment_map& environment,
                                        const std::string& root = "");

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/detail/impl/gpu_nodes.ipp>
#endif
