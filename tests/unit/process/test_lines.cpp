// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/base/random.hpp>
#include <elastic/process/detail/lines.hpp>
#include <support/catch.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace elastic {
namespace {

// What comes out when `pieces` are fed one after the other and the stream ends.
std::string prefixed(const std::vector<std::string>& pieces, const std::string& prefix = "[p]:") {
  detail::line_prefixer lines(prefix);
  std::string all;
  for (std::string_view piece : pieces) {
    while (!piece.empty()) {
      std::string out;
      const std::size_t taken = lines.feed(piece, out);
      REQUIRE((taken > 0 || !out.empty()));
      piece.remove_prefix(taken);
      all += out;
    }
  }
  std::string rest;
  lines.finish(rest);
  return all + rest;
}

std::vector<std::string> tail_of(const std::vector<std::string>& pieces) {
  detail::line_tail tail;
  for (const std::string& piece : pieces) tail.keep(piece);
  return tail.lines();
}

std::vector<std::string> one_by_one(const std::string& text) {
  std::vector<std::string> pieces;
  for (char letter : text) pieces.emplace_back(1, letter);
  return pieces;
}

TEST_CASE("lines: the prefix stands directly before every line", "[process]") {
  CHECK(prefixed({"one\ntwo\n"}) == "[p]:one\n[p]:two\n");
  CHECK(prefixed({"\n\n"}) == "[p]:\n[p]:\n");
  CHECK(prefixed({}).empty());
}

TEST_CASE("lines: an unfinished last line has its prefix and no line end", "[process]") {
  CHECK(prefixed({"one\ntw"}) == "[p]:one\n[p]:tw");
  CHECK(prefixed({"tw"}) == "[p]:tw");
}

TEST_CASE("lines: a progress bar's carriage return ends a line as well", "[process]") {
  CHECK(prefixed({"10%\r20%\r"}) == "[p]:10%\r[p]:20%\r");
  CHECK(prefixed({"dos\r\nfile\r\n"}) == "[p]:dos\r\n[p]:file\r\n");
  CHECK(prefixed({"a\r", "\nb\r", "c\n"}) == "[p]:a\r\n[p]:b\r[p]:c\n");
  CHECK(prefixed({"a\r\r\n\r"}) == "[p]:a\r[p]:\r\n[p]:\r");
}

TEST_CASE("lines: how a stream is cut into pieces makes no difference", "[process]") {
  const std::string text = "one\n\ntwo\rthree\r\n\r\r\nfour \n unfinished";
  const std::string whole = prefixed({text});
  CHECK(prefixed(one_by_one(text)) == whole);
  random_source chance(7);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::string> pieces;
    for (std::string_view rest = text; !rest.empty();) {
      const std::size_t size = 1 + chance.below(rest.size());
      pieces.emplace_back(rest.substr(0, size));
      rest.remove_prefix(size);
    }
    REQUIRE(prefixed(pieces) == whole);
  }
}

TEST_CASE("lines: an unfinished line is held back until it is whole", "[process]") {
  detail::line_prefixer lines("[p]:");
  std::string out;
  lines.feed("half", out);
  CHECK(out.empty());
  lines.feed(" whole\nnext", out);
  CHECK(out == "[p]:half whole\n");
}

TEST_CASE("lines: a line without end passes in pieces, with one prefix and bounded memory",
          "[process]") {
  detail::line_prefixer lines("[p]:");
  const std::string piece(10'000, 'y');
  std::string all;
  std::size_t largest_step = 0;
  for (int i = 0; i < 1000; ++i) {
    std::string out;
    CHECK(lines.feed(piece, out) == piece.size());
    all += out;
    largest_step = std::max(largest_step, out.size());
    REQUIRE(all.size() + limits::copy_line_bytes >= piece.size() * static_cast<std::size_t>(i));
  }
  CHECK(largest_step <= limits::copy_line_bytes + piece.size() + 4);
  std::string out;
  lines.feed("end\nnext\n", out);
  all += out;
  CHECK(all == "[p]:" + std::string(10'000'000, 'y') + "end\n[p]:next\n");
}

TEST_CASE("lines: many short lines are passed on in bounded batches", "[process]") {
  detail::line_prefixer lines(std::string(1000, 'p'));
  const std::string input(limits::copy_buffer_bytes, '\n');
  std::string out;
  const std::size_t taken = lines.feed(input, out);
  CHECK(taken < input.size());
  CHECK(out.size() == taken * 1001);
  CHECK(out.size() <= limits::copy_buffer_bytes + 1001);
}

TEST_CASE("lines: the tail has the last lines, without their ends", "[process]") {
  CHECK(tail_of({}).empty());
  CHECK(tail_of({"one\ntwo\r\nthree"}) == std::vector<std::string>{"one", "two", "three"});
  CHECK(tail_of({"\n\n"}) == std::vector<std::string>{"", ""});
  std::string many;
  std::vector<std::string> expected;
  for (int i = 0; i < 1000; ++i) {
    many += "line " + std::to_string(i) + "\n";
    if (i >= 980) expected.push_back("line " + std::to_string(i));
  }
  CHECK(limits::report_stderr_lines == 20);
  CHECK(tail_of({many}) == expected);
  CHECK(tail_of(one_by_one(many)) == expected);
}

TEST_CASE("lines: the tail is bounded in bytes, too", "[process]") {
  const std::string long_line(limits::report_stderr_bytes * 3, 'z');
  const std::vector<std::string> lines = tail_of({long_line, long_line + "\nlast\n"});
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].size() <= limits::report_stderr_bytes);
  CHECK(lines[1] == "last");
}

}  // namespace
}  // namespace elastic
