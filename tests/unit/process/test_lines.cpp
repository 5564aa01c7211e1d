// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/base/detail/random.hpp>
#include <elastic/process/detail/lines.hpp>
#include <support/catch.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>
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
  detail::random_source chance(7);
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

// What is shown of the pieces as JSON.
std::string objects(const std::vector<std::string>& pieces, const std::string& head = "") {
  detail::line_prefixer lines(head, true);
  std::string all;
  for (std::string_view piece : pieces) {
    while (!piece.empty()) piece.remove_prefix(lines.feed(piece, all));
  }
  lines.finish(all);
  return all;
}

TEST_CASE("lines: as JSON each line is one object, without its end", "[process]") {
  CHECK(objects({"one\ntwo\r\n", "three\rfo", "ur"}, "{\"rank\":1,") ==
        "{\"rank\":1,\"text\":\"one\"}\n"
        "{\"rank\":1,\"text\":\"two\"}\n"
        "{\"rank\":1,\"text\":\"three\"}\n"
        "{\"rank\":1,\"text\":\"four\"}\n");
  CHECK(objects({"\n"}) == "{\"text\":\"\"}\n");
}

TEST_CASE("lines: as JSON every byte can be read back, or was no UTF-8 and says so", "[process]") {
  const auto text = [](const std::string& line) {
    const std::string object = objects({line + "\n"});
    return object.substr(9, object.size() - 12);
  };
  CHECK(text("a \"b\" \\ /") == "a \\\"b\\\" \\\\ /");
  CHECK(text(std::string("\0\t\x1b[1m\x7f", 7)) == "\\u0000\\t\\u001b[1m\x7f");
  CHECK(text("ä€😀") == "ä€😀");
  const std::string replaced = "\xef\xbf\xbd";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"\x80", replaced},  // in the middle of nothing
      {"\xff", replaced},
      {"a\xc3z", "a" + replaced + "z"},   // a character that does not go on
      {"\xe2\x82", replaced},             // nor here, at the end
      {"\xc0\xaf", replaced + replaced},  // longer than it need be
      {"\xe0\x80\x80", replaced + replaced + replaced},
      {"\xed\xa0\x80", replaced + replaced + replaced},  // half of a surrogate pair
      {"\xf4\x90\x80\x80", replaced + replaced + replaced + replaced},
      {"\xf0\x9f\x98x", replaced + "x"},
  };
  for (const auto& [bytes, expected] : rows) CHECK(text(bytes) == expected);
}

TEST_CASE("lines: as JSON a line that is too long comes as several objects, no character torn",
          "[process]") {
  std::string line;
  while (line.size() < 3 * limits::copy_line_bytes) line += "€";
  std::vector<std::string> pieces;
  for (std::string_view rest = line; !rest.empty();) {
    pieces.emplace_back(rest.substr(0, 1000));
    rest.remove_prefix(std::min<std::size_t>(rest.size(), 1000));
  }
  pieces.emplace_back("\nnext\n");
  const std::string all = objects(pieces);
  std::string joined;
  std::vector<bool> goes_on;
  for (std::string_view rest = all; !rest.empty();) {
    std::string_view object = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(object.size() + 1);
    const std::string more = "{\"more\":true,\"text\":\"";
    const std::string last = "{\"text\":\"";
    goes_on.push_back(object.starts_with(more));
    object.remove_prefix(goes_on.back() ? more.size() : last.size());
    object.remove_suffix(2);
    joined += object;
  }
  CHECK(goes_on == std::vector<bool>{true, true, false, false});
  CHECK(joined == line + "next");
}

TEST_CASE("lines: a head with a time and a process is filled in", "[process]") {
  elastic::line_head head("<");
  head.add_time().add_text(" ").add_pid().add_text("> ");
  CHECK(head.has_time());
  const wall_time at = wall_time{} + std::chrono::milliseconds(951'782'400'007);
  CHECK(head.text(7, at) == "<2000-02-29T00:00:00.007Z 7> ");
  CHECK_FALSE(line_head("fixed").has_time());
  CHECK(line_head("").empty());
  CHECK(time_text(wall_time{} - std::chrono::milliseconds(1)) == "1969-12-31T23:59:59.999Z");
}

// The lines of the pieces that contain `one` or `two`.
std::string matching(const std::vector<std::string>& pieces) {
  detail::line_matcher lines({"one", "two"}, "[p]:", false);
  std::string all;
  for (std::string_view piece : pieces) {
    while (!piece.empty()) piece.remove_prefix(lines.feed(piece, all));
  }
  lines.finish(all);
  return all;
}

TEST_CASE("lines: those that contain one of several texts are picked out", "[process]") {
  CHECK(matching({"one\nzero\nnone of two\n"}) == "[p]:one\n[p]:none of two\n");
  CHECK(matching({"o", "ne", " more\non", "\ne\n"}) == "[p]:one more\n");
  CHECK(matching({"on\ne tw\no\n"}).empty());
  // The last line has no end of its own, and the file may be others' as well.
  CHECK(matching({"zero\nat last two"}) == "[p]:at last two\n");
  CHECK(matching({}).empty());
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
