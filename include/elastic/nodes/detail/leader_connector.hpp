// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/detail/message_channel.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace elastic::detail {

/// Connects a node to the candidate that leads its job: asks all candidates at once, and repeats
/// the question until one says that it leads.
///
/// Thread-safety: one strand at a time.
class leader_connector final : public message_connector {
 public:
  struct options {
    std::vector<std::shared_ptr<message_connector>> candidates;
    std::string run_id;
    /// All endpoints, as each candidate has to name them.
    std::string list;
    /// The candidate of this process, and its number; -1: none.
    int self = -1;
    std::uint64_t node = 0;
    /// The time between two questions to one candidate.
    duration interval{};
    std::shared_ptr<time_source> time;
    logger log;
  };

  ELASTIC_DECL explicit leader_connector(options chosen);

  std::string name() const override { return chosen_.list; }

  ELASTIC_DECL std::string connected_to() const override;

  /// The last problem with each candidate: why it did not name the leader.
  ELASTIC_DECL std::string problem() const override;

  /// Errors: `errc::invalid_argument` if, before a leader is found, a candidate has another list,
  /// serves another job, or is met at the address of another one, or if another agent serves in the
  /// place of this one's candidate. After a leader was found once, such a candidate is skipped.
  /// Cancellation: all types; nothing else ends the search for a leader.
  ELASTIC_DECL task<std::shared_ptr<message_channel>> connect() override;

  /// Errors: `errc::connection_failed` if that candidate no longer leads.
  ELASTIC_DECL task<std::shared_ptr<message_channel>> connect_again() override;

  bool knows_other_side() const override { return true; }

  bool reaches_own_process() const override {
    return leader_ >= 0 && static_cast<int>(leader_) == chosen_.self;
  }

  /// Sets the candidate of this process and its number, if it had none before.
  void set_own_candidate(int place, std::uint64_t node) {
    chosen_.self = place;
    chosen_.node = node;
  }

  /// The candidate that `connect` last found; -1: none.
  int leader() const { return leader_; }

 private:
  struct search;

  ELASTIC_DECL task<void> ask(std::shared_ptr<search> state, std::size_t place);
  ELASTIC_DECL task<std::shared_ptr<message_channel>> try_connect(std::shared_ptr<search> state,
                                                                  std::size_t place);
  ELASTIC_DECL task<void> converse(std::shared_ptr<search> state, std::size_t place,
                                   std::shared_ptr<message_channel> channel);

  ELASTIC_DECL std::string question() const;

  // The reason why a candidate cannot be the one at this place; empty: it can.
  ELASTIC_DECL std::string objection(std::size_t place, int index) const;

  // Notes that a server does not belong to this job.
  ELASTIC_DECL void log_refusal(search& state, const std::string& why);

  options chosen_;
  /// By the index of the candidate.
  std::vector<std::string> problems_;
  int leader_ = -1;
  /// Leaders with a smaller term no longer lead.
  std::int64_t term_ = 0;
  std::string last_refusal_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/nodes/detail/leader_connector.ipp>
#endif
