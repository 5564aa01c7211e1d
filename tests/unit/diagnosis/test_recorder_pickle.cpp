// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// tests/integration/test_diagnosis.cpp checks that PyTorch's analyser reads the pickles.

#include <elastic/diagnosis/detail/recorder_pickle.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <support/catch.hpp>
#include <support/text.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace elastic {
namespace {

namespace recorder_pickle_test {

using namespace std::string_view_literals;
using test::has_text;

constexpr std::size_t room = 4096;

std::string pickled(std::string_view json) { return detail::recorder_pickle(json, {1, 3}, room); }

TEST_CASE("recorder pickle: each kind of value has its operation", "[inspection]") {
  CHECK(pickled("{}") == "\x80\x02}(X\x09\0\0\0pg_config}(uu."sv);
  CHECK(pickled(R"({"pg_config":{},"a":[null,true,-2,2,"x"]})") ==
        "\x80\x02}(X\x09\0\0\0pg_config}(uX\x01\0\0\0a"
        "](N\x88\x8a\x08\xfe\xff\xff\xff\xff\xff\xff\xff\x8a\x09\x02\0\0\0\0\0\0\0\0"
        "X\x01\0\0\0xeu."sv);
}

TEST_CASE("recorder pickle: groups without members get some", "[inspection]") {
  const std::string text = pickled(
      R"({"entries":[{"process_group":["0","default_pg"]},{"process_group":["7","pair"]}],)"
      R"("pg_config":{"5":{"ranks":"[0, 2]"}}})");
  CHECK(has_text(text, "[0, 1, 2]"));
  CHECK(has_text(text, "[0, 2]"));
  CHECK(has_text(text, "[1]"));
}

TEST_CASE("recorder pickle: what is not a recorder is refused", "[inspection]") {
  const std::string deep(limits::recorder_depth + 1, '[');
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("{\"a\":"), "{\"a\":" + deep,
        "{\"a\":\"" + std::string(room, 'x') + "\"}",
        std::string(limits::recorder_bytes + 1, ' ')}) {
    CHECK_THROWS_AS(pickled(text), error);
  }
}

}  // namespace recorder_pickle_test

}  // namespace
}  // namespace elastic
