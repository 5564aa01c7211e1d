// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/diagnosis/detail/inspection_answer.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/diagnosis/detail/stall_judge.hpp>
#include <support/catch.hpp>
#include <support/text.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace elastic {
namespace {

using detail::group_position;
using detail::process_state;
using detail::recorder_state;

namespace inspection_answer_test {

using namespace std::chrono_literals;
using detail::inspected_rank;
using detail::node_answer;
using test::has_text;

inspected_rank rank_in(int rank, const std::string& function) {
  inspected_rank made;
  made.is_hooked = true;
  made.system_call = 202;
  made.evidence.rank = rank;
  made.evidence.node = "node0";
  made.evidence.state = process_state::sleeping;
  made.evidence.wait_channel = "futex_do_wait";
  if (!function.empty()) made.evidence.stack.push_back({"/home/me/train.py", 88, function});
  return made;
}

node_answer answer_of(std::vector<inspected_rank> ranks) {
  node_answer answer;
  answer.node = "node0";
  answer.ranks = std::move(ranks);
  return answer;
}

TEST_CASE("inspection: an answer is read as it was written", "[inspection]") {
  inspected_rank deep = rank_in(3, "step");
  for (int i = 0; i < 60; ++i) {
    deep.evidence.stack.push_back({std::string(180, 'd') + ".py", i, std::string(90, 'f')});
  }
  const node_answer answer = answer_of({deep, rank_in(4, "")});
  const node_answer whole = detail::parse_node_answer(to_text(answer, true));
  REQUIRE(whole.ranks.size() == 2);
  CHECK(whole.node == "node0");
  CHECK(whole.ranks[0].evidence == deep.evidence);
  CHECK(whole.ranks[0].system_call == 202);
  CHECK(whole.ranks[1].evidence == answer.ranks[1].evidence);
  // A digest has room for the innermost frames alone.
  const std::string digests = to_text(answer, false);
  CHECK(digests.size() < 3 * limits::rank_digest_bytes);
  const node_answer brief = detail::parse_node_answer(digests);
  CHECK(brief.ranks.at(0).evidence.stack.at(0).function == "step");
  CHECK(brief.ranks[0].evidence.stack.size() < deep.evidence.stack.size());
}

TEST_CASE("inspection: ranks that have no room are left out", "[inspection]") {
  std::vector<inspected_rank> many(20'000, rank_in(1, "step"));
  const std::string text = to_text(answer_of(std::move(many)), true);
  CHECK(text.size() <= limits::inspection_answer_bytes);
  CHECK(text.size() > limits::inspection_answer_bytes - 1000);
  CHECK(detail::parse_node_answer(text).ranks.size() > 1000);
}

TEST_CASE("inspection: what is not an answer is refused", "[inspection]") {
  const std::string head = "{\"node\": \"n\", \"group_rank\": 0}\n";
  const std::string text = to_text(answer_of({rank_in(0, "step")}), true);
  const std::string line = text.substr(text.find('\n') + 1);
  for (const std::string& bad :
       {std::string("x"), std::string("{}"), head + "{}", head + "[1]",
        std::string("{\"node\": \"n\", \"group_rank\": -1}"), head + line.substr(0, 40),
        head + "{\"digest\": 1, \"system_call\": 1, \"is_hooked\": true}",
        head + line.substr(0, line.find("\"stack\"")) + "\"stack\": [[1,2,3]]}",
        head + line.substr(0, line.find("\"stack\"")) + "\"stack\": 7}"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(detail::parse_node_answer(bad), error);
  }
}

TEST_CASE("inspection: ranks with the same stack are shown once", "[inspection]") {
  const std::string one = to_text(answer_of({rank_in(0, "wait"), rank_in(1, "read")}), true);
  const std::string other = to_text(answer_of({rank_in(2, "wait"), rank_in(3, "")}), true);
  const std::string text = detail::report_stacks({one, other, std::nullopt}, {}, true).text;
  CHECK(has_text(text, "ranks 0,2: sleeping in futex_do_wait, system call 202\n"
                       "    /home/me/train.py:88 wait\n"));
  CHECK(has_text(text, "rank 1 (node0, local rank 0): sleeping in futex_do_wait"));
  CHECK(has_text(text, "rank 3 (node0, local rank 0): sleeping in futex_do_wait"));
  CHECK(has_text(text, "the agent of node 2 did not answer"));
  const std::string chosen = detail::report_stacks({one, "garbage"}, {1}, true).text;
  CHECK(has_text(chosen, "train.py:88 read"));
  CHECK_FALSE(has_text(chosen, "wait\n"));
  CHECK(has_text(chosen, "the agent of node 1 did not answer"));
}

TEST_CASE("inspection: a rank that no node has is named, and which there are", "[inspection]") {
  const std::string one = to_text(answer_of({rank_in(0, "wait")}), true);
  const std::string other = to_text(answer_of({rank_in(1, "wait")}), true);
  CHECK(detail::report_stacks({one}, {9}, true).text == "there is no rank 9: the job has rank 0\n");
  const std::string some = detail::report_stacks({one, other}, {1, 9}, true).text;
  CHECK(has_text(some, "rank 1 (node0, local rank 0): "));
  CHECK(has_text(some, "there is no rank 9: the job has ranks 0-1\n"));
  CHECK(detail::report_stacks({one, other}, {1, 9}, true).missing == std::vector<int>{9});
  CHECK(detail::report_stacks({one, other}, {}, true).missing.empty());
  // The silent node may have it.
  CHECK(detail::report_stacks({one, std::nullopt}, {9}, true).missing.empty());
}

TEST_CASE("inspection: the stacks of 4,096 ranks are a few lines", "[inspection]") {
  std::vector<std::optional<std::string>> answers;
  for (int node = 0; node < 512; ++node) {
    std::vector<inspected_rank> ranks;
    for (int local = 0; local < 8; ++local) ranks.push_back(rank_in(node * 8 + local, "wait"));
    if (node == 300) ranks[5].evidence.stack.front().function = "read";
    answers.push_back(to_text(answer_of(std::move(ranks)), true));
  }
  const std::string text = detail::report_stacks(answers, {}, true).text;
  CHECK(has_text(text, "ranks 0-2404,2406-4095: sleeping in futex_do_wait"));
  CHECK(has_text(text, "rank 2405 (node0, local rank 0): sleeping in futex_do_wait"));
  CHECK(std::count(text.begin(), text.end(), '\n') < 10);
}

TEST_CASE("inspection: a stall is what the recorders, or else the processors say", "[inspection]") {
  std::vector<inspected_rank> ranks{rank_in(0, "wait"), rank_in(1, "wait")};
  CHECK(detail::look_of(ranks).is_idle);
  CHECK_FALSE(detail::look_of(ranks).longest_wait);
  ranks[0].evidence.recorder = recorder_state::answered;
  CHECK(detail::look_of(ranks).longest_wait == duration::zero());
  group_position group;
  group.outstanding.emplace();
  group.outstanding->age = 31s;
  ranks[0].evidence.groups.push_back(group);
  ranks[1].evidence.processor_share = 0.99;
  CHECK(detail::look_of(ranks).longest_wait == 31s);
  CHECK_FALSE(detail::look_of(ranks).is_idle);
}

TEST_CASE("inspection: two looks tell who computes", "[inspection]") {
  std::vector<inspected_rank> before{rank_in(0, "wait"), rank_in(1, "loop"), rank_in(2, "wait")};
  std::vector<inspected_rank> after{rank_in(0, "wait"), rank_in(1, "other"), rank_in(2, "wait")};
  for (inspected_rank& rank : before) rank.processor_time = 10s;
  for (inspected_rank& rank : after) {
    rank.processor_time = 10s;
    rank.looked_at += 1s;
  }
  after[1].processor_time = 10s + 500ms;
  // It has ended a loader for which it has not waited: nobody knows what it used itself.
  after[2].processor_time = 9s;
  after[2].evidence.stack.clear();
  detail::compare_looks(before, after);
  CHECK(after[0].evidence.processor_share == 0.0);
  CHECK_FALSE(after[0].evidence.stack_moved);
  CHECK(after[1].evidence.processor_share == 0.5);
  CHECK(after[1].evidence.stack_moved);
  CHECK_FALSE(after[2].evidence.processor_share);
  CHECK_FALSE(after[2].evidence.stack_moved);
}

/// What the agent reads of four workers: their recorders, and that their main threads run.
std::vector<detail::rank_evidence> evidence_in(const std::string& file) {
  std::ifstream stored(ELASTIC_SOURCE_DIR "/tests/vectors/recorders_211/" + file + ".json");
  const nlohmann::json recorded = nlohmann::json::parse(stored);
  const wall_time now{std::chrono::duration_cast<wall_time::duration>(
      std::chrono::nanoseconds(recorded["time_ns"].get<std::int64_t>()))};
  std::vector<detail::worker_inspection> found;
  for (const nlohmann::json& recorders : recorded["ranks"]) {
    detail::worker_inspection& worker = found.emplace_back();
    worker.worker.rank = static_cast<int>(found.size()) - 1;
    worker.recorders = recorders.get<std::vector<std::string>>();
    worker.facts.emplace().threads.emplace_back().state = process_state::running;
  }
  std::vector<detail::rank_evidence> evidence;
  for (const inspected_rank& rank : detail::ranks_of(found, time_point(), now)) {
    evidence.push_back(rank.evidence);
  }
  return evidence;
}

// A PyTorch that was built with NCCL has a second recorder for gloo.
TEST_CASE("inspection: a worker that has ended is gone, even if its number is in use",
          "[inspection]") {
  detail::worker_inspection ended;
  ended.worker.end = "exit code 0";
  ended.facts.emplace().threads.emplace_back().state = process_state::running;
  const auto ranks = detail::ranks_of({ended}, {}, {});
  REQUIRE(ranks.size() == 1);
  CHECK(ranks[0].evidence.state == process_state::gone);
  CHECK(ranks[0].evidence.failure == "exit code 0");
}

TEST_CASE("inspection: the recorders of NCCL and of gloo name the rank for which others wait",
          "[inspection]") {
  const std::map<std::string, std::string> sentences{
      {"nccl_sleep", "has not entered all_reduce #6 of group default_pg"},
      {"nccl_mismatched_operation",
       "was in broadcast #6 of group default_pg with [[3]] Float, where 3 others are in "
       "all_reduce with [[3]] Float"},
      {"nccl_mismatched_size",
       "was in all_reduce #6 of group default_pg with [[1048576]] Float, where 3 others "
       "are in all_reduce with [[3]] Float"},
      {"gloo_sleep", "has not entered all_reduce #6 of group default_pg"},
      {"nccl_and_gloo_sleep", "has not entered all_reduce #6 of group "},
  };
  for (const auto& [file, sentence] : sentences) {
    CAPTURE(file);
    const detail::stall_verdict verdict = detail::judge_stall(evidence_in(file));
    CHECK(verdict.ranks == std::vector<int>{1});
    CHECK_THAT(verdict.sentence, test::contains_text(sentence));
  }
}

TEST_CASE("inspection: a recorder that nobody can read hides no other", "[inspection]") {
  detail::worker_inspection worker;
  worker.recorders = {"[]", R"({"version":"2.10","pg_config":{},"pg_status":{},"entries":[]})"};
  CHECK(detail::ranks_of({worker}, {}, {})[0].evidence.recorder == recorder_state::answered);
  worker.recorders.pop_back();
  CHECK(detail::ranks_of({worker}, {}, {})[0].evidence.recorder == recorder_state::absent);
}

}  // namespace inspection_answer_test

}  // namespace
}  // namespace elastic
