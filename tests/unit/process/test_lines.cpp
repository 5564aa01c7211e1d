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

// The output when `pieces` are fed one after the other and the stream ends.
std::string prefixed_text(const std::vector<std::string>& pieces,
                          const std::string& prefix = "[p]:") {
  detail::line_prefixer lines(prefix);
  std::string text;
  for (std::string_view piece : pieces) {
    while (!piece.empty()) {
      std::string out;
      const std::size_t consumed_size = lines.feed(piece, out);
      REQUIRE((consumed_size > 0 || !out.empty()));
      piece.remove_prefix(consumed_size);
      text += out;
    }
  }
  std::string rest;
  lines.finish(rest);
  return text + rest;
}

std::vector<std::string> tail_of(const std::vector<std::string>& pieces) {
  detail::line_tail tail;
  for (const std::string& piece : pieces) tail.keep(piece);
  return tail.lines();
}

std::vector<std::string> letters_of(const std::string& text) {
  std::vector<std::string> pieces;
  for (char letter : text) pieces.emplace_back(1, letter);
  return pieces;
}

TEST_CASE("lines: the prefix stands directly before every line", "[process]") {
  CHECK(prefixed_text({"one\ntwo\n"}) == "[p]:one\n[p]:two\n");
  CHECK(prefixed_text({"\n\n"}) == "[p]:\n[p]:\n");
  CHECK(prefixed_text({}).empty());
}

TEST_CASE("lines: an unfinished last line has its prefix and gets a line end", "[process]") {
  CHECK(prefixed_text({"one\ntw"}) == "[p]:one\n[p]:tw\n");
  CHECK(prefixed_text({"tw"}) == "[p]:tw\n");
  const std::string long_line(limits::copy_line_bytes + 1, 'y');
  CHECK(prefixed_text({long_line}) == "[p]:" + long_line + "\n");
}

TEST_CASE("lines: a progress bar's carriage return ends a line as well", "[process]") {
  CHECK(prefixed_text({"10%\r20%\r"}) == "[p]:10%\r[p]:20%\r");
  CHECK(prefixed_text({"dos\r\nfile\r\n"}) == "[p]:dos\r\n[p]:file\r\n");
  CHECK(prefixed_text({"a\r", "\nb\r", "c\n"}) == "[p]:a\r\n[p]:b\r[p]:c\n");
  CHECK(prefixed_text({"a\r\r\n\r"}) == "[p]:a\r[p]:\r\n[p]:\r");
}

TEST_CASE("lines: how a stream is cut into pieces makes no difference", "[process]") {
  const std::string text = "one\n\ntwo\rthree\r\n\r\r\nfour \n unfinished";
  const std::string whole_text = prefixed_text({text});
  CHECK(prefixed_text(letters_of(text)) == whole_text);
  detail::random_source chance(7);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::string> pieces;
    for (std::string_view rest = text; !rest.empty();) {
      const std::size_t size = 1 + chance.below(rest.size());
      pieces.emplace_back(rest.substr(0, size));
      rest.remove_prefix(size);
    }
    REQUIRE(prefixed_text(pieces) == whole_text);
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
  std::string text;
  std::size_t largest_step = 0;
  for (int i = 0; i < 1000; ++i) {
    std::string out;
    CHECK(lines.feed(piece, out) == piece.size());
    text += out;
    largest_step = std::max(largest_step, out.size());
    REQUIRE(text.size() + limits::copy_line_bytes >= piece.size() * static_cast<std::size_t>(i));
  }
  CHECK(largest_step <= limits::copy_line_bytes + piece.size() + 4);
  std::string out;
  lines.feed("end\nnext\n", out);
  text += out;
  CHECK(text == "[p]:" + std::string(10'000'000, 'y') + "end\n[p]:next\n");
}

TEST_CASE("lines: many short lines are passed on in bounded batches", "[process]") {
  detail::line_prefixer lines(std::string(1000, 'p'));
  const std::string input(limits::copy_buffer_bytes, '\n');
  std::string out;
  const std::size_t consumed_size = lines.feed(input, out);
  CHECK(consumed_size < input.size());
  CHECK(out.size() == consumed_size * 1001);
  CHECK(out.size() <= limits::copy_buffer_bytes + 1001);
}

// What is shown of the pieces as JSON.
std::string objects(const std::vector<std::string>& pieces, const std::string& head = "") {
  detail::line_prefixer lines(head, true);
  std::string text;
  for (std::string_view piece : pieces) {
    while (!piece.empty()) piece.remove_prefix(lines.feed(piece, text));
  }
  lines.finish(text);
  return text;
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
  const std::string replacement = "\xef\xbf\xbd";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"\x80", replacement},  // in the middle of nothing
      {"\xff", replacement},
      {"a\xc3z", "a" + replacement + "z"},      // a character that does not go on
      {"\xe2\x82", replacement},                // nor here, at the end
      {"\xc0\xaf", replacement + replacement},  // longer than it need be
      {"\xe0\x80\x80", replacement + replacement + replacement},
      {"\xed\xa0\x80", replacement + replacement + replacement},  // half of a surrogate pair
      {"\xf4\x90\x80\x80", replacement + replacement + replacement + replacement},
      {"\xf0\x9f\x98x", replacement + "x"},
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
  const std::string text = objects(pieces);
  std::string joined_text;
  std::vector<bool> more_flags;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view object = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(object.size() + 1);
    const std::string more_head = "{\"more\":true,\"text\":\"";
    const std::string last_head = "{\"text\":\"";
    more_flags.push_back(object.starts_with(more_head));
    object.remove_prefix(more_flags.back() ? more_head.size() : last_head.size());
    object.remove_suffix(2);
    joined_text += object;
  }
  CHECK(more_flags == std::vector<bool>{true, true, false, false});
  CHECK(joined_text == line + "next");
}

TEST_CASE("lines: a head with a time and a process is filled in", "[process]") {
  line_head head("<");
  head.add_time().add_text(" ").add_pid().add_text("> ");
  CHECK(head.has_time());
  const wall_time at = wall_time{} + std::chrono::milliseconds(951'782'400'007);
  CHECK(head.text(7, at) == "<2000-02-29T00:00:00.007Z 7> ");
  CHECK_FALSE(line_head("fixed").has_time());
  CHECK(line_head("").empty());
  const wall_time before = wall_time{} - std::chrono::milliseconds(1);
  CHECK(detail::time_text(before) == "1969-12-31T23:59:59.999Z");
}

// The lines of the pieces that contain `one` or `two`.
std::string matching_lines(const std::vector<std::string>& pieces) {
  detail::line_matcher lines({"one", "two"}, "[p]:", false);
  std::string text;
  for (std::string_view piece : pieces) {
    while (!piece.empty()) piece.remove_prefix(lines.feed(piece, text));
  }
  lines.finish(text);
  return text;
}

TEST_CASE("lines: those that contain one of several texts are picked out", "[process]") {
  CHECK(matching_lines({"one\nzero\nnone of two\n"}) == "[p]:one\n[p]:none of two\n");
  CHECK(matching_lines({"o", "ne", " more\non", "\ne\n"}) == "[p]:one more\n");
  CHECK(matching_lines({"on\ne tw\no\n"}).empty());
  // The last line has no end of its own, and the file may be others' as well.
  CHECK(matching_lines({"zero\nat last two"}) == "[p]:at last two\n");
  CHECK(matching_lines({}).empty());
}

TEST_CASE("lines: the tail has the last lines, without their ends", "[process]") {
  CHECK(tail_of({}).empty());
  CHECK(tail_of({"one\ntwo\r\nthree"}) == std::vector<std::string>{"one", "two", "three"});
  CHECK(tail_of({"\n\n"}) == std::vector<std::string>{"", ""});
  std::string text;
  std::vector<std::string> expected;
  for (int i = 0; i < 1000; ++i) {
    text += "line " + std::to_string(i) + "\n";
    if (i >= 980) expected.push_back("line " + std::to_string(i));
  }
  CHECK(limits::report_stderr_lines == 20);
  CHECK(tail_of({text}) == expected);
  CHECK(tail_of(letters_of(text)) == expected);
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
