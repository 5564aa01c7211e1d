// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/rendezvous_registry.hpp>

#include <memory>

namespace elasticrun {

/// Every rendezvous backend of the library, even if this program is compiled header-only.
std::shared_ptr<const elastic::rendezvous_registry> every_backend();

}  // namespace elasticrun
