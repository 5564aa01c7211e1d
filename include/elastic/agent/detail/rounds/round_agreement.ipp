// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/rounds/round_agreement.hpp>

#include <elastic/agent/rank_exchange.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/rendezvous/detail/gather.hpp>
#include <elastic/rendezvous/detail/master_keys.hpp>

#include <chrono>
#include <exception>
#include <optional>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL void check_round(const rendezvous_round& round, const std::string& backend) {
  const auto demand = [&](bool holds, const std::string& fault) {
    if (holds) return;
    throw error(errc::rendezvous_state,
                fmt::format("the rendezvous backend '{}' returned round {} {}", backend,
                            round.round, fault));
  };
  demand(round.agents != nullptr, "without a store for its agents");
  demand(round.group_world_size >= 1, fmt::format("of {} nodes", round.group_world_size));
  demand(round.group_rank >= 0 && round.group_rank < round.group_world_size,
         fmt::format("with group rank {} of {}", round.group_rank, round.group_world_size));
  demand(round.restarts >= 0, fmt::format("with {} restarts", round.restarts));
}

inline task<round_agreement> agree_on_ranks(rendezvous_round round, role_info mine,
                                            std::optional<node_epoch> self) {
  round_agreement agreement;
  agreement.master = round.master;
  if (self) {
    task<epoch_agreement> exchange = exchange_epoch(round, std::move(mine), std::move(*self));
    agreement.epoch = co_await std::move(exchange);
    agreement.ranks = agreement.epoch->ranks;
  } else {
    agreement.ranks = co_await exchange_ranks(round.agents, std::move(mine), round.group_rank,
                                              round.group_world_size, round.dialect);
  }
  co_return agreement;
}

/// Every node learns the places of all nodes, so that workers of other roles on its host learn
/// them, too.
inline task<std::vector<std::string>> exchange_places(rendezvous_round round, std::string mine) {
  if (round.group_world_size == 1) co_return std::vector<std::string>{mine};
  // Several rounds may share a store.
  const std::string prefix = fmt::format("elastic/places/{}/{}/", round.term, round.round);
  task<std::vector<std::string>> exchange = publish_and_read(
      round.agents, prefix, std::move(mine), round.group_rank, round.group_world_size);
  co_return co_await std::move(exchange);
}

/// Result: empty if a node has not answered in time.
inline task<std::optional<round_agreement>> agree_until(std::shared_ptr<time_source> time,
                                                        time_point deadline, rendezvous_round round,
                                                        role_info mine,
                                                        std::optional<node_epoch> self,
                                                        place_source places) {
  task<round_agreement> exchange = agree_on_ranks(round, mine, std::move(self));
  std::optional<round_agreement> agreed =
      co_await with_deadline(*time, deadline, std::move(exchange));
  if (!agreed) co_return std::nullopt;
  round_agreement agreement = std::move(*agreed);
  if (places) {
    std::string own_places = places(agreement);
    task<std::vector<std::string>> gathering = exchange_places(round, std::move(own_places));
    const auto gathered = co_await with_deadline(*time, deadline, std::move(gathering));
    if (!gathered) co_return std::nullopt;
    agreement.places = *gathered;
  }
  if (round.dialect != rendezvous_round::agent_dialect::gather) co_return agreement;
  task<rendezvous_round::master_endpoint> agreeing =
      agree_on_master(round.agents, round.master, round.group_rank);
  const std::optional<rendezvous_round::master_endpoint> master =
      co_await with_deadline(*time, deadline, std::move(agreeing));
  if (!master) co_return std::nullopt;
  agreement.master = *master;
  co_return agreement;
}

inline task<round_agreement> agree_in_time(std::shared_ptr<time_source> time,
                                           rendezvous_round round, role_info mine,
                                           std::optional<node_epoch> self, place_source places) {
  const time_point deadline = deadline_after(time->now(), round.exchange_timeout);
  task<std::optional<round_agreement>> agreeing =
      agree_until(time, deadline, round, mine, std::move(self), std::move(places));
  const std::optional<round_agreement> agreement = co_await std::move(agreeing);
  if (agreement) co_return *agreement;
  throw error(errc::rendezvous_timeout,
              fmt::format("not all of the {} nodes sent data about their workers within {} s",
                          round.group_world_size,
                          std::chrono::duration<double>(round.exchange_timeout).count()));
}

ELASTIC_DECL task<round_agreement> agree_on_round(std::shared_ptr<time_source> time,
                                                  rendezvous_round round, role_info mine,
                                                  std::optional<node_epoch> self,
                                                  place_source places) {
  constexpr int tries = 2;
  std::exception_ptr failure;
  for (int failures = 0; failures < tries; ++failures) {
    try {
      task<round_agreement> agreeing = agree_in_time(time, round, mine, self, places);
      co_return co_await std::move(agreeing);
    } catch (const error& thrown) {
      if (thrown.code() != errc::connection_failed) throw;
      failure = std::current_exception();
    }
  }
  co_await time->sleep_until(deadline_after(time->now(), limits::rendezvous_reconnect_timeout));
  std::rethrow_exception(failure);
}

}  // namespace elastic::detail
