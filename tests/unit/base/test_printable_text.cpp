// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/printable_text.hpp>
#include <support/catch.hpp>

#include <string>

namespace printable_text_tests {

using elastic::printable_text;

TEST_CASE("printable text: what acts on a terminal is shown by its bytes", "[base]") {
  struct row {
    std::string text;
    std::string output;
  };
  const row rows[] = {
      {"", ""},
      {"plain\ttext, häuschen, 漢字, 🙂", "plain\ttext, häuschen, 漢字, 🙂"},
      {"a\x1b[2J", "a\\x1b[2J"},
      {"a\rb\x08\x07", "a\\x0db\\x08\\x07"},
      {std::string("a\0b", 3), "a\\x00b"},
      {"\x7f", "\\x7f"},
      // C1: the same as ESC [ on some terminals, as UTF-8 and as a byte.
      {"\xc2\x9b"
       "2J",
       "\\xc2\\x9b2J"},
      {"\x9b"
       "2J",
       "\\x9b2J"},
      {"\xc2\xa0", "\xc2\xa0"},
      // The direction of writing, and the ends of lines that Unicode has.
      {"\xe2\x80\xae", "\\xe2\\x80\\xae"},
      {"\xe2\x80\xa8", "\\xe2\\x80\\xa8"},
      // No UTF-8: cut, too long, a surrogate, beyond the last.
      {"\xe2\x80", "\\xe2\\x80"},
      {"\xc0\xaf", "\\xc0\\xaf"},
      {"\xe0\x80\xaf", "\\xe0\\x80\\xaf"},
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
      {"\xff", "\\xff"},
  };
  for (const row& entry : rows) CHECK(printable_text(entry.text) == entry.output);
}

TEST_CASE("printable text: a line within it cannot be taken for one of its own", "[base]") {
  CHECK(printable_text("a\nERROR b\n", "    ") == "a\n    ERROR b\n    ");
  CHECK(printable_text("a\nb") == "a\nb");
}

}  // namespace printable_text_tests
