// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/nodes/detail/vote_machine.hpp>

#include <elastic/nodes/detail/fencing.hpp>

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

namespace elastic::detail {

/// The time for which an election waits for answers, and the pauses between two elections.
inline constexpr std::chrono::milliseconds election_patience{500};
inline constexpr std::chrono::milliseconds shortest_election_pause{20};
inline constexpr std::chrono::milliseconds longest_election_pause{1000};
/// The head start that each candidate gives to each one before it.
inline constexpr std::chrono::milliseconds precedence{4};

ELASTIC_DECL vote_machine::vote_machine(options chosen, time_point now, std::int64_t wall)
    : chosen_(chosen),
      random_(chosen.seed),
      started_(now),
      wall_(wall),
      others_(static_cast<std::size_t>(chosen.candidates)) {
  plan(now);
}

// ---- events -------------------------------------------------------------------------------------

ELASTIC_DECL void vote_machine::reached(int peer, time_point now) {
  other& entry = others_.at(static_cast<std::size_t>(peer));
  entry.is_reached = true;
  entry.reached_at = now;
  entry.lost_at.reset();
  if (role_ == vote_role::leads) write_to(peer, now);
  // An election that failed for lack of votes may succeed now.
  if (role_ == vote_role::follows && try_at_) put_off(now);
  step(now);
}

ELASTIC_DECL void vote_machine::lost(int peer, time_point now) {
  other& entry = others_.at(static_cast<std::size_t>(peer));
  entry.is_reached = false;
  entry.lost_at = now;
  step(now);
}

ELASTIC_DECL void vote_machine::entered(int peer, std::uint64_t incarnation, time_point now,
                                        bool is_in_place) {
  other& entry = others_.at(static_cast<std::size_t>(peer));
  const bool shows_end = is_bound_to(peer) && entry.incarnation != incarnation && is_in_place;
  if (shows_end) promise_->gone_at = now;
  entry.incarnation = incarnation;
  entry.left_at.reset();
  step(now);
}

ELASTIC_DECL void vote_machine::left(int peer, time_point now) {
  other& entry = others_.at(static_cast<std::size_t>(peer));
  entry.left_at = now;
  step(now);
}

ELASTIC_DECL void vote_machine::received(int peer, const candidate_messages::vote& request,
                                         time_point now) {
  look_at_lease(now);
  look_at_promise(now);
  candidate_messages::grant answer;
  answer.term = request.term;
  answer.is_prevote = request.is_prevote;
  answer.is_granted = may_vote_for(peer, request, now);
  answer.is_blank = is_blank_;
  answer.has_restarted = chosen_.has_restarted;
  answer.own_term = term_;
  if (answer.is_granted && !request.is_prevote) {
    term_ = std::max(term_, request.term);
    promise_ = promise{peer, incarnation_of(peer), request.term, now};
    if (role_ == vote_role::asks) role_ = vote_role::follows;
    if (!is_blank_) answer.value = value_;
    notes_.push_back({fmt::format("votes for candidate {} in term {}", peer, request.term)});
  }
  reply_to(peer, std::move(answer));
  step(now);
}

ELASTIC_DECL void vote_machine::received(int peer, const candidate_messages::write& request,
                                         time_point now) {
  look_at_lease(now);
  // The leader counts the voter's silence from the moment at which it left.
  if (is_retired_) return step(now);
  candidate_messages::ack answer;
  answer.term = request.term;
  answer.stamp = request.stamp;
  answer.is_taken = request.term >= term_;
  if (answer.is_taken) {
    if (role_ == vote_role::leads) step_down("another candidate leads", now);
    if (role_ == vote_role::runs) lose("another candidate leads", now);
    role_ = vote_role::follows;
    is_resignation_due_ = false;
    term_ = std::max(term_, request.term);
    promise_ = promise{peer, incarnation_of(peer), request.term, now, request.stamp};
    try_at_.reset();
    pause_ = {};
    if (is_blank_ || request.value.is_newer_than(value_)) value_ = request.value;
    is_blank_ = false;
    answer.sequence = request.value.sequence;
  }
  answer.own_term = term_;
  reply_to(peer, answer);
  step(now);
}

ELASTIC_DECL void vote_machine::received(int peer, const candidate_messages::resign& request,
                                         time_point now) {
  is_done_ = is_done_ || request.is_done;
  if (is_bound_to(peer) && promise_->term <= request.term) promise_.reset();
  step(now);
}

ELASTIC_DECL void vote_machine::received(int peer, const candidate_messages::retire& request,
                                         time_point now) {
  look_at_lease(now);
  // Measured by the voter's clock, which may be 2 % faster.
  const time_point left_at{duration(request.stamp) + request.since_then / 50 * 49};
  const bool is_ours = role_ == vote_role::leads && request.term == term_ && left_at <= now;
  if (is_ours) others_.at(static_cast<std::size_t>(peer)).retired_at = left_at;
  step(now);
}

ELASTIC_DECL void vote_machine::received(int peer, const candidate_messages::grant& answer,
                                         time_point now) {
  look_at_lease(now);
  const bool is_due = (role_ == vote_role::asks && answer.is_prevote) ||
                      (role_ == vote_role::runs && !answer.is_prevote && answer.term == term_);
  other& entry = others_.at(static_cast<std::size_t>(peer));
  if (is_due && entry.is_asked) {
    entry.answer = answer;
    has_any_restarted_ = has_any_restarted_ || answer.has_restarted;
  }
  // A new term must exceed all terms that any candidate knows. A candidate that runs or leads keeps
  // its own.
  if (role_ == vote_role::follows || role_ == vote_role::asks) {
    term_ = std::max(term_, answer.own_term);
  }
  step(now);
}

ELASTIC_DECL void vote_machine::received(int peer, const candidate_messages::ack& answer,
                                         time_point now) {
  look_at_lease(now);
  if (role_ != vote_role::leads || answer.term != term_) return step(now);
  if (!answer.is_taken) {
    step_down(fmt::format("candidate {} knows of term {}", peer, answer.own_term), now);
    term_ = std::max(term_, answer.own_term);
    return step(now);
  }
  other& entry = others_.at(static_cast<std::size_t>(peer));
  // A stamp in the future comes from another agent's message.
  const time_point sent_at{duration(answer.stamp)};
  if (sent_at <= now) entry.heard = std::max(entry.heard, sent_at);
  entry.kept = std::max(entry.kept, std::min(answer.sequence, value_.sequence));
  if (!has_begun_ && is_kept()) {
    has_begun_ = true;
    notes_.push_back({fmt::format("leads in term {}", term_)});
  }
  step(now);
}

ELASTIC_DECL void vote_machine::observe_term(std::int64_t term, time_point now) {
  look_at_lease(now);
  if (term <= term_) return step(now);
  if (role_ == vote_role::leads) step_down(fmt::format("a node knows of term {}", term), now);
  if (role_ == vote_role::runs) lose("a node knows of a later term", now);
  term_ = term;
  step(now);
}

ELASTIC_DECL void vote_machine::advance(time_point now) { step(now); }

ELASTIC_DECL bool vote_machine::propose(const round_register& content, time_point now) {
  if (role_ != vote_role::leads || has_same_content(value_, content)) return false;
  round_register next = content;
  next.is_uncertain = value_.is_uncertain;
  write_next(std::move(next), now);
  step(now);
  return true;
}

ELASTIC_DECL void vote_machine::write_next(round_register next, time_point now) {
  next.term = term_;
  next.sequence = value_.sequence + 1;
  value_ = std::move(next);
  write_to_all(now);
}

ELASTIC_DECL void vote_machine::look_at_doubt(time_point now) {
  if (role_ != vote_role::leads || !value_.is_uncertain || now < uncertain_until_) return;
  round_register next = value_;
  next.is_uncertain = false;
  write_next(std::move(next), now);
}

ELASTIC_DECL void vote_machine::retire(bool is_done, time_point now) {
  if (role_ == vote_role::leads) notes_.push_back({fmt::format("resigns in term {}", term_)});
  if (role_ == vote_role::runs || role_ == vote_role::leads || is_resignation_due_) {
    say_to_all({term_, is_done});
  } else if (promise_ && promise_->stamp && is_bound_to(promise_->to)) {
    const candidate_messages::retire word{promise_->term, *promise_->stamp, now - promise_->since};
    question_to(promise_->to, word);
  }
  role_ = vote_role::follows;
  is_resignation_due_ = false;
  is_retired_ = true;
  promise_.reset();
  plan(now);
}

ELASTIC_DECL void vote_machine::step(time_point now) {
  look_at_lease(now);
  look_at_promise(now);
  if (role_ == vote_role::follows) consider(now);
  if (role_ == vote_role::asks) count_tries(now);
  if (role_ == vote_role::runs) count_votes(now);
  look_at_doubt(now);
  if (role_ == vote_role::leads && now >= next_write_) write_to_all(now);
  plan(now);
}

ELASTIC_DECL void vote_machine::plan(time_point now) {
  next_ = time_point::max();
  if (promise_ && role_ == vote_role::follows) wake_at(freed_at());
  if (role_ == vote_role::follows && try_at_) wake_at(*try_at_);
  if (role_ == vote_role::asks || role_ == vote_role::runs) wake_at(answered_by_);
  if (role_ == vote_role::leads) {
    wake_at(next_write_);
    wake_at(lease_end());
    if (value_.is_uncertain) wake_at(uncertain_until_);
  }
  if (is_blank_ && now < started_ + silence()) wake_at(started_ + silence());
}

// ---- voting -------------------------------------------------------------------------------------

ELASTIC_DECL bool vote_machine::may_vote_for(int peer, const candidate_messages::vote& request,
                                             time_point now) const {
  if (is_retired_) return false;
  const bool is_bound = promise_ && !is_bound_to(peer);
  if (is_bound) return false;
  if (!request.is_prevote && request.term <= term_) return false;
  return may_promise_blank(now) || (is_blank_ && request.starts_job);
}

ELASTIC_DECL bool vote_machine::may_promise_blank(time_point now) const {
  return !is_blank_ || now >= started_ + silence();
}

ELASTIC_DECL bool vote_machine::is_bound_to(int peer) const {
  return promise_ && promise_->to == peer && promise_->incarnation == incarnation_of(peer);
}

ELASTIC_DECL time_point vote_machine::freed_at() const {
  if (promise_->to == chosen_.self) return promise_->since;
  const other& leader = others_.at(static_cast<std::size_t>(promise_->to));
  const time_point silent = promise_->since + silence();
  if (!chosen_.fast_takeover) return silent;
  if (promise_->gone_at) return std::min(silent, *promise_->gone_at + grace());
  // In that case, the connections that ended belong to another agent.
  if (!is_bound_to(promise_->to)) return silent;
  if (!leader.lost_at || !leader.left_at) return silent;
  const time_point last = std::max(*leader.lost_at, *leader.left_at);
  // If only one of the two connections ends, the network failed, not the leader. The ends may be
  // far apart, though: the kernel may take long to end the connections of a leader with many nodes.
  if (last - std::min(*leader.lost_at, *leader.left_at) > grace()) return silent;
  return std::min(silent, last + grace());
}

ELASTIC_DECL void vote_machine::look_at_promise(time_point now) {
  const bool is_needed = role_ == vote_role::runs || role_ == vote_role::leads;
  if (!promise_ || is_needed || now < freed_at()) return;
  promise_.reset();
  if (!std::exchange(is_resignation_due_, false)) return;
  say_to_all({term_, false});
}

// ---- elections ----------------------------------------------------------------------------------

ELASTIC_DECL int vote_machine::count_reached() const {
  return static_cast<int>(std::count_if(others_.begin(), others_.end(),
                                        [](const other& entry) { return entry.is_reached; }));
}

ELASTIC_DECL void vote_machine::consider(time_point now) {
  const int reached = count_reached();
  const bool knows_all = reached == chosen_.candidates - 1;
  const bool may_vote = may_promise_blank(now) || knows_all;
  if (is_retired_ || promise_ || reached + 1 < majority() || !may_vote) {
    try_at_.reset();
    return;
  }
  if (!try_at_) put_off(now);
  if (now >= *try_at_) ask(true, false, now);
}

ELASTIC_DECL void vote_machine::put_off(time_point now) {
  try_at_ = now + pause_ + chosen_.self * precedence + jitter(pause_ + 2 * precedence);
}

ELASTIC_DECL duration vote_machine::jitter(duration most) {
  return duration(static_cast<duration::rep>(
      random_.below(static_cast<std::uint64_t>(std::max<duration>(most, duration(1)).count()))));
}

ELASTIC_DECL void vote_machine::ask(bool is_prevote, bool starts_job, time_point now) {
  role_ = is_prevote ? vote_role::asks : vote_role::runs;
  // The second phase asks the same candidates, so it keeps what the first one found out.
  if (is_prevote) has_any_restarted_ = chosen_.has_restarted;
  asked_at_ = now;
  answered_by_ = now + election_patience;
  for (std::size_t peer = 0; peer < others_.size(); ++peer) {
    other& entry = others_[peer];
    entry.answer.reset();
    entry.is_asked = entry.is_reached;
    if (!entry.is_asked) continue;
    const std::int64_t term = is_prevote ? term_ + 1 : term_;
    question_to(static_cast<int>(peer), candidate_messages::vote{term, is_prevote, starts_job});
  }
}

ELASTIC_DECL void vote_machine::count_tries(time_point now) {
  int granted = 1;
  int blank = 1;
  int missing = 0;
  for (const other& entry : others_) {
    if (!entry.is_asked) continue;
    if (!entry.answer) {
      ++missing;
    } else {
      granted += entry.answer->is_granted ? 1 : 0;
      blank += entry.answer->is_blank ? 1 : 0;
    }
  }
  const bool is_late = now >= answered_by_;
  if (is_blank_ && blank == chosen_.candidates) {
    // All candidates are present, so the first one can run alone: if two ran at once, neither might
    // win.
    return chosen_.self == 0 ? run(true, now) : lose("the first candidate begins", now);
  }
  // Waits for the remaining answers: if all others are blank, too, the first candidate begins at
  // once.
  const bool may_be_fresh = is_blank_ && blank + missing == chosen_.candidates;
  if (may_be_fresh && !is_late) return;
  if (granted >= majority() && may_promise_blank(now)) return run(false, now);
  if (missing == 0 || is_late) lose("not enough candidates would vote for it", now);
}

ELASTIC_DECL void vote_machine::run(bool starts_job, time_point now) {
  const auto elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(now - started_);
  term_ = std::max<std::int64_t>(term_ + 1, wall_ + elapsed.count());
  promise_ = promise{chosen_.self, incarnation_of(chosen_.self), term_, now};
  starts_job_ = starts_job;
  notes_.push_back({fmt::format("runs in term {}", term_)});
  ask(false, starts_job, now);
}

ELASTIC_DECL void vote_machine::count_votes(time_point now) {
  int granted = 1;
  int missing = 0;
  for (const other& entry : others_) {
    if (!entry.is_asked) continue;
    if (!entry.answer) {
      ++missing;
    } else {
      granted += entry.answer->is_granted ? 1 : 0;
    }
  }
  if (granted >= majority()) return lead(now);
  if (granted + missing < majority() || now >= answered_by_) lose("too few votes", now);
}

ELASTIC_DECL void vote_machine::lose(const char* why, time_point now) {
  if (role_ == vote_role::runs) {
    notes_.push_back({fmt::format("is not elected in term {}: {}", term_, why)});
    say_to_asked({term_, false});
    promise_.reset();
  }
  role_ = vote_role::follows;
  pause_ = std::clamp<duration>(pause_ * 2, shortest_election_pause, longest_election_pause);
  put_off(now);
}

ELASTIC_DECL void vote_machine::lead(time_point now) {
  role_ = vote_role::leads;
  has_begun_ = false;
  pause_ = {};
  try_at_.reset();
  int informed = is_blank_ ? 0 : 1;
  for (other& entry : others_) {
    entry.heard = time_point::min();
    entry.retired_at.reset();
    entry.kept = 0;
    if (!entry.is_asked || !entry.answer || !entry.answer->is_granted) continue;
    entry.heard = asked_at_;
    if (!entry.answer->value) continue;
    ++informed;
    if (informed == 1 || entry.answer->value->is_newer_than(value_)) value_ = *entry.answer->value;
  }
  const bool is_known = starts_job_ ? !has_any_restarted_ : informed >= majority();
  // The former leader, too, may have led without knowing the newest round.
  value_.is_uncertain = !is_known || value_.is_uncertain;
  uncertain_until_ = value_.is_uncertain ? now + silence() : now;
  if (value_.is_uncertain) log_doubt();
  // The leader that made the round had given up before this one was elected, and the workers of its
  // own node were gone. Until it is in a new round, this leader's own node, too, is bound by that
  // leader's lease.
  std::erase(value_.members, value_.leader_node);
  value_.leader_node = 0;
  value_.term = term_;
  value_.sequence = 1;
  is_blank_ = false;
  write_to_all(now);
  if (chosen_.candidates == 1) has_begun_ = true;
}

ELASTIC_DECL void vote_machine::log_doubt() {
  std::string text = fmt::format(
      "may not know the newest round: waits {:g} s, as long as nodes of it may have workers",
      std::chrono::duration<double>(silence()).count());
  if (starts_job_) {
    text +=
        "; agents of this job were killed or stopped before its end, and a job of another run id "
        "would not wait";
  }
  notes_.push_back({std::move(text), true});
}

// ---- leading ------------------------------------------------------------------------------------

ELASTIC_DECL bool vote_machine::is_kept() const {
  const auto has_it = [this](const other& entry) { return entry.kept >= value_.sequence; };
  const auto count = std::count_if(others_.begin(), others_.end(), has_it);
  return static_cast<int>(count) + 1 >= majority();
}

ELASTIC_DECL duration vote_machine::patience() const {
  return fencing::of_silence(silence()).notice;
}

ELASTIC_DECL time_point vote_machine::lease_end() const {
  std::vector<time_point> ends(1, time_point::max());
  for (const other& entry : others_) {
    const time_point end = support_end(entry);
    if (end != time_point::min()) ends.push_back(end);
  }
  const auto needed = static_cast<std::size_t>(majority());
  if (ends.size() < needed) return time_point::min();
  std::sort(ends.rbegin(), ends.rend());
  return ends[needed - 1];
}

ELASTIC_DECL time_point vote_machine::support_end(const other& voter) const {
  // If `heard` is later, the messages come from another agent in the voter's place.
  const bool has_retired = voter.retired_at && *voter.retired_at >= voter.heard;
  if (!has_retired && voter.heard == time_point::min()) return time_point::min();
  const time_point silent = (has_retired ? *voter.retired_at : voter.heard) + patience();
  // The end of the retired agent's own connections changes nothing. The end of those of another
  // agent in its place, to which this leader has written, does.
  const bool is_its_own_end = has_retired && voter.reached_at <= *voter.retired_at;
  if (!voter.lost_at || is_its_own_end) return silent;
  return std::min(silent, *voter.lost_at + grace() / 2);
}

ELASTIC_DECL void vote_machine::write_to(int peer, time_point now) {
  candidate_messages::write request{term_, now.time_since_epoch().count(), value_};
  question_to(peer, std::move(request));
}

ELASTIC_DECL void vote_machine::write_to_all(time_point now) {
  next_write_ = now + chosen_.settings.keep_alive_interval;
  for (std::size_t peer = 0; peer < others_.size(); ++peer) {
    if (others_[peer].is_reached) write_to(static_cast<int>(peer), now);
  }
}

ELASTIC_DECL void vote_machine::look_at_lease(time_point now) {
  if (role_ != vote_role::leads || now < lease_end()) return;
  step_down("no majority of the candidates is reached", now);
}

ELASTIC_DECL void vote_machine::step_down(std::string why, time_point now) {
  notes_.push_back({fmt::format("steps down in term {}: {}", term_, why)});
  role_ = vote_role::follows;
  has_begun_ = false;
  is_resignation_due_ = true;
  // Before this candidate votes for another one, the workers of its own node must end.
  promise_ = promise{chosen_.self, incarnation_of(chosen_.self), term_, now + grace() / 2};
}

ELASTIC_DECL void vote_machine::say_to_asked(const candidate_messages::resign& request) {
  for (std::size_t peer = 0; peer < others_.size(); ++peer) {
    const other& entry = others_[peer];
    if (entry.is_asked && entry.is_reached) question_to(static_cast<int>(peer), request);
  }
}

ELASTIC_DECL void vote_machine::say_to_all(const candidate_messages::resign& request) {
  for (std::size_t peer = 0; peer < others_.size(); ++peer) {
    if (others_[peer].is_reached) question_to(static_cast<int>(peer), request);
  }
}

}  // namespace elastic::detail
