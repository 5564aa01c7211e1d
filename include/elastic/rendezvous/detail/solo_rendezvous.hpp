// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/task.hpp>
#include <elastic/net/detail/port_lease.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/rendezvous/detail/fixed_membership.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace elastic::detail {

/// The rendezvous named "c10d" for a job of at most one node, whose state is in this process. It
/// serves no store: the worker of rank 0 gets a free port of this host. `stored_rendezvous` serves
/// one.
///
/// Thread-safety: one strand at a time.
class solo_rendezvous : public fixed_membership {
 public:
  /// Errors: `errc::invalid_argument` for an empty run id, an invalid endpoint, or more than
  /// one node.
  ELASTIC_DECL explicit solo_rendezvous(rendezvous_parameters parameters);

  std::string backend() const override { return "c10d"; }
  std::string run_id() const override { return parameters_.run_id; }

  ELASTIC_DECL task<rendezvous_round> next_round() override;
  ELASTIC_DECL task<rendezvous_change> wait_for_change() override;
  ELASTIC_DECL task<void> exit_barrier() override;
  ELASTIC_DECL void pause(std::string why, bool saves_first) override;
  ELASTIC_DECL void resume() override;
  ELASTIC_DECL task<void> shutdown() override;

 protected:
  const rendezvous_parameters& parameters() const { return parameters_; }
  /// Where a node would meet others.
  const endpoint& place() const { return endpoint_; }

  /// Ends what serves the round before, and prepares the next.
  ELASTIC_DECL virtual task<void> prepare();

  /// Where the workers of the next round find each other.
  /// @param own_address  the loopback address of this host
  ELASTIC_DECL virtual task<rendezvous_round::master_endpoint> open_master(std::string own_address);

 private:
  ELASTIC_DECL void signal_pause();

  rendezvous_parameters parameters_;
  endpoint endpoint_;
  port_lease master_port_;
  std::int64_t round_ = 0;
  /// The reason for the pause, if the job is paused.
  std::optional<std::string> pause_;
  bool saves_first_ = false;
  /// Signals that a pause begins or ends. Empty until a coroutine waits for it.
  std::optional<event_flag> pause_changes_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/detail/solo_rendezvous.ipp>
#endif
