// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/diagnosis/detail/rank_set.hpp>

#include <elastic/base/error.hpp>

#include <support/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace rank_set_tests {

using elastic::detail::rank_set;

TEST_CASE("a set of ranks has one text, whatever the order of its ranks", "[diagnosis]") {
  struct row {
    std::vector<int> ranks;
    std::string text;
  };
  const std::vector<row> rows{
      {{}, ""},
      {{3}, "3"},
      {{1, 0}, "0-1"},
      {{0, 5}, "0,5"},
      {{7, 6, 5, 4, 3, 1, 0}, "0-1,3-7"},
      {{0, 2, 4, 6}, "0-6/2"},
      {{0, 8, 16, 24, 25, 26}, "0-24/8,25-26"},
      {{2, 2, 2}, "2"},
  };
  for (const row& each : rows) {
    CAPTURE(each.text);
    const rank_set set(each.ranks);
    CHECK(set.text() == each.text);
    CHECK(rank_set::parse(each.text) == set);
    CHECK(rank_set(set.ranks()) == set);
    CHECK(set.size() == set.ranks().size());
    for (int rank = -1; rank < 30; ++rank) {
      const auto ranks = set.ranks();
      const bool is_in = std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
      CHECK(set.contains(rank) == is_in);
    }
  }
}

TEST_CASE("what is not a set of ranks is refused", "[diagnosis]") {
  const std::vector<std::string> texts{
      "-1",   "0-",      "1-0",   "0,0",         "3,1",           "0-7/0", "0-7/2",
      "0,",   "a",       "0 - 7", "1000000",     "99999999999",   "0--1",  "0-6/-2",
      "+1",   ",",       "0-4,3", "0-999999/",   std::string(129, '1'),
  };
  for (const std::string& text : texts) {
    CAPTURE(text);
    CHECK_THROWS_AS(rank_set::parse(text), elastic::error);
  }
}

TEST_CASE("a set of a million ranks is small", "[diagnosis]") {
  CHECK(rank_set::parse("0-999999").size() == 1'000'000);
  CHECK(rank_set::parse("0-999999/3").contains(999'999));
  CHECK_FALSE(rank_set::parse("0-999999/3").contains(999'998));
}

}  // namespace rank_set_tests
