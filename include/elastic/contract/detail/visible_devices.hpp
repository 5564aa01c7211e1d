// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/contract/environment.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// The variable by which the GPUs of a worker are selected: HIP_VISIBLE_DEVICES if it is set, which
/// ROCm prefers, or else CUDA_VISIBLE_DEVICES.
ELASTIC_DECL std::string_view device_variable(const environment_map& environment);

/// The entries of a variable such as CUDA_VISIBLE_DEVICES, without surrounding spaces; no entries
/// if it is not set. If it is set to the empty text, which hides all GPUs, there is one empty
/// entry.
ELASTIC_DECL std::vector<std::string> visible_devices(const environment_map& environment,
                                                      std::string_view variable);

/// Leaves one GPU visible to the worker of a local rank: the entry of the device variable at this
/// index or, if there is none, the GPU of this number. CUDA_VISIBLE_DEVICES has this entry even if
/// HIP_VISIBLE_DEVICES was the source, because ROCm reads both. ROCR_VISIBLE_DEVICES remains: it
/// renumbers the GPUs from which the others select.
/// Source: `torchrun --virtual-local-rank` (PyTorch 2.13; with HIP_VISIBLE_DEVICES 2.15).
ELASTIC_DECL void leave_one_device(environment_map& environment, int local_rank);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/contract/detail/impl/visible_devices.ipp>
#endif
