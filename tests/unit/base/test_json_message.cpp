// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/detail/json_fields.hpp>
#include <elastic/base/detail/json_object.hpp>
#include <elastic/base/error.hpp>

#include <support/catch.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace json_message_tests {

using elastic::detail::json_fields;
using elastic::detail::json_object;

json_fields fields_of(const std::string& text) { return json_fields("a word", text, 100); }

std::string refusal(const std::string& text) {
  try {
    const json_fields fields = fields_of(text);
    fields.number("n", -1, 5);
    fields.flag("f");
    fields.text("t");
    fields.real("r");
  } catch (const elastic::error& failure) {
    CHECK(failure.code() == elastic::errc::protocol_violation);
    return failure.what();
  }
  return "";
}

TEST_CASE("json fields: each is read by its type and within its bounds", "[base]") {
  CHECK(refusal(R"({"n": -1, "f": true, "t": "", "r": 1})").empty());
  CHECK(refusal(R"({"n": 5, "f": false, "t": "x", "r": 0.5, "more": []})").empty());
  CHECK(fields_of(R"({"n": 5})").small_number("n", 0, 5) == 5);
  CHECK(fields_of(R"({"n": 5})").has("n"));
  CHECK_FALSE(fields_of(R"({"n": null})").has("n"));
  CHECK_FALSE(fields_of("{}").has("n"));
}

TEST_CASE("json fields: what is wrong is named", "[base]") {
  struct example {
    std::string text;
    std::string sentence;
  };
  const std::vector<example> examples = {
      {"", "a word is no JSON object"},
      {"[1]", "a word is no JSON object"},
      {"{", "a word is no JSON object"},
      {std::string(101, ' '), "a word is 101 bytes long; up to 100 are taken"},
      {"{}", "a word has no \"n\""},
      {R"({"n": 1.5})", "a word has no whole number \"n\""},
      {R"({"n": "1"})", "a word has no whole number \"n\""},
      {R"({"n": -2})", "a word has \"n\" outside of -1 to 5"},
      {R"({"n": 6})", "a word has \"n\" outside of -1 to 5"},
      {R"({"n": 18446744073709551615})", "a word has \"n\" outside of -1 to 5"},
      {R"({"n": 0, "f": 1})", "a word has no true or false \"f\""},
      {R"({"n": 0, "f": true, "t": 1})", "a word has no text \"t\""},
      {R"({"n": 0, "f": true, "t": "", "r": "1"})", "a word has no number \"r\""},
  };
  for (const example& entry : examples) CHECK(refusal(entry.text) == entry.sentence);
}

TEST_CASE("json object: is one line that is read again", "[base]") {
  CHECK(json_object().text() == "{}");
  json_object object;
  object.add("n", std::int64_t{-7}).add("f", true).add("r", 0.5).add("t", "a \"b\"\n\xff");
  CHECK(object.text() ==
        "{\"n\": -7, \"f\": true, \"r\": 0.5, \"t\": \"a \\\"b\\\"\\n\xef\xbf\xbd\"}");
  CHECK(fields_of(object.text()).text("t") == "a \"b\"\n\xef\xbf\xbd");
}

}  // namespace json_message_tests
