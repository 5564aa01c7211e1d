// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/diagnosis/detail/recorder_dump.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>

#include "hang_vectors.hpp"

#include <support/catch.hpp>

#include <chrono>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace recorder_dump_tests {

using namespace std::chrono_literals;
using elastic::wall_time;
using elastic::detail::collective_state;
using elastic::detail::group_position;
using elastic::detail::parse_recorder_dump;
using elastic::detail::rank_set;
using elastic::test::evidence_of;
namespace limits = elastic::limits;

/// An entry of group 0, "default_pg".
std::string entry(int sequence, const std::string& more = "") {
  return fmt::format(
      R"({{"pg_id": 0, "process_group": ["0", "default_pg"], "collective_seq_id": {},)"
      R"( "profiling_name": "nccl:all_reduce", "is_p2p": false{}}})",
      sequence, more);
}

std::string dump(const std::string& entries, const std::string& more = "") {
  return fmt::format(R"({{"version": "2.10", "entries": [{}]{}}})", entries, more);
}

TEST_CASE("the recorders of a real job name the operation that each rank is in", "[diagnosis]") {
  const auto evidence = evidence_of("loader_sleep");
  REQUIRE(evidence.size() == 4);
  for (const auto& rank : evidence) {
    const bool is_behind = rank.rank == 2;
    REQUIRE(rank.groups.size() == 1);
    const group_position& position = rank.groups.front();
    CHECK(position.name == "0");
    CHECK(position.description == "default_pg");
    CHECK(position.members.empty());
    CHECK(position.enqueued == (is_behind ? 5 : 6));
    CHECK(position.completed == 5);
    REQUIRE(position.outstanding.has_value() == !is_behind);
    if (is_behind) continue;
    CHECK(position.outstanding->operation == "all_reduce");
    CHECK(position.outstanding->sequence == 6);
    CHECK(position.outstanding->sizes == "[[5, 7]]");
    CHECK(position.outstanding->types == "Float");
    CHECK(position.outstanding->age > 1s);
    CHECK(position.outstanding->age < 60s);
  }
}

TEST_CASE("entries say what has ended where PyTorch's count lags behind", "[diagnosis]") {
  const auto evidence = evidence_of("exception");
  const group_position& position = evidence.at(2).groups.at(0);
  CHECK(position.completed == 5);  // the recorder's own count is 4
  REQUIRE(position.outstanding);
  CHECK(position.outstanding->operation == "barrier");
  CHECK(position.outstanding->sizes.empty() == false);
}

TEST_CASE("of several groups, the one used last comes first", "[diagnosis]") {
  const auto evidence = evidence_of("sub_groups");
  const auto& waiting = evidence.at(3).groups;
  REQUIRE(waiting.size() == 2);
  CHECK(waiting[0].description == "pair_2");
  CHECK(waiting[0].outstanding.has_value());
  CHECK(waiting[1].description == "default_pg");
  CHECK_FALSE(waiting[1].outstanding.has_value());
}

TEST_CASE("what a dump says of a group", "[diagnosis]") {
  const wall_time now{10s};
  SECTION("an entry that has ended ends those before it") {
    const auto groups = parse_recorder_dump(
        dump(entry(1) + "," + entry(2, R"(, "state": "completed", "input_sizes": [[3]])") + "," +
             entry(3, R"(, "state": "started", "time_created_ns": 4000000000)") + "," + entry(4)),
        now);
    REQUIRE(groups.size() == 1);
    CHECK(groups[0].enqueued == 4);
    CHECK(groups[0].completed == 2);
    REQUIRE(groups[0].outstanding);
    CHECK(groups[0].outstanding->sequence == 3);
    CHECK(groups[0].outstanding->state == collective_state::started);
    CHECK(groups[0].outstanding->age == 6s);
    REQUIRE(groups[0].previous);
    CHECK(groups[0].previous->sequence == 2);
    CHECK(groups[0].previous->state == collective_state::completed);
  }
  SECTION("the last operation with inputs has ended, and was no message") {
    const std::string ended = R"(, "retired": true, "input_sizes": [[9, 7]])";
    const std::string message = R"(, "retired": true, "is_p2p": true, "p2p_seq_id": 9)";
    const std::string barrier = R"(, "retired": true, "input_sizes": [])";
    const auto groups = parse_recorder_dump(
        dump(entry(1, ended) + "," + entry(1, message) + "," + entry(2, barrier)), now);
    CHECK(groups.at(0).enqueued == 2);
    CHECK_FALSE(groups[0].outstanding);
    REQUIRE(groups[0].previous);
    CHECK(groups[0].previous->sequence == 1);
    CHECK(groups[0].previous->sizes == "[[9, 7]]");
  }
  SECTION("a message that nobody takes hides no collective") {
    const std::string message = R"(, "is_p2p": true, "p2p_seq_id": 9)";
    const auto groups = parse_recorder_dump(dump(entry(1, message) + "," + entry(2)), now);
    REQUIRE(groups.at(0).outstanding);
    CHECK_FALSE(groups[0].outstanding->is_point_to_point);
    const auto alone = parse_recorder_dump(dump(entry(1, message)), now);
    REQUIRE(alone.at(0).outstanding);
    CHECK(alone[0].outstanding->is_point_to_point);
    CHECK(alone[0].outstanding->sequence == 9);
  }
  SECTION("NCCL names the members, and groups without entries") {
    const auto groups = parse_recorder_dump(
        dump(entry(1), R"(, "pg_config": {"0": {"name": "0", "desc": "default_pg",)"
                       R"( "ranks": "[0, 1, 2, 3]"}, "7": {"name": "7", "desc": "dp",)"
                       R"( "ranks": "[0, 2]"}}, "pg_status": {"7": {)"
                       R"("last_enqueued_collective": 3, "last_completed_collective": "2"}})"),
        now);
    REQUIRE(groups.size() == 2);
    CHECK(groups[0].members == rank_set({0, 1, 2, 3}));
    CHECK(groups[1].members == rank_set({0, 2}));
    CHECK(groups[1].enqueued == 3);
    CHECK(groups[1].completed == 2);
  }
  SECTION("a clock that was set back makes no age") {
    const auto groups =
        parse_recorder_dump(dump(entry(1, R"(, "time_created_ns": 99000000000)")), now);
    CHECK(groups.at(0).outstanding->age == 1ms);
  }
  SECTION("long texts are cut") {
    std::string many_sizes;
    for (int size = 0; size < 100; ++size) many_sizes += ", 17";
    const auto groups = parse_recorder_dump(
        dump(entry(1, R"(, "input_sizes": [[1)" + many_sizes + R"(]], "input_dtypes": [")" +
                          std::string(500, 'F') + R"("])")),
        now);
    CHECK(groups.at(0).outstanding->sizes.size() <= limits::collective_sizes_bytes);
    CHECK(groups.at(0).outstanding->types.size() == limits::collective_types_bytes);
  }
  SECTION("sizes of several inputs") {
    const auto groups =
        parse_recorder_dump(dump(entry(1, R"(, "input_sizes": [[2, 3], [4], []])")), now);
    CHECK(groups.at(0).outstanding->sizes == "[[2, 3], [4], []]");
  }
  SECTION("no entries, no groups") { CHECK(parse_recorder_dump(dump(""), now).empty()); }
}

TEST_CASE("a dump that no recorder writes is refused", "[diagnosis]") {
  const std::string deep(20, '[');
  std::string many;
  for (int id = 0; id < 200; ++id) {
    if (id > 0) many += ',';
    many += fmt::format(R"({{"pg_id": {}, "process_group": ["{}"]}})", id, id);
  }
  const std::vector<std::string> texts{
      "",
      "[]",
      "null",
      "{}",
      R"({"entries": [])",
      R"({"version": "3.0", "entries": []})",
      R"({"version": "2.1", "entries": [1, [)" + deep,
      R"({"version": "2.1", "entries": [[]]})",
      R"({"version": "2.1", "entries": [{}]})",
      R"({"version": "2.1", "x": )" + deep + std::string(20, ']') + "}",
      dump(entry(1)) + "x",
      dump(entry(1), R"(, "pg_config": {"0": {"ranks": "[99999999]"}})"),
      std::string(limits::recorder_dump_bytes + 1, ' '),
  };
  for (const std::string& text : texts) {
    CAPTURE(text.substr(0, 100));
    CHECK_THROWS_AS(parse_recorder_dump(text, {}), elastic::error);
  }
  CHECK(parse_recorder_dump(dump(many), {}).size() == limits::recorder_groups);
}

}  // namespace recorder_dump_tests
