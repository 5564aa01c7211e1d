// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/rendezvous/detail/solo_rendezvous.hpp>
#include <elastic/rendezvous/detail/worker_store_host.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/store/tcp_store_server.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace elastic::detail {

/// The rendezvous of one node that serves the workers of each round a store of their own, so that
/// no round sees another's keys.
///
/// It binds `endpoint` unless the port is 0 (29400 if none is named), so that a second job at the
/// same endpoint is refused. With port 0, as for `--standalone`, it opens no socket for the
/// rendezvous itself.
///
/// Thread-safety: one strand at a time.
class stored_rendezvous final : public solo_rendezvous {
 public:
  /// Errors: those of `solo_rendezvous`.
  ELASTIC_DECL explicit stored_rendezvous(rendezvous_parameters settings);

  ELASTIC_DECL task<void> shutdown() override;
  std::optional<std::int64_t> arrived_workers() const override { return workers_.arrived(); }

 private:
  ELASTIC_DECL task<void> prepare() override;
  ELASTIC_DECL task<rendezvous_round::master_endpoint> open_master(
      std::string own_address) override;

  worker_store_host workers_;
  std::unique_ptr<tcp_store_server> server_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/detail/stored_rendezvous.ipp>
#endif
