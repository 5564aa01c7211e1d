// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

namespace elastic {

/// Makes the kernel probe the other end of an idle TCP connection (`limits::tcp_keep_alive_*`), so
/// that the loss of a peer is noticed, and devices in between do not drop the connection. Does
/// nothing for other sockets.
ELASTIC_DECL void keep_alive(int fd);

/// The same for the end that sends requests: bytes that are not acknowledged for
/// `limits::tcp_unacknowledged` break the connection, too.
ELASTIC_DECL void keep_alive_as_client(int fd);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/net/impl/keep_alive.ipp>
#endif
