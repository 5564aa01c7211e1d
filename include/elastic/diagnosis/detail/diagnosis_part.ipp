// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/diagnosis/detail/diagnosis_part.hpp>

#include <elastic/base/detail/endless.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/race.hpp>
#include <elastic/diagnosis/detail/rank_set.hpp>
#include <elastic/diagnosis/detail/stall_judge.hpp>
#include <elastic/diagnosis/detail/stall_text.hpp>
#include <elastic/net/host_name.hpp>
#include <elastic/telemetry/job_event.hpp>
#include <elastic/telemetry/job_journal.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace elastic::detail {

/// The time between the end of a worker and the first inspection of a job that continues. It
/// doubles after each inspection, and there is none beyond the second time.
inline constexpr std::chrono::seconds first_look(4);
inline constexpr std::chrono::seconds last_look_at_most(60);

ELASTIC_DECL diagnosis_part::diagnosis_part(job_diagnosis terms, agent_part::context agent)
    : terms_(std::move(terms)),
      context_(std::move(agent)),
      has_ended_(context_.strand),
      has_looked_(context_.strand),
      notices_(terms_, context_, place_finder()) {}

ELASTIC_DECL std::shared_ptr<process_launcher> diagnosis_part::wrap(
    std::shared_ptr<process_launcher> inner) {
  workers_ = new_shared<inspected_workers>(std::move(inner), context_.time, terms_.opens_workers);
  return workers_;
}

ELASTIC_DECL void diagnosis_part::begin_attempt(const rendezvous_round& round) {
  workers_->begin_attempt();
  enter_round(round);
}

/// Workers that continue are known already, so nothing is forgotten here.
ELASTIC_DECL void diagnosis_part::begin_replacement(const rendezvous_round& round) {
  enter_round(round);
}

ELASTIC_DECL void diagnosis_part::enter_round(const rendezvous_round& round) {
  watch_.reset();
  history_.clear();
  ending_.clear();
  step_ = -1;
  is_stalled_elsewhere_ = false;
  has_ended_.reset();
  next_look_ = first_look;
  is_first_.reset();
  rendezvous_round asked = round;
  if (!terms_.opens_workers && !terms_.notices) asked.agents = nullptr;
  round_ = std::make_unique<round_inspection>(
      asked, context_.time, context_.log,
      [this](round_inspection::request request) { return answer(std::move(request)); },
      terms_.opens_workers);
}

ELASTIC_DECL task<void> diagnosis_part::beside_workers(bool) {
  co_await race(round_->answer_all(), watch(), notices_.run(), follow_ends());
}

ELASTIC_DECL task<void> diagnosis_part::beside_exit_barrier() {
  co_await race(round_->answer_all(), follow_ends());
}

ELASTIC_DECL void diagnosis_part::ended(const attempt_worker& worker) {
  notices_.ended();
  if (!worker.has_succeeded || has_ended_.is_set()) return;
  ended_at_ = worker.ended_at;
  has_ended_.set();
}

// ---- this node's workers ------------------------------------------------------------------------

ELASTIC_DECL task<std::string> diagnosis_part::answer(round_inspection::request asked) {
  if (asked.what == question::ended) {
    take_ends(asked.reason);
    co_return std::string();
  }
  node_answer answer;
  answer.node = terms_.node_name.empty() ? host_name() : terms_.node_name;
  answer.group_rank = round_->group_rank();
  const time_point deadline = context_.time->now() + limits::inspection_time;
  look seen;
  switch (asked.what) {
    case question::digests:
      record_stall_elsewhere();
      seen = co_await inspect_twice(deadline);
      break;
    case question::last_words:
    case question::stacks: seen = co_await inspect(deadline); break;
    case question::end_rank: end_rank(asked.rank, asked.reason); break;
    case question::ended: break;
  }
  const bool keeps = asked.what == question::digests || asked.what == question::last_words;
  if (keeps) {
    // Other nodes wait a little longer for the answer than the inspection itself may take.
    constexpr auto more = (limits::inspection_answer - limits::inspection_time) / 2;
    co_await keep_recorders(std::move(seen.found), deadline + more);
  }
  answer.ranks = std::move(seen.ranks);
  for (inspected_rank& rank : answer.ranks) {
    rank.evidence.node = answer.node.substr(0, limits::node_name_bytes);
    rank.evidence.group_rank = answer.group_rank;
  }
  co_return to_text(answer, asked.what == question::stacks);
}

ELASTIC_DECL auto diagnosis_part::inspect(time_point deadline) -> task<look> {
  // Answering an inspection makes the workers active, which must not count as progress.
  notices_.disturb();
  std::vector<agent_part::attempt_worker> workers = context_.workers();
  task<std::vector<worker_inspection>> inspecting =
      workers_->inspect(std::move(workers), deadline);
  look seen;
  seen.found = co_await std::move(inspecting);
  notices_.disturb();
  seen.ranks = ranks_of(seen.found, context_.time->now(), context_.time->wall_now());
  co_return seen;
}

ELASTIC_DECL task<void> diagnosis_part::keep_recorders(std::vector<worker_inspection> found,
                                                            time_point deadline) {
  if (!recorders_) {
    const auto nodes = static_cast<std::size_t>(std::max(round_->nodes(), 1));
    recorders_.emplace(kept_recorder_bytes / nodes);
  }
  task<std::string> keeping = recorders_->keep(std::move(found), context_.time, deadline);
  const std::string folder = co_await std::move(keeping);
  if (folder.empty() || folder == std::exchange(recorders_place_, folder)) co_return;
  context_.log.info("the flight recorders of this node's ranks are in {}", folder);
}

/// Two samples are needed to see whether a worker computes.
ELASTIC_DECL auto diagnosis_part::inspect_twice(time_point deadline) -> task<look> {
  constexpr std::chrono::milliseconds between(300);
  const time_point began = context_.time->now();
  const look before = co_await inspect(began + (deadline - began) / 2);
  const time_point next = std::max(began + between, context_.time->now());
  co_await context_.time->sleep_until(next);
  look after = co_await inspect(deadline);
  compare_looks(before.ranks, after.ranks);
  co_return after;
}

ELASTIC_DECL notice_watch::place_finder diagnosis_part::place_finder() {
  if (!terms_.opens_workers) return nullptr;
  return [this](std::vector<int> local_ranks) { return find_places(std::move(local_ranks)); };
}

ELASTIC_DECL task<std::vector<std::string>> diagnosis_part::find_places(
    std::vector<int> local_ranks) {
  const look seen = co_await inspect(context_.time->now() + limits::inspection_time);
  std::vector<std::string> places;
  for (const inspected_rank& each : seen.ranks) {
    const bool is_wanted = std::find(local_ranks.begin(), local_ranks.end(),
                                     each.evidence.local_rank) != local_ranks.end();
    std::string place = is_wanted ? place_of(each.evidence) : std::string();
    if (!place.empty()) places.push_back(std::move(place));
  }
  co_return places;
}

ELASTIC_DECL void diagnosis_part::end_rank(int rank, const std::string& reason) {
  for (const agent_part::attempt_worker& each : context_.workers()) {
    const bool is_wanted = each.rank == rank && each.end.empty();
    // The question may arrive again, because the asking node does not know yet that the worker is
    // being killed.
    if (!is_wanted || !ending_.insert(each.pid).second) continue;
    // This reason serves as the result of the last look.
    found_ = reason;
    found_at_ = context_.time->now();
    context_.end_hung(each.local_rank, without_name(reason));
  }
}

// ---- job ----------------------------------------------------------------------------------------

ELASTIC_DECL task<std::optional<job_command::outcome>> diagnosis_part::carry_out(
    job_command command) {
  if (command.what != job_command::kind::stacks || !round_) co_return std::nullopt;
  round_inspection::request asked;
  asked.what = question::stacks;
  const auto answers = co_await round_->ask(std::move(asked));
  stacks_report report = report_stacks(answers, command.ranks, terms_.opens_workers);
  job_command::outcome outcome;
  outcome.is_done = report.missing.empty();
  outcome.text = std::move(report.text);
  co_return outcome;
}

ELASTIC_DECL auto diagnosis_part::judge(question asked) -> task<finding> {
  round_inspection::request request;
  request.what = asked;
  const auto answers = co_await round_->ask(std::move(request));
  stall_judge_options options;
  if (terms_.stall_after) options.least_wait = std::min(options.least_wait, *terms_.stall_after);
  const std::vector<rank_evidence> evidence = evidence_in(answers);
  finding found;
  found.silent = std::count(answers.begin(), answers.end(), std::nullopt);
  options.lacks_ranks = found.silent > 0;
  found.verdict = judge_stall(evidence, options);
  found.remedy = remedy_for(found.verdict, evidence);
  if (found.verdict.cause == stall_verdict::kind::unknown && found.silent > 0) {
    found.verdict.sentence +=
        fmt::format("; {} of {} nodes did not answer", found.silent, answers.size());
  }
  co_return found;
}

ELASTIC_DECL void diagnosis_part::progressed(const worker_progress& made) {
  notices_.progressed(made);
  if (!made.is_new) return;
  if (made.step > step_) {
    step_ = made.step;
    stepped_ = context_.time->now();
    if (std::exchange(is_stalled_elsewhere_, false)) record(job_event::type::stall_ended, {});
  }
  if (watch_ && watch_->step(made.step, context_.time->now())) end_stall();
}

/// The node of group rank 0 asks only during a stall, and records the stall there. If the workers
/// of this node report steps, it records when they stopped making progress, since nothing else
/// shows here when the stall ends.
ELASTIC_DECL void diagnosis_part::record_stall_elsewhere() {
  const bool is_known = watch_ || step_ < 0 || is_stalled_elsewhere_ || !context_.journal;
  if (is_known) return;
  is_stalled_elsewhere_ = true;
  job_event event;
  event.kind = job_event::type::stall_found;
  event.reason = "the node of group rank 0 has the reason";
  event.elsewhere = 1;
  event.seconds = std::chrono::duration<double>(context_.time->now() - stepped_).count();
  context_.journal->record(std::move(event));
}

ELASTIC_DECL void diagnosis_part::end_stall() {
  // The job may continue before there was any verdict.
  if (history_.is_empty()) return;
  history_.clear();
  context_.log.info("the job makes progress again");
  record(job_event::type::stall_ended, {});
}

ELASTIC_DECL task<void> diagnosis_part::watch() {
  time_source& time = *context_.time;
  // Only the node of group rank 0 watches, and only if it can ask the other agents.
  if (!terms_.opens_workers || round_->group_rank() != 0) {
    co_await time.sleep_until(time_point::max());
  }
  stall_watch_options options;
  options.stall_after = terms_.stall_after;
  watch_.emplace(options, time.now());
  for (;;) {
    // During a stall, keeps inspecting to see whether it is over, since steps may not be reported.
    const duration half = watch_->patience() / 2;
    const time_point next = watch_->is_stalled() ? time.now() + half : watch_->wake_at();
    co_await time.sleep_until(next);
    if (watch_->is_stalled() || watch_->wants_look(time.now())) co_await take_look();
  }
}

ELASTIC_DECL task<void> diagnosis_part::take_look() {
  const time_point deadline = context_.time->now() + limits::inspection_time;
  const look seen = co_await inspect_twice(deadline);
  const stall_look found = look_of(seen.ranks);
  const time_point now = context_.time->now();
  if (watch_->is_stalled()) {
    const bool still_waits = found.longest_wait ? *found.longest_wait >= watch_->patience()
                                                : found.is_idle;
    if (still_waits) co_return co_await judge_again();
    end_stall();
    stall_watch_options options;
    options.stall_after = terms_.stall_after;
    watch_.emplace(options, now);
    co_return;
  }
  if (watch_->looked(found, now)) co_await judge_again();
}

/// Judges again during a stall: on a busy machine, ranks may not answer in time, and another
/// inspection may show more.
ELASTIC_DECL task<void> diagnosis_part::judge_again() {
  const finding found = co_await judge(question::digests);
  // A step may have been reported meanwhile.
  if (!watch_->is_stalled()) co_return;
  const bool is_first = history_.is_empty();
  if (history_.add(found.verdict)) report(found.verdict);
  if (terms_.on_stall == job_diagnosis::policy::warn) co_return;
  if (found.remedy.rank >= 0) {
    co_await apply(found.remedy);
  } else if (is_first) {
    context_.log.warning("on_stall: no rank is ended, since none is certainly to blame");
  }
}

// ---- ends of some workers -----------------------------------------------------------------------

/// When a worker has ended with success and others continue, notifies the other nodes, and inspects
/// whether ranks wait for it.
ELASTIC_DECL task<void> diagnosis_part::follow_ends() {
  time_source& time = *context_.time;
  co_await has_ended_.wait();
  // Waits a moment, since usually all workers end at about the same time.
  co_await time.sleep_until(ended_at_ + next_look_);
  if (!is_first_) is_first_ = co_await tell_ends();
  const bool looks = *is_first_ && terms_.opens_workers;
  while (looks && next_look_ < last_look_at_most) {
    const bool is_found = co_await look_for_waiting();
    if (is_found) break;
    next_look_ *= 2;
    co_await time.sleep_until(ended_at_ + next_look_);
  }
  co_await time.sleep_until(time_point::max());
}

/// Result: whether this is the first node whose worker has ended.
ELASTIC_DECL task<bool> diagnosis_part::tell_ends() {
  std::vector<int> ranks;
  for (const agent_part::attempt_worker& each : context_.workers()) {
    if (!each.end.empty() && each.has_succeeded) ranks.push_back(each.rank);
  }
  const std::chrono::duration<double> age = context_.time->now() - ended_at_;
  round_inspection::request told;
  told.what = question::ended;
  told.reason = fmt::format("{:.0f} {}", age.count(), rank_set(std::move(ranks)).text());
  co_return co_await round_->tell_first(std::move(told));
}

/// Handles a message that `tell_ends` of another node has sent.
ELASTIC_DECL void diagnosis_part::take_ends(std::string_view told) {
  int seconds = 0;
  const auto [end, failure] = std::from_chars(told.data(), told.data() + told.size(), seconds);
  told.remove_prefix(static_cast<std::size_t>(end - told.data()));
  if (failure != std::errc() || !told.starts_with(' ')) return;
  try {
    const rank_set ranks = rank_set::parse(told.substr(1));
    // More than a node has.
    if (ranks.size() > static_cast<std::size_t>(limits::local_world_size)) return;
    const auto age = std::chrono::seconds(std::clamp(seconds, 0, 3600));
    notices_.ended_elsewhere(ranks.ranks(), context_.time->now() - age);
  } catch (const error& refused) {
    context_.log.debug("another node reports ended workers with bad ranks: {}", refused.what());
  }
}

/// Inspects twice whether ranks wait for a rank that has ended, since a rank that has just called
/// an operation may be about to leave it. Result: whether ranks wait.
ELASTIC_DECL task<bool> diagnosis_part::look_for_waiting() {
  constexpr std::array<question, 2> looks{question::stacks, question::digests};
  for (const question asked : looks) {
    const finding found = co_await judge(asked);
    const bool is_sure = found.verdict.cause == stall_verdict::kind::dead &&
                         found.verdict.confidence == stall_verdict::confidence_level::certain;
    if (!is_sure || found.silent > 0) co_return false;
    if (asked == question::stacks) continue;
    if (history_.add(found.verdict)) report(found.verdict);
    const bool ends = terms_.on_stall != job_diagnosis::policy::warn && found.remedy.rank >= 0;
    if (ends) co_await apply(found.remedy);
  }
  co_return true;
}

ELASTIC_DECL void diagnosis_part::report(const stall_verdict& verdict) {
  context_.log.warning("the job has stalled: {}", verdict.sentence);
  for (const std::string& line : verdict.evidence) context_.log.info("  {}", line);
  record(job_event::type::stall_found, verdict);
}

ELASTIC_DECL task<void> diagnosis_part::apply(stall_remedy remedy) {
  round_inspection::request asked;
  asked.what = question::end_rank;
  asked.rank = remedy.rank;
  asked.reason = remedy.reason;
  static_cast<void>(co_await round_->ask(std::move(asked)));
}

ELASTIC_DECL void diagnosis_part::record(job_event::type kind, const stall_verdict& verdict) {
  if (!context_.journal) return;
  job_event event;
  event.kind = kind;
  if (kind == job_event::type::stall_found) {
    event.state = to_string(verdict.cause);
    event.reason = verdict.sentence;
    event.lines = fmt::format("{}", fmt::join(verdict.evidence, "\n"));
    event.count = static_cast<std::int64_t>(verdict.ranks.size());
    if (!verdict.ranks.empty()) event.rank = verdict.ranks.front();
    if (watch_ && watch_->is_stalled()) {
      const duration lasts = context_.time->now() - watch_->stalled_since();
      event.seconds = std::chrono::duration<double>(lasts).count();
    }
  }
  context_.journal->record(std::move(event));
}

ELASTIC_DECL task<std::string> diagnosis_part::last_look() {
  // Several workers may hang at the same time.
  constexpr std::chrono::seconds fresh(5);
  if (is_looking_) {
    co_await has_looked_.wait();
    co_return found_;
  }
  if (!found_.empty() && context_.time->now() - found_at_ < fresh) co_return found_;
  is_looking_ = true;
  has_looked_.reset();
  const struct looking {
    diagnosis_part& part;
    ~looking() {
      part.is_looking_ = false;
      part.has_looked_.set();
    }
  } guard{*this};
  found_.clear();
  const finding found = co_await judge(question::last_words);
  if (found.verdict.cause != stall_verdict::kind::unknown) {
    found_ = found.verdict.sentence;
    found_at_ = context_.time->now();
    if (history_.add(found.verdict)) report(found.verdict);
  }
  co_return found_;
}

}  // namespace elastic::detail
