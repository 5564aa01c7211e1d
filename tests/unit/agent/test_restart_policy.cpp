// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/agent/restart_policy.hpp>

#include <support/catch.hpp>

namespace restart_policy_tests {

using elastic::change_kind;
using elastic::decide_restart;

TEST_CASE("restart policy: a failure is followed by a restart while there are any", "[agent]") {
  for (int max = 0; max <= 5; ++max) {
    for (int failures = 1; failures <= max + 2; ++failures) {
      CAPTURE(max, failures);
      const auto decision = decide_restart(change_kind::worker_failed, failures, max);
      CHECK(decision.restart == (failures <= max));
      CHECK_FALSE(decision.reason.empty());
    }
  }
}

TEST_CASE("restart policy: a change of the membership is free, also with none left", "[agent]") {
  for (int failures = 0; failures <= 3; ++failures) {
    CHECK(decide_restart(change_kind::node_waiting, failures, 2).restart);
    CHECK(decide_restart(change_kind::node_lost, failures, 2).restart);
  }
}

TEST_CASE("restart policy: the reason counts for people", "[agent]") {
  const auto reason = [](int failures, int max) {
    return decide_restart(change_kind::worker_failed, failures, max).reason;
  };
  CHECK(reason(1, 2) == "restart 1 of 2");
  CHECK(reason(2, 2) == "restart 2 of 2");
  CHECK(reason(3, 2) == "all 2 restarts are used up");
  CHECK(reason(1, 0) == "no restarts were allowed (--max-restarts 0)");
}

}  // namespace restart_policy_tests
