// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/rendezvous/native/detail/rendezvous_host.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/store/tcp_store.hpp>
#include <elastic/torch/detail/chosen_rendezvous.hpp>
#include <elastic/torch/detail/torch_dialect.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace elastic::detail {

/// The rendezvous named "c10d", for jobs in which nodes of torchrun may take part: chooses between
/// elasticrun's own way to meet (`c10d_rendezvous`) and torchrun's (`dynamic_rendezvous`).
///
/// `--rdzv-conf dialect=1.13`, `2.0` or `2.6` names torchrun's way, and the release of PyTorch
/// whose agents take part. Without it, or with `auto`, nodes meet in elasticrun's own way, unless
/// the store turns out to be served by torchrun, or by a node of elasticrun with a `dialect`; then
/// the dialect is that of the state, or that of the store's generation if there is no state.
///
/// Thread-safety: one strand at a time.
class mixed_rendezvous final : public chosen_rendezvous {
 public:
  /// Errors: those of `c10d_rendezvous`; for a `dialect` that does not exist, and for any together
  /// with a secret.
  ELASTIC_DECL explicit mixed_rendezvous(rendezvous_parameters parameters);

  ELASTIC_DECL task<rendezvous_round> next_round() override;
  ELASTIC_DECL task<void> close(job_end how, std::string why) override;
  ELASTIC_DECL task<void> shutdown() override;

 private:
  ELASTIC_DECL task<rendezvous_round> first_round() override;

  /// How long the node that serves the store stays for the others, after success and otherwise:
  /// they look at the state once a second.
  static constexpr std::chrono::seconds farewell{10};
  static constexpr std::chrono::seconds short_farewell{2};
  static constexpr std::chrono::milliseconds farewell_pause{20};
  /// How long a store that answered a moment ago has to answer again.
  static constexpr std::chrono::seconds second_try{5};
  /// How long the node that serves the store has to write the first state.
  static constexpr std::chrono::seconds first_state{3};
  static constexpr std::chrono::milliseconds first_state_pause{100};

  ELASTIC_DECL static std::optional<torch_dialect> dialect_of(
      const rendezvous_parameters& parameters);

  ELASTIC_DECL task<void> choose_torch();

  // A numeric address by which the others reach this node: that on the way to the store.
  ELASTIC_DECL task<std::string> own_address();
  ELASTIC_DECL task<std::shared_ptr<tcp_store>> connect();

  // That of the state; of the server's generation, if nobody has written one.
  ELASTIC_DECL task<torch_dialect> detect_dialect(std::shared_ptr<tcp_store> client);

  // Nobody can go on without the store.
  ELASTIC_DECL task<void> close_before_leaving();

  // The others look at the state once more before they end.
  ELASTIC_DECL task<void> see_off();

  rendezvous_parameters parameters_;
  endpoint endpoint_;
  std::optional<torch_dialect> dialect_;
  bool meets_as_torch_ = false;
  std::unique_ptr<rendezvous_host> host_;
  /// How this node has closed the job.
  std::optional<job_end> end_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/torch/detail/impl/mixed_rendezvous.ipp>
#endif
