// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/task.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/rendezvous/detail/fixed_membership.hpp>
#include <elastic/rendezvous/detail/worker_store_host.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/store/tcp_store_server.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace elastic::detail {

/// The rendezvous named "c10d" for a job of at most one node. It keeps the state in this process,
/// and serves the workers of each round a store of their own, so that no round sees another's keys.
///
/// It binds `endpoint` unless the port is 0 (29400 if none is named), so that a second job at the
/// same endpoint is refused. With port 0, as for `--standalone`, it opens no socket for the
/// rendezvous itself.
///
/// Thread-safety: one strand at a time.
class solo_rendezvous final : public fixed_membership {
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
  std::optional<std::int64_t> arrived_workers() const override { return workers_.arrived(); }

 private:
  ELASTIC_DECL void note_pause();

  rendezvous_parameters parameters_;
  endpoint endpoint_;
  worker_store_host workers_;
  std::unique_ptr<tcp_store_server> server_;
  std::int64_t round_ = 0;
  /// The reason for the pause, if the job is paused.
  std::optional<std::string> pause_;
  bool saves_first_ = false;
  /// Signals that a pause begins or ends. Empty until a coroutine waits for it.
  std::optional<event_flag> pause_changes_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/detail/impl/solo_rendezvous.ipp>
#endif
