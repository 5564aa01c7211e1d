// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_address.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>

#include <functional>
#include <string>
#include <vector>

namespace elastic::detail {

/// Waits until the name of the endpoint resolves: a name server may learn the name of a host only
/// after the host has started, as in Kubernetes. A warning says for how long.
/// @param patience  how long, by the clock of the parameters
/// @param look_up   resolves a name; an empty list: it does not resolve
/// Errors: `errc::rendezvous_timeout`, which names the host. Cancellation: all types, at once.
ELASTIC_DECL task<void> wait_for_name(
    std::string host, duration patience, rendezvous_parameters parameters,
    std::function<task<std::vector<asio::ip::address>>(std::string)> look_up);

/// The same with the resolver of this host.
ELASTIC_DECL task<void> wait_for_name(std::string host, duration patience,
                                      rendezvous_parameters parameters);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/detail/name_wait.ipp>
#endif
