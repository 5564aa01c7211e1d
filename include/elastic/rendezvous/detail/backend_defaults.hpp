// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>

#include <chrono>
#include <cstdint>

#include <fmt/format.h>

namespace elastic::detail {

/// The port at which nodes meet by c10d if the endpoint names none.
inline constexpr std::uint16_t c10d_port = 29400;

/// How long the nodes of a static rendezvous wait for each other: the setting `timeout`, or 900 s.
/// Errors: `errc::invalid_argument` if it is not a number of seconds.
inline duration static_patience(const rendezvous_parameters& parameters) {
  return parameters.seconds("timeout", std::chrono::seconds(900));
}

/// Errors: `errc::invalid_argument` for an empty run id, under which every job would meet.
inline void check_run_id(const rendezvous_parameters& parameters) {
  if (!parameters.run_id.empty()) return;
  throw error(errc::invalid_argument, fmt::format("{} must not be empty for the c10d rendezvous",
                                                  parameters.name_of("run_id")));
}

/// Errors: `errc::invalid_argument` for port 0, which the other nodes could not know.
inline void check_port(const endpoint& address, const rendezvous_parameters& parameters) {
  if (address.port != 0) return;
  throw error(errc::invalid_argument,
              fmt::format("{} '{}': several nodes need a port that they all know",
                          parameters.name_of("endpoint"), parameters.endpoint));
}

}  // namespace elastic::detail
