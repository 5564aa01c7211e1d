// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/vault/detail/vault_ballot.hpp>

#include <elastic/base/error.hpp>

#include <cstddef>
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

ELASTIC_DECL void vault_ballot::vote(std::int64_t number, bool is_kept) {
  if (!is_kept) note(number, false);
  voting_.spawn(cast(number, is_kept));
}

ELASTIC_DECL task<void> vault_ballot::cast(std::int64_t number, bool is_kept) {
  try {
    task<bool> deciding = result_of(number, is_kept);
    const bool is_complete = co_await std::move(deciding);
    if (is_kept) note(number, is_complete);
  } catch (const error& failure) {
    // If the store is gone, the round ends, and the next one begins with what the nodes have.
    if (failure.code() == errc::connection_failed) co_return;
    log_.warning("the vote on generation {} in memory is lost: {}", number, failure.what());
  }
}

inline constexpr const char* complete_text = "complete";

/// Result: whether the generation is complete.
ELASTIC_DECL task<bool> vault_ballot::result_of(std::int64_t number, bool is_kept) {
  const auto key = [this](std::int64_t of) { return fmt::format("{}{}", prefix_, of); };
  const auto result_key = [this](std::int64_t of) { return fmt::format("{}{}/end", prefix_, of); };
  std::int64_t votes = 0;
  if (is_kept) votes = co_await agents_->add(key(number), 1);
  const bool is_complete = votes == nodes_;
  if (is_kept && !is_complete) {
    const std::string result = co_await agents_->get(result_key(number));
    co_return result == complete_text;
  }
  const std::string result = is_complete ? complete_text : "given up";
  co_await agents_->set(result_key(number), result);
  // Whoever waits for a result so old, for lack of speed, knows a later one.
  constexpr std::int64_t kept_results = 16;
  if (number > kept_results) {
    co_await agents_->erase(key(number - kept_results));
    co_await agents_->erase(result_key(number - kept_results));
  }
  co_return is_complete;
}

ELASTIC_DECL void vault_ballot::note(std::int64_t number, bool is_complete) {
  constexpr std::size_t most_numbers = 64;
  if (is_complete) {
    complete_(number);
  } else if (given_up_.insert(number).second && given_up_.size() > most_numbers) {
    given_up_.erase(given_up_.begin());
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
