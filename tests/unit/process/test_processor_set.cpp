// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/process/processor_set.hpp>

#include <support/catch.hpp>

#include <string>
#include <vector>

namespace processor_set_tests {

using elastic::processor_set;

TEST_CASE("processor set: is read and written as the kernel's lists", "[process]") {
  for (const std::string text : {"0", "0-3", "0-3,8", "1,3,5", "0-63,128-191", "8191"}) {
    CHECK(processor_set::parse(text).text() == text);
  }
  CHECK(processor_set::parse("3,1,2,0,1-2").text() == "0-3");
  CHECK(processor_set().text().empty());
  CHECK(processor_set::parse("0-3,8").size() == 5);
}

TEST_CASE("processor set: what is not a list is refused", "[process]") {
  for (const std::string text : {"", "-", "1-", "-1", "3-1", "a", "1,,2", "1,", "8192", "0x1",
                                 "1 2", "0-99999999999"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH(processor_set::parse(text),
                      Catch::Contains("'" + text + "' is not a list of processors"));
  }
}

TEST_CASE("processor set: the kernel's mask has a bit for each", "[process]") {
  using words = std::vector<unsigned long>;
  CHECK(processor_set().mask().empty());
  CHECK(processor_set::parse("0,2").mask() == words{5});
  CHECK(processor_set::parse("64").mask() == words{0, 1});
  CHECK(processor_set::parse("1,127").mask() == words{2, 1UL << 63});
}

TEST_CASE("processor set: this thread may run somewhere", "[process]") {
  CHECK_FALSE(processor_set::allowed_here().empty());
}

}  // namespace processor_set_tests
