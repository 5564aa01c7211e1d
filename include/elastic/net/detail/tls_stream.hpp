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

/// Greets a server by TLS, 1.2 or later, on a connection that was just made, and checks its
/// certificate. The files are read on a thread, since their file system may not answer. Needs
/// OpenSSL: a build without ELASTIC_HAS_TLS (which the CMake option ELASTIC_WITH_TLS defines) has
/// the functions all the same, and they refuse.
///
/// @param host  the name or address that its certificate has to be for
/// Errors: `errc::invalid_argument` if a file cannot be used, the server is not to be trusted, or
/// the build has no TLS; `errc::connection_failed` if the connection broke.
/// Cancellation: all types.
ELASTIC_DECL task<std::unique_ptr<byte_stream>> greet_by_tls(asio::ip::tcp::socket connected,
                                                             std::string host, tls_options options);

/// Looks whether the files can be used.
/// Errors: `errc::invalid_argument`, also if the build has no TLS.
ELASTIC_DECL void check_tls_options(const tls_options& options);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/net/detail/impl/tls_stream.ipp>
#endif
