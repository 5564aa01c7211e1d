// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/detail/json_document.hpp>

#include <support/catch.hpp>

#include <string>

#include <nlohmann/json.hpp>

namespace detail = elastic::detail;

TEST_CASE("json document: reads what nlohmann's own parser reads", "[base]") {
  const std::string text = GENERATE(
      as<std::string>(),
      R"({"a": [1, -2, 3.5, "x\u00e9", null, true, {"b": {}}, []], "c": {"d": [[{}]]}})", "[]",
      "{}", "null", "-0", "18446744073709551615", "-9223372036854775808", "1e300", "\"\"",
      R"({"a": {"x": 1, "y": [2]}, "a": {"z": 3}})", R"([[1, 2], {"k": [3]}, [4]])", " [ 1 ] ", "",
      "{", "[1,]", "{\"a\"}", "[1] 2", "\"\xff\"", "nul", "1e999", "\"\\x\"", "[1", "{\"a\": }");
  CAPTURE(text);
  // A discarded value equals no other, but its dump does.
  CHECK(detail::parse_json(text).dump() ==
        nlohmann::ordered_json::parse(text, nullptr, false).dump());
  CHECK(detail::json_fault(text).empty() == nlohmann::json::accept(text));
}

TEST_CASE("json document: the complaint is that of nlohmann's parser", "[base]") {
  const std::string text =
      GENERATE(as<std::string>(), "", "{", "[1,]", "[1] 2", "\"\xff\"", "1e999");
  CAPTURE(text);
  std::string expected;
  try {
    expected = nlohmann::json::parse(text).dump();
  } catch (const nlohmann::json::exception& failure) {
    expected = failure.what();
  }
  std::string complaint;
  CHECK(detail::parse_json(text, &complaint).is_discarded());
  CHECK(complaint == expected);
  CHECK(detail::json_fault(text) == expected);
}

TEST_CASE("json document: members keep the order of the text", "[base]") {
  CHECK(detail::parse_json(R"({"z": 1, "a": 2})").dump() == R"({"z":1,"a":2})");
}

TEST_CASE("json document: an object of more members than are allowed is refused", "[base]") {
  const std::string text = R"([{"a": 1, "b": 2}, {"a": 1, "b": {"c": 3}, "d": 4}])";
  std::string complaint;
  CHECK(detail::parse_json(text, &complaint, 3).size() == 2);
  CHECK(detail::parse_json(text, &complaint, 2).is_discarded());
  CHECK(complaint == "an object of more than 2 members");
}

TEST_CASE("json document: a text of more levels than are allowed is refused", "[base]") {
  const auto nested = [](int levels) {
    std::string text;
    for (int level = 0; level < levels / 2; ++level) text += "[{\"a\":";
    text += "1";
    for (int level = 0; level < levels / 2; ++level) text += "}]";
    return text;
  };
  std::string complaint;
  CHECK(detail::parse_json(nested(128), &complaint).dump() == nested(128));
  CHECK(detail::parse_json(nested(130), &complaint).is_discarded());
  CHECK(complaint == "more than 128 levels of objects and lists");
  CHECK(detail::parse_json(nested(1'000'000)).is_discarded());
}
