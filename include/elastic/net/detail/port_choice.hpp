// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/random.hpp>

#include <cstdint>
#include <optional>

namespace elastic::detail {

/// A port from 10,000 to 19,999, below `first_of_kernel`: the first of those that the kernel gives
/// to connections. None if fewer than 1,000 lie there.
ELASTIC_DECL std::optional<std::uint16_t> port_below(int first_of_kernel, random_source& random);

/// From `net.ipv4.ip_local_port_range`; 0 if that cannot be read.
ELASTIC_DECL int first_port_of_kernel();

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/net/detail/impl/port_choice.ipp>
#endif
