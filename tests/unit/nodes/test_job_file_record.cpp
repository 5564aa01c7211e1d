// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/nodes/detail/job_file_fingerprint.hpp>
#include <elastic/nodes/detail/job_file_record.hpp>

#include <support/catch.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace job_file_record_tests {

using elastic::detail::job_file_record;
using elastic::detail::job_of_role;
using elastic::detail::objection_to_file;
using elastic::detail::parse_job_file_record;
using elastic::detail::registry_text;

const std::string place = "the key 'job_file'";

job_file_record::leader leader_of(const std::string& run_id, std::uint16_t port) {
  return {run_id, {"10.0.0.7", port}, "abcdefghijkl"};
}

TEST_CASE("job file record: other releases read the same bytes", "[rendezvous]") {
  job_file_record record;
  record.fingerprint = "name=1 role.trainer=2";
  record.note(leader_of("grpo/trainer", 40123));
  record.note(leader_of("grpo/rollout", 40124));
  const std::string text =
      R"({"fingerprint": "name=1 role.trainer=2", "leaders": [{"run_id": "grpo/trainer", )"
      R"("host": "10.0.0.7", "port": 40123, "password": "abcdefghijkl"}, )"
      R"({"run_id": "grpo/rollout", "host": "10.0.0.7", "port": 40124, )"
      R"("password": "abcdefghijkl"}]})";
  CHECK(registry_text(record, std::nullopt) == text);
  const job_file_record read = parse_job_file_record(text, place, std::nullopt);
  CHECK(read.fingerprint == record.fingerprint);
  CHECK(read.leaders == record.leaders);
}

TEST_CASE("job file record: what is of another form is refused, with its place", "[rendezvous]") {
  for (const std::string text :
       {"", "{}", R"({"fingerprint": "a=1", "leaders": 7})",
        R"({"fingerprint": "a=1", "leaders": [7]})",
        R"({"fingerprint": "a=1", "leaders": [{"run_id": "a/b", "host": "h", "port": 0, )"
        R"("password": "p"}]})"}) {
    INFO(text);
    try {
      parse_job_file_record(text, place, std::nullopt);
      FAIL("it was taken");
    } catch (const elastic::error& failure) {
      CHECK(failure.code() == elastic::errc::invalid_argument);
      CHECK(std::string(failure.what()).find("it was not written by elasticrun") !=
            std::string::npos);
    }
  }
}

TEST_CASE("job file record: it has the newest leader of each role", "[rendezvous]") {
  job_file_record record;
  CHECK(record.note(leader_of("grpo/trainer", 1)));
  CHECK_FALSE(record.note(leader_of("grpo/trainer", 1)));
  CHECK(record.note(leader_of("grpo/rollout", 2)));
  CHECK(record.note(leader_of("grpo/trainer", 3)));
  REQUIRE(record.leaders.size() == 2);
  CHECK(record.leaders[0].address.port == 2);
  CHECK(record.leaders[1].address.port == 3);
  for (std::size_t number = 0; number < elastic::limits::roles; ++number) {
    record.note(leader_of("grpo/" + std::to_string(number), 4));
  }
  CHECK(record.leaders.size() == elastic::limits::roles);
  CHECK(record.leaders.front().run_id == "grpo/0");
}

TEST_CASE("job file record: fingerprints that differ are an objection", "[rendezvous]") {
  CHECK(objection_to_file("grpo/trainer", "a=1 b=2", "b=3 a=1") ==
        "the job 'grpo/trainer' was started with a different job file than this node: they "
        "differ in b; start all nodes with the same file");
  CHECK_FALSE(objection_to_file("grpo/trainer", "a=1", "a=1"));
  CHECK_FALSE(objection_to_file("grpo/trainer", "", "a=1"));
  CHECK_FALSE(objection_to_file("grpo/trainer", "a=1", ""));
}

TEST_CASE("job file record: the job of a role", "[rendezvous]") {
  CHECK(job_of_role("grpo/trainer") == "grpo");
  CHECK(job_of_role("team/grpo/trainer_1") == "team/grpo");
  CHECK(job_of_role("grpo").empty());
}

}  // namespace job_file_record_tests
