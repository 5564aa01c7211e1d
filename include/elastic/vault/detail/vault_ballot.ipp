// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/vault/detail/vault_ballot.hpp>

#include <elastic/base/error.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL std::string vault_prefix(const rendezvous_round& round, std::string_view use) {
  return fmt::format("elastic/vault/{}/{}/{}/", round.term, round.round, use);
}

ELASTIC_DECL vault_ballot::vault_ballot(asio::any_io_executor strand,
                                        std::shared_ptr<time_source> time, logger log,
                                        rendezvous_round round,
                                        std::function<void(std::int64_t)> complete)
    : time_(std::move(time)),
      log_(std::move(log)),
      agents_(round.agents),
      prefix_(vault_prefix(round, "votes")),
      nodes_(round.group_world_size),
      complete_(std::move(complete)),
      decided_(strand),
      voting_(strand) {}

ELASTIC_DECL std::string vault_ballot::votes_key(std::int64_t number) const {
  return fmt::format("{}{}", prefix_, number);
}

ELASTIC_DECL std::string vault_ballot::result_key(std::int64_t number) const {
  return fmt::format("{}{}/end", prefix_, number);
}

ELASTIC_DECL void vault_ballot::vote(std::int64_t number, bool is_kept) {
  if (is_kept) {
    kept_.emplace(number, time_->now());
  } else {
    take(number, false);
  }
  voting_.spawn(cast(number, is_kept));
}

ELASTIC_DECL task<void> vault_ballot::cast(std::int64_t number, bool is_kept) {
  try {
    task<bool> deciding = result_of(number, is_kept);
    const bool is_complete = co_await std::move(deciding);
    if (is_kept) take(number, is_complete);
  } catch (const error& failure) {
    // If the store is gone, the round ends. Before the next one, the nodes compare their vaults
    // anyway.
    if (failure.code() == errc::connection_failed) co_return;
    log_.warning("the vote on generation {} in memory is lost: {}", number, failure.what());
  }
}

inline constexpr const char* complete_text = "complete";
inline constexpr const char* given_up_text = "given up";

/// Result: whether the generation is complete.
ELASTIC_DECL task<bool> vault_ballot::result_of(std::int64_t number, bool is_kept) {
  std::int64_t votes = 0;
  if (is_kept) votes = co_await agents_->add(votes_key(number), 1);
  const bool is_complete = votes == nodes_;
  if (is_kept && !is_complete) {
    const std::string result = co_await agents_->get(result_key(number));
    co_return result == complete_text;
  }
  const std::string result = is_complete ? complete_text : given_up_text;
  co_await agents_->set(result_key(number), result);
  task<void> erasing = erase_old(number);
  co_await std::move(erasing);
  co_return is_complete;
}

/// Erases keys that nobody reads any more: every node has passed a complete generation. Until one
/// is complete, the keys stay, so that a node that is far behind can see which generations the
/// others have skipped.
ELASTIC_DECL task<void> vault_ballot::erase_old(std::int64_t number) {
  constexpr std::int64_t unread_results = 16;
  constexpr std::int64_t most_results = 4096;
  constexpr int most_erased = 2;  // of each vote, so that none takes long
  const std::int64_t last = std::max(newest_complete_ - unread_results, number - most_results);
  for (int count = 0; count < most_erased && erased_ < last; ++count) {
    const std::int64_t old = ++erased_;
    co_await agents_->erase(votes_key(old));
    co_await agents_->erase(result_key(old));
  }
}

ELASTIC_DECL bool vault_ballot::is_overdue(std::int64_t number) const {
  constexpr std::chrono::seconds patience(60);
  const auto vote = kept_.find(number);
  return vote != kept_.end() && time_->now() >= deadline_after(vote->second, patience);
}

ELASTIC_DECL task<void> vault_ballot::retract(std::int64_t number) & {
  try {
    // This is so large that later votes cannot compensate for it.
    constexpr std::int64_t weight = 1 << 30;
    const std::int64_t sum = co_await agents_->add(votes_key(number), -weight);
    const std::int64_t votes = sum + weight;
    // The first who takes a vote back still finds how many there were, and decides for all.
    const bool is_first = votes >= 0;
    std::string result = votes >= nodes_ ? complete_text : given_up_text;
    if (is_first) {
      co_await agents_->set(result_key(number), result);
    } else {
      result = co_await agents_->get(result_key(number));
    }
    take(number, result == complete_text);
  } catch (const error& failure) {
    if (failure.code() != errc::connection_failed) {
      log_.warning("the vote on generation {} in memory is lost: {}", number, failure.what());
    }
    take(number, false);
  }
}

ELASTIC_DECL void vault_ballot::take(std::int64_t number, bool is_complete) {
  kept_.erase(number);
  if (is_complete) {
    newest_complete_ = std::max(newest_complete_, number);
    complete_(number);
  }
  decided_.set();
  decided_.reset();
}

ELASTIC_DECL task<bool> vault_ballot::next_result(time_point deadline) & {
  task<bool> waiting = with_deadline(*time_, deadline, decided_.wait());
  co_return co_await std::move(waiting);
}

ELASTIC_DECL task<void> vault_ballot::stop() & { return voting_.stop(); }

}  // namespace elastic::detail
