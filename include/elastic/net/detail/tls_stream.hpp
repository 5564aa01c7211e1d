// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_tcp.hpp>
#include <elastic/base/task.hpp>
#include <elastic/net/detail/byte_stream.hpp>
#include <elastic/net/detail/tls_options.hpp>

#include <memory>
#include <string>

namespace elastic::detail {

/// Performs a TLS handshake (1.2 or later) with a server on a new connection, and checks its
/// certificate. A thread reads the files, because their file system may hang. Needs OpenSSL: in a
/// build without ELASTIC_HAS_TLS (which the CMake option ELASTIC_WITH_TLS defines), the functions
/// exist and throw.
///
/// @param host  the name or address for which the certificate must be valid
/// Errors: `errc::invalid_argument` if a file is unusable, the server is not trusted, or the build
/// has no TLS; `errc::connection_failed` if the connection broke.
/// Cancellation: all types.
ELASTIC_DECL task<std::unique_ptr<byte_stream>> greet_by_tls(asio::ip::tcp::socket connected,
                                                             std::string host, tls_options options);

/// Checks whether the files are usable.
/// Errors: `errc::invalid_argument`, also if the build has no TLS.
ELASTIC_DECL void check_tls_options(const tls_options& options);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/net/detail/tls_stream.ipp>
#endif
