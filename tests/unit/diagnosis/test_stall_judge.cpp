// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/diagnosis/detail/stall_judge.hpp>

#include <elastic/base/limits.hpp>

#include "hang_vectors.hpp"

#include <support/catch.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace stall_judge_tests {

using namespace std::chrono_literals;
using elastic::detail::collective_call;
using elastic::detail::collective_state;
using elastic::detail::group_position;
using elastic::detail::judge_stall;
using elastic::detail::process_state;
using elastic::detail::rank_evidence;
using elastic::detail::rank_set;
using elastic::detail::recorder_state;
using elastic::detail::stall_verdict;
using elastic::test::contains_text;
using elastic::test::evidence_of;
namespace limits = elastic::limits;

using job = std::vector<rank_evidence>;

constexpr auto torch_file = "/usr/lib/python3/dist-packages/torch/distributed/distributed_c10d.py";

/// A rank that has ended five operations of the group of all.
rank_evidence settled(int rank) {
  rank_evidence evidence;
  evidence.rank = rank;
  evidence.local_rank = rank % 4;
  evidence.node = "node" + std::to_string(rank / 4);
  evidence.recorder = recorder_state::answered;
  evidence.state = process_state::sleeping;
  evidence.processor_share = 0.0;
  evidence.groups = {{"0", "default_pg", {}, 5, 5, {}}};
  evidence.stack = {{"/home/me/data.py", 88, "read_shard"}, {"/home/me/train.py", 5, "main"}};
  return evidence;
}

collective_call call(std::string operation, std::int64_t sequence = 6) {
  return {std::move(operation), sequence, "[[5, 7]]", "Float", collective_state::scheduled, false,
          31s};
}

void enter(group_position& position, collective_call operation) {
  position.enqueued = operation.sequence;
  position.completed = operation.sequence - 1;
  position.outstanding = std::move(operation);
}

/// One that waits in the sixth operation.
rank_evidence waiting(int rank, std::string operation = "all_reduce") {
  rank_evidence evidence = settled(rank);
  enter(evidence.groups[0], call(operation));
  evidence.stack = {{torch_file, 3252, std::move(operation)}, {"/home/me/train.py", 12, "step"}};
  return evidence;
}

job waiting_but(int culprit, rank_evidence evidence, int size = 8) {
  job ranks;
  for (int rank = 0; rank < size; ++rank) {
    ranks.push_back(rank == culprit ? evidence : waiting(rank));
  }
  return ranks;
}

TEST_CASE("the rank that holds up a real job is named", "[diagnosis]") {
  struct row {
    std::string fault;
    stall_verdict::kind cause;
    std::string part;
  };
  const std::vector<row> rows{
      {"loader_sleep", stall_verdict::kind::behind,
       "has not entered all_reduce #6 of group default_pg"},
      {"loader_process", stall_verdict::kind::behind,
       "has not entered all_reduce #6 of group default_pg"},
      {"endless_loop", stall_verdict::kind::behind, " % of a processor"},
      {"dead_mount", stall_verdict::kind::blocked, "for a FUSE file system (request_wait_answer)"},
      {"stopped", stall_verdict::kind::stopped, "is stopped by a signal or a debugger"},
      {"mismatched_operation", stall_verdict::kind::mismatch,
       "in broadcast #6 of group default_pg with [[5, 7]] Float, where 3 others are in all_reduce "
       "with [[5, 7]] Float"},
      {"exception", stall_verdict::kind::mismatch, "in barrier #6 of group default_pg"},
      {"sub_groups", stall_verdict::kind::behind,
       "has not entered all_reduce #6 of group default_pg"},
  };
  for (const row& each : rows) {
    CAPTURE(each.fault);
    const stall_verdict verdict = judge_stall(evidence_of(each.fault));
    CAPTURE(verdict.sentence);
    CHECK(verdict.cause == each.cause);
    REQUIRE_FALSE(verdict.ranks.empty());
    CHECK(verdict.ranks.front() == 2);
    CHECK_THAT(verdict.sentence, contains_text("rank 2 (node, local rank 2)"));
    CHECK_THAT(verdict.sentence, contains_text(each.part));
    CHECK_FALSE(verdict.evidence.empty());
  }
}

TEST_CASE("the transport is at fault where all have entered", "[diagnosis]") {
  const stall_verdict verdict = judge_stall(evidence_of("cut_link"), {.least_wait = 1s});
  CHECK(verdict.cause == stall_verdict::kind::transport);
  CHECK(verdict.ranks.empty());
  CHECK_THAT(verdict.sentence,
             contains_text("all 4 ranks have entered all_reduce #6 of group default_pg"));
}

TEST_CASE("nothing is at fault if a slow rank has just entered", "[diagnosis]") {
  rank_evidence slow = waiting(3);
  slow.groups[0].outstanding->age = 1s;
  CHECK(judge_stall(waiting_but(3, slow)).cause == stall_verdict::kind::unknown);
  slow.groups[0].outstanding->age = 3s;
  CHECK(judge_stall(waiting_but(3, slow)).cause == stall_verdict::kind::transport);
}

TEST_CASE("nothing is at fault if the ranks of a node without an answer may not have entered",
          "[diagnosis]") {
  const auto half = [](const job& ranks) { return job(ranks.begin(), ranks.begin() + 4); };
  const job all = waiting_but(-1, {});
  CHECK(judge_stall(half(all)).cause == stall_verdict::kind::transport);
  CHECK(judge_stall(half(all), {.lacks_ranks = true}).cause == stall_verdict::kind::unknown);

  // The members of a group say themselves who is missing.
  job listed = all;
  for (rank_evidence& rank : listed) rank.groups[0].members = rank_set::parse("0-7");
  CHECK(judge_stall(listed).cause == stall_verdict::kind::transport);
  CHECK(judge_stall(half(listed), {.lacks_ranks = true}).cause == stall_verdict::kind::unknown);

  // A rank that is known not to have entered is to blame all the same, though not for certain.
  const stall_verdict verdict =
      judge_stall(half(waiting_but(2, settled(2))), {.lacks_ranks = true});
  CHECK(verdict.ranks == std::vector<int>{2});
  CHECK(verdict.confidence == stall_verdict::confidence_level::likely);
}

TEST_CASE("the evidence is of each rank to blame", "[diagnosis]") {
  job ranks = waiting_but(3, settled(3));
  ranks[5] = settled(5);
  const stall_verdict verdict = judge_stall(ranks);
  REQUIRE(verdict.ranks == std::vector<int>{3, 5});
  const auto has_lines_of = [&](const std::string& rank) {
    return std::any_of(verdict.evidence.begin(), verdict.evidence.end(),
                       [&](const std::string& line) { return line.find(rank) == 0; });
  };
  CHECK(has_lines_of("rank 3:"));
  CHECK(has_lines_of("rank 5:"));
}

TEST_CASE("the sentence is the one of the documents", "[diagnosis]") {
  const stall_verdict verdict = judge_stall(waiting_but(5, settled(5)));
  CHECK(verdict.sentence ==
        "rank 5 (node1, local rank 1) has not entered all_reduce #6 of group default_pg, in which "
        "7 others have waited for 31 s; it is in data.py:88 read_shard");
  CHECK(verdict.confidence == stall_verdict::confidence_level::certain);
}

struct case_of_one {
  std::string name;
  std::function<void(rank_evidence&)> change;
  stall_verdict::kind cause;
  stall_verdict::confidence_level confidence;
  std::string part;
};

TEST_CASE("why one rank holds up seven that wait", "[diagnosis]") {
  constexpr auto certain = stall_verdict::confidence_level::certain;
  constexpr auto likely = stall_verdict::confidence_level::likely;
  const std::vector<case_of_one> cases{
      {"it sleeps", [](rank_evidence&) {}, stall_verdict::kind::behind, certain, "read_shard"},
      {"it sleeps at a single look", [](rank_evidence& rank) { rank.processor_share.reset(); },
       stall_verdict::kind::behind, likely, "read_shard"},
      {"it loops on one line", [](rank_evidence& rank) { rank.processor_share = 1.0; },
       stall_verdict::kind::behind, likely, "uses 100 % of a processor: it computes or loops"},
      {"it computes on one line, on a processor that it shares",
       [](rank_evidence& rank) { rank.processor_share = 0.2; }, stall_verdict::kind::behind, likely,
       "uses 20 % of a processor: it computes or loops"},
      {"it wants a processor that others have",
       [](rank_evidence& rank) { rank.state = process_state::running; },
       stall_verdict::kind::behind, likely, "and runs: it computes or loops"},
      {"it reads much from a disk",
       [](rank_evidence& rank) {
         rank.state = process_state::uninterruptible;
         rank.stack_moved = true;
       },
       stall_verdict::kind::blocked, likely, "uninterruptible sleep"},
      {"it runs, and was looked at once",
       [](rank_evidence& rank) {
         rank.processor_share.reset();
         rank.state = process_state::running;
       },
       stall_verdict::kind::behind, likely, "and runs: it computes or loops"},
      {"it computes",
       [](rank_evidence& rank) {
         rank.processor_share = 1.0;
         rank.stack_moved = true;
       },
       stall_verdict::kind::slow, likely, "it is slow, not hung"},
      {"it reads from NFS",
       [](rank_evidence& rank) {
         rank.state = process_state::uninterruptible;
         rank.wait_channel = "nfs_wait_bit_killable";
       },
       stall_verdict::kind::blocked, certain, "for NFS (nfs_wait_bit_killable), in data.py:88"},
      {"it reads from a disk",
       [](rank_evidence& rank) {
         rank.state = process_state::uninterruptible;
         rank.wait_channel = "io_schedule";
       },
       stall_verdict::kind::blocked, certain, "uninterruptible sleep in io_schedule"},
      {"it reported an exception",
       [](rank_evidence& rank) { rank.failure = "ValueError: no\nmore"; },
       stall_verdict::kind::left, certain, "it left its work by ValueError: no more"},
      {"it ends", [](rank_evidence& rank) { rank.stack[0].function = "_shutdown"; },
       stall_verdict::kind::left, certain, "at its end"},
      {"it is stopped",
       [](rank_evidence& rank) {
         rank = {};
         rank.rank = 3;
         rank.recorder = recorder_state::silent;
         rank.state = process_state::stopped;
       },
       stall_verdict::kind::stopped, certain, "7 others have waited in all_reduce #6"},
      {"it is stopped within the operation",
       [](rank_evidence& rank) {
         rank = waiting(3);
         rank.state = process_state::stopped;
       },
       stall_verdict::kind::stopped, certain, "is stopped by a signal"},
      {"it is gone",
       [](rank_evidence& rank) {
         rank.state = process_state::gone;
         rank.failure = "exit code 3";
       },
       stall_verdict::kind::dead, certain, "has ended (exit code 3)"},
      {"it is a zombie", [](rank_evidence& rank) { rank.state = process_state::zombie; },
       stall_verdict::kind::dead, certain, "has ended"},
      {"it does not answer",
       [](rank_evidence& rank) {
         rank.recorder = recorder_state::silent;
         rank.groups.clear();
         rank.stack.clear();
       },
       stall_verdict::kind::silent, likely,
       "does not answer; 7 others have waited in all_reduce #6"},
      {"it has no recorder",
       [](rank_evidence& rank) {
         rank.recorder = recorder_state::absent;
         rank.groups.clear();
       },
       stall_verdict::kind::behind, likely, "does not have a recorder"},
      {"it has used no group yet", [](rank_evidence& rank) { rank.groups.clear(); },
       stall_verdict::kind::behind, certain, "has not entered all_reduce #6"},
      {"it calls another operation", [](rank_evidence& rank) { rank = waiting(3, "broadcast"); },
       stall_verdict::kind::mismatch, certain,
       "in broadcast #6 of group default_pg with [[5, 7]] Float"},
      {"its input has another size",
       [](rank_evidence& rank) {
         rank = waiting(3);
         rank.groups[0].outstanding->sizes = "[[9, 7]]";
       },
       stall_verdict::kind::mismatch, certain,
       "with [[9, 7]] Float, where 7 others are in all_reduce"},
      {"its input has another type",
       [](rank_evidence& rank) {
         rank = waiting(3);
         rank.groups[0].outstanding->types = "Half";
       },
       stall_verdict::kind::mismatch, certain, "with [[5, 7]] Half"},
      {"it failed, and waits in another operation",
       [](rank_evidence& rank) {
         rank = waiting(3, "barrier");
         rank.failure = "ValueError: no";
       },
       stall_verdict::kind::left, certain, "has left the work of the others by ValueError: no"},
      {"nothing holds it up", [](rank_evidence& rank) { rank = waiting(3); },
       stall_verdict::kind::transport, likely, "all 8 ranks have entered"},
  };
  for (const case_of_one& each : cases) {
    CAPTURE(each.name);
    rank_evidence culprit = settled(3);
    each.change(culprit);
    culprit.rank = 3;
    const stall_verdict verdict = judge_stall(waiting_but(3, culprit));
    CAPTURE(verdict.sentence);
    CHECK(verdict.cause == each.cause);
    CHECK(verdict.confidence == each.confidence);
    if (each.cause != stall_verdict::kind::transport) CHECK(verdict.ranks == std::vector<int>{3});
    CHECK_THAT(verdict.sentence, contains_text(each.part));
    CHECK(verdict.sentence.find('\n') == std::string::npos);
  }
}

TEST_CASE("a few devices that have begun an operation blame none of the others", "[diagnosis]") {
  job ranks = waiting_but(-1, {});
  ranks[0].groups[0].outstanding->state = collective_state::started;
  CHECK(judge_stall(ranks).cause == stall_verdict::kind::transport);
  for (rank_evidence& rank : ranks) {
    rank.groups[0].outstanding->state = collective_state::started;
  }
  ranks[3].groups[0].outstanding->state = collective_state::scheduled;
  CHECK(judge_stall(ranks).ranks == std::vector<int>{3});
}

TEST_CASE("inputs of one size may have different shapes, and some operations different sizes",
          "[diagnosis]") {
  rank_evidence other = waiting(3);
  other.groups[0].outstanding->sizes = "[[35]]";
  CHECK(judge_stall(waiting_but(3, other)).cause == stall_verdict::kind::transport);
  job ranks;
  for (int rank = 0; rank < 4; ++rank) {
    ranks.push_back(waiting(rank, "gather"));
    ranks.back().groups[0].outstanding->sizes = "[[" + std::to_string(rank) + "]]";
  }
  CHECK(judge_stall(ranks).cause == stall_verdict::kind::transport);
}

TEST_CASE("a rank that was aborted because of another's input is not to blame", "[diagnosis]") {
  rank_evidence other = waiting(7);
  other.groups[0].outstanding->sizes = "[[9, 7]]";
  job ranks = waiting_but(7, other);
  ranks[6].state = process_state::gone;
  ranks[6].groups.clear();
  ranks[6].failure = "SIGABRT";
  CHECK(judge_stall(ranks).cause == stall_verdict::kind::mismatch);
  CHECK(judge_stall(ranks).ranks == std::vector<int>{7});
}

TEST_CASE("inputs that differ are found, too, when the error has come out of the operation",
          "[diagnosis]") {
  const auto left = [](int rank, const std::string& sizes) {
    rank_evidence evidence = settled(rank);
    evidence.groups[0].previous = call("all_reduce", 6);
    evidence.groups[0].previous->sizes = sizes;
    evidence.groups[0].previous->state = collective_state::completed;
    evidence.groups[0].enqueued = evidence.groups[0].completed = 6;
    return evidence;
  };
  // Rank 6 was aborted, rank 7 gave too much, and the others have seen that a peer is lost.
  job ranks;
  for (int rank = 0; rank < 7; ++rank) ranks.push_back(left(rank, "[[5, 7]]"));
  ranks.push_back(left(7, "[[9, 7]]"));
  ranks[6].state = process_state::gone;
  ranks[6].groups.clear();
  ranks[6].failure = "SIGABRT";
  SECTION("of all") {}
  SECTION("while some are still in it, for a moment only") {
    for (const std::size_t rank : {1, 3}) {
      ranks[rank].groups[0].previous.reset();
      enter(ranks[rank].groups[0], call("all_reduce"));
      ranks[rank].groups[0].outstanding->age = 1ms;
    }
  }
  SECTION("and they are in the next one") {
    for (rank_evidence& rank : ranks) {
      if (!rank.groups.empty()) enter(rank.groups[0], call("barrier", 7));
    }
  }
  SECTION("and the one that gave too much is at its end") { ranks[7].failure = "RuntimeError"; }
  const stall_verdict verdict = judge_stall(ranks);
  CAPTURE(verdict.sentence);
  CHECK(verdict.cause == stall_verdict::kind::mismatch);
  CHECK(verdict.ranks == std::vector<int>{7});
  CHECK_THAT(verdict.sentence,
             contains_text("rank 7 (node1, local rank 3) was in all_reduce #6 of group default_pg "
                           "with [[9, 7]] Float, where 6 others ") &&
                 contains_text(" in all_reduce with [[5, 7]] Float"));
}

TEST_CASE("ended operations of a group whose members are not known blame nobody", "[diagnosis]") {
  job ranks;
  for (int rank = 0; rank < 4; ++rank) {
    ranks.push_back(settled(rank));
    // Two pairs whose groups may have the same name.
    group_position pair{"7", "pair", {}, 5, 5};
    pair.previous = call("all_reduce", 5);
    pair.previous->sizes = rank < 2 ? "[[1]]" : "[[2]]";
    ranks.back().groups.push_back(pair);
  }
  CHECK(judge_stall(ranks).cause == stall_verdict::kind::unknown);
}

TEST_CASE("a rank that goes on to another operation because its peer ended is not to blame",
          "[diagnosis]") {
  job ranks = waiting_but(7, waiting(7, "barrier"));
  ranks[6].state = process_state::gone;
  ranks[6].groups.clear();
  CHECK(judge_stall(ranks).cause == stall_verdict::kind::dead);
  CHECK(judge_stall(ranks).ranks == std::vector<int>{6});
}

rank_evidence gone(int rank) {
  rank_evidence evidence = settled(rank);
  evidence.state = process_state::gone;
  evidence.failure = "exit code 0";
  evidence.recorder = recorder_state::absent;
  evidence.groups.clear();
  return evidence;
}

TEST_CASE("a rank that has ended is certainly to blame if all others wait", "[diagnosis]") {
  using elastic::detail::remedy_for;
  job ranks = waiting_but(0, gone(0));
  const stall_verdict sure = judge_stall(ranks);
  CHECK(sure.cause == stall_verdict::kind::dead);
  CHECK(sure.confidence == stall_verdict::confidence_level::certain);
  // A rank that waits stands for it.
  const auto remedy = remedy_for(sure, ranks);
  CHECK(remedy.rank == 1);
  CHECK(remedy.reason ==
        "rank 1 (node0, local rank 1) waits for a rank that has ended: rank 0 (node0, local rank "
        "0) has ended (exit code 0); 7 others have waited in all_reduce #6 of group default_pg for "
        "31 s");
  // They may wait for rank 5.
  ranks[5] = settled(5);
  const stall_verdict unsure = judge_stall(ranks);
  CHECK(unsure.cause == stall_verdict::kind::dead);
  CHECK(unsure.confidence == stall_verdict::confidence_level::likely);
  CHECK(remedy_for(unsure, ranks).rank == -1);
  // They wait in a group to which it does not belong, which has more members.
  ranks = waiting_but(0, gone(0));
  for (rank_evidence& rank : ranks) {
    for (group_position& position : rank.groups) position.members = rank_set({1, 2, 3, 4, 5, 6, 7});
  }
  CHECK(judge_stall(ranks).confidence == stall_verdict::confidence_level::likely);
}

TEST_CASE("the first rank that is certainly to blame is ended", "[diagnosis]") {
  using elastic::detail::remedy_for;
  job ranks = waiting_but(3, settled(3));
  stall_verdict verdict = judge_stall(ranks);
  CHECK(remedy_for(verdict, ranks).rank == 3);
  CHECK(remedy_for(verdict, ranks).reason == verdict.sentence);
  verdict.confidence = stall_verdict::confidence_level::likely;
  CHECK(remedy_for(verdict, ranks).rank == -1);
  CHECK(remedy_for(stall_verdict(), ranks).rank == -1);
  // None is left that could stand for one that has ended.
  verdict = {stall_verdict::kind::dead, stall_verdict::confidence_level::certain, {0}, "", {}};
  CHECK(remedy_for(verdict, {gone(0), settled(1)}).rank == -1);
}

TEST_CASE("a device that has not begun what others have", "[diagnosis]") {
  job ranks = waiting_but(3, waiting(3));
  for (rank_evidence& rank : ranks) {
    if (rank.rank != 3) rank.groups[0].outstanding->state = collective_state::started;
  }
  const stall_verdict verdict = judge_stall(ranks);
  CHECK(verdict.cause == stall_verdict::kind::behind);
  CHECK(verdict.ranks == std::vector<int>{3});
  CHECK_THAT(verdict.sentence, contains_text("its device has not begun it, as 7 others have"));
}

/// Positions of a rank in the group of all, and in one of its own.
group_position of_members(std::string name, rank_set members, std::int64_t entered) {
  const std::string description = "tp_" + name;
  return {std::move(name), description, std::move(members), entered, entered, {}};
}

TEST_CASE("who waits for a rank that waits itself does not wait because of it", "[diagnosis]") {
  // 0 and 1 share a group, as 2 and 3 do. 3 sleeps; 2 waits for it there, 0 and 1 wait for both.
  job ranks{waiting(0), waiting(1), settled(2), settled(3)};
  const rank_set pair({2, 3});
  ranks[2].groups.push_back(of_members("2", pair, 8));
  enter(ranks[2].groups.back(), call("all_gather", 9));
  SECTION("with the members of groups") {
    ranks[3].groups.push_back(of_members("2", pair, 8));
  }
  SECTION("where nobody knows them") {
    ranks[2].groups.back().members = {};
    ranks[3].groups.push_back(of_members("2", {}, 8));
  }
  SECTION("before the rank has used its group") {}
  const stall_verdict verdict = judge_stall(ranks);
  CAPTURE(verdict.sentence);
  CHECK(verdict.cause == stall_verdict::kind::behind);
  CHECK(verdict.ranks == std::vector<int>{3});
}

TEST_CASE("groups of one name without a common member are two groups", "[diagnosis]") {
  job ranks{settled(0), settled(1), settled(2), settled(3)};
  for (int rank = 0; rank < 4; ++rank) {
    const rank_set members(rank < 2 ? std::vector{0, 1} : std::vector{2, 3});
    ranks[rank].groups = {of_members("2", members, rank < 2 ? 100 : 7)};
  }
  enter(ranks[2].groups[0], call("all_reduce", 8));
  const stall_verdict verdict = judge_stall(ranks);
  CHECK(verdict.cause == stall_verdict::kind::behind);
  CHECK(verdict.ranks == std::vector<int>{3});
}

TEST_CASE("ranks that wait for each other in two groups are named in their circle",
          "[diagnosis]") {
  job ranks{waiting(0), settled(1)};
  const rank_set both({0, 1});
  ranks[0].groups.push_back(of_members("1", both, 3));
  ranks[1].groups.push_back(of_members("1", both, 3));
  enter(ranks[1].groups[1], call("broadcast", 4));
  const stall_verdict verdict = judge_stall(ranks);
  CHECK(verdict.cause == stall_verdict::kind::elsewhere);
  CHECK(verdict.ranks == std::vector<int>{0, 1});
  CHECK(verdict.sentence ==
        "rank 0 (node0, local rank 0) waits in all_reduce #6 of group default_pg for rank 1, "
        "rank 1 (node0, local rank 1) waits in broadcast #4 of group tp_1 for rank 0");
}

TEST_CASE("several ranks are blamed together, the one that explains most first", "[diagnosis]") {
  job ranks = waiting_but(5, settled(5));
  ranks[2] = settled(2);
  ranks[6] = settled(6);
  ranks[6].state = process_state::uninterruptible;
  const stall_verdict verdict = judge_stall(ranks);
  CHECK(verdict.cause == stall_verdict::kind::blocked);
  CHECK(verdict.ranks == std::vector<int>{6, 2, 5});
  CHECK_THAT(verdict.sentence, contains_text("ranks 2,5-6 have not entered all_reduce #6"));
}

TEST_CASE("an operation that nobody else enters makes no verdict certain", "[diagnosis]") {
  job ranks;
  for (int rank = 0; rank < 8; ++rank) ranks.push_back(settled(rank));
  ranks[0] = waiting(0, "barrier");
  const stall_verdict verdict = judge_stall(ranks);
  CHECK(verdict.cause == stall_verdict::kind::behind);
  CHECK(verdict.confidence == stall_verdict::confidence_level::likely);
}

TEST_CASE("two halves in different operations are both blamed, and not surely", "[diagnosis]") {
  job ranks;
  for (int rank = 0; rank < 4; ++rank) {
    ranks.push_back(waiting(rank, rank < 2 ? "all_reduce" : "broadcast"));
  }
  const stall_verdict verdict = judge_stall(ranks);
  CHECK(verdict.cause == stall_verdict::kind::mismatch);
  CHECK(verdict.confidence == stall_verdict::confidence_level::likely);
  CHECK(verdict.ranks == std::vector<int>{0, 1, 2, 3});
}

TEST_CASE("nobody is blamed without a reason", "[diagnosis]") {
  struct row {
    std::string name;
    job ranks;
  };
  std::vector<row> rows{{"no ranks", {}}, {"one that sleeps", {settled(0)}}};
  job idle{settled(0), settled(1), settled(2)};
  rows.push_back({"no rank waits", idle});
  job computing = idle;
  for (rank_evidence& rank : computing) {
    rank.processor_share = 1.0;
    rank.stack_moved = true;
  }
  rows.push_back({"all compute", computing});
  job passing = waiting_but(1, settled(1), 4);
  for (rank_evidence& rank : passing) {
    if (rank.groups[0].outstanding) rank.groups[0].outstanding->age = 500ms;
  }
  rows.push_back({"all have just entered", passing});
  job ended = idle;
  for (rank_evidence& rank : ended) rank.state = process_state::gone;
  rows.push_back({"all have ended", ended});
  job mute(4);
  for (int rank = 0; rank < 4; ++rank) {
    mute[rank].rank = rank;
    mute[rank].recorder = recorder_state::silent;
  }
  rows.push_back({"nobody answers", mute});
  job message = idle;
  message[0].groups[0].outstanding = call("recv 1<-0", 1);
  message[0].groups[0].outstanding->is_point_to_point = true;
  rows.push_back({"one waits for a message", message});
  job strangers = idle;
  strangers[0].groups.push_back(of_members("3", {}, 1));
  enter(strangers[0].groups.back(), call("all_reduce", 2));
  rows.push_back({"one waits in a group whose members nobody knows", strangers});
  for (const row& each : rows) {
    CAPTURE(each.name);
    const stall_verdict verdict = judge_stall(each.ranks);
    CAPTURE(verdict.sentence);
    CHECK(verdict.cause == stall_verdict::kind::unknown);
    CHECK(verdict.confidence == stall_verdict::confidence_level::none);
    CHECK(verdict.ranks.empty());
    CHECK_THAT(verdict.sentence, contains_text("the cause is unknown"));
  }
}

TEST_CASE("a verdict without a culprit counts each rank once", "[diagnosis]") {
  job ranks{settled(0), settled(1), settled(2), settled(3)};
  ranks[0].processor_share = 1.0;
  ranks[1].recorder = recorder_state::silent;
  ranks[1].groups.clear();
  ranks[2].recorder = recorder_state::silent;
  ranks[2].groups.clear();
  ranks[2].processor_share = 1.0;
  const stall_verdict verdict = judge_stall(ranks);
  CHECK(verdict.cause == stall_verdict::kind::unknown);
  CHECK(verdict.sentence ==
        "the cause is unknown: of 4 ranks, none waits in an operation, 2 compute, 1 provided no "
        "evidence");
}

TEST_CASE("without a recorder, stacks say who is not in the operation", "[diagnosis]") {
  job ranks = waiting_but(5, settled(5));
  for (rank_evidence& rank : ranks) {
    rank.recorder = recorder_state::absent;
    rank.groups.clear();
  }
  const stall_verdict verdict = judge_stall(ranks);
  CHECK(verdict.cause == stall_verdict::kind::behind);
  CHECK(verdict.confidence == stall_verdict::confidence_level::likely);
  CHECK(verdict.ranks == std::vector<int>{5});
  CHECK(verdict.sentence ==
        "rank 5 (node1, local rank 1) has not entered all_reduce, in which 7 others wait, in "
        "train.py:12 step; it is in data.py:88 read_shard");
  ranks[1].stack.clear();  // one of whom nothing is known
  CHECK(judge_stall(ranks).cause == stall_verdict::kind::unknown);
}

TEST_CASE("a verdict keeps to its bounds, and does nothing to a terminal", "[diagnosis]") {
  rank_evidence culprit = settled(3);
  const std::string evil = "\x1b[2J" + std::string(5000, 'x') + "\n";
  culprit.node = evil;
  culprit.failure = evil;
  culprit.wait_channel = evil;
  culprit.groups.assign(60, culprit.groups[0]);
  for (auto& group : culprit.groups) group.description = evil;
  culprit.groups.front().description = "default_pg";
  culprit.stack.assign(60, {evil, 1, evil});
  const stall_verdict verdict = judge_stall(waiting_but(3, culprit));
  CHECK(verdict.ranks == std::vector<int>{3});
  CHECK(verdict.sentence.size() <= limits::verdict_sentence_bytes);
  CHECK(verdict.evidence.size() <= limits::verdict_evidence_lines);
  std::string text = verdict.sentence;
  for (const std::string& line : verdict.evidence) {
    CHECK(line.size() <= limits::verdict_evidence_bytes);
    text += line;
  }
  CHECK(text.find_first_of("\x1b\n") == std::string::npos);
}

TEST_CASE("ten thousand ranks are judged, whoever is to blame", "[diagnosis]") {
  job ranks;
  for (int rank = 0; rank < 10'000; ++rank) {
    ranks.push_back(rank == 7777 ? settled(rank) : waiting(rank));
    std::vector<int> row;
    for (int member = rank / 8 * 8; member < rank / 8 * 8 + 8; ++member) row.push_back(member);
    ranks.back().groups.push_back(of_members(std::to_string(rank / 8), rank_set(row), 12));
  }
  CHECK(judge_stall(ranks).ranks == std::vector<int>{7777});
  ranks[7777] = waiting(7777);
  CHECK(judge_stall(ranks).cause == stall_verdict::kind::transport);
  for (rank_evidence& rank : ranks) {
    rank = rank.rank % 2 == 0 ? waiting(rank.rank) : settled(rank.rank);
  }
  CHECK(judge_stall(ranks).ranks.size() == limits::blamed_ranks);
}

}  // namespace stall_judge_tests
