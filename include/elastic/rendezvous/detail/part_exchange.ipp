// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/detail/part_exchange.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/race.hpp>
#include <elastic/rendezvous/detail/gather.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace elastic::detail {

inline task<void> keep_answer(task<std::vector<std::string>> asking,
                              std::vector<std::string>* answer) {
  *answer = co_await std::move(asking);
}

/// The first group ranks without a text, as words.
inline task<std::string> silent_nodes(std::shared_ptr<store> agents, std::string prefix, int size) {
  constexpr std::size_t most = 8;
  std::vector<std::string> silent;
  for (std::string& key : rank_keys(prefix, size, "")) {
    std::string rank = key.substr(prefix.size());
    key_list only;
    only.push_back(std::move(key));
    const bool is_there = co_await agents->check(std::move(only));
    if (is_there) continue;
    silent.push_back(silent.size() == most ? "others" : std::move(rank));
    if (silent.size() > most) break;
  }
  co_return fmt::format("{}", fmt::join(silent, ", "));
}

/// Warns early: the exchange would only time out.
inline task<void> warn_of_missing_texts(part_exchange terms) {
  constexpr std::chrono::seconds pause(10);
  co_await terms.time->sleep_until(deadline_after(terms.time->now(), pause));
  const rendezvous_round& round = terms.round;
  std::string silent;
  try {
    task<std::string> asking = silent_nodes(round.agents, terms.prefix, round.group_world_size);
    silent = co_await std::move(asking);
  } catch (const error&) {
    // The exchange meets the same error, and ends with it.
  }
  if (!silent.empty()) {
    terms.log.warning(
        "the {} nodes of the round have met, but after {} s some have not announced {} (group rank "
        "{}): all nodes of a job need it",
        round.group_world_size, pause.count(), terms.subject, silent);
  }
  co_await terms.time->sleep_until(time_point::max());
}

ELASTIC_DECL task<std::vector<std::string>> exchange_texts(part_exchange terms, std::string mine) {
  const rendezvous_round& round = terms.round;
  if (round.group_world_size == 1) co_return std::vector<std::string>{mine};
  task<std::vector<std::string>> exchange = publish_and_read(
      round.agents, terms.prefix, std::move(mine), round.group_rank, round.group_world_size);
  std::vector<std::string> gathered;
  task<void> keeping = keep_answer(std::move(exchange), &gathered);
  task<void> warning = warn_of_missing_texts(terms);
  task<std::size_t> waiting = race(std::move(keeping), std::move(warning));
  std::optional<std::size_t> ended;
  std::exception_ptr gone;
  try {
    const time_point deadline = deadline_after(terms.time->now(), round.exchange_timeout);
    ended = co_await with_deadline(*terms.time, deadline, std::move(waiting));
  } catch (const error& failure) {
    if (failure.code() != errc::connection_failed) throw;
    gone = std::current_exception();
  }
  if (gone) {
    // The node of the store is gone. The round is about to end for that, with a better message.
    const time_point now = terms.time->now();
    co_await terms.time->sleep_until(deadline_after(now, limits::rendezvous_reconnect_timeout));
    std::rethrow_exception(gone);
  }
  if (ended) co_return gathered;
  throw error(errc::rendezvous_timeout,
              fmt::format("not all of the {} nodes announced {} within {} s: all nodes of a job "
                          "need it",
                          round.group_world_size, terms.subject,
                          std::chrono::duration<double>(round.exchange_timeout).count()));
}

}  // namespace elastic::detail
