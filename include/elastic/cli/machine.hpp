// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/contract/environment.hpp>

namespace elastic {

/// How many GPUs workers can use: NVIDIA's, or AMD's if there is none of them, without those
/// that the environment (CUDA_VISIBLE_DEVICES, …) hides. Counts device files that this process may
/// open: no driver library is asked.
ELASTIC_DECL int count_accelerators(const environment_map& environment);

/// The processors on which this process may run, as torchrun since 2.12 counts them; those that are
/// online if the kernel does not say. At least 1.
ELASTIC_DECL int count_processors();

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/cli/impl/machine.ipp>
#endif
