// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

namespace elastic {

/// Has the kernel probe the other end of a TCP connection that is silent, by
/// `limits::tcp_keep_alive_*`: so that one that vanished without a word is noticed, and devices
/// between do not drop the connection as idle. Does nothing for what is no TCP socket.
ELASTIC_DECL void keep_alive(int fd);

/// The same for the end that sends requests: bytes that are not acknowledged for
/// `limits::tcp_unacknowledged` break the connection, too.
ELASTIC_DECL void keep_alive_as_client(int fd);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/net/impl/keep_alive.ipp>
#endif
