// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/etcd/detail/legacy_state.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <support/catch.hpp>

#include <string>
#include <vector>

namespace legacy_state_tests {

using elastic::detail::legacy_state;
using elastic::detail::legacy_status;
using elastic::detail::parse_legacy_state;

std::string problem_of(const std::string& text) {
  try {
    parse_legacy_state(text);
  } catch (const elastic::error& failure) {
    CHECK(failure.code() == elastic::errc::rendezvous_state);
    const std::string beginning = "the rendezvous' state is not one of torchrun's 'etcd': ";
    const std::string message = failure.what();
    CHECK(message.rfind(beginning, 0) == 0);
    return message.substr(beginning.size());
  }
  return "";
}

TEST_CASE("legacy state: is read as torchrun writes it", "[rendezvous]") {
  CHECK(parse_legacy_state(R"({"status": "setup"})").status == legacy_status::setup);

  legacy_state state =
      parse_legacy_state(R"({"status": "joinable", "version": "12", "participants": [0, 1]})");
  CHECK(state.status == legacy_status::joinable);
  CHECK(state.version == "12");
  CHECK(state.participants == 2);

  state = parse_legacy_state(R"({"status": "frozen", "version": "1", "participants": [0, 1], )"
                             R"("keep_alives": ["/torchelastic/p2p/run_j/rdzv/v_1/rank_1"]})");
  CHECK(state.status == legacy_status::frozen);
  CHECK(elastic::detail::has_confirmed(state, 1));
  CHECK_FALSE(elastic::detail::has_confirmed(state, 0));

  state = parse_legacy_state(R"({"status": "final", "version": "1", "participants": [0], )"
                             R"("keep_alives": ["/p/v_1/rank_0"], "num_workers_waiting": 3})");
  CHECK(state.status == legacy_status::complete);
  CHECK(state.waiting == 3);

  state = parse_legacy_state(R"({"status": "closed", "version": "1", "participants": [0], )"
                             R"("keep_alives": [], "num_workers_waiting": 0})");
  CHECK(state.status == legacy_status::closed);
  CHECK_FALSE(state.ending);
}

TEST_CASE("legacy state: the key of rank 11 is not that of rank 1", "[rendezvous]") {
  legacy_state state;
  state.keep_alives = {"/p/v_1/rank_11"};
  CHECK(elastic::detail::has_confirmed(state, 11));
  CHECK_FALSE(elastic::detail::has_confirmed(state, 1));
}

TEST_CASE("legacy state: is written as torchrun reads it", "[rendezvous]") {
  legacy_state state;
  CHECK(to_text(state) == R"({"status":"setup"})");
  state.status = legacy_status::joinable;
  state.version = "3";
  CHECK(to_text(state) == R"({"participants":[],"status":"joinable","version":"3"})");
  state.status = legacy_status::frozen;
  state.participants = 2;
  CHECK(to_text(state) ==
        R"({"keep_alives":[],"participants":[0,1],"status":"frozen","version":"3"})");
  state.status = legacy_status::complete;
  state.keep_alives = {"/p/v_3/rank_0"};
  state.waiting = 1;
  CHECK(to_text(state) == R"({"keep_alives":["/p/v_3/rank_0"],"num_workers_waiting":1,)"
                          R"("participants":[0,1],"status":"final","version":"3"})");
  const legacy_state copy = parse_legacy_state(to_text(state));
  CHECK(to_text(copy) == to_text(state));
}

TEST_CASE("legacy state: how the job has ended stands in one that elasticrun has closed",
          "[rendezvous]") {
  legacy_state state;
  state.status = legacy_status::closed;
  state.ending =
      elastic::detail::job_ending{elastic::rendezvous_handler::job_end::succeeded, "all is well"};
  const legacy_state copy = parse_legacy_state(to_text(state));
  REQUIRE(copy.ending);
  CHECK(copy.ending->how == elastic::rendezvous_handler::job_end::succeeded);
  CHECK(copy.ending->why == "all is well");
  // What is not an ending is none.
  const std::string text = GENERATE(R"("elastic_ending": 3)", R"("elastic_ending": {"how": 3})",
                                    R"("elastic_ending": {"how": "failed", "why": []})");
  CHECK_FALSE(parse_legacy_state(R"({"status": "closed", )" + text + "}").ending);
}

TEST_CASE("legacy state: what is none is refused with what is wrong", "[rendezvous]") {
  const auto [text, problem] = GENERATE(table<std::string, std::string>({
      {"", "it is not a JSON object"},
      {"[]", "it is not a JSON object"},
      {"{\"status\": \"setup\"", "it is not a JSON object"},
      {"{\"status\": \"\xff\"}", "it is not a JSON object"},
      {std::string(100'000, '['), "it is not a JSON object"},
      {std::string(elastic::limits::rendezvous_state_bytes + 1, ' '),
       "it has 1048577 bytes, and 1048576 are allowed"},
      {"{}", "'status' is missing"},
      {R"({"status": 1})", "'status' is not a string"},
      {R"({"status": "merry"})", "'status' is not one of setup, joinable, frozen, final, closed"},
      {R"({"status": "joinable"})", "'version' is missing"},
      {R"({"status": "joinable", "version": 1})", "'version' is not a string"},
      {R"({"status": "joinable", "version": "1/../2"})",
       "'version' is not a string that holds a whole number"},
      {R"({"status": "joinable", "version": ""})",
       "'version' is not a string that holds a whole number"},
      {R"({"status": "joinable", "version": "1234567890123456789"})",
       "'version' is not a string that holds a whole number"},
      {R"({"status": "joinable", "version": "1", "participants": 2})",
       "'participants' is not a list of at most 100000"},
      {R"({"status": "joinable", "version": "1", "participants": [1, 0]})",
       "'participants' is not a list of ranks that begins with 0"},
      {R"({"status": "joinable", "version": "1", "participants": ["0"]})",
       "'participants' is not a list of ranks that begins with 0"},
      {R"({"status": "frozen", "version": "1", "participants": [0]})", "'keep_alives' is missing"},
      {R"({"status": "frozen", "version": "1", "participants": [0], "keep_alives": [0]})",
       "'keep_alives' is not a list of strings"},
      {R"({"status": "frozen", "version": "1", "participants": [], "keep_alives": ["a"]})",
       "'keep_alives' is longer than 'participants'"},
      {R"({"status": "final", "version": "1", "participants": [], "keep_alives": [],
           "num_workers_waiting": -1})",
       "'num_workers_waiting' is not a number from 0 to 100000"},
      {R"({"status": "final", "version": "1", "participants": [], "keep_alives": [],
           "num_workers_waiting": 1.5})",
       "'num_workers_waiting' is not a number from 0 to 100000"},
  }));
  CHECK(problem_of(text) == problem);
}

}  // namespace legacy_state_tests
