// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: for programs, not for those who embed a job.

#include <elastic/base/config.hpp>
#include <elastic/contract/environment.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace elastic {

/// The device files that tell how many GPUs this process may open: no driver library is asked.
struct device_listing {
  /// The names in /dev.
  std::vector<std::string> devices;

  /// A render node in /dev/dri, such as "renderD128", and the PCI vendor of its device, such as
  /// "0x1002" for AMD; empty if that cannot be read.
  struct render_node {
    std::string name;
    std::string vendor;
  };
  std::vector<render_node> render_nodes;
};

namespace detail {

/// How many of `count` devices are left by a list such as that of CUDA_VISIBLE_DEVICES: indices,
/// or identifiers ("GPU-…" or "MIG-…"), as the first entry is. As the driver reads it, the list
/// ends before the first entry that names no device, and a repeated entry makes all of it void.
ELASTIC_DECL int visible_devices(int count, std::string_view list);

ELASTIC_DECL int visible_devices(int count, const environment_map& environment,
                                 std::string_view name);

ELASTIC_DECL std::vector<std::string> names_in(const char* directory);

}  // namespace detail

/// How many GPUs workers can use: NVIDIA's, or AMD's if there is none of them, without those
/// that the environment (CUDA_VISIBLE_DEVICES, …) hides.
ELASTIC_DECL int count_accelerators(const device_listing& listing,
                                    const environment_map& environment);

/// Reads the listing from /dev and /sys; what cannot be read is left out.
ELASTIC_DECL device_listing list_devices();

/// The processors on which this process may run, as torchrun since 2.12 counts them; those that are
/// online if the kernel does not say. At least 1.
ELASTIC_DECL int count_processors();

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/impl/machine.ipp>
#endif
