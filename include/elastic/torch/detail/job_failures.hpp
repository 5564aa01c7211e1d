// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/rendezvous/detail/node_id.hpp>
#include <elastic/store/store.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// How often workers of a job have failed. The agents' store has it in the form
/// "<restarts> <round> <rank>\n<cause>".
struct counted_failures {
  int restarts = 0;
  /// The round of the last failure; -1: there was none.
  std::int64_t round = -1;
  /// The rank of its node in that round; -1: a node of torchrun.
  int rank = -1;
  /// The reported cause.
  std::string cause;

  /// The maximum length of a stored cause, in bytes.
  static constexpr std::size_t most_bytes = 500;
  ELASTIC_DECL std::string text() const;

  /// Errors: `errc::protocol_violation`.
  ELASTIC_DECL static counted_failures parse(std::string_view text);
};

/// The failures of a job's workers, which nodes of elasticrun count in the store of their agents.
/// This is not part of torchrun's protocol: if nodes of torchrun are in a round, each node counts
/// its own.
///
/// Errors: those of the store, and `errc::protocol_violation` for a malformed value in it.
/// Thread-safety: one strand at a time.
class job_failures {
 public:
  /// The agreement of the nodes of a round.
  struct agreement {
    /// Whether they count together; if not, each node counts its own failures.
    bool is_joint = false;
    /// How often workers of the job have failed before this round.
    int restarts = 0;
  };

  ELASTIC_DECL job_failures(std::shared_ptr<store> agents, const std::string& run_id);

  /// Registers this node as one of elasticrun, before it takes a place in its first round.
  /// Cancellation: all types; the node may or may not be registered.
  ELASTIC_DECL task<void> introduce(node_id self);

  /// Agrees with the other nodes of a round, which must not start before. The node of rank 0
  /// decides. If it is not of elasticrun, or says that another node is not, each node counts its
  /// own failures.
  ///
  /// @param agents   the store of the round
  /// @param members  its nodes with their ranks
  /// Cancellation: all types; the others may or may not have received the decision.
  ELASTIC_DECL task<agreement> agree(std::shared_ptr<store> agents, std::map<node_id, int> members,
                                     int rank);

  /// The nodes that have not registered: nodes of torchrun.
  ELASTIC_DECL task<std::vector<node_id>> strangers(std::map<node_id, int> members);

  /// The failures so far.
  ELASTIC_DECL task<counted_failures> counted();

  /// Counts a failure, unless one was counted in the same round or a later one.
  ///
  /// @param failure  its `restarts` are ignored
  /// Result: the count afterwards, whichever node has counted.
  /// Cancellation: all types; the failure may or may not have been counted.
  ELASTIC_DECL task<counted_failures> count(counted_failures failure);

 private:
  inline static const std::string restarts_key = "elastic/restarts";
  inline static const std::string each_for_itself = "each for itself";

  /// The key's text; empty if there is none.
  ELASTIC_DECL task<std::string> stored();
  ELASTIC_DECL static counted_failures parse_failures(const std::string& text);

  std::string count_key() const { return prefix_ + "failures"; }
  std::string key_of(const node_id& node) const { return prefix_ + "nodes/" + node.key(); }

  ELASTIC_DECL std::vector<std::string> keys_of(const std::map<node_id, int>& members,
                                                bool first_only) const;
  ELASTIC_DECL task<agreement> decided(std::map<node_id, int> members);
  ELASTIC_DECL static agreement parse(std::string_view text);

  std::shared_ptr<store> agents_;
  std::string prefix_;
  bool is_introduced_ = false;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/torch/detail/job_failures.ipp>
#endif
