// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_part.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/detail/port_lease.hpp>
#include <elastic/wire/detail/pmi_node.hpp>
#include <elastic/wire/detail/wire_place.hpp>
#include <elastic/wire/wire_terms.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace elastic::detail {

/// Gives the workers of an agent their wire-ups.
class wire_part final : public agent_part {
 public:
  ELASTIC_DECL wire_part(wire_terms terms, agent_part::context agent);

  ELASTIC_DECL task<void> agree(rendezvous_round round, assigned_ranks ranks) override;
  ELASTIC_DECL void change_environment(const worker_identity& worker,
                                       environment_map& variables) override;
  ELASTIC_DECL int passed_descriptor(int local_rank) override;
  ELASTIC_DECL void begin_replacement(const rendezvous_round& round) override;
  ELASTIC_DECL task<void> beside_workers(bool may_restart) override;
  ELASTIC_DECL task<void> end() override;

 private:
  bool has(wire_up kind) const { return terms_.kinds.contains(kind); }
  ELASTIC_DECL task<wire_place> place_of_workers(rendezvous_round round, assigned_ranks ranks);
  ELASTIC_DECL void choose_ports(wire_place& mine);
  ELASTIC_DECL task<std::vector<wire_place>> learn_places(rendezvous_round round, wire_place mine);
  ELASTIC_DECL task<void> await_readers(rendezvous_round round);
  ELASTIC_DECL task<void> notice_other_mpi();
  ELASTIC_DECL bool has_other_mpi() const;

  wire_terms terms_;
  agent_part::context context_;
  /// The names of the wire-ups: "jax,tf".
  std::string kinds_;
  /// The nodes of the round in the order of their ranks; empty before the first round.
  std::vector<wire_place> places_;
  /// The ports of this node's workers.
  std::vector<port_lease> ports_;
  /// Null without the wire-up mpi, and before the first round.
  std::unique_ptr<pmi_node> pmi_;
  bool has_noted_variables_ = false;
  bool has_noted_mpi_ = false;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/wire/detail/wire_part.ipp>
#endif
