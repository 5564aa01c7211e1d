// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/store/store.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace elastic::detail {

/// Inspections of the workers of a whole round. Its agents ask each other through the store that
/// they share: an agent waits there for the next question, which costs it nothing.
///
/// Thread-safety: one strand at a time.
class round_inspection {
 public:
  /// What an agent asks the others for.
  enum class question {
    /// Digests, for a verdict.
    digests,
    /// Digests and whole stacks.
    stacks,
    /// Digests, at once: workers are about to be ended.
    last_words,
    /// To take a rank for hung, if it is the node's.
    end_rank,
  };
  struct request {
    // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
    request() = default;

    question what = question::digests;
    /// Of end_rank: whom, and why, in one line.
    int rank = -1;
    std::string reason = {};
  };
  /// Inspects the workers of this node. Result: the answer, which is the caller's affair.
  using inspector = std::function<task<std::string>(request)>;

  ELASTIC_DECL round_inspection(const rendezvous_round& round, std::shared_ptr<time_source> time,
                                logger log, inspector inspect);

  /// Answers the questions of all nodes, those of this one, too.
  ///
  /// Errors: none: without the store it answers nothing. It ends by cancellation alone.
  /// Cancellation: all types.
  ELASTIC_DECL task<void> answer_all();

  /// Asks every node of the round, and this one, which needs no store for its own answer.
  ///
  /// Result: by group rank; none of a node that has not answered in time.
  /// Errors: none. Cancellation: all types.
  ELASTIC_DECL task<std::vector<std::optional<std::string>>> ask(request asked);

  int group_rank() const { return group_rank_; }
  int nodes() const { return nodes_; }

 private:
  ELASTIC_DECL task<void> answer_next(std::int64_t number);
  ELASTIC_DECL task<void> ask_others(request asked, time_point deadline,
                                     std::vector<std::optional<std::string>>& answers);
  ELASTIC_DECL task<std::optional<std::string>> take_answer(std::string key, time_point deadline);
  ELASTIC_DECL task<void> answer_own(request asked, std::optional<std::string>& answer);

  std::shared_ptr<store> agents_;
  int group_rank_;
  int nodes_;
  std::shared_ptr<time_source> time_;
  logger log_;
  inspector inspect_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/inspection/detail/impl/round_inspection.ipp>
#endif
