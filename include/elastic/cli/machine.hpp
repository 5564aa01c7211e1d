// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/contract/environment.hpp>

namespace elastic {

/// The number of GPUs that workers can use: NVIDIA's or, if there are none, AMD's, without those
/// that the environment (CUDA_VISIBLE_DEVICES, …) hides. It counts the device files that this
/// process may open, without a driver library.
ELASTIC_DECL int count_accelerators(const environment_map& environment);

/// The number of processors on which this process may run, as torchrun since 2.12 counts them, or
/// the number of online processors if that is unknown. At least 1.
ELASTIC_DECL int count_processors();

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/cli/impl/machine.ipp>
#endif
