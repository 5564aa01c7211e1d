// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/contract/environment.hpp>

#include <string>
#include <vector>

namespace elastic::detail {

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

/// The number of GPUs that workers can use, see `elastic::count_accelerators`.
ELASTIC_DECL int count_accelerators(const device_listing& listing,
                                    const environment_map& environment);

/// Reads the listing from /dev and /sys; what cannot be read is left out.
ELASTIC_DECL device_listing list_devices();

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/cli/detail/device_listing.ipp>
#endif
