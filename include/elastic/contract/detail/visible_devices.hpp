// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/contract/environment.hpp>

#include <string>
#include <vector>

namespace elastic::detail {

/// The entries of CUDA_VISIBLE_DEVICES, without spaces around them; none if it is not set. One that
/// is set to nothing has one entry, an empty one: no GPU is visible.
ELASTIC_DECL std::vector<std::string> visible_devices(const environment_map& environment);

/// Leaves one GPU to the worker of a local rank: the entry of CUDA_VISIBLE_DEVICES that has this
/// place, else the GPU that has this number.
/// Source: `torchrun --virtual-local-rank` (PyTorch 2.13).
ELASTIC_DECL void leave_one_device(environment_map& environment, int local_rank);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/contract/detail/impl/visible_devices.ipp>
#endif
