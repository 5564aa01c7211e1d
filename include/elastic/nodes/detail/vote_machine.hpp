// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/random.hpp>
#include <elastic/base/time.hpp>
#include <elastic/nodes/detail/candidate_message.hpp>
#include <elastic/nodes/detail/round_register.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace elastic::detail {

/// A candidate's role in the vote. Before it runs in an election, it asks whether it would win.
enum class vote_role { follows, asks, runs, leads };

/// One candidate's part in electing the job's leader and in storing what the leader writes. It has
/// no sockets and no clocks. Its inputs are messages of others, the start and end of connections,
/// and the time; its outputs are messages to send. docs/design/leaders.md has the rules.
///
/// Each candidate connects to every other one. It asks and writes over its own connections, and
/// answers over those of the others.
///
/// Thread-safety: one strand at a time.
class vote_machine {
 public:
  struct options {
    int self = 0;
    int candidates = 1;
    /// Their keep-alive settings and grace are those of the nodes.
    rendezvous_settings settings;
    /// This agent's own node.
    std::uint64_t node = 0;
    /// An earlier agent was this candidate of the job, and did not end in order.
    bool has_restarted = false;
    /// Whether voters become free when a leader's connections end, which is sooner than after its
    /// silence.
    bool fast_takeover = true;
    std::uint64_t seed = 0;
  };

  /// @param wall  milliseconds since 1970: terms begin with this number, so that none is used twice
  ELASTIC_DECL vote_machine(options chosen, time_point now, std::int64_t wall);

  // ---- events ---------------------------------------------------------------------------------

  /// This candidate's connection to another one begins, or ends.
  ELASTIC_DECL void reached(int peer, time_point now);
  ELASTIC_DECL void lost(int peer, time_point now);

  /// Another candidate's connection to this one begins, or ends.
  /// @param incarnation         the number of its agent, which serves at the candidate's address
  /// @param is_in_place  if this agent has replaced another one, it runs on the same host and has
  ///                     the port of that one, which must be gone
  ELASTIC_DECL void entered(int peer, std::uint64_t incarnation, time_point now,
                            bool is_in_place = true);
  ELASTIC_DECL void left(int peer, time_point now);

  ELASTIC_DECL void received(int peer, const candidate_messages::vote& request, time_point now);
  ELASTIC_DECL void received(int peer, const candidate_messages::write& request, time_point now);
  ELASTIC_DECL void received(int peer, const candidate_messages::resign& request, time_point now);
  ELASTIC_DECL void received(int peer, const candidate_messages::retire& request, time_point now);
  ELASTIC_DECL void received(int peer, const candidate_messages::grant& answer, time_point now);
  ELASTIC_DECL void received(int peer, const candidate_messages::ack& answer, time_point now);

  /// A node knows a leader of this term, and will accept none of an earlier one.
  ELASTIC_DECL void observe_term(std::int64_t term, time_point now);

  /// The time is now `now`.
  ELASTIC_DECL void advance(time_point now);

  /// Stores a new value of the leader, whose term and sequence are ignored. A value that is already
  /// known is not written again. Result: whether it is written.
  ELASTIC_DECL bool propose(const round_register& content, time_point now);

  /// Stops taking part. The agent leaves, and its workers have ended.
  ELASTIC_DECL void retire(bool is_done, time_point now);

  // ---- results --------------------------------------------------------------------------------

  struct question {
    int to = 0;
    candidate_request request;
  };
  struct reply {
    int to = 0;
    candidate_answer answer;
  };

  /// An event for the log.
  struct note {
    std::string text;
    bool is_warning = false;
  };

  /// The messages for this candidate's own connections, since the last call.
  std::vector<question> take_questions() { return std::exchange(questions_, {}); }
  /// The messages for the connections of the others, since the last call.
  std::vector<reply> take_replies() { return std::exchange(replies_, {}); }
  std::vector<note> take_notes() { return std::exchange(notes_, {}); }

  /// When `advance` is due; `time_point::max()`: never.
  time_point next_deadline() const { return next_; }

  vote_role role() const { return role_; }
  std::int64_t term() const { return term_; }

  /// Whether it leads, and a majority has its first value. Call it after `advance`.
  bool serves() const { return role_ == vote_role::leads && has_begun_; }

  /// Whether a majority has the value that was proposed last.
  ELASTIC_DECL bool is_kept() const;

  /// The newest value that this candidate has accepted from a leader. On a leader: its own newest
  /// value. A leader's first value omits the own node of the leader that made the round.
  const round_register& value() const { return value_; }

  /// The earliest time for a round. Until then, a round that this leader does not know may run.
  time_point uncertain_until() const { return uncertain_until_; }

  /// The time until which this leader may act if it receives nothing more.
  ELASTIC_DECL time_point lease_end() const;

  bool is_blank() const { return is_blank_; }

  /// Whether this candidate and those to which it is connected are a majority.
  bool reaches_majority() const { return spare_candidates() >= 0; }

  /// The number of these candidates that may be lost without losing the majority; below 0: there is
  /// no majority.
  int spare_candidates() const { return count_reached() + 1 - majority(); }

  /// Whether the leader has said that all nodes know that the job is over.
  bool is_done() const { return is_done_; }

 private:
  /// The agent to which this candidate is bound. Another agent may later serve at the same place.
  struct promise {
    int to;
    std::uint64_t incarnation;
    std::int64_t term;
    /// The time of the last renewal. If this candidate is bound to itself and no longer leads: the
    /// end of the promise.
    time_point since;
    /// The stamp of the leader's last write; empty: it has not written yet.
    std::optional<std::int64_t> stamp = std::nullopt;
    /// The time at which another agent was seen at the leader's place.
    std::optional<time_point> gone_at = std::nullopt;
  };

  struct other {
    bool is_reached = false;
    time_point reached_at = time_point::min();
    std::uint64_t incarnation = 0;
    std::optional<time_point> lost_at;
    std::optional<time_point> left_at;
    // In an election.
    bool is_asked = false;
    std::optional<candidate_messages::grant> answer;
    // While leading.
    time_point heard = time_point::min();
    /// A lower bound of the time at which the voter left in order.
    std::optional<time_point> retired_at;
    std::int64_t kept = 0;
  };

  // Built in place: g++ 12 warns that a moved variant may be uninitialised.
  template <class Request>
  void question_to(int peer, Request&& request) {
    question& next = questions_.emplace_back();
    next.to = peer;
    next.request.emplace<std::remove_cvref_t<Request>>(std::forward<Request>(request));
  }
  template <class Answer>
  void reply_to(int peer, Answer&& answer) {
    reply& next = replies_.emplace_back();
    next.to = peer;
    next.answer.emplace<std::remove_cvref_t<Answer>>(std::forward<Answer>(answer));
  }

  ELASTIC_DECL void step(time_point now);
  ELASTIC_DECL void plan(time_point now);
  void wake_at(time_point when) { next_ = std::min(next_, when); }

  // ---- voting ---------------------------------------------------------------------------------

  ELASTIC_DECL bool may_vote_for(int peer, const candidate_messages::vote& request,
                                 time_point now) const;
  ELASTIC_DECL bool is_bound_to(int peer) const;
  std::uint64_t incarnation_of(int peer) const {
    return others_[static_cast<std::size_t>(peer)].incarnation;
  }
  /// The time at which the promise becomes void.
  ELASTIC_DECL time_point freed_at() const;
  ELASTIC_DECL void look_at_promise(time_point now);
  ELASTIC_DECL bool may_promise_blank(time_point now) const;

  // ---- elections ------------------------------------------------------------------------------

  ELASTIC_DECL void consider(time_point now);
  ELASTIC_DECL void ask(bool is_prevote, bool starts_job, time_point now);
  ELASTIC_DECL void count_tries(time_point now);
  ELASTIC_DECL void run(bool starts_job, time_point now);
  ELASTIC_DECL void count_votes(time_point now);
  ELASTIC_DECL void lose(const char* why, time_point now);
  ELASTIC_DECL void put_off(time_point now);
  ELASTIC_DECL void lead(time_point now);
  int majority() const { return chosen_.candidates / 2 + 1; }
  ELASTIC_DECL int count_reached() const;

  // ---- leading --------------------------------------------------------------------------------

  ELASTIC_DECL void write_to(int peer, time_point now);
  ELASTIC_DECL void write_to_all(time_point now);
  ELASTIC_DECL void write_next(round_register next, time_point now);
  ELASTIC_DECL void look_at_lease(time_point now);
  ELASTIC_DECL void look_at_doubt(time_point now);
  ELASTIC_DECL void log_doubt();
  // The time until which no agent at the voter's place votes for another candidate.
  ELASTIC_DECL time_point support_end(const other& voter) const;
  ELASTIC_DECL void step_down(std::string why, time_point now);
  ELASTIC_DECL void say_to_asked(const candidate_messages::resign& request);
  ELASTIC_DECL void say_to_all(const candidate_messages::resign& request);

  ELASTIC_DECL duration patience() const;
  duration silence() const { return chosen_.settings.silence(); }
  duration grace() const { return chosen_.settings.reconnect_grace; }
  ELASTIC_DECL duration jitter(duration most);

  options chosen_;
  random_source random_;
  time_point started_;
  std::int64_t wall_;
  vote_role role_ = vote_role::follows;
  std::int64_t term_ = 0;
  bool is_blank_ = true;
  bool is_done_ = false;
  bool is_retired_ = false;
  std::optional<promise> promise_;
  std::vector<other> others_;
  round_register value_;

  // In an election.
  std::optional<time_point> try_at_;
  duration pause_{};
  time_point asked_at_;
  time_point answered_by_;
  bool starts_job_ = false;
  /// An earlier agent of one of the candidates that were asked did not end in order.
  bool has_any_restarted_ = false;

  // While leading.
  bool has_begun_ = false;
  bool is_resignation_due_ = false;
  time_point next_write_;
  time_point uncertain_until_ = time_point::min();

  time_point next_ = time_point::max();
  std::vector<question> questions_;
  std::vector<reply> replies_;
  std::vector<note> notes_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/nodes/detail/vote_machine.ipp>
#endif
