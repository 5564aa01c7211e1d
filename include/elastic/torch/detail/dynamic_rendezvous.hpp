// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/nodes/detail/rendezvous_host.hpp>
#include <elastic/nodes/detail/round_state.hpp>
#include <elastic/rendezvous/detail/node_id.hpp>
#include <elastic/rendezvous/detail/worker_store_host.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/rendezvous/rendezvous_settings.hpp>
#include <elastic/store/store.hpp>
#include <elastic/torch/detail/job_failures.hpp>
#include <elastic/torch/detail/rendezvous_backend.hpp>
#include <elastic/torch/detail/torch_dialect.hpp>
#include <elastic/torch/detail/torch_exit.hpp>
#include <elastic/torch/detail/torch_round.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace elastic {
class tcp_store;
}  // namespace elastic

namespace elastic::detail {

/// The parts of a dynamic_rendezvous.
struct dynamic_rendezvous_options {
  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  dynamic_rendezvous_options() = default;

  rendezvous_parameters parameters;
  /// How the agents of the job exchange information.
  torch_dialect dialect = torch_dialect::torch_2_6;
  /// The storage of the state, and a store for the other information of agents. Must be set.
  std::shared_ptr<rendezvous_backend> backend;
  std::shared_ptr<store> agents;
  /// The server of that store, if it belongs to this node. Ends with the handler.
  std::shared_ptr<rendezvous_host> host;
  /// Distinguishes this agent from all others.
  node_id node;
  /// A numeric address of this host that the other nodes can reach.
  std::string address = "127.0.0.1";
};

/// A rendezvous without a server that decides, like torchrun's: nodes share one state, and each
/// takes its own steps in it by the rules of torchrun, whose nodes may take part.
///
/// A node that is silent for `keep_alive_interval` x `keep_alive_max_attempt` is lost; no clock of
/// another node matters. In a round with only nodes of elasticrun, worker failures are counted for
/// the job, and the nodes agree on the count. In a round with nodes of torchrun, each node counts
/// those of its own workers, as torchrun's nodes do.
///
/// Thread-safety: one strand at a time.
/// Source: torch.distributed.elastic.rendezvous.dynamic_rendezvous.
class dynamic_rendezvous final : public rendezvous_handler {
 public:
  /// Errors: `errc::invalid_argument` for a setting out of bounds.
  ELASTIC_DECL explicit dynamic_rendezvous(dynamic_rendezvous_options options);

  std::string backend() const override { return parameters_.backend; }
  std::string run_id() const override { return parameters_.run_id; }

  /// Meets the other nodes for the first time; `next_round` then returns that round at once.
  /// Errors and cancellation: those of `next_round`.
  ELASTIC_DECL task<void> meet();

  ELASTIC_DECL task<rendezvous_round> next_round() override;
  ELASTIC_DECL task<rendezvous_change> wait_for_change() override;
  ELASTIC_DECL task<rendezvous_change> report_failure(std::string reason) override;
  ELASTIC_DECL task<void> exit_barrier() override;
  ELASTIC_DECL task<void> wait_for_fence() override;
  ELASTIC_DECL task<void> close(rendezvous_handler::job_end how, std::string why) override;
  ELASTIC_DECL task<void> shutdown() override;
  std::optional<std::int64_t> arrived_workers() const override { return workers_.arrived(); }

 private:
  using view = torch_round::view;

  inline static const std::string failed_word = "failed: ";
  inline static const std::string succeeded_word = "succeeded: ";
  /// How long the node of rank 0 may take to publish where it serves the workers of a round:
  /// PyTorch's agents of 2.6 and newer may publish it only in the first round.
  static constexpr std::chrono::seconds master_patience{5};
  static constexpr std::chrono::seconds second_look{2};
  /// How long the node that serves the store stays for the others, after success and otherwise:
  /// they check the state once a second.
  static constexpr std::chrono::seconds linger_timeout{10};
  static constexpr std::chrono::seconds short_linger_timeout{2};
  static constexpr std::chrono::milliseconds linger_pause{20};

  // Agents before 2.4 do not serve the workers' store.
  ELASTIC_DECL static rendezvous_parameters with_sharing(rendezvous_parameters parameters,
                                                         torch_dialect dialect);

  /// How the nodes of a round count failures: each alone if one of them is of torchrun.
  enum class counting { together, alone };
  bool counts_together() const { return counting_ == counting::together; }
  bool counts_alone() const { return counting_ == counting::alone; }

  bool gathers() const { return agents_of(dialect_) == rendezvous_round::agent_dialect::gather; }
  int size() const { return static_cast<int>(members_.size()); }
  time_point now() const { return parameters_.time->now(); }

  // ---- joining --------------------------------------------------------------------------------

  ELASTIC_DECL task<rendezvous_round> another_round();
  ELASTIC_DECL task<void> join();

  // The time at which waiting alone changes the decision.
  ELASTIC_DECL time_point next_look(const round_state& state, time_point deadline) const;

  // Some nodes may have left a round before this node saw that it was complete: then its ranks have
  // gaps, or its nodes are too few. If the last ranks are missing, that does not show; the nodes
  // that saw them in the round notice their loss, and all meet again.
  ELASTIC_DECL bool is_whole(const round_state& state) const;
  ELASTIC_DECL void take_place(const round_state& state);

  [[noreturn]] ELASTIC_DECL void throw_timeout(const round_state& state) const;

  // Empty if the round must end already.
  ELASTIC_DECL task<std::optional<rendezvous_round>> placed_round();

  // How often workers of the job have failed before this round, as the node of rank 0 says: a
  // failure early in the round must not change the number for some nodes only. Result: false if the
  // round must end first.
  ELASTIC_DECL task<bool> agree_on_restarts();

  // Agents of PyTorch 2.4 and newer agree on it before they exchange information about workers.
  // Empty if the round must end first: the lost node may be the one of rank 0.
  ELASTIC_DECL task<std::optional<rendezvous_round::master_endpoint>> shared_master(
      rendezvous_round::master_endpoint mine);
  ELASTIC_DECL task<std::optional<rendezvous_round::master_endpoint>> agreed_master(
      rendezvous_round::master_endpoint mine, time_point limit);

  // Nodes of torchrun 2.13 keep looking for the workers where those of their first round met. A
  // node that has rank 0 in a later round therefore publishes that place again, as long as a store
  // answers there.
  ELASTIC_DECL task<rendezvous_round::master_endpoint> remembered_master(
      rendezvous_round::master_endpoint mine);

  // What the node of rank 0 published in the latest earlier round in which it published anything.
  ELASTIC_DECL task<std::optional<rendezvous_round::master_endpoint>> earlier_master(
      std::int64_t before);

  ELASTIC_DECL std::shared_ptr<tcp_store> worker_store_at(
      const rendezvous_round::master_endpoint& master, asio::any_io_executor executor) const;

  // If a node of torchrun serves the workers, their keys survive from round to round, and workers
  // of 2.13 take old keys for new ones. This removes them while a round forms, when no worker of a
  // node in it runs.
  ELASTIC_DECL task<void> clear_worker_keys(std::int64_t round);
  ELASTIC_DECL task<void> clear_store(std::shared_ptr<tcp_store> workers, std::int64_t round);

  template <class T>
  static task<void> keep(task<T> work, std::optional<T>& result) {
    result = co_await std::move(work);
  }

  ELASTIC_DECL task<void> agree_or_change(task<void> agreeing);
  ELASTIC_DECL task<void> await_change();

  // Throws when this node has to give up the others, even while it still tries to read the state.
  ELASTIC_DECL task<void> give_up_in_time();

  // Called before it meets the others again, after it had given them up.
  ELASTIC_DECL task<void> come_back();
  ELASTIC_DECL task<void> look_once();
  ELASTIC_DECL task<void> publish_failure(std::string reason);

  // ---- changes of a round ---------------------------------------------------------------------

  // A node that leaves because its workers failed looks like one that leaves to meet another node.
  ELASTIC_DECL task<std::optional<rendezvous_change>> explained_change_of(view current);

  // Keeps the first change of a round, and counts it if it is a failure and each node counts alone.
  ELASTIC_DECL void note(rendezvous_change detected);

  // Counts once for each round, however many nodes have failures in it.
  ELASTIC_DECL task<rendezvous_change> count_failure(std::string reason);
  ELASTIC_DECL rendezvous_change failure_of(const counted_failures& counted) const;
  ELASTIC_DECL task<std::optional<rendezvous_change>> change_of(view current);

  // A node of torchrun leaves because its workers failed, unless a node has arrived that it has to
  // meet. Its workers then count one attempt more, and the attempt is part of the keys by which
  // they find the workers here.
  ELASTIC_DECL rendezvous_change departure_of(const node_id& node, const round_state& state) const;

  // A node of torchrun counts a failure only if its workers end before it sees this node leave.
  // Gives them time to notice that their peers are gone.
  ELASTIC_DECL task<void> await_failures_at_torchrun();
  ELASTIC_DECL rendezvous_change change(rendezvous_change::cause kind, std::string reason) const;

  // ---- end of the job -------------------------------------------------------------------------

  /// How the job has ended, for nodes of elasticrun. Not part of torchrun's protocol.
  ELASTIC_DECL std::string ending_key() const;
  ELASTIC_DECL task<std::optional<job_ending>> ending();
  ELASTIC_DECL task<void> throw_closed();
  ELASTIC_DECL task<void> tell_end(rendezvous_handler::job_end how, std::string why);
  ELASTIC_DECL task<void> try_to_leave(task<void> leaving);
  ELASTIC_DECL task<void> give_up_any_place();

  // The other nodes cannot continue without the store that this node serves.
  ELASTIC_DECL task<void> close_before_leaving();

  // Stops the server once the others have checked the state for the last time.
  ELASTIC_DECL task<void> end_host();

  rendezvous_parameters parameters_;
  rendezvous_settings settings_;
  torch_dialect dialect_;
  std::shared_ptr<store> agents_;
  std::shared_ptr<rendezvous_host> host_;
  std::string address_;
  worker_store_host workers_;
  std::shared_ptr<torch_round> shared_;
  /// The round that this node is in: its nodes with their ranks.
  std::map<node_id, int> members_;
  std::int64_t round_ = -1;
  /// The round of `meet`, until `next_round` returns it.
  std::optional<rendezvous_round> met_;
  int rank_ = 0;
  std::shared_ptr<store> round_agents_;
  /// Where the workers of the last round met.
  std::optional<rendezvous_round::master_endpoint> master_;
  std::optional<rendezvous_change> change_;
  /// It has given up the others, and has not tried to reach them since.
  bool is_cut_off_ = false;
  job_failures failures_;
  /// Whether the round's nodes agree on `restarts_`, or it is `own_failures_`; empty until that is
  /// known.
  std::optional<counting> counting_;
  /// Whether it was `alone` in the round before.
  bool was_alone_ = false;
  /// The round before which this node has cleared the workers' keys.
  std::int64_t cleared_round_ = -1;
  int restarts_ = 0;
  int own_failures_ = 0;
  torch_exit exit_;
  /// Since when this node has waited at the exit barrier of a job that has succeeded.
  std::optional<time_point> closed_since_;
  /// How this node has closed the job.
  std::optional<rendezvous_handler::job_end> end_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/torch/detail/dynamic_rendezvous.ipp>
#endif
