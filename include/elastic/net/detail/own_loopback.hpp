// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_address.hpp>

#include <functional>
#include <string>

namespace elastic::detail {

/// The address by which processes of this host reach each other: 127.0.0.1, or ::1 if `like` is a
/// numeric address of IPv6, or if the host has no IPv4. An address that the host does not have is
/// never preferred.
/// @param is_own  whether this host has an address
ELASTIC_DECL std::string
choose_own_loopback(const std::string& like,
                    const std::function<bool(const asio::ip::address&)>& is_own);

/// The same for this host.
ELASTIC_DECL std::string own_loopback(const asio::any_io_executor& executor,
                                      const std::string& like = {});

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/net/detail/own_loopback.ipp>
#endif
