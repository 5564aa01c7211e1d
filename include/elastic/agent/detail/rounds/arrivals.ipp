// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/rounds/arrivals.hpp>

#include <elastic/base/detail/blocking.hpp>
#include <elastic/base/detail/joined_text.hpp>
#include <elastic/base/limits.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

/// "rank 3", "ranks 3, 5 and 7", "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 4 more".
inline std::string rank_list(const std::vector<std::int64_t>& ranks) {
  constexpr std::size_t most = 8;
  const std::span<const std::int64_t> all(ranks);
  if (all.size() == 1) return fmt::format("rank {}", all.front());
  if (all.size() > most) {
    return fmt::format("ranks {} and {} more", joined_text(all.first(most), ", "),
                       all.size() - most);
  }
  return fmt::format("ranks {} and {}", joined_text(all.first(all.size() - 1), ", "), all.back());
}

ELASTIC_DECL task<std::vector<worker_arrival>> look_for_arrivals(
    std::vector<worker_arrival> workers, std::uint16_t port) {
  if (workers.empty()) co_return workers;
  std::function<std::vector<worker_arrival>()> look = [workers = std::move(workers), port] {
    std::vector<worker_arrival> seen = workers;
    const std::size_t share = limits::watched_files / std::max<std::size_t>(seen.size(), 1);
    for (worker_arrival& worker : seen) worker.use = look_at_port_use(worker.pid, port, share);
    return seen;
  };
  task<std::vector<worker_arrival>> looking = run_blocking<std::vector<worker_arrival>>(look);
  co_return co_await std::move(looking);
}

/// The first running worker of this node that is not connected to the store.
inline pid_t first_missing(const arrivals& seen) {
  const auto is_missing = [](const worker_arrival& each) { return each.use == port_use::none; };
  const auto first = std::find_if(seen.own.begin(), seen.own.end(), is_missing);
  return first == seen.own.end() ? 0 : first->pid;
}

inline task<std::string> look_for_missing(arrival_source source, std::uint16_t port) {
  arrivals seen = source();
  task<std::vector<worker_arrival>> looking = look_for_arrivals(seen.own, port);
  seen.own = co_await std::move(looking);
  const bool are_all_there = seen.come && *seen.come >= seen.world;
  if (const pid_t missing = are_all_there ? 0 : first_missing(seen)) {
    task<sought_stores> seeking = look_for_stores(missing);
    seen.sought = co_await std::move(seeking);
  }
  co_return missing_workers(seen);
}

/// Waits until a worker of the job has reached the store. If none has in half an hour, the workers
/// do not use it.
inline task<bool> wait_for_first(std::shared_ptr<time_source> time, arrival_source source) {
  constexpr std::chrono::seconds between(5);
  constexpr int most = 360;
  for (int look = 0; look < most; ++look) {
    const std::optional<std::int64_t> come = source().come;
    if (come.value_or(1) > 0) co_return come.has_value();
    co_await time->sleep_until(deadline_after(time->now(), between));
  }
  co_return false;
}

ELASTIC_DECL task<std::string> report_arrivals(std::shared_ptr<time_source> time, logger log,
                                               arrival_source source, std::uint16_t port) {
  co_await time->sleep_until(deadline_after(time->now(), arrival_patience));
  const bool had_come = source().come != 0;
  task<std::string> looking = look_for_missing(source, port);
  std::string missing = co_await std::move(looking);
  if (missing.empty() && !had_come) {
    task<bool> waiting = wait_for_first(time, source);
    const bool has_come = co_await std::move(waiting);
    if (!has_come) co_return missing;
    co_await time->sleep_until(deadline_after(time->now(), arrival_patience));
    task<std::string> again = look_for_missing(source, port);
    missing = co_await std::move(again);
  }
  if (!missing.empty()) log.warning("{}", missing);
  co_return missing;
}

/// Where the missing ranks may be, as the end of a sentence.
inline std::string_view place_of_missing(const arrivals& seen, std::size_t connected) {
  if (!seen.do_all_run) return "; workers of this node have ended, and may not have come";
  const auto is_seen = [](const worker_arrival& each) { return each.use.has_value(); };
  const bool is_known = std::any_of(seen.own.begin(), seen.own.end(), is_seen);
  if (connected == 0 && is_known) {
    return "; no process of this node's workers has a connection to it";
  }
  if (connected < seen.own.size()) return "";
  return "; all of this node have, and the logs of the other nodes name those that are missing "
         "there";
}

ELASTIC_DECL std::string missing_workers(const arrivals& seen) {
  std::vector<std::int64_t> missing;
  std::vector<std::int64_t> connecting;
  std::size_t connected = 0;
  for (const worker_arrival& worker : seen.own) {
    if (worker.use == port_use::connected) ++connected;
    if (worker.use == port_use::connecting) connecting.push_back(worker.rank);
    if (worker.use && *worker.use != port_use::connected) missing.push_back(worker.rank);
  }
  // A worker connects before it counts itself as present, so the larger of the two numbers is
  // right.
  const auto present = std::max(seen.come.value_or(0), static_cast<std::int64_t>(connected));
  if (present >= seen.world) return {};
  const bool is_used = present > 0 || !connecting.empty();
  const std::string sought = to_text(seen.sought);
  if (!is_used) {
    if (sought.empty()) return {};
    return fmt::format("after {} s no rank of this node has come to init_process_group at {}{}",
                       arrival_patience.count(), seen.store, sought);
  }
  const std::string count =
      seen.come ? fmt::format("{} of {} ranks have come", present, seen.world) : std::string();
  if (missing.empty() && count.empty()) return {};
  // Workers that run where this node cannot inspect them, for example in a container, may have
  // connected.
  const bool sees_none = connected == 0 && connecting.empty();
  if (missing.empty() || sees_none) {
    return fmt::format("after {} s {} to init_process_group at {}{}", arrival_patience.count(),
                       count, seen.store, place_of_missing(seen, connected));
  }
  const bool is_one = missing.size() == 1;
  std::string text = fmt::format(
      "{} {} not come to init_process_group after {} s: {} no connection to the store of the "
      "workers at {}{}",
      rank_list(missing), is_one ? "has" : "have", arrival_patience.count(),
      is_one ? "it has" : "they have", seen.store,
      count.empty() ? std::string() : fmt::format(" ({})", count));
  if (connecting.empty()) return text + sought;
  const bool is_one_connecting = connecting.size() == 1;
  return text + fmt::format(
                    "; {} {} to connect and {} no answer: does a firewall let the port through, "
                    "and does local_addr of the node there name an address that others reach?",
                    rank_list(connecting), is_one_connecting ? "tries" : "try",
                    is_one_connecting ? "gets" : "get");
}

}  // namespace elastic::detail
