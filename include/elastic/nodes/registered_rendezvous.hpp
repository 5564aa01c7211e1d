// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/store/versioned_keys.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace elastic {

namespace detail {
class c10d_rendezvous;
}  // namespace detail

/// A registry, which names the agent that leads a job: a directory, an etcd, or one of your own.
struct registry_place {
  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  registry_place() = default;

  /// Its name in messages: "the directory /shared".
  std::string name;
  /// Prepares the registry before anything else; empty: there is nothing to do.
  std::function<task<void>()> prepare;
  /// Makes the keys of this job alone. Called once for the node, and once for each time that its
  /// agent leads; each result is used on its own strand. Must be set.
  std::function<std::shared_ptr<versioned_keys>()> keys;
  /// Makes keys that all roles of a job share, with which their leaders compare job files. Called
  /// once, for the node. Empty: job files without a common role are not compared.
  std::function<std::shared_ptr<versioned_keys>()> shared_keys;
  /// Hosts that the other nodes can reach as well. This host announces its address on the route to
  /// them.
  std::vector<std::string> hosts;
};

/// The settings (`rendezvous_parameters::conf`) of every rendezvous with a registry.
ELASTIC_DECL std::vector<std::string_view> registered_settings();

/// Makes a rendezvous whose nodes meet at one of their agents, which the registry names. The first
/// agent to arrive leads; if it is gone, another one takes over.
/// docs/design/etcd_and_directories.md has the rules.
///
/// Errors: `errc::invalid_argument` for an empty run id, a place without `keys`, or a setting out
/// of bounds. The first round reports errors of the registry, and null keys.
ELASTIC_DECL std::shared_ptr<rendezvous_handler> make_registered_rendezvous(
    rendezvous_parameters parameters, registry_place place);

namespace detail {

/// The same, for a caller that tries whether the rendezvous works before it chooses this backend.
ELASTIC_DECL std::shared_ptr<c10d_rendezvous> make_registered(rendezvous_parameters parameters,
                                                              registry_place place);

/// The name of the whole job, if the parameters are those of a role that compares job files;
/// otherwise empty.
ELASTIC_DECL std::string compared_job(const rendezvous_parameters& parameters);

}  // namespace detail

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/nodes/impl/registered_rendezvous.ipp>
#endif
