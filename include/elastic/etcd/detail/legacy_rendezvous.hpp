// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/etcd/detail/leased_keys.hpp>
#include <elastic/etcd/detail/legacy_lease.hpp>
#include <elastic/etcd/detail/legacy_round.hpp>
#include <elastic/etcd/detail/legacy_state.hpp>
#include <elastic/rendezvous/detail/worker_store_host.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/rendezvous/rendezvous_settings.hpp>
#include <elastic/store/store.hpp>
#include <elastic/torch/detail/torch_dialect.hpp>
#include <elastic/torch/detail/torch_exit.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace elastic::detail {

/// The parts of a legacy_rendezvous.
struct legacy_rendezvous_options {
  rendezvous_parameters parameters;
  /// The dialect in which the agents of the job exchange information once they have met.
  torch_dialect dialect = torch_dialect::torch_1_13;
  /// The keys of this job, and their path, as all nodes name it. Must be set.
  std::shared_ptr<leased_keys> keys;
  std::string path;
  /// The store of a version, for the information of its agents. Must be set.
  std::function<std::shared_ptr<store>(const std::string& version)> store_of;
  /// Keeps the stored data of the job from expiring; may be empty.
  std::function<task<void>()> keep_job;
  /// A numeric address of this host that the other nodes can reach.
  std::string address = "127.0.0.1";
};

/// The rendezvous that torchrun names "etcd", in which its nodes may take part. Each node takes its
/// own steps in a shared state, and has a key that expires unless it is refreshed. The nodes that
/// wait for the next version end one that has lost a node.
///
/// A node of this kind sees changes at once, including an expired key; a node of torchrun checks
/// every few seconds whether somebody waits. Each node counts worker failures for itself.
///
/// Thread-safety: one strand at a time.
/// Source: torch.distributed.elastic.rendezvous.etcd_rendezvous.
class legacy_rendezvous final : public rendezvous_handler {
 public:
  /// Errors: `errc::invalid_argument` for a setting out of bounds.
  ELASTIC_DECL explicit legacy_rendezvous(legacy_rendezvous_options options);

  std::string backend() const override { return parameters_.backend; }
  std::string run_id() const override { return parameters_.run_id; }

  ELASTIC_DECL task<rendezvous_round> next_round() override;
  ELASTIC_DECL task<rendezvous_change> wait_for_change() override;
  ELASTIC_DECL task<rendezvous_change> report_failure(std::string reason) override;
  ELASTIC_DECL task<void> exit_barrier() override;
  ELASTIC_DECL task<void> wait_for_fence() override;
  ELASTIC_DECL task<void> close(rendezvous_handler::job_end how, std::string why) override;
  ELASTIC_DECL task<void> shutdown() override;
  std::optional<std::int64_t> arrived_workers() const override { return workers_.arrived(); }

 private:
  using view = legacy_round::view;

  // The agents of this rendezvous never serve the workers' store.
  ELASTIC_DECL static rendezvous_parameters without_sharing(rendezvous_parameters parameters);

  time_point now() const { return parameters_.time->now(); }

  ELASTIC_DECL static bool is_closed(const view& current);

  // ---- joining --------------------------------------------------------------------------------

  ELASTIC_DECL task<void> join();
  ELASTIC_DECL static std::string shown_version(const view& current);
  ELASTIC_DECL void take_place(const legacy_state& state);

  [[noreturn]] ELASTIC_DECL void throw_timeout(const view& current) const;
  ELASTIC_DECL task<rendezvous_round> placed_round();

  // ---- changes of a round ---------------------------------------------------------------------

  ELASTIC_DECL task<void> await_change();
  ELASTIC_DECL task<void> publish_failure(std::string reason);

  // Returns with a change when this node has to give up the others, even while it still tries to
  // reach etcd.
  ELASTIC_DECL task<void> give_up_in_time();

  // Tries to reach etcd before this node meets the others again, if it had given them up.
  ELASTIC_DECL task<void> come_back();
  ELASTIC_DECL task<void> look_once();
  ELASTIC_DECL std::optional<rendezvous_change> change_of(const view& current) const;
  ELASTIC_DECL rendezvous_change change(rendezvous_change::cause kind, std::string reason) const;

  ELASTIC_DECL task<void> tell_end(job_ending ending);
  ELASTIC_DECL task<void> give_up();

  rendezvous_parameters parameters_;
  rendezvous_settings settings_;
  torch_dialect dialect_;
  std::function<std::shared_ptr<store>(const std::string&)> store_of_;
  std::function<task<void>()> keep_job_;
  std::string address_;
  worker_store_host workers_;
  std::shared_ptr<legacy_lease> lease_;
  legacy_round shared_;
  /// The version that this node is in.
  std::int64_t round_ = -1;
  std::string version_;
  int rank_ = 0;
  int size_ = 0;
  std::shared_ptr<store> agents_;
  std::optional<rendezvous_change> change_;
  /// The node has given up the others, and has not tried to reach them since.
  bool is_cut_off_ = false;
  int restarts_ = 0;
  torch_exit exit_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/etcd/detail/legacy_rendezvous.ipp>
#endif
