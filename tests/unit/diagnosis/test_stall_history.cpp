// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/diagnosis/detail/stall_history.hpp>

#include <support/catch.hpp>

#include <vector>

namespace stall_history_tests {

using elastic::detail::stall_history;
using elastic::detail::stall_verdict;

constexpr auto none = stall_verdict::confidence_level::none;
constexpr auto likely = stall_verdict::confidence_level::likely;
constexpr auto certain = stall_verdict::confidence_level::certain;

TEST_CASE("each thing about a stall is told once", "[diagnosis]") {
  struct row {
    stall_verdict before;
    stall_verdict next;
    bool is_told;
  };
  const std::vector<row> rows{
      {{stall_verdict::kind::behind, likely, {1}, "for 2 s"},
       {stall_verdict::kind::behind, likely, {1}, "for 3 s"},
       false},
      {{stall_verdict::kind::behind, likely, {1}},
       {stall_verdict::kind::behind, certain, {1}},
       true},
      {{stall_verdict::kind::behind, certain, {1}},
       {stall_verdict::kind::behind, likely, {1}},
       false},
      {{stall_verdict::kind::behind, likely, {1}},
       {stall_verdict::kind::behind, likely, {2}},
       true},
      {{stall_verdict::kind::behind, likely, {1}},
       {stall_verdict::kind::behind, likely, {1, 2}},
       true},
      {{stall_verdict::kind::behind, likely, {1, 2}},
       {stall_verdict::kind::behind, likely, {2, 1}},
       false},
      // Of a slow rank one look finds that it computes, and the next one may not.
      {{stall_verdict::kind::slow, likely, {1}}, {stall_verdict::kind::behind, likely, {1}}, false},
      {{stall_verdict::kind::behind, likely, {1}}, {stall_verdict::kind::slow, likely, {1}}, false},
      {{stall_verdict::kind::slow, likely, {1}}, {stall_verdict::kind::behind, certain, {1}}, true},
      {{stall_verdict::kind::silent, likely, {1}},
       {stall_verdict::kind::behind, likely, {1}},
       true},
      {{stall_verdict::kind::unknown, none, {}}, {stall_verdict::kind::behind, likely, {1}}, true},
      {{stall_verdict::kind::unknown, none, {}}, {stall_verdict::kind::unknown, none, {}}, false},
  };
  for (const row& each : rows) {
    CAPTURE(&each - rows.data());
    stall_history history;
    CHECK(history.is_empty());
    CHECK(history.add(each.before));
    CHECK_FALSE(history.is_empty());
    CHECK(history.add(each.next) == each.is_told);
    CHECK_FALSE(history.add(each.before));
    history.clear();
    CHECK(history.add(each.next));
  }
}

TEST_CASE("a verdict that changes with every look is not told for ever", "[diagnosis]") {
  stall_history history;
  int told = 0;
  for (int rank = 0; rank < 100; ++rank) {
    if (history.add({stall_verdict::kind::behind, likely, {rank}})) ++told;
  }
  CHECK(told == static_cast<int>(stall_history::most_verdicts));
}

}  // namespace stall_history_tests
