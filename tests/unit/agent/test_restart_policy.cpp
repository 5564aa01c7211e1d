// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/agent/restart_policy.hpp>

#include <support/catch.hpp>

namespace restart_policy_tests {

using elastic::decide_restart;
using elastic::group_change;

TEST_CASE("restart policy: a failure uses up one restart while there are any", "[agent]") {
  for (int max = 0; max <= 5; ++max) {
    for (int remaining = 0; remaining <= max; ++remaining) {
      CAPTURE(max, remaining);
      const auto decision = decide_restart(group_change::worker_failed, remaining, max);
      CHECK(decision.restart == (remaining > 0));
      CHECK(decision.remaining == (remaining > 0 ? remaining - 1 : 0));
      CHECK_FALSE(decision.reason.empty());
    }
  }
}

TEST_CASE("restart policy: a change of the membership is free, also with none left", "[agent]") {
  for (int remaining = 0; remaining <= 2; ++remaining) {
    const auto decision = decide_restart(group_change::membership_changed, remaining, 2);
    CHECK(decision.restart);
    CHECK(decision.remaining == remaining);
  }
}

TEST_CASE("restart policy: the reason counts for people", "[agent]") {
  CHECK(decide_restart(group_change::worker_failed, 2, 2).reason == "restart 1 of 2");
  CHECK(decide_restart(group_change::worker_failed, 1, 2).reason == "restart 2 of 2");
  CHECK(decide_restart(group_change::worker_failed, 0, 2).reason == "all 2 restarts are used up");
  CHECK(decide_restart(group_change::worker_failed, 0, 0).reason ==
        "no restarts were allowed (--max-restarts 0)");
}

}  // namespace restart_policy_tests
