// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/cli/machine.hpp>

#include <elastic/cli/detail/device_listing.hpp>
#include <elastic/process/processor_set.hpp>

#include <unistd.h>

#include <algorithm>

namespace elastic {

ELASTIC_DECL int count_accelerators(const environment_map& environment) {
  return detail::count_accelerators(detail::list_devices(), environment);
}

ELASTIC_DECL int count_processors() {
  const int allowed = static_cast<int>(processor_set::allowed_here().size());
  return allowed > 0 ? allowed : std::max(1, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)));
}

}  // namespace elastic
