// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/detail/nearest_name.hpp>
#include <support/catch.hpp>

#include <string>
#include <vector>

namespace nearest_name_test {

TEST_CASE("nearest_name: a word with few wrong letters is meant for a name", "[base]") {
  const std::vector<std::string> names = {"timeout", "join_timeout", "is_host"};
  const auto nearest_to = [&](const std::string& word) {
    return elastic::detail::nearest_name(word, names);
  };
  CHECK(nearest_to("timeot") == "timeout");
  CHECK(nearest_to("timeoutt") == "timeout");
  CHECK(nearest_to("timeuot") == "timeout");  // two letters swapped
  CHECK(nearest_to("tineout") == "timeout");
  CHECK(nearest_to("jointimeout") == "join_timeout");
  CHECK(nearest_to("join_tineout") == "join_timeout");
  CHECK(nearest_to("join_tim") == "join_timeout");
}

TEST_CASE("nearest_name: a word that is like none has none", "[base]") {
  const std::vector<std::string> names = {"timeout", "is_host"};
  for (const std::string& word :
       {std::string(), std::string("t"), std::string("color"), std::string(100'000, 't')}) {
    CHECK(elastic::detail::nearest_name(word, names).empty());
  }
  CHECK(elastic::detail::nearest_name("timeout", {}).empty());
}

}  // namespace nearest_name_test
