// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/cli/detail/chaos_text.hpp>

#include <elastic/base/error.hpp>
#include <support/catch.hpp>

#include <string>

namespace chaos_plan_tests {

using chaos_plan = elastic::program_config::chaos_plan;
using elastic::detail::parse_chaos_plan;
using elastic::detail::to_text;

TEST_CASE("chaos plan: what is written can be read", "[cli]") {
  struct row {
    const char* text;
    const char* normal_form;
  };
  for (const row& entry :
       {row{"kill=rank:3@20s", "kill=rank:3@20s"}, row{"kill=node:1@2m", "kill=node:1@120s"},
        row{"stop=rank:2@10s+5s", "stop=rank:2@10s+5s"},
        row{"slow=rank:0@1.5s+0.5h", "slow=rank:0@1500ms+1800s"},
        row{"cut=node:1@30s+10s", "cut=node:1@30s+10s"}, row{"random=7@20s", "random=7@20s"},
        row{"kill=rank:0@0s", "kill=rank:0@0s"},
        row{"kill=rank:1@1s,random=18446744073709551615@100ms,kill=rank:0@1s",
            "kill=rank:1@1s,kill=rank:0@1s,random=18446744073709551615@100ms"}}) {
    INFO(entry.text);
    const chaos_plan plan = parse_chaos_plan(entry.text);
    CHECK_FALSE(plan.empty());
    CHECK(to_text(plan) == entry.normal_form);
    CHECK(parse_chaos_plan(entry.normal_form) == plan);
  }
}

TEST_CASE("chaos plan: what is not a fault is refused with what is allowed", "[cli]") {
  for (const char* const text : {"",
                                 ",",
                                 "kill",
                                 "kill=",
                                 "kill=rank",
                                 "kill=rank:",
                                 "kill=rank:1",
                                 "kill=rank:1@",
                                 "kill=rank:1@20",
                                 "kill=rank:1@20x",
                                 "kill=rank:-1@20s",
                                 "kill=rank:1@-20s",
                                 "kill=rank:1@-0s",
                                 "kill=rank:1@nans",
                                 "kill=rank:1@1e3s",
                                 "kill=rank:1@1001h",
                                 "kill=rank:1@1s+1s",
                                 "kill=rank:99999999999@1s",
                                 "kill=host:1@1s",
                                 "kill=rank:1@1s,",
                                 "stop=rank:1@1s",
                                 "stop=rank:1@1s+0s",
                                 "stop=node:1@1s+1s",
                                 "slow=rank:1@1s",
                                 "hang=rank:1@1s",
                                 "random=7",
                                 "random=x@1s",
                                 "random=7@0s",
                                 "random=7@10ms",
                                 "random=-1@1s",
                                 "random=1@1s,random=2@1s",
                                 " kill=rank:1@1s",
                                 "cut=node:1@1s",
                                 "cut=node:1@1s+0s",
                                 "cut=rank:1@1s+1s",
                                 "cut=node:-1@1s+1s",
                                 "cut=node:1@1s+1001h"}) {
    INFO(text);
    try {
      parse_chaos_plan(text);
      FAIL_CHECK("accepted");
    } catch (const elastic::error& failure) {
      CHECK(failure.code() == elastic::errc::invalid_argument);
      const std::string sentence = failure.what();
      CHECK_THAT(sentence, elastic::test::contains_text("the faults are") ||
                               elastic::test::contains_text("allowed"));
      CHECK(sentence.find('\n') == sentence.npos);
    }
  }
  try {
    parse_chaos_plan("kil=rank:1@1s");
    FAIL_CHECK("accepted");
  } catch (const elastic::error& failure) {
    CHECK_THAT(failure.what(), elastic::test::contains_text("'kil=rank:1@1s': did you mean kill?"));
  }
  std::string long_plan = "kill=rank:0@1s";
  for (int i = 0; i < 1000; ++i) long_plan += ",kill=rank:0@1s";
  CHECK_THROWS_AS(parse_chaos_plan(long_plan), elastic::error);
}

TEST_CASE("chaos plan: says what a world has not", "[cli]") {
  const chaos_plan plan =
      parse_chaos_plan("kill=rank:1@1s,kill=rank:2@1s,kill=rank:2@5s,cut=node:1@1s+1s,random=1@1s");
  CHECK(elastic::detail::missing_targets(plan, 3, 2).empty());
  CHECK(elastic::detail::missing_targets(plan, 2, 1) == "node 1, rank 2");
}

}  // namespace chaos_plan_tests
