// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/store/tcp_store.hpp>

#include <system_error>

namespace elastic::test {

/// The error code with which these parameters are refused; empty if a rendezvous is made.
template <class Rendezvous>
std::error_code refusal_of(const rendezvous_parameters& parameters) {
  try {
    Rendezvous made(parameters);
    return {};
  } catch (const error& refusal) {
    return refusal.code();
  }
}

/// The options with which a worker connects to the store of its round.
inline tcp_store::options client_of(const rendezvous_round::master_endpoint& master) {
  tcp_store::options options;
  options.host = master.address;
  options.port = master.port;
  return options;
}

}  // namespace elastic::test
