// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/nodes/detail/candidate.hpp>
#include <elastic/nodes/detail/leader_connector.hpp>
#include <elastic/nodes/detail/leader_source.hpp>
#include <elastic/nodes/detail/rendezvous_host.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/rendezvous/rendezvous_settings.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace elastic::detail {

class c10d_rendezvous;

/// The agents that serve the endpoints of a job, and elect the one that leads.
class candidate_source final : public leader_source {
 public:
  /// One of the servers, with the means by which another agent of the job reaches it.
  struct server_access {
    std::shared_ptr<message_connector> connector;
    /// Its store.
    std::shared_ptr<store> agents;
  };

  /// Serves one of the endpoints of the parameters if it is of this host and nobody serves it yet.
  /// Errors: `errc::invalid_argument` for an empty run id, an invalid endpoint, or a setting that
  /// several endpoints do not allow.
  ELASTIC_DECL explicit candidate_source(rendezvous_parameters parameters);

  /// The same with servers that exist. `own`, if not null, is this agent's, and runs until this
  /// node has left.
  ELASTIC_DECL candidate_source(rendezvous_parameters parameters,
                                std::vector<server_access> servers,
                                std::shared_ptr<candidate> own);

  std::string backend() const override { return "c10d"; }
  std::string name() const override { return list_; }
  ELASTIC_DECL std::uint64_t number_of(std::uint64_t offered) const override;
  ELASTIC_DECL task<std::shared_ptr<message_connector>> open(std::uint64_t number) override;
  void attach(std::shared_ptr<rendezvous_link> link) override { link_ = std::move(link); }

  /// Meanwhile, an agent that does not serve an endpoint of its host keeps trying to serve one:
  /// another program may have held the port at the start.
  ELASTIC_DECL task<void> news() override;

  ELASTIC_DECL meeting_place server() const override;
  ELASTIC_DECL bool is_at_loopback() const override;
  ELASTIC_DECL task<std::shared_ptr<store>> agents() override;
  ELASTIC_DECL void forget_rounds(const std::string& run_id, std::int64_t first_kept) override;
  ELASTIC_DECL task<void> retire(bool is_job_over) override;

 private:
  ELASTIC_DECL void check() const;
  ELASTIC_DECL task<void> check_addresses();
  // The index of the endpoint that the settings assign to this agent; -1: none.
  ELASTIC_DECL int chosen_place() const;
  // Serves the first endpoint that belongs to this host and that nobody serves yet.
  ELASTIC_DECL task<void> serve_endpoint();
  ELASTIC_DECL std::shared_ptr<candidate> make_candidate(int place) const;
  ELASTIC_DECL std::shared_ptr<leader_connector> make_connector() const;

  rendezvous_parameters parameters_;
  rendezvous_settings settings_;
  /// Every node names them in the same order.
  std::vector<endpoint> endpoints_;
  std::string list_;
  bool has_servers_ = false;
  /// Whether this node may still serve an endpoint.
  bool may_serve_ = false;
  /// The time of the next attempt to serve one.
  time_point next_try_;
  std::uint64_t number_ = 0;
  std::vector<server_access> servers_;
  std::unique_ptr<rendezvous_host> host_;
  std::shared_ptr<candidate> candidate_;
  std::shared_ptr<leader_connector> leader_;
  std::shared_ptr<rendezvous_link> link_;
};

/// The rendezvous "c10d" at several endpoints. Errors: those of `candidate_source`.
ELASTIC_DECL std::shared_ptr<c10d_rendezvous> make_candidate_rendezvous(
    rendezvous_parameters parameters);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/nodes/detail/candidate_source.ipp>
#endif
