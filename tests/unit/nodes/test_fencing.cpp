// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/nodes/detail/fencing.hpp>
#include <support/catch.hpp>

#include <chrono>

namespace fencing_tests {

using namespace std::chrono_literals;
using elastic::duration;
using elastic::detail::fencing;

void check(const fencing& plan, const fencing& expected) {
  CHECK(plan.notice == expected.notice);
  CHECK(plan.kill == expected.kill);
  CHECK(plan.others_go_on == expected.others_go_on);
}

/// Whether no worker is left when the others continue, even if one clock runs 2 % faster than
/// another, and the workers had time to end.
bool is_safe(const fencing& plan) {
  const duration drift = plan.others_go_on / 50;
  return plan.notice < plan.kill && plan.kill + fencing::kill_time + drift <= plan.others_go_on;
}

TEST_CASE("fencing: the workers of a node that falls silent are gone before the others go on",
          "[rendezvous]") {
  const fencing rows[] = {
      {11250ms, 14650ms, 15s}, {7500ms, 9750ms, 10s},  {750ms, 930ms, 1s},
      {375ms, 440ms, 500ms},   {225s, 293950ms, 300s},
  };
  for (const fencing& row : rows) {
    CAPTURE(row.others_go_on.count());
    check(fencing::of_silence(row.others_go_on), row);
    CHECK(is_safe(row));
  }
}

TEST_CASE("fencing: the workers of a node whose connection ends are gone before the others go on",
          "[rendezvous]") {
  const fencing rows[] = {
      {150ms, 225ms, 300ms},
      {500ms, 750ms, 1s},
      {30s, 45s, 60s},
  };
  for (const fencing& row : rows) {
    CAPTURE(row.others_go_on.count());
    check(fencing::of_end(row.others_go_on), row);
    CHECK(is_safe(row));
  }
}

TEST_CASE("fencing: a time that is too short to be safe keeps its order", "[rendezvous]") {
  for (const duration silence : {duration(1), duration(1ms), duration(100ms), duration(400ms)}) {
    const fencing plan = fencing::of_silence(silence);
    CAPTURE(silence.count());
    CHECK_FALSE(is_safe(plan));
    CHECK(plan.notice <= plan.kill);
    CHECK(plan.kill <= plan.others_go_on);
  }
  CHECK_FALSE(is_safe(fencing::of_end(100ms)));
}

}  // namespace fencing_tests
