// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/task_group.hpp>
#include <elastic/base/time.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace elastic::detail {

/// The prefix of the vault's keys in a round, which may share its store with others.
/// @param use  the purpose of the keys
ELASTIC_DECL std::string vault_prefix(const rendezvous_round& round, std::string_view use);

/// The votes of the nodes of a round on the generations of its epoch. A generation is complete when
/// all nodes have kept it, and given up when one has skipped it. Every node votes once on each
/// generation. The node that votes last, that skips, or that is the first to take its vote back
/// writes the result into the store of the round, where the others wait for it. So all nodes have
/// the same result.
///
/// Thread-safety: one strand at a time.
class vault_ballot {
 public:
  /// @param complete  is called with the number of each generation that is complete
  ELASTIC_DECL vault_ballot(asio::any_io_executor strand, std::shared_ptr<time_source> time,
                            logger log, rendezvous_round round,
                            std::function<void(std::int64_t)> complete);
  vault_ballot(const vault_ballot&) = delete;
  vault_ballot& operator=(const vault_ballot&) = delete;

  /// Casts the vote of this node in the background. If the store is gone, the vote is lost; the
  /// round is then about to end.
  ELASTIC_DECL void vote(std::int64_t number, bool is_kept);

  /// Whether this node has kept a generation, and does not know the result yet.
  bool awaits_result(std::int64_t number) const { return kept_.contains(number); }

  /// Whether this node voted to keep a generation so long ago that other nodes may never commit it.
  ELASTIC_DECL bool is_overdue(std::int64_t number) const;

  /// Takes back the vote of this node to keep a generation, so that it is given up for all, unless
  /// all have kept it meanwhile. Several workers of a node may do so at once, and several nodes.
  /// If the store is gone, the round is about to end.
  ELASTIC_DECL task<void> retract(std::int64_t number) &;

  /// Waits for the next result until the deadline.
  /// Result: whether there was one. Cancellation: all types.
  ELASTIC_DECL task<bool> next_result(time_point deadline) &;

  /// Ends the votes that are in progress. No vote may follow.
  ELASTIC_DECL task<void> stop() &;

 private:
  ELASTIC_DECL task<void> cast(std::int64_t number, bool is_kept);
  ELASTIC_DECL task<bool> result_of(std::int64_t number, bool is_kept);
  ELASTIC_DECL task<void> erase_old(std::int64_t number);
  ELASTIC_DECL void take(std::int64_t number, bool is_complete);
  ELASTIC_DECL std::string votes_key(std::int64_t number) const;
  ELASTIC_DECL std::string result_key(std::int64_t number) const;

  std::shared_ptr<time_source> time_;
  logger log_;
  std::shared_ptr<store> agents_;
  std::string prefix_;
  int nodes_;
  std::function<void(std::int64_t)> complete_;
  /// The undecided generations that this node voted to keep, with the times of the votes.
  std::map<std::int64_t, time_point> kept_;
  std::int64_t newest_complete_ = 0;
  /// The newest generation whose keys are erased, like those of all generations before it.
  std::int64_t erased_ = 0;
  event_flag decided_;
  task_group voting_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/vault/detail/vault_ballot.ipp>
#endif
