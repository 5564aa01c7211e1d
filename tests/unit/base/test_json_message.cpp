// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/detail/json_fields.hpp>
#include <elastic/base/detail/json_object.hpp>
#include <elastic/base/error.hpp>

#include <support/catch.hpp>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

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
  CHECK(fields_of(R"({"n": 5})").has("n"));
  CHECK_FALSE(fields_of(R"({"n": null})").has("n"));
  CHECK_FALSE(fields_of("{}").has("n"));
}

TEST_CASE("json fields: of more members than a message has, none is looked up", "[base]") {
  std::string text = R"({"r": "no number")";
  for (int field = 0; field < 300; ++field) text += fmt::format(", \"{}\": 1", field);
  const auto complaint = [](const std::string& message) -> std::string {
    try {
      json_fields("a word", message, 10'000).real("r");
    } catch (const elastic::error& failure) {
      CHECK(failure.code() == elastic::errc::protocol_violation);
      return failure.what();
    }
    return "";
  };
  CHECK(complaint(text + "}") == "a word has an object of more than 256 members");
  CHECK(complaint(text + R"(, "list": []})") == "a word has an object of more than 256 members");
  CHECK(complaint(R"({"r": "no number"})") == "a word has no number \"r\"");
}

TEST_CASE("json fields: what is wrong is named", "[base]") {
  struct example {
    std::string text;
    std::string sentence;
  };
  const std::vector<example> examples = {
      {"", "a word is not a JSON object: ''"},
      {"[1]", "a word is not a JSON object: '[1]'"},
      {"{\n\x1b", "a word is not a JSON object: '{ \\x1b'"},
      {std::string(101, ' '), "a word is 101 bytes long; up to 100 are taken"},
      {"{}", "a word has no \"n\""},
      {R"({"n": 1.5})", "a word has no whole number \"n\""},
      {R"({"n": "1"})", "a word has no whole number \"n\""},
      {R"({"n": -2})", "a word has \"n\" outside of -1 to 5: -2"},
      {R"({"n": 6})", "a word has \"n\" outside of -1 to 5: 6"},
      {R"({"n": 18446744073709551615})",
       "a word has \"n\" outside of -1 to 5: 18446744073709551615"},
      {R"({"n": 0, "f": 1})", "a word has no true or false \"f\""},
      {R"({"n": 0, "f": true, "t": 1})", "a word has no text \"t\""},
      {R"({"n": 0, "f": true, "t": "", "r": "1"})", "a word has no number \"r\""},
  };
  for (const example& entry : examples) CHECK(refusal(entry.text) == entry.sentence);
}

std::string text_in(const json_fields& fields, const char* name) {
  return std::string(fields.text(name));
}
std::string flag_in(const json_fields& fields, const char* name) {
  return fields.flag(name) ? "true" : "false";
}
std::string number_in(const json_fields& fields, const char* name) {
  return std::to_string(fields.number(name, INT64_MIN, INT64_MAX));
}

/// What a message holds, as one text.
std::string content(const std::string& text) {
  try {
    const json_fields fields("it", text, 200);
    std::string words;
    for (const char* name : {"n", "f", "t", "r", "x"}) {
      if (!fields.has(name)) continue;
      for (const auto read : {text_in, flag_in, number_in}) {
        try {
          words += name + read(fields, name) + ";";
        } catch (const elastic::error&) {
          words += "-;";
        }
      }
    }
    return words;
  } catch (const elastic::error& failure) {
    const std::string sentence = failure.what();
    return sentence.substr(0, sentence.find(':'));
  }
}

/// The same by a parser of all of JSON.
std::string content_by_parser(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return "it is not a JSON object";
  std::string words;
  for (const std::string name : {"n", "f", "t", "r", "x"}) {
    const auto value = json.find(name);
    if (value == json.end() || value->is_null()) continue;
    words += value->is_string() ? name + value->get<std::string>() + ";" : "-;";
    words += value->is_boolean() ? name + (value->get<bool>() ? "true" : "false") + ";" : "-;";
    const bool fits = value->is_number_integer() && (!value->is_number_unsigned() ||
                                                     value->get<std::uint64_t>() <= INT64_MAX);
    words += fits ? name + std::to_string(value->get<std::int64_t>()) + ";" : "-;";
  }
  return words;
}

TEST_CASE("json fields: read a message as a parser of all of JSON does", "[base]") {
  const std::vector<std::string> samples = {
      R"({"n": 1, "f": true, "t": "some words", "r": 0.5, "x": null})",
      R"( { "n":-0 ,"n" : 7,"t":"","x":false} )",
      R"({"n": 999999999999999999, "r": -999999999999999999, "x": 1000000000000000000})",
      R"({"n": 9223372036854775807, "r": 9223372036854775808, "x": -9223372036854775809})",
      R"({"n": 1e3, "r": -1.5E-2, "t": "a \"b\" \\ \u00e9 \ud83d\ude00", "x": "é"})",
      R"({"n": 1, "t": "{\"a\": [\"b\", \"\\\/\b\f\n\r\t\"]}", "x": "\\", "\\": "\t"})",
      R"({"n": [1, {"n": 2}], "x": {"f": true}, "\u0074": "t", "f": false})",
      "{}",
  };
  const std::string_view letters = "{}[]\",:\\ 019-+.eEtrufalsn\n\x01\x7f\xc3\xa9";
  std::mt19937 random(28);
  const auto below = [&](std::size_t bound) { return random() % bound; };
  for (const std::string& sample : samples) {
    REQUIRE(content(sample) == content_by_parser(sample));
    for (int round = 0; round < 5000; ++round) {
      std::string text = sample;
      for (std::size_t change = 0; change <= below(2) && !text.empty(); ++change) {
        const std::size_t at = below(text.size());
        const char letter = letters[below(letters.size())];
        if (const auto kind = below(3); kind == 0) {
          text.erase(at, 1 + below(3));
        } else {
          kind == 1 ? text.insert(at, 1, letter) : text.replace(at, 1, 1, letter);
        }
      }
      CAPTURE(text);
      REQUIRE(content(text) == content_by_parser(text));
    }
  }
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
