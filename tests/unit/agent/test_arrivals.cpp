// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/agent/detail/rounds/arrivals.hpp>

#include <elastic/base/race.hpp>
#include <support/catch.hpp>
#include <support/log_recorder.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace arrivals_tests {

using namespace std::chrono_literals;
using elastic::detail::arrivals;
using elastic::detail::missing_workers;
using elastic::detail::port_use;

/// The workers of a node by rank, of a job of eight.
arrivals seen(std::vector<std::optional<port_use>> uses, std::optional<std::int64_t> come) {
  arrivals found;
  for (const auto& use : uses) {
    found.own.push_back({static_cast<std::int64_t>(found.own.size()), 1, use});
  }
  found.come = come;
  found.world = 8;
  found.store = "10.0.0.7:29500";
  return found;
}

constexpr port_use none = port_use::none;
constexpr port_use connecting = port_use::connecting;
constexpr port_use connected = port_use::connected;

TEST_CASE("arrivals: the workers of this node that are missing are named", "[agent]") {
  CHECK(missing_workers(seen({connected, connected, connected, none}, 7)) ==
        "rank 3 has not come to init_process_group after 30 s: it has no connection to the store "
        "of the workers at 10.0.0.7:29500 (7 of 8 ranks have come)");
  CHECK(missing_workers(seen({none, connected, none, none}, 5)) ==
        "ranks 0, 2 and 3 have not come to init_process_group after 30 s: they have no connection "
        "to the store of the workers at 10.0.0.7:29500 (5 of 8 ranks have come)");
  const std::string many = missing_workers(
      seen({none, none, none, none, none, none, none, none, none, none, connected}, 1));
  CHECK(many.starts_with("ranks 0, 1, 2, 3, 4, 5, 6, 7 and 2 more have not come"));
}

TEST_CASE("arrivals: a worker that cannot connect is named, even if none has come", "[agent]") {
  const std::string hint =
      "; rank 1 tries to connect and gets no answer: does a firewall let the port through, and "
      "does local_addr of the node there name an address that others reach?";
  CHECK(missing_workers(seen({connected, connecting}, 7))
            .ends_with("(7 of 8 ranks have come)" + hint));
  CHECK(missing_workers(seen({none, connecting}, 0)).ends_with(hint));
  CHECK(missing_workers(seen({none, connecting}, std::nullopt))
            .ends_with("to the store of the workers at 10.0.0.7:29500" + hint));
}

TEST_CASE("arrivals: a node that does not serve the store names its own", "[agent]") {
  CHECK(missing_workers(seen({connected, none}, std::nullopt)) ==
        "rank 1 has not come to init_process_group after 30 s: it has no connection to the store "
        "of the workers at 10.0.0.7:29500");
}

TEST_CASE("arrivals: if all workers of this node have come, others are missing", "[agent]") {
  CHECK(missing_workers(seen({connected, connected}, 2)) ==
        "after 30 s 2 of 8 ranks have come to init_process_group at 10.0.0.7:29500; all of this "
        "node have, and the logs of the other nodes name those that are missing there");
}

TEST_CASE("arrivals: workers that run where this node cannot look are not blamed", "[agent]") {
  CHECK(missing_workers(seen({none, none}, 2)) ==
        "after 30 s 2 of 8 ranks have come to init_process_group at 10.0.0.7:29500; no process of "
        "this node's workers has a connection to it");
}

TEST_CASE("arrivals: a worker that has ended may be the one that is missing", "[agent]") {
  arrivals found = seen({connected, connected}, 2);
  found.do_all_run = false;
  CHECK(missing_workers(found) ==
        "after 30 s 2 of 8 ranks have come to init_process_group at 10.0.0.7:29500; workers of "
        "this node have ended, and may not have come");
}

TEST_CASE("arrivals: no warning if all have come, or if the job may not use the store", "[agent]") {
  CHECK(missing_workers(seen({none, none}, 0)).empty());
  CHECK(missing_workers(seen({none, none}, std::nullopt)).empty());
  // They came, and have closed their connection.
  CHECK(missing_workers(seen({none, connected}, 8)).empty());
  CHECK(missing_workers(seen({connected, connected}, 8)).empty());
  CHECK(missing_workers(seen({connected, connected}, std::nullopt)).empty());
  // They are connected, and have not said so yet.
  CHECK(missing_workers(
            seen(std::vector<std::optional<port_use>>(8, connected), 0)).empty());
  CHECK(missing_workers(seen({connected, connected, none}, 0))
            .ends_with("(2 of 8 ranks have come)"));
  // Of whom /proc shows nothing nobody can say that it is missing.
  CHECK(missing_workers(seen({std::nullopt}, 7)) ==
        "after 30 s 7 of 8 ranks have come to init_process_group at 10.0.0.7:29500");
}

TEST_CASE("arrivals: what a missing worker seeks instead ends the sentence", "[agent]") {
  arrivals found = seen({connected, none}, 7);
  found.sought.script = "train.py";
  found.sought.silent = {"10.0.0.9:29500"};
  const std::string sought = "; train.py tries to connect to 10.0.0.9:29500 and gets no answer";
  CHECK(missing_workers(found) ==
        "rank 1 has not come to init_process_group after 30 s: it has no connection to the store "
        "of the workers at 10.0.0.7:29500 (7 of 8 ranks have come)" +
            sought);
  // The job seems not to use the store, but it seeks another one in vain.
  found = seen({none, none}, 0);
  found.sought.script = "train.py";
  found.sought.silent = {"10.0.0.9:29500"};
  CHECK(missing_workers(found) ==
        "after 30 s no rank of this node has come to init_process_group at 10.0.0.7:29500" +
            sought);
}

// ---- when they are looked for -------------------------------------------------------------------

using come_count = std::optional<std::int64_t>;

/// A job of two ranks that nobody can inspect.
elastic::detail::arrival_source source_of(std::shared_ptr<come_count> come) {
  return [come = std::move(come)] {
    arrivals found;
    found.come = *come;
    found.world = 2;
    found.store = "10.0.0.7:29500";
    return found;
  };
}

/// Lets workers come at their times, and then nobody any more.
elastic::task<void> let_come(std::shared_ptr<elastic::time_source> time,
                             std::shared_ptr<come_count> come,
                             std::vector<std::pair<elastic::duration, std::int64_t>> plan) {
  const elastic::time_point began = time->now();
  for (const auto& [after, count] : plan) {
    co_await time->sleep_until(began + after);
    *come = count;
  }
  co_await time->sleep_until(elastic::time_point::max());
}

elastic::task<void> keep_report(std::shared_ptr<elastic::time_source> time, elastic::logger log,
                                elastic::detail::arrival_source source, std::string& said) {
  said = co_await elastic::detail::report_arrivals(time, log, std::move(source), 1);
}

/// When the reporter has said what is missing, in seconds after the start; its line.
elastic::task<std::string> reported(
    std::shared_ptr<elastic::time_source> time, come_count at_first,
    std::vector<std::pair<elastic::duration, std::int64_t>> plan) {
  const auto come = std::make_shared<come_count>(at_first);
  const auto log = std::make_shared<elastic::test::log_recorder>();
  const elastic::logger logger(log, elastic::log_level::warning);
  const elastic::time_point began = time->now();
  std::string said;
  elastic::task<void> reporting = keep_report(time, logger, source_of(come), said);
  elastic::task<void> coming = let_come(time, come, std::move(plan));
  co_await elastic::race(std::move(reporting), std::move(coming));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time->now() - began);
  const bool is_said = log->has("1 of 2 ranks have come to init_process_group");
  CHECK(is_said == !said.empty());
  co_return std::to_string(seconds.count()) + (is_said ? " said" : " silent");
}

TIME_TEST("arrivals: the missing are named 30 s after the first has come", "[agent]") {
  std::vector<std::pair<elastic::duration, std::int64_t>> plan{{3s, 1}};
  elastic::task<std::string> early = reported(time.share(), 0, plan);
  const std::string early_end = co_await std::move(early);
  CHECK(early_end == "30 said");
  // A script that loads its data for ten minutes first.
  plan = {{601s, 1}};
  elastic::task<std::string> late = reported(time.share(), 0, plan);
  const std::string late_end = co_await std::move(late);
  CHECK(late_end == "635 said");
}

TIME_TEST("arrivals: nothing is said of a job that has come, or does not", "[agent]") {
  std::vector<std::pair<elastic::duration, std::int64_t>> plan{{3s, 2}};
  elastic::task<std::string> all = reported(time.share(), 0, plan);
  const std::string all_end = co_await std::move(all);
  CHECK(all_end == "30 silent");
  plan = {{601s, 1}, {604s, 2}};
  elastic::task<std::string> late = reported(time.share(), 0, plan);
  const std::string late_end = co_await std::move(late);
  CHECK(late_end == "635 silent");
  // It uses no store: the agent looks for half an hour.
  elastic::task<std::string> never = reported(time.share(), 0, {});
  const std::string never_end = co_await std::move(never);
  CHECK(never_end == "1830 silent");
  // Another node serves the store.
  elastic::task<std::string> elsewhere = reported(time.share(), std::nullopt, {});
  const std::string elsewhere_end = co_await std::move(elsewhere);
  CHECK(elsewhere_end == "30 silent");
}

}  // namespace arrivals_tests
