// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/contract/detail/macros.hpp>
#include <support/catch.hpp>

#include <string>
#include <utility>
#include <vector>

namespace {

TEST_CASE("macros: an argument gets its local rank by the rules of string.Template", "[contract]") {
  // The second column is what Python's Template(text).safe_substitute(local_rank="3") gives.
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", ""},
      {"plain", "plain"},
      {"${local_rank}", "3"},
      {"$local_rank", "3"},
      {"--rank=${local_rank}", "--rank=3"},
      {"${local_rank}y", "3y"},
      {"$local_rank-y", "3-y"},
      {"a${local_rank}b$local_rank", "a3b3"},
      {"$local_rank$local_rank", "33"},
      {"${other}", "${other}"},
      {"$other", "$other"},
      {"$local_ranks", "$local_ranks"},
      {"$local_rank2", "$local_rank2"},
      {"$LOCAL_RANK", "$LOCAL_RANK"},
      {"$$", "$"},
      {"$$z", "$z"},
      {"$$$$", "$$"},
      {"$${local_rank}", "${local_rank}"},
      {"$$$local_rank", "$3"},
      {"$", "$"},
      {"end$", "end$"},
      {"$ x", "$ x"},
      {"$1", "$1"},
      {"$-", "$-"},
      {"${", "${"},
      {"${}", "${}"},
      {"${local_rank", "${local_rank"},
      {"${local_rank $local_rank", "${local_rank 3"},
      {"${ local_rank}", "${ local_rank}"},
      {"${1}", "${1}"},
      {"{local_rank}", "{local_rank}"},
      {"$\xc3\xa9", "$\xc3\xa9"},
  };
  for (const auto& [text, expected] : rows) {
    INFO(text);
    CHECK(elastic::detail::substitute_local_rank(text, 3) == expected);
  }
}

TEST_CASE("macros: a value is not looked at again", "[contract]") {
  const elastic::detail::macro_values values = {{"a", "$b ${b} $$"}, {"b", "never"}};
  CHECK(elastic::detail::substitute_macros("<$a>", values) == "<$b ${b} $$>");
}

}  // namespace
