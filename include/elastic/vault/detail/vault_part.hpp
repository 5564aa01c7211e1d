// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_part.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/telemetry/job_event.hpp>
#include <elastic/vault/detail/vault_ballot.hpp>
#include <elastic/vault/detail/vault_channel.hpp>
#include <elastic/vault/detail/vault_memory.hpp>
#include <elastic/vault/detail/vault_message.hpp>
#include <elastic/vault/detail/vault_report.hpp>
#include <elastic/vault/detail/vault_step.hpp>

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace elastic::detail {

/// The part that keeps the commits of an agent's workers and chooses the generation that they
/// restore.
class vault_part final : public agent_part {
 public:
  /// @param limit  the memory of all slots, in bytes
  /// Errors: `errc::start_failed` if the socket cannot be opened.
  ELASTIC_DECL vault_part(std::uint64_t limit, agent_part::context agent);

  ELASTIC_DECL task<void> agree(rendezvous_round round, assigned_ranks ranks) override;
  ELASTIC_DECL void change_environment(const worker_identity& worker,
                                       environment_map& variables) override;
  ELASTIC_DECL task<void> beside_workers(bool may_restart) override;
  ELASTIC_DECL task<void> end() override;

 private:
  /// A worker in this epoch.
  struct committer {
    /// The number of its last commit.
    std::int64_t number = 0;
    /// It has a slot for that commit, and has not published it yet.
    bool is_writing = false;
    /// The time that its restore took; empty: it has not restored anything.
    std::optional<double> restored = {};
    /// The reasons for skipped commits that were recorded.
    std::set<std::string> reasons = {};
  };

  ELASTIC_DECL vault_report own_report(const assigned_ranks& ranks) const;
  ELASTIC_DECL task<std::vector<vault_report>> learn_reports(rendezvous_round round,
                                                             vault_report mine);
  ELASTIC_DECL void take(const vault_step& step);
  ELASTIC_DECL std::optional<int> owner_of(pid_t pid) const;
  ELASTIC_DECL task<vault_answer> serve(int local_rank, vault_request request);
  ELASTIC_DECL task<vault_answer> begin(int local_rank, std::uint64_t bytes);
  ELASTIC_DECL task<vault_memory::place> open(int local_rank, std::uint64_t bytes);
  ELASTIC_DECL vault_answer find(std::int64_t rank);
  ELASTIC_DECL void check_commit(int local_rank, std::size_t slot);
  ELASTIC_DECL void record_skipped(int local_rank, const std::string& reason);
  ELASTIC_DECL void take_restored(int local_rank, double seconds);
  ELASTIC_DECL void take_damaged(int local_rank, const std::string& reason);
  ELASTIC_DECL vault_vote vote_on(std::int64_t number) const;
  ELASTIC_DECL void cast_votes();
  ELASTIC_DECL bool is_pending(vault_generation id) const;
  ELASTIC_DECL void record_complete(std::int64_t number);
  ELASTIC_DECL void count_restores();
  ELASTIC_DECL void record(job_event::type kind, const vault_generation& id, job_event event);
  committer& at(int local_rank) { return workers_.at(static_cast<std::size_t>(local_rank)); }

  agent_part::context context_;
  vault_memory memory_;
  vault_channel channel_;
  std::vector<committer> workers_;
  std::int64_t epoch_ = 0;
  assigned_ranks ranks_;
  /// The node of each rank.
  std::vector<std::string> nodes_;
  /// Null: there is one node.
  std::unique_ptr<vault_ballot> ballot_;
  /// The last generation on which this node has voted, and the last one for which a commit waited
  /// without success.
  std::int64_t voted_ = 0;
  std::optional<vault_generation> awaited_;
  /// The newest generation that all ranks have, of this epoch or restored in it.
  std::optional<vault_generation> complete_;
  /// The generation that the workers of this epoch restore.
  std::optional<vault_generation> restore_;
  /// Whether a worker of this epoch has asked for it.
  bool was_found_ = false;
  /// The generation that was restored last, and how often it was.
  vault_generation restored_;
  int restores_ = 0;
  std::vector<vault_generation> damaged_;
  std::int64_t skipped_ = 0;
  time_point recorded_at_ = time_point::min();
  time_point skip_recorded_at_{};
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/vault/detail/vault_part.ipp>
#endif
