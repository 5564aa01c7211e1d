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

/// Inspections of the workers of a whole round. The agents ask each other through their shared
/// store: each waits there for the next question, which costs nothing.
///
/// Thread-safety: one strand at a time.
class round_inspection {
 public:
  /// The kinds of question from one agent to the others.
  enum class question {
    /// Digests, for a verdict.
    digests,
    /// Digests and whole stacks.
    stacks,
    /// Digests, immediately: workers are about to be killed.
    last_words,
    /// Treat a rank as hung, if it runs on the node.
    end_rank,
    /// Workers of the asker have ended with success: nobody answers.
    ended,
  };
  struct request {
    // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
    request() = default;

    question what = question::digests;
    /// For end_rank: the rank, and the reason as one line. For ended: a text in the caller's own
    /// format.
    int rank = -1;
    std::string reason = {};
  };
  /// A function that inspects the workers of this node. Result: the answer, in the caller's own
  /// format; empty: there is none.
  using inspector = std::function<task<std::string>(request)>;

  /// @param is_open  false: this node inspects only its own workers. It neither asks nor answers
  ///                 other nodes, but it reports ended workers to them
  ELASTIC_DECL round_inspection(const rendezvous_round& round, std::shared_ptr<time_source> time,
                                logger log, inspector inspect, bool is_open = true);

  /// Answers the questions of all nodes, including this one: those that it has not answered yet.
  ///
  /// Errors: none; without the store it answers nothing. It ends only by cancellation.
  /// Cancellation: all types.
  ELASTIC_DECL task<void> answer_all();

  /// Asks every node of the round. This node's own answer needs no store.
  ///
  /// Result: the answers by group rank; empty for a node that has not answered in time.
  /// Errors: none. Cancellation: all types.
  ELASTIC_DECL task<std::vector<std::optional<std::string>>> ask(request asked);

  /// Sends a message to every other node, unless another node has already sent one of this kind in
  /// this round.
  ///
  /// Result: whether this node is the first to send it; true without other nodes or the store.
  /// Errors: none. Cancellation: all types.
  ELASTIC_DECL task<bool> tell_first(request told);

  int group_rank() const { return group_rank_; }
  int nodes() const { return nodes_; }

 private:
  ELASTIC_DECL task<void> answer_next(std::int64_t number);
  ELASTIC_DECL static task<std::int64_t> put(std::shared_ptr<store> agents, std::string text);
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
  bool is_open_;
  /// The number of the next question to answer.
  std::int64_t next_ = 1;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/diagnosis/detail/round_inspection.ipp>
#endif
