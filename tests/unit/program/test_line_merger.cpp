// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <program/output/line_merger.hpp>

#include <program/limits.hpp>
#include <support/catch.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace line_merger_tests {

using namespace std::chrono_literals;
using elastic::time_point;
using elasticrun::line_merger;

constexpr time_point start{};

line_merger merger_of(std::size_t workers) {
  line_merger lines("w");
  lines.expect(workers);
  return lines;
}

TEST_CASE("line merger: a line that all workers have written appears at once", "[program]") {
  line_merger lines = merger_of(3);
  lines.add(0, "epoch 1\n", start);
  lines.add(2, "epoch 1\n", start + 10ms);
  CHECK(lines.take(start + 10ms).empty());
  lines.add(1, "epoch 1\n", start + 20ms);
  CHECK(lines.take(start + 20ms) == "[w0-2]:epoch 1\n");
  CHECK(lines.next_deadline() == time_point::max());
}

TEST_CASE("line merger: a line waits for the other workers no longer than the window",
          "[program]") {
  line_merger lines = merger_of(3);
  lines.add(1, "only here\n", start);
  CHECK(lines.next_deadline() == start + 300ms);
  CHECK(lines.take(start + 299ms).empty());
  CHECK(lines.take(start + 300ms) == "[w1]:only here\n");
  lines.add(0, "only here\n", start + 301ms);
  CHECK(lines.take(start + 601ms) == "[w0]:only here\n");
}

TEST_CASE("line merger: one worker does not wait", "[program]") {
  line_merger lines = merger_of(1);
  lines.add(0, "a\n", start);
  lines.add(0, "a\n", start);
  CHECK(lines.take(start) == "[w0]:a\n[w0]:a\n");
}

TEST_CASE("line merger: the lines of each worker keep their order", "[program]") {
  struct written {
    int local_rank;
    std::string text;
  };
  struct example {
    std::string name;
    std::vector<written> lines;
    std::string shown;
  };
  const std::vector<example> examples{
      {"the same lines", {{0, "a"}, {0, "b"}, {1, "a"}, {1, "b"}}, "[w0,1]:a\n[w0,1]:b\n"},
      {"a line of one worker between",
       {{0, "a"}, {0, "x"}, {0, "b"}, {1, "a"}, {1, "b"}},
       "[w0,1]:a\n[w0]:x\n[w0,1]:b\n"},
      {"another order", {{0, "a"}, {0, "b"}, {1, "b"}, {1, "a"}}, "[w0]:a\n[w0,1]:b\n[w1]:a\n"},
      {"a line that is repeated",
       {{0, "a"}, {0, "a"}, {0, "a"}, {1, "a"}, {1, "a"}},
       "[w0,1]:a\n[w0,1]:a\n[w0]:a\n"},
      {"empty lines", {{0, ""}, {1, ""}}, "[w0,1]:\n"},
      {"lines that differ in a space", {{0, "a"}, {1, "a "}}, "[w0]:a\n[w1]:a \n"},
  };
  for (const example& each : examples) {
    INFO(each.name);
    line_merger lines = merger_of(2);
    for (const written& line : each.lines) lines.add(line.local_rank, line.text + "\n", start);
    CHECK(lines.take(start + 300ms) == each.shown);
  }
}

TEST_CASE("line merger: a complete line does not overtake one that waits", "[program]") {
  line_merger lines = merger_of(2);
  lines.add(0, "mine\n", start);
  lines.add(0, "ours\n", start + 1ms);
  lines.add(1, "ours\n", start + 2ms);
  CHECK(lines.take(start + 2ms).empty());
  CHECK(lines.take(start + 300ms) == "[w0]:mine\n[w0,1]:ours\n");
}

TEST_CASE("line merger: ranks are shown as ranges", "[program]") {
  line_merger lines = merger_of(11);
  for (const int local_rank : {9, 3, 0, 1, 2, 4, 5, 6, 7}) lines.add(local_rank, "a\n", start);
  CHECK(lines.take_all() == "[w0-7,9]:a\n");
}

TEST_CASE("line merger: what does not wait comes after what waits", "[program]") {
  line_merger lines = merger_of(2);
  lines.add(0, "first\n", start);
  lines.pass(1, "large\n");
  lines.add(0, "second\n", start);
  lines.pass(1, "the beginning");
  lines.pass_piece(" and the end\n");
  CHECK(lines.take(start) ==
        "[w0]:first\n[w1]:large\n[w0]:second\n[w1]:the beginning and the end\n");
}

TEST_CASE("line merger: a bounded number of lines and bytes waits", "[program]") {
  line_merger lines = merger_of(2);
  for (std::size_t i = 0; i <= elasticrun::limits::merged_lines; ++i) {
    lines.add(0, std::to_string(i) + "\n", start);
  }
  CHECK(lines.take(start) == "[w0]:0\n");

  line_merger large = merger_of(2);
  const std::string half(elasticrun::limits::merged_bytes / 2, 'x');
  large.add(0, half + "\n", start);
  large.add(0, half + "y\n", start);
  CHECK(large.take(start) == "[w0]:" + half + "\n");
  large.add(1, half + "y\n", start);
  CHECK(large.take(start) == "[w0,1]:" + half + "y\n");
}

}  // namespace line_merger_tests
