// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/contract/environment.hpp>

#include <string>
#include <vector>

namespace elastic::detail {

/// The entries of CUDA_VISIBLE_DEVICES, without surrounding spaces; no entries if it is not set. If
/// it is set to the empty text, which hides all GPUs, there is one empty entry.
ELASTIC_DECL std::vector<std::string> visible_devices(const environment_map& environment);

/// Leaves one GPU visible to the worker of a local rank: the entry of CUDA_VISIBLE_DEVICES at this
/// index or, if there is none, the GPU of this number.
/// Source: `torchrun --virtual-local-rank` (PyTorch 2.13).
ELASTIC_DECL void leave_one_device(environment_map& environment, int local_rank);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/contract/detail/impl/visible_devices.ipp>
#endif
