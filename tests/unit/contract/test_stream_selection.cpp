// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/error.hpp>
#include <elastic/contract/stream_selection.hpp>
#include <support/catch.hpp>

#include <string>
#include <vector>

namespace {

using elastic::std_streams;
using elastic::stream_selection;

TEST_CASE("stream_selection: one digit is for all workers", "[contract]") {
  for (int digit = 0; digit <= 3; ++digit) {
    const auto selection = stream_selection::parse(std::to_string(digit));
    for (int rank : {0, 1, 9, 10, 4095}) {
      CHECK(selection.of(rank) == static_cast<std_streams>(digit));
    }
  }
}

TEST_CASE("stream_selection: a list names local ranks, the others have no streams", "[contract]") {
  const auto selection = stream_selection::parse("0:3,1:0,9:2,4:1");
  CHECK(selection.of(0) == std_streams::both);
  CHECK(selection.of(1) == std_streams::none);
  CHECK(selection.of(9) == std_streams::err);
  CHECK(selection.of(4) == std_streams::out);
  CHECK(selection.of(2) == std_streams::none);
  CHECK(selection.of(10) == std_streams::none);
}

TEST_CASE("stream_selection: the last of a repeated rank wins", "[contract]") {
  CHECK(stream_selection::parse("0:1,0:2").of(0) == std_streams::err);
}

TEST_CASE("stream_selection: what torchrun does not match is refused with what is allowed",
          "[contract]") {
  // torchrun: ^[0123]$ or ^(\d:[0123],)*(\d:[0123])$
  const std::vector<std::string> refused_texts = {
      "",         "4",       "-1",  "03",   "3 ",    " 3",    "a",        "none",
      "10:1",     "0:4",     "0:",  ":1",   "0:1,",  ",0:1",  "0:1,,1:1", "0:1 1:1",
      "0:1, 1:1", "0:1;1:2", "0=1", "0:11", "0:1:2", "0:1,1", "0:1,a:1",  "\n3"};
  for (const std::string& text : refused_texts) {
    INFO(text);
    CHECK_THROWS_WITH(stream_selection::parse(text), elastic::test::contains_text("0:3,1:1"));
    try {
      stream_selection::parse(text);
    } catch (const elastic::error& refusal) {
      CHECK(refusal.code() == elastic::errc::invalid_argument);
    }
  }
}

TEST_CASE("stream_selection: made in code, any rank can be named", "[contract]") {
  stream_selection selection(std_streams::out);
  selection.set(12, std_streams::both).set(13, std_streams::none);
  CHECK(selection.of(0) == std_streams::out);
  CHECK(selection.of(12) == std_streams::both);
  CHECK(selection.of(13) == std_streams::none);
  CHECK(stream_selection().of(0) == std_streams::none);
}

TEST_CASE("stream_selection: streams combine as sets", "[contract]") {
  CHECK((std_streams::out | std_streams::err) == std_streams::both);
  CHECK((std_streams::both & std_streams::err) == std_streams::err);
  CHECK(contains(std_streams::both, std_streams::out));
  CHECK_FALSE(contains(std_streams::err, std_streams::out));
  CHECK(contains(std_streams::none, std_streams::none));
}

}  // namespace
