// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Whether and when a failed replica restarts: all replicas share the number of restarts, but each
// has its own delay.

#include <elastic/agent/worker_spec.hpp>
#include <elastic/roles/detail/replica_ledger.hpp>

#include <support/catch.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace replica_ledger_tests {

using elastic::exit_status;
using elastic::restart_ledger;
using restart_terms = elastic::worker_spec::restart_terms;
using elastic::time_point;
using elastic::detail::replica_ledger;
using std::chrono::seconds;

time_point at(int second) { return time_point{} + seconds(second); }

/// The replicas run from the begin on.
replica_ledger started(std::size_t replicas, int max_restarts, const restart_terms& terms = {}) {
  elastic::worker_spec spec;
  spec.nproc_per_node = static_cast<int>(replicas);
  spec.max_restarts = max_restarts;
  spec.restart = terms;
  replica_ledger ledger(spec);
  for (std::size_t replica = 0; replica < replicas; ++replica) ledger.started(replica, at(0));
  return ledger;
}

TEST_CASE("replica ledger: all replicas use up the same restarts", "[roles]") {
  replica_ledger ledger = started(3, 2);
  const exit_status end = exit_status::exited(3);
  const restart_ledger::decision first = ledger.failed(0, end, std::nullopt, at(1));
  CHECK(first.restart);
  CHECK(first.reason == "restart 1 of 2");
  CHECK(first.delay == seconds(0));
  CHECK(ledger.failed(2, end, std::nullopt, at(1)).reason == "restart 2 of 2");
  const restart_ledger::decision last = ledger.failed(1, end, std::nullopt, at(2));
  CHECK_FALSE(last.restart);
  CHECK(last.reason == "all 2 restarts have been used");
  CHECK(ledger.failures() == 3);
  CHECK(ledger.failures(0) == 1);
}

TEST_CASE("replica ledger: without restarts the first failure is the last", "[roles]") {
  replica_ledger ledger = started(2, 0);
  const auto decision = ledger.failed(1, exit_status::signalled(9), std::nullopt, at(1));
  CHECK_FALSE(decision.restart);
  CHECK(decision.reason == "no restarts were allowed (worker_spec::max_restarts 0)");
}

TEST_CASE("replica ledger: the pause of one that fails again and again is its own", "[roles]") {
  restart_terms terms;
  terms.delay = seconds(1);
  terms.delay_max = seconds(4);
  terms.healthy_uptime = seconds(60);
  replica_ledger ledger = started(2, 10, terms);
  const exit_status end = exit_status::exited(1);
  int second = 0;
  for (const int pause : {1, 2, 4, 4}) {
    const auto decision = ledger.failed(0, end, std::nullopt, at(++second));
    CHECK(decision.delay == seconds(pause));
    ledger.started(0, at(second));
  }
  const auto other = ledger.failed(1, end, std::nullopt, at(second));
  CHECK(other.delay == seconds(1));
  CHECK(other.reason == "restart 5 of 10, after 1 s");
  // It was healthy, so the pause is short again.
  CHECK(ledger.failed(0, end, std::nullopt, at(second + 60)).delay == seconds(1));
}

TEST_CASE("replica ledger: failures of long ago do not count", "[roles]") {
  restart_terms terms;
  terms.window = seconds(10);
  replica_ledger ledger = started(2, 1, terms);
  const exit_status end = exit_status::exited(1);
  CHECK(ledger.failed(0, end, std::nullopt, at(1)).reason == "restart 1 of 1 within 10 s");
  CHECK(ledger.failed(1, end, std::nullopt, at(20)).restart);
  CHECK_FALSE(ledger.failed(0, end, std::nullopt, at(21)).restart);
}

TEST_CASE("replica ledger: progress is each one's own", "[roles]") {
  restart_terms terms;
  terms.while_progress = 1;
  replica_ledger ledger = started(2, 10, terms);
  const exit_status end = exit_status::exited(1);
  CHECK(ledger.failed(0, end, 5, at(1)).restart);
  ledger.started(0, at(1));
  CHECK(ledger.failed(1, end, 3, at(1)).restart);
  ledger.started(1, at(1));
  CHECK(ledger.failed(1, end, 4, at(2)).restart);
  const auto hopeless = ledger.failed(0, end, 5, at(2));
  CHECK_FALSE(hopeless.restart);
  CHECK(hopeless.is_hopeless);
}

TEST_CASE("replica ledger: an end after which there is to be no restart", "[roles]") {
  restart_terms terms;
  terms.never_after = elastic::exit_selection::parse("93");
  replica_ledger ledger = started(2, 10, terms);
  CHECK(ledger.failed(0, exit_status::exited(94), std::nullopt, at(1)).restart);
  CHECK(ledger.failed(1, exit_status::exited(93), std::nullopt, at(1)).reason ==
        "no restart after exit code 93");
}

}  // namespace replica_ledger_tests
