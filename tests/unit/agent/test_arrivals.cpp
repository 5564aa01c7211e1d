// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/agent/detail/rounds/arrivals.hpp>

#include <support/catch.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace arrivals_tests {

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
  // Of whom /proc shows nothing nobody can say that it is missing.
  CHECK(missing_workers(seen({std::nullopt}, 7)) ==
        "after 30 s 7 of 8 ranks have come to init_process_group at 10.0.0.7:29500");
}

}  // namespace arrivals_tests
