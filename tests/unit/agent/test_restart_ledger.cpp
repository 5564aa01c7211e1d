// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/agent/restart_ledger.hpp>

#include <support/catch.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace restart_ledger_tests {

using namespace std::chrono_literals;
using elastic::errc;
using elastic::exit_selection;
using elastic::exit_status;
using elastic::rendezvous_change;
using elastic::restart_ledger;
using restart_terms = elastic::worker_spec::restart_terms;
using elastic::time_point;

constexpr time_point start{};
constexpr auto no_limit = std::numeric_limits<int>::max();

restart_ledger::decision after_failures(restart_ledger ledger, int failures) {
  for (int failure = 0; failure < failures; ++failure) ledger.failed(start);
  return ledger.decide(rendezvous_change::cause::worker_failed, std::nullopt, start);
}

// ---- how often ----------------------------------------------------------------------------------

TEST_CASE("restart ledger: a failure is followed by a restart while there are any", "[agent]") {
  for (int max = 0; max <= 5; ++max) {
    for (int failures = 1; failures <= max + 2; ++failures) {
      CAPTURE(max, failures);
      const auto decision = after_failures(restart_ledger(max), failures);
      CHECK(decision.restart == (failures <= max));
      CHECK(decision.delay == 0s);
      CHECK_FALSE(decision.reason.empty());
    }
  }
}

TEST_CASE("restart ledger: a change of the membership is free, also with none left", "[agent]") {
  restart_ledger ledger(2);
  for (int failures = 0; failures <= 3; ++failures) {
    for (const rendezvous_change::cause free_change :
         {rendezvous_change::cause::node_waiting, rendezvous_change::cause::node_lost}) {
      CHECK(ledger.decide(free_change, std::nullopt, start).restart);
    }
    ledger.failed(start);
  }
}

TEST_CASE("restart ledger: what was counted before it began is counted on", "[agent]") {
  restart_ledger ledger(3);
  ledger.begin_at(2);
  ledger.count(3, start);
  CHECK(ledger.failures() == 3);
  CHECK_FALSE(ledger.is_used_up(start));
  ledger.count(4, start);
  CHECK(ledger.is_used_up(start));
}

TEST_CASE("restart ledger: only the failures within a window use up restarts", "[agent]") {
  restart_terms terms;
  terms.window = 10s;
  restart_ledger ledger(2, terms);
  ledger.begin_at(7);  // long ago, for all that is known
  struct step {
    std::chrono::seconds at;
    bool restart;
  };
  for (const step& entry : {step{0s, true}, {5s, true}, {11s, true}, {14s, false}, {30s, true}}) {
    CAPTURE(entry.at.count());
    ledger.failed(start + entry.at);
    CHECK(ledger.decide(rendezvous_change::cause::worker_failed, std::nullopt, start + entry.at)
              .restart == entry.restart);
  }
  CHECK(ledger.failures() == 12);
}

TEST_CASE("restart ledger: a count from afar may be of any size", "[agent]") {
  restart_terms terms;
  terms.window = 10s;
  restart_ledger ledger(no_limit, terms);
  ledger.count(no_limit, start);
  CHECK_FALSE(ledger.is_used_up(start));
  ledger.count(0, start);
  ledger.count(no_limit, start);
  CHECK(ledger.is_used_up(start));
}

// ---- how soon -----------------------------------------------------------------------------------

std::vector<double> delays(restart_terms terms, std::vector<std::chrono::seconds> uptimes) {
  restart_ledger ledger(no_limit, terms);
  std::vector<double> waits;
  time_point now = start;
  for (const auto uptime : uptimes) {
    ledger.started(now);
    now += uptime;
    ledger.failed(now);
    const auto decision = ledger.decide(rendezvous_change::cause::worker_failed, std::nullopt, now);
    waits.push_back(std::chrono::duration<double>(decision.delay).count());
    now += decision.delay;
  }
  return waits;
}

TEST_CASE("restart ledger: each restart waits twice as long, up to a bound", "[agent]") {
  restart_terms terms;
  CHECK(delays(terms, {1s, 1s, 1s}) == std::vector<double>{0, 0, 0});
  terms.delay = 1s;
  terms.delay_max = 6s;
  CHECK(delays(terms, {1s, 1s, 1s, 1s, 1s}) == std::vector<double>{1, 2, 4, 6, 6});
  terms.delay_max = 500ms;
  CHECK(delays(terms, {1s, 1s}) == std::vector<double>{0.5, 0.5});
}

TEST_CASE("restart ledger: the wait begins anew after workers that were healthy", "[agent]") {
  restart_terms terms;
  terms.delay = 1s;
  terms.healthy_uptime = 30s;
  CHECK(delays(terms, {1s, 1s, 30s, 29s, 100s}) == std::vector<double>{1, 2, 1, 2, 1});
}

// ---- without progress ---------------------------------------------------------------------------

TEST_CASE("restart ledger: failures without a new step are the last after so many", "[agent]") {
  struct attempt {
    std::optional<std::int64_t> reached;
    bool restart;
    bool has_failed = true;
  };
  struct row {
    const char* name;
    std::vector<attempt> attempts;
  };
  const std::vector<row> table = {
      {"each comes further", {{1, true}, {2, true}, {3, true}, {4, true}}},
      {"the same step twice more", {{5, true}, {5, true}, {5, false}}},
      {"less counts like the same", {{5, true}, {3, true}, {1, false}}},
      {"a new step begins anew", {{5, true}, {5, true}, {6, true}, {6, true}, {6, false}}},
      {"no report after one counts", {{5, true}, {{}, true}, {{}, false}}},
      {"no report at all says nothing", {{{}, true}, {{}, true}, {{}, true}, {{}, true}}},
      {"a change of the membership is not a failure",
       {{5, true}, {5, true, false}, {5, true, false}, {5, true}, {5, false}}},
      {"progress before a change counts", {{5, true}, {5, true}, {9, true, false}, {9, true}}},
  };
  restart_terms terms;
  terms.while_progress = 2;
  for (const row& entry : table) {
    CAPTURE(entry.name);
    restart_ledger ledger(no_limit, terms);
    for (const attempt& attempt_case : entry.attempts) {
      ledger.started(start);
      ledger.reached(attempt_case.reached);
      if (attempt_case.has_failed) ledger.failed(start);
      const auto kind = attempt_case.has_failed ? rendezvous_change::cause::worker_failed
                                                : rendezvous_change::cause::node_lost;
      const restart_ledger::decision decision = ledger.decide(kind, std::nullopt, start);
      CHECK(decision.restart == attempt_case.restart);
      CHECK(decision.is_hopeless == !attempt_case.restart);
    }
  }
}

TEST_CASE("restart ledger: it lacks steps from the first failure to the first step", "[agent]") {
  for (const int attempt_limit : {0, 2}) {
    restart_terms terms;
    terms.while_progress = attempt_limit;
    restart_ledger ledger(no_limit, terms);
    ledger.started(start);
    CHECK_FALSE(ledger.lacks_steps());
    ledger.failed(start);
    CHECK(ledger.lacks_steps() == (attempt_limit > 0));
    ledger.started(start);
    ledger.reached(1);
    ledger.failed(start);
    CHECK_FALSE(ledger.lacks_steps());
  }
}

TEST_CASE("restart ledger: without the rule no progress is needed", "[agent]") {
  restart_ledger ledger(no_limit, restart_terms{});
  for (int round = 0; round < 5; ++round) {
    ledger.started(start);
    ledger.reached(1);
    ledger.failed(start);
    CHECK(ledger.decide(rendezvous_change::cause::worker_failed, std::nullopt, start).restart);
  }
}

// ---- after what ---------------------------------------------------------------------------------

TEST_CASE("restart ledger: ends can be excluded, or be the only ones", "[agent]") {
  const auto restarts = [](const restart_terms& terms, std::optional<exit_status> status) {
    restart_ledger ledger(1, terms);
    ledger.failed(start);
    return ledger.decide(rendezvous_change::cause::worker_failed, status, start).restart;
  };
  restart_terms never_terms;
  never_terms.never_after.add_code(93).add_signal(SIGABRT);
  CHECK_FALSE(restarts(never_terms, exit_status::exited(93)));
  CHECK_FALSE(restarts(never_terms, exit_status::signalled(SIGABRT)));
  CHECK(restarts(never_terms, exit_status::exited(1)));
  CHECK(restarts(never_terms, exit_status::signalled(SIGSEGV)));
  restart_terms only_terms;
  only_terms.only_after.add_signal(SIGKILL);
  CHECK(restarts(only_terms, exit_status::signalled(SIGKILL)));
  CHECK_FALSE(restarts(only_terms, exit_status::exited(1)));
  CHECK_FALSE(restarts(only_terms, exit_status::unknown()));
  // What happened elsewhere is judged there.
  CHECK(restarts(only_terms, std::nullopt));
  CHECK(restarts(never_terms, std::nullopt));
}

// ---- what it says -------------------------------------------------------------------------------

TEST_CASE("restart ledger: the reason counts for people", "[agent]") {
  const auto reason = [](int failures, int max, restart_terms terms = {}) {
    return after_failures(restart_ledger(max, terms), failures).reason;
  };
  CHECK(reason(1, 2) == "restart 1 of 2");
  CHECK(reason(2, 2) == "restart 2 of 2");
  CHECK(reason(3, 2) == "all 2 restarts have been used");
  CHECK(reason(2, 1) == "the only restart has been used");
  CHECK(reason(1, 0) == "no restarts were allowed (max_restarts 0)");
  restart_terms terms;
  terms.window = 1h;
  terms.delay = 1500ms;
  CHECK(reason(1, 2, terms) == "restart 1 of 2 within 3600 s, after 1.5 s");
  CHECK(reason(3, 2, terms) == "all 2 restarts within 3600 s have been used");
  restart_ledger ledger(1, {.never_after = exit_selection().add_code(93)});
  ledger.failed(start);
  const auto decision =
      ledger.decide(rendezvous_change::cause::worker_failed, exit_status::exited(93), start);
  CHECK(decision.reason == "no restart after exit code 93");
}

// ---- what is refused ----------------------------------------------------------------------------

TEST_CASE("restart terms: times out of bounds are refused", "[agent]") {
  const auto is_refused = [](auto change) {
    restart_terms terms;
    change(terms);
    try {
      validate(terms);
    } catch (const elastic::error& refusal) {
      return refusal.code() == errc::invalid_argument;
    }
    return false;
  };
  CHECK_FALSE(is_refused([](restart_terms&) {}));
  CHECK(is_refused([](restart_terms& terms) { terms.window = -1s; }));
  CHECK(is_refused([](restart_terms& terms) { terms.delay = -1s; }));
  CHECK(is_refused([](restart_terms& terms) { terms.delay = 25h; }));
  CHECK(is_refused([](restart_terms& terms) { terms.delay_max = 25h; }));
  CHECK(is_refused([](restart_terms& terms) { terms.healthy_uptime = -1s; }));
}

}  // namespace restart_ledger_tests
