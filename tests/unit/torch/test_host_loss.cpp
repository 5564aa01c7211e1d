// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/torch/detail/host_loss.hpp>

#include <elastic/rendezvous/detail/fencing.hpp>
#include <support/catch.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

// When a round goes on without the node of rank 0, and when that one's workers are gone.
namespace host_loss_tests {

using namespace std::chrono_literals;
using elastic::duration;
using elastic::time_point;
using elastic::detail::fencing;
using elastic::detail::host_fence;
using elastic::detail::host_loss;
using elastic::detail::host_loss_action;
using elastic::detail::host_loss_decision;

constexpr time_point begin{12h};
constexpr duration grace = 300ms;

TEST_CASE("host loss: who may go on without the node of rank 0, and when", "[rendezvous]") {
  struct row {
    std::string name;
    std::optional<duration> end;
    bool is_claimed;
    std::optional<duration> last_claim;
    duration now;
    host_loss_action action;
    std::optional<duration> until;
  };
  const std::vector<row> rows = {
      {"nothing ended", {}, false, {}, 0ms, host_loss_action::leave_to_place, {}},
      {"nothing ended, and others say so",
       {},
       false,
       0ms,
       60s,
       host_loss_action::leave_to_place,
       {}},
      {"both ended", 0ms, false, {}, 150ms, host_loss_action::claim, {}},
      {"it was said late", 0ms, false, 0ms, 60s, host_loss_action::claim, {}},
      {"others are connected", 0ms, true, {}, 60s, host_loss_action::wait_for_claims, {}},
      {"all have lost it", 0ms, true, 200ms, 200ms, host_loss_action::wait_until, 500ms},
      {"all claim at once", 0ms, true, 0ms, 1ms, host_loss_action::wait_until, 350ms},
      {"a moment before", 0ms, true, 200ms, 499ms, host_loss_action::wait_until, 500ms},
      {"its workers are gone", 0ms, true, 200ms, 500ms, host_loss_action::go_on, {}},
  };
  for (const row& entry : rows) {
    INFO(entry.name);
    host_loss loss;
    loss.grace = grace;
    loss.is_claimed = entry.is_claimed;
    if (entry.end) loss.ended_at = begin + *entry.end;
    if (entry.last_claim) loss.all_claimed_at = begin + *entry.last_claim;
    const host_loss_decision decision = decide_host_loss(loss, begin + entry.now);
    CHECK(decision.action == entry.action);
    CHECK_FALSE(decision.reason.empty());
    CHECK(decision.until == (entry.until ? begin + *entry.until : time_point::max()));
  }
}

TEST_CASE("host loss: the workers of that node are gone before anybody goes on", "[rendezvous]") {
  CHECK(host_fence(std::nullopt, std::nullopt, grace) == time_point::max());
  CHECK(host_fence(begin, std::nullopt, grace) == begin + fencing::of_end(grace).kill);
  // A claim that it sees is a second sign, if the ends did not reach it.
  CHECK(host_fence(std::nullopt, begin, grace) == begin);
  CHECK(host_fence(begin, begin + 10ms, grace) == begin + 10ms);
  const duration shortest_grace = host_loss::shortest_grace;
  CHECK(fencing::of_end(shortest_grace).is_safe());
  for (const duration node_grace : {shortest_grace, duration(300ms), duration(2s)}) {
    host_loss loss;
    loss.grace = node_grace;
    loss.ended_at = begin;
    loss.is_claimed = true;
    loss.all_claimed_at = begin;
    const time_point resumption = decide_host_loss(loss, begin).until;
    // It may hear of the end 50 ms later.
    const time_point fence = host_fence(begin + 50ms, std::nullopt, node_grace);
    CHECK(fence + fencing::kill_time <= resumption);
  }
}

}  // namespace host_loss_tests
