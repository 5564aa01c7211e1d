// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <cstdint>
#include <string>

namespace elastic {

/// A TCP port that was free a moment ago on `address` (a numeric address of this host).
///
/// It is drawn at random from 10,000 to 19,999, below the ports that the kernel gives to
/// connections (`net.ipv4.ip_local_port_range`), so that no connection takes it by chance, and no
/// job of this host has it for its workers. If fewer than 1,000 such ports lie there, the kernel
/// chooses. Another server may take the port before you
/// do, so bind port 0 directly if you can.
///
/// Errors: `errc::invalid_argument` if it is not an address, `errc::connection_failed` if no port
/// can be bound. Thread-safety: any thread.
ELASTIC_DECL std::uint16_t free_port(const std::string& address);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/net/impl/free_port.ipp>
#endif
