// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/vault/detail/vault_part.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/scope.hpp>
#include <elastic/rendezvous/detail/part_exchange.hpp>
#include <elastic/telemetry/job_journal.hpp>

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL vault_part::vault_part(std::uint64_t limit, agent_part::context agent)
    : context_(std::move(agent)),
      memory_(context_.strand, limit, context_.local_world_size),
      channel_(context_.strand,
               {[this](pid_t pid) { return owner_of(pid); },
                [this](int local_rank, vault_request request) {
                  return serve(local_rank, std::move(request));
                },
                context_.log, context_.time,
                static_cast<std::size_t>(context_.local_world_size) * limits::vault_connections}),
      workers_(static_cast<std::size_t>(context_.local_world_size)) {}

ELASTIC_DECL void vault_part::change_environment(const worker_identity&,
                                                 environment_map& variables) {
  if (context_.has_world) variables["ELASTIC_VAULT"] = channel_.address();
}

// ---- before workers start -----------------------------------------------------------------------

/// The epoch of a round. Its number grows for every node, and two rounds of the same number have
/// different terms.
inline std::int64_t epoch_of(const rendezvous_round& round) {
  constexpr std::int64_t terms = 1 << 20;
  return (round.round + 1) * terms + round.term % terms;
}

ELASTIC_DECL task<void> vault_part::agree(rendezvous_round round, assigned_ranks ranks) {
  count_restores();
  task<std::vector<vault_report>> learning = learn_reports(round, own_report(ranks));
  vault_view view;
  view.nodes = co_await std::move(learning);
  view.former_nodes = std::move(nodes_);
  epoch_ = epoch_of(round);
  ranks_ = ranks;
  nodes_.clear();
  for (const vault_report& node : view.nodes) {
    nodes_.insert(nodes_.end(), static_cast<std::size_t>(node.workers), node.node);
  }
  workers_.assign(workers_.size(), committer());
  channel_.close_waiting();
  voted_ = 0;
  awaited_.reset();
  take(next_vault_step(view));
  if (round.group_world_size == 1) {
    ballot_.reset();
    co_return;
  }
  std::function<void(std::int64_t)> complete = [this](std::int64_t number) {
    record_complete(number);
  };
  ballot_ = std::make_unique<vault_ballot>(context_.strand, context_.time, context_.log,
                                           std::move(round), std::move(complete));
}

ELASTIC_DECL vault_report vault_part::own_report(const assigned_ranks& ranks) const {
  vault_report mine;
  mine.node = context_.journal->node();
  mine.base_rank = ranks.base_rank;
  mine.workers = context_.local_world_size;
  mine.commits = memory_.commits();
  for (vault_commit& each : mine.commits) {
    each.is_damaged = std::find(damaged_.begin(), damaged_.end(), each.id) != damaged_.end();
  }
  mine.complete = complete_.value_or(vault_generation());
  mine.restored = restored_;
  mine.restores = restores_;
  return mine;
}

ELASTIC_DECL task<std::vector<vault_report>> vault_part::learn_reports(rendezvous_round round,
                                                                       vault_report mine) {
  if (round.group_world_size == 1) co_return std::vector<vault_report>{mine};
  part_exchange terms;
  terms.time = context_.time;
  terms.log = context_.log;
  terms.prefix = vault_prefix(round, "reports");
  terms.subject = "their vault (--vault-limit)";
  terms.round = std::move(round);
  std::string text = text_of(mine);
  task<std::vector<std::string>> exchange = exchange_texts(std::move(terms), std::move(text));
  const std::vector<std::string> texts = co_await std::move(exchange);
  std::vector<vault_report> reports;
  for (const std::string& each : texts) reports.push_back(parse_vault_report(each));
  co_return reports;
}

/// Erases and reports the generations that the workers do not restore.
ELASTIC_DECL void vault_part::take(const vault_step& step) {
  for (const vault_step::dropped& dropped : step.given_up) {
    job_event event;
    event.reason = dropped.reason;
    if (!step.restore) event.state = "lost";
    record(job_event::type::vault_dropped, dropped.id, std::move(event));
    context_.log.warning("generation {} in memory is given up: {}{}", dropped.id.number,
                         dropped.reason, step.restore ? "" : ": use the checkpoint");
  }
  memory_.keep_until(step.restore);
  complete_ = restore_ = step.restore;
  restored_ = step.restored;
  restores_ = step.restores;
  was_found_ = false;
  recorded_at_ = time_point::min();
}

/// Counts a restore if a worker has asked for it, and no later commit has made it useless.
ELASTIC_DECL void vault_part::count_restores() {
  if (!restore_ || !was_found_ || complete_ != restore_) return;
  restores_ = restored_ == *restore_ ? restores_ + 1 : 1;
  restored_ = *restore_;
  // A round may break while the nodes agree; the next one must not count the restore again.
  was_found_ = false;
}

// ---- while workers run --------------------------------------------------------------------------

ELASTIC_DECL task<void> vault_part::beside_workers(bool) {
  if (!ballot_) return channel_.serve();
  return with_cleanup(channel_.serve(), ballot_->stop());
}

/// Frees the memory, since no more workers will start.
ELASTIC_DECL task<void> vault_part::end() {
  memory_.clear();
  restore_.reset();
  complete_.reset();
  ballot_.reset();
  return agent_part::end();
}

ELASTIC_DECL std::optional<int> vault_part::owner_of(pid_t pid) const {
  for (const attempt_worker& worker : context_.workers()) {
    if (worker.pid == pid && pid > 0 && worker.end.empty()) return worker.local_rank;
  }
  return {};
}

ELASTIC_DECL task<vault_answer> vault_part::serve(int local_rank, vault_request request) {
  namespace requests = vault_requests;
  if (const auto* const begun = std::get_if<requests::begin>(&request)) {
    task<vault_answer> beginning = begin(local_rank, begun->bytes);
    vault_answer answer = co_await std::move(beginning);
    co_return answer;
  }
  if (const auto* const wanted = std::get_if<requests::find>(&request)) {
    co_return find(wanted->rank.value_or(ranks_.base_rank + local_rank));
  }
  if (const auto* const made = std::get_if<requests::committed>(&request)) {
    check_commit(local_rank, static_cast<std::size_t>(made->slot));
  } else if (const auto* const skipped = std::get_if<requests::skip>(&request)) {
    ++at(local_rank).number;
    at(local_rank).is_writing = false;
    record_skipped(local_rank, skipped->reason);
  } else if (const auto* const done = std::get_if<requests::restored>(&request)) {
    take_restored(local_rank, done->seconds);
  } else if (const auto* const found = std::get_if<requests::damaged>(&request)) {
    take_damaged(local_rank, found->reason);
    co_return vault_answer(nothing_packet());
  }
  co_return vault_answer();
}

ELASTIC_DECL task<vault_answer> vault_part::begin(int local_rank, std::uint64_t bytes) {
  const vault_generation id{epoch_, ++at(local_rank).number};
  at(local_rank).is_writing = true;
  cast_votes();
  task<vault_memory::place> opening = open(local_rank, bytes);
  const vault_memory::place place = co_await std::move(opening);
  if (!place.refusal.empty()) {
    at(local_rank).is_writing = false;
    record_skipped(local_rank, place.refusal);
    co_return vault_answer(skipped_packet(place.refusal));
  }
  vault_answer answer(
      write_packet(place.slot, place.bytes, id, ranks_.base_rank + local_rank, ranks_.world_size));
  answer.file = place.file;
  co_return answer;
}

/// Opens a slot. If this node has kept a generation on which other nodes have yet to vote, it waits
/// a little for them. For each generation it waits at most once without success; after a minute the
/// generation is given up.
ELASTIC_DECL task<vault_memory::place> vault_part::open(int local_rank, std::uint64_t bytes) {
  constexpr std::chrono::seconds longest_wait(2);
  const time_point deadline = deadline_after(context_.time->now(), longest_wait);
  for (;;) {
    std::function<bool(vault_generation)> pending = [this](vault_generation other) {
      return is_pending(other);
    };
    task<vault_memory::place> opening =
        memory_.open(local_rank, bytes, complete_, std::move(pending));
    const vault_memory::place place = co_await std::move(opening);
    const bool is_kept_here =
        ballot_ && place.awaited && vote_on(place.awaited->number) == vault_vote::kept;
    if (is_kept_here && ballot_->is_overdue(place.awaited->number)) {
      task<void> retracting = ballot_->retract(place.awaited->number);
      co_await std::move(retracting);
      continue;
    }
    if (!is_kept_here || place.awaited == awaited_) co_return place;
    task<bool> waiting = ballot_->next_result(deadline);
    const bool is_news = co_await std::move(waiting);
    if (!is_news) awaited_ = place.awaited;
  }
}

ELASTIC_DECL vault_answer vault_part::find(std::int64_t rank) {
  // The rank may be any number, and the difference of two numbers can overflow.
  const std::int64_t first = ranks_.base_rank;
  const bool is_here = rank >= first && rank < first + context_.local_world_size;
  if (!restore_ || !is_here) return vault_answer(nothing_packet());
  const auto local_rank = static_cast<int>(rank - first);
  const std::optional<vault_header> header = memory_.find(local_rank, *restore_);
  unique_fd file = memory_.reader(local_rank, *restore_);
  if (!header || !file) return vault_answer(nothing_packet());
  vault_answer answer(found_packet(*restore_, header->step));
  answer.file = file.get();
  answer.owned = std::move(file);
  was_found_ = true;
  return answer;
}

ELASTIC_DECL void vault_part::check_commit(int local_rank, std::size_t slot) {
  const vault_generation id{epoch_, at(local_rank).number};
  const std::optional<vault_header> header = memory_.read(local_rank, slot);
  const bool is_right = header && header->id == id &&
                        header->rank == ranks_.base_rank + local_rank &&
                        header->world_size == ranks_.world_size;
  if (!is_right) {
    throw error(errc::protocol_violation,
                fmt::format("local rank {} says that it has committed generation {}, but its slot "
                            "does not have it",
                            local_rank, id.number));
  }
  at(local_rank).is_writing = false;
  cast_votes();
}

ELASTIC_DECL vault_vote vault_part::vote_on(std::int64_t number) const {
  std::vector<vault_committer> workers;
  for (std::size_t index = 0; index < workers_.size(); ++index) {
    const committer& each = workers_[index];
    const bool has_it = each.number >= number &&
                        memory_.find(static_cast<int>(index), {epoch_, number}).has_value();
    workers.push_back({each.number, each.is_writing, has_it});
  }
  return next_vault_vote(number, workers);
}

/// Votes on each generation as soon as it is decided on this node, which the headers of the slots
/// show before the messages about them are read. This matters for a worker that begins a commit
/// after a collective of all ranks: the previous generation must not look incomplete to it.
ELASTIC_DECL void vault_part::cast_votes() {
  for (;;) {
    const vault_vote vote = vote_on(voted_ + 1);
    if (vote == vault_vote::undecided) return;
    ++voted_;
    if (ballot_) {
      ballot_->vote(voted_, vote == vault_vote::kept);
    } else if (vote == vault_vote::kept) {
      record_complete(voted_);
    }
  }
}

/// Whether a generation of this epoch can still become complete: no rank is known to have skipped
/// it. Once this node has voted on it, that is so while its ballot awaits the result.
ELASTIC_DECL bool vault_part::is_pending(vault_generation id) const {
  if (id.epoch != epoch_ || (complete_ && id <= *complete_)) return false;
  if (ballot_ && id.number <= voted_ && !ballot_->awaits_result(id.number)) return false;
  return vote_on(id.number) != vault_vote::skipped;
}

ELASTIC_DECL void vault_part::record_complete(std::int64_t number) {
  const vault_generation id{epoch_, number};
  if (complete_ && id <= *complete_) return;
  complete_ = id;
  const time_point now = context_.time->now();
  if (recorded_at_ != time_point::min() && now - recorded_at_ < limits::vault_record_interval) {
    return;
  }
  recorded_at_ = now;
  const std::optional<vault_header> header = memory_.find(0, id);
  job_event event;
  if (header) event.step = header->step;
  record(job_event::type::vault_committed, id, std::move(event));
}

ELASTIC_DECL void vault_part::record_skipped(int local_rank, const std::string& reason) {
  ++skipped_;
  cast_votes();
  std::set<std::string>& reasons = at(local_rank).reasons;
  constexpr std::size_t most_reasons = 4;
  // Reasons that differ only by their numbers are of one kind.
  const std::string kind = reason.substr(0, reason.find_first_of("0123456789"));
  const bool is_new = reasons.size() < most_reasons && reasons.insert(kind).second;
  const time_point now = context_.time->now();
  // Viewers of the job also see the number of skipped commits, so it is recorded now and then.
  const bool is_due = now - skip_recorded_at_ >= limits::vault_record_interval;
  if (!is_new && !is_due) return;
  skip_recorded_at_ = now;
  const vault_generation id{epoch_, at(local_rank).number};
  const int rank = ranks_.base_rank + local_rank;
  job_event event;
  event.rank = rank;
  event.reason = reason;
  record(job_event::type::vault_skipped, id, std::move(event));
  if (!is_new) return;
  context_.log.warning(
      "rank {} skips the commit of generation {}: {}; more of this is counted and "
      "not logged",
      rank, id.number, reason);
}

ELASTIC_DECL void vault_part::take_restored(int local_rank, double seconds) {
  if (!restore_ || at(local_rank).restored) return;
  at(local_rank).restored = seconds;
  double slowest = 0;
  for (const committer& each : workers_) {
    if (!each.restored) return;
    slowest = std::max(slowest, *each.restored);
  }
  const std::optional<vault_header> header = memory_.find(local_rank, *restore_);
  job_event event;
  if (header) event.step = header->step;
  event.seconds = slowest;
  record(job_event::type::vault_restored, *restore_, std::move(event));
  context_.log.info("the workers have restored generation {} from memory in {:.1f} s",
                    restore_->number, slowest);
}

ELASTIC_DECL void vault_part::take_damaged(int local_rank, const std::string& reason) {
  if (!restore_) return;
  context_.log.warning("rank {} finds its part of generation {} damaged: {}",
                       ranks_.base_rank + local_rank, restore_->number, reason);
  const bool is_known = std::find(damaged_.begin(), damaged_.end(), *restore_) != damaged_.end();
  if (!is_known) damaged_.push_back(*restore_);
}

ELASTIC_DECL void vault_part::record(job_event::type kind, const vault_generation& id,
                                     job_event event) {
  event.kind = kind;
  event.generation = id.number;
  event.count = skipped_;
  event.bytes = static_cast<std::int64_t>(memory_.used());
  context_.journal->record(std::move(event));
}

}  // namespace elastic::detail
