// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/diagnosis/detail/stack_groups.hpp>

#include <support/catch.hpp>

#include <string>
#include <vector>

namespace stack_groups_tests {

using elastic::detail::merge_stacks;
using elastic::detail::rank_stack;
using elastic::detail::stack_frame;
using elastic::detail::stack_group;

const std::vector<stack_frame> in_all_reduce{
    {"/usr/lib/python3/dist-packages/torch/distributed/distributed_c10d.py", 3252, "all_reduce"},
    {"/home/me/train.py", 88, "step"}};
const std::vector<stack_frame> in_loader{{"/home/me/data.py", 31, "read_shard"},
                                         {"/home/me/train.py", 80, "step"}};

std::vector<std::string> lines_of(const std::vector<stack_group>& groups) {
  std::vector<std::string> lines;
  for (const stack_group& group : groups) lines.push_back(to_string(group));
  return lines;
}

TEST_CASE("ranks with one stack are shown once", "[diagnosis]") {
  std::vector<rank_stack> stacks{{9, {}}};
  for (int rank = 7; rank >= 0; --rank) {
    stacks.push_back({rank, rank == 2 ? in_loader : in_all_reduce});
  }
  const auto groups = merge_stacks(stacks);
  CHECK(lines_of(groups) == std::vector<std::string>{
                                "ranks 0-1,3-7: all_reduce at train.py:88 step",
                                "rank 2: data.py:31 read_shard",
                                "rank 9: the stack is not known",
                            });
  CHECK(groups[0].frames == in_all_reduce);
}

TEST_CASE("stacks that differ in one line stay apart", "[diagnosis]") {
  auto other = in_all_reduce;
  other[1].line = 89;
  const auto groups = merge_stacks({{0, other}, {1, in_all_reduce}, {2, other}});
  CHECK(lines_of(groups) == std::vector<std::string>{
                                "ranks 0,2: all_reduce at train.py:89 step",
                                "rank 1: all_reduce at train.py:88 step",
                            });
}

TEST_CASE("no stacks, no groups", "[diagnosis]") { CHECK(merge_stacks({}).empty()); }

TEST_CASE("a line about stacks does nothing to a terminal", "[diagnosis]") {
  const auto groups = merge_stacks({{0, {{"/usr/lib/python3/x.py", 1, "\x1b[2J"},
                                         {"/home/\n\x1b", 1, "f\n"}}}});
  CHECK(to_string(groups.at(0)).find_first_of("\x1b\n") == std::string::npos);
}

}  // namespace stack_groups_tests
