// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/rendezvous/detail/fixed_membership.hpp>
#include <elastic/rendezvous/exit_barrier.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/store/store.hpp>
#include <elastic/store/tcp_store_server.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace elastic::detail {

/// The rendezvous named "static": the user decides which nodes take part, and gives each its rank
/// (`--node-rank`). Node 0 serves one store at the endpoint, for agents and workers alike.
///
/// The membership never changes: no node joins or leaves, a lost node goes unnoticed, and each node
/// restarts on its own. At the end, node 0 serves until the others know that all have reached the
/// exit barrier, for at most 1 s.
/// Settings: `timeout`, see `static_patience`.
///
/// Thread-safety: one strand at a time.
/// Source: torch.distributed.elastic.rendezvous.static_tcp_rendezvous.
class static_rendezvous final : public fixed_membership {
 public:
  /// Errors: `errc::invalid_argument` for an invalid endpoint, a range of nodes, or a node
  /// rank outside of it.
  ELASTIC_DECL explicit static_rendezvous(rendezvous_parameters parameters);

  std::string backend() const override { return "static"; }
  std::string run_id() const override { return parameters_.run_id; }

  ELASTIC_DECL task<rendezvous_round> next_round() override;
  ELASTIC_DECL task<void> exit_barrier() override;
  ELASTIC_DECL task<void> shutdown() override;

 private:
  static constexpr std::uint16_t default_port = 29500;
  // The longest time for which node 0 serves the store after all nodes have reached the exit
  // barrier. It is limited because nodes of torchrun do not report that they have passed the
  // barrier.
  static constexpr std::chrono::seconds exit_timeout{1};
  ELASTIC_DECL task<void> connect();

  rendezvous_parameters parameters_;
  endpoint endpoint_;
  duration timeout_;
  std::unique_ptr<tcp_store_server> server_;
  std::shared_ptr<store> agents_;
  std::int64_t round_ = 0;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/nodes/detail/static_rendezvous.ipp>
#endif
