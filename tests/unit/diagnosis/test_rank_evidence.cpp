// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/diagnosis/detail/rank_evidence.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/diagnosis/detail/user_frame.hpp>

#include <support/catch.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace rank_evidence_tests {

using namespace std::chrono_literals;
using elastic::detail::collective_state;
using elastic::detail::group_position;
using elastic::detail::parse_digest;
using elastic::detail::process_state;
using elastic::detail::rank_evidence;
using elastic::detail::rank_set;
using elastic::detail::recorder_state;
using elastic::detail::stack_frame;
using elastic::detail::to_digest;
namespace limits = elastic::limits;

rank_evidence full_evidence() {
  rank_evidence evidence;
  evidence.rank = 5;
  evidence.local_rank = 1;
  evidence.group_rank = 2;
  evidence.node = "node3";
  evidence.recorder = recorder_state::answered;
  evidence.state = process_state::sleeping;
  evidence.wait_channel = "futex_do_wait";
  evidence.processor_share = 0.25;
  evidence.step = 17;
  evidence.step_age = 31s;
  group_position position{"0", "default_pg", rank_set({0, 1, 2, 3, 4, 5}), 6, 5};
  position.outstanding = {"all_reduce", 6, "[[5, 7]]", "Float", collective_state::started, true,
                          31s};
  position.previous = {"broadcast", 5, "[[9]]", "Half", collective_state::completed};
  evidence.groups = {position, {"1", "pair", {}, 3, 3, {}}};
  evidence.stack = {{"/opt/lib/python3.11/site-packages/torch/a.py", 3252, "all_reduce"},
                    {"/home/me/train.py", 12, "<module>"}};
  evidence.stack_moved = true;
  evidence.failure = "ValueError: no";
  return evidence;
}

TEST_CASE("evidence arrives as it was sent", "[diagnosis]") {
  CHECK(parse_digest(to_digest(full_evidence())) == full_evidence());
  CHECK(parse_digest(to_digest({})) == rank_evidence{});
  rank_evidence first_step;
  first_step.step = 0;
  CHECK(parse_digest(to_digest(first_step)).step == 0);
}

TEST_CASE("a digest keeps what tells most within its bound", "[diagnosis]") {
  rank_evidence evidence = full_evidence();
  SECTION("of a deep stack the innermost frame and the user's innermost one") {
    const stack_frame library{"/usr/lib/python3.11/runpy.py", 196, std::string(90, 'r')};
    evidence.stack.assign(20, library);
    evidence.stack[0].function = "innermost";
    evidence.stack[12] = {"/home/me/data.py", 88, "read_shard"};
    const rank_evidence arrived = parse_digest(to_digest(evidence));
    REQUIRE(arrived.stack.size() >= 2);
    CHECK(arrived.stack[0] == evidence.stack[0]);
    REQUIRE(elastic::detail::user_frame(arrived.stack) != nullptr);
    CHECK(*elastic::detail::user_frame(arrived.stack) == evidence.stack[12]);
    CHECK(arrived.groups == evidence.groups);
  }
  SECTION("of many groups those in which something is outstanding") {
    group_position waiting = evidence.groups[0];
    waiting.name = "40";
    evidence.groups.assign(40, {"1", "tensor_parallel", rank_set({4, 5}), 3, 3, {}});
    evidence.groups.push_back(waiting);
    const rank_evidence arrived = parse_digest(to_digest(evidence));
    REQUIRE(arrived.groups.size() >= 2);
    CHECK(arrived.groups.front() == evidence.groups.front());
    waiting.previous.reset();
    CHECK(arrived.groups.back() == waiting);
  }
  SECTION("of texts that JSON escapes, whatever fits") {
    for (std::string* text : {&evidence.node, &evidence.wait_channel, &evidence.failure,
                              &evidence.groups[0].name, &evidence.stack[0].file,
                              &evidence.stack[0].function}) {
      *text = std::string(5000, '\x01');
    }
    evidence.groups[0].outstanding->sizes = std::string(5000, '\xff');
  }
  const std::string digest = to_digest(evidence);
  CHECK(digest.size() <= limits::rank_digest_bytes);
  CHECK(to_digest(parse_digest(digest)).size() <= limits::rank_digest_bytes);
  CHECK(parse_digest(digest).rank == 5);
}

TEST_CASE("a file's long name keeps its end", "[diagnosis]") {
  rank_evidence evidence;
  evidence.stack = {{"/" + std::string(300, 'x') + "/data.py", 1, "f"}};
  const std::string file = parse_digest(to_digest(evidence)).stack.at(0).file;
  CHECK(file.size() == limits::stack_file_bytes);
  CHECK(file.ends_with("x/data.py"));
}

TEST_CASE("a digest that no agent writes is refused", "[diagnosis]") {
  const std::vector<std::string> texts{
      "",
      "[]",
      "{}",
      R"({"rank": -1, "recorder": "absent", "state": "R"})",
      R"({"rank": 1000001, "recorder": "absent", "state": "R"})",
      R"({"rank": 1, "recorder": "perhaps", "state": "R"})",
      R"({"rank": 1, "recorder": "absent", "state": "Q"})",
      R"({"rank": 1, "recorder": "absent", "state": "R", "groups": {}})",
      R"({"rank": 1, "recorder": "absent", "state": "R", "groups": [1]})",
      R"({"rank": 1, "recorder": "absent", "state": "R", "groups": [{"members": "7-1"}]})",
      R"({"rank": 1, "recorder": "absent", "state": "R", "stack": [{"line": "x"}]})",
      std::string(limits::rank_digest_bytes + 1, ' '),
  };
  for (const std::string& text : texts) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_digest(text), elastic::error);
  }
}

TEST_CASE("the user's innermost frame is of no installed package", "[diagnosis]") {
  const stack_frame library{"/usr/lib/python3.11/threading.py", 1, "wait"};
  const stack_frame package{"/x/lib/python3.11/site-packages/torch/y.py", 2, "all_reduce"};
  const stack_frame frozen{"<frozen runpy>", 88, "_run_code"};
  const stack_frame user{"/home/me/train.py", 3, "step"};
  const stack_frame outer{"/home/me/main.py", 4, "main"};
  const std::vector<stack_frame> mixed{library, package, frozen, user, outer};
  CHECK(*elastic::detail::user_frame(mixed) == user);
  const std::vector<stack_frame> foreign{package, library};
  CHECK(*elastic::detail::user_frame(foreign) == package);
  CHECK(elastic::detail::user_frame({}) == nullptr);
  CHECK(to_string(user) == "train.py:3 step");
  CHECK(to_string(stack_frame{"a/b\n.py", 1, "f\x1b"}) == "b .py:1 f\\x1b");
}

}  // namespace rank_evidence_tests
