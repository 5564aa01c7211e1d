// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// The vault of an agent, with this process as its worker.

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/time.hpp>
#include <elastic/store/memory_store.hpp>
#include <elastic/vault/detail/vault_part.hpp>
#include <elastic/vault/vault_terms.hpp>
#include <support/catch.hpp>
#include <support/manual_time.hpp>
#include <support/text.hpp>
#include <support/vault_stage.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace elastic {
namespace {

namespace vault_part_test {

using namespace std::chrono_literals;
using nlohmann::json;
using test::has_text;
using test::vault_peer;
using test::vault_stage;

constexpr std::uint64_t mebibyte = 1 << 20;
using texts = std::vector<std::string>;

TIME_TEST("vault part: what a worker asked before an epoch does not count in it", "[vault]") {
  vault_stage stage(time, 1, mebibyte);
  vault_peer early(stage.address);
  early.say(R"({"kind": "begin", "bytes": 8192})");
  const auto work = [&]() -> task<void> {
    CHECK(early.hear().is_null());
    vault_peer peer(stage.address);
    const json place = co_await stage.commit(peer, 0, 10);
    CHECK(place["generation"] == 1);
  };
  co_await stage.attempt(work());
}

TIME_TEST("vault part: what all ranks have committed is restored", "[vault]") {
  vault_stage stage(time, 2, mebibyte);
  json epoch;
  const auto first = [&]() -> task<void> {
    vault_peer peer(stage.address);
    const json none = co_await stage.ask(peer, R"({"kind": "find"})");
    CHECK(none["kind"] == "nothing");
    for (const std::int64_t step : {10, 20}) {
      const json mine = co_await stage.commit(peer, 0, step);
      CHECK(mine["generation"] == step / 10);
      CHECK(mine["rank"] == 0);
      const json other = co_await stage.commit(peer, 1, step);
      CHECK(other["rank"] == 1);
    }
    const json alone = co_await stage.commit(peer, 0, 30);
    epoch = alone["epoch"];
    CHECK(alone["generation"] == 3);
  };
  co_await stage.attempt(first());
  const auto second = [&]() -> task<void> {
    vault_peer peer(stage.address);
    for (const int rank : {0, 1}) {
      stage.speaks = rank;
      const json found = co_await stage.ask(peer, R"({"kind": "find"})");
      CHECK(found["kind"] == "found");
      CHECK(found["epoch"] == epoch);
      CHECK(found["generation"] == 2);
      CHECK(found["step"] == 20);
      peer.say(R"({"kind": "restored", "seconds": 0.25})");
      // The next answer comes after what was said before.
      co_await stage.ask(peer, R"({"kind": "find"})");
    }
    const json other = co_await stage.ask(peer, R"({"kind": "find", "rank": 0})");
    CHECK(other["kind"] == "found");
    for (const char* const rank : {"-1", "2", "9223372036854775807"}) {
      const json none =
          co_await stage.ask(peer, fmt::format(R"({{"kind": "find", "rank": {}}})", rank));
      CHECK(none["kind"] == "nothing");
    }
    const json next = co_await stage.commit(peer, 0, 30);
    CHECK(next["epoch"] > epoch);
    CHECK(next["generation"] == 1);
  };
  co_await stage.attempt(second());
  CHECK(stage.events() == texts{"vault_committed 1 of step 10", "vault_restored 2 of step 20"});
}

TIME_TEST("vault part: a rank that cannot exist has nothing to restore", "[vault]") {
  vault_stage stage(time, 1, mebibyte);
  stage.ranks.base_rank = 1;
  const auto work = [&]() -> task<void> {
    vault_peer peer(stage.address);
    for (const char* const rank : {"-9223372036854775808", "9223372036854775807"}) {
      const json none =
          co_await stage.ask(peer, fmt::format(R"({{"kind": "find", "rank": {}}})", rank));
      CHECK(none["kind"] == "nothing");
    }
  };
  co_await stage.attempt(work());
}

TIME_TEST("vault part: a file for reading cannot be written, and none can be resized", "[vault]") {
  vault_stage stage(time, 1, mebibyte);
  const auto first = [&]() -> task<void> {
    vault_peer peer(stage.address);
    co_await stage.commit(peer, 0, 10);
    // That of a commit, before the one for reading took its place.
    const json place = co_await stage.ask(peer, R"({"kind": "begin", "bytes": 5000})");
    CHECK(place["kind"] == "write");
    CHECK(::ftruncate(peer.file.get(), 0) != 0);
    CHECK(::ftruncate(peer.file.get(), 1 << 20) != 0);
    CHECK(::fcntl(peer.file.get(), F_ADD_SEALS, F_SEAL_WRITE) != 0);
  };
  co_await stage.attempt(first());
  const auto second = [&]() -> task<void> {
    vault_peer peer(stage.address);
    const json found = co_await stage.ask(peer, R"({"kind": "find"})");
    CHECK(found["step"] == 10);
    CHECK(::pwrite(peer.file.get(), "x", 1, 0) < 0);
    CHECK(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, peer.file.get(), 0) ==
          MAP_FAILED);
  };
  co_await stage.attempt(second());
}

TIME_TEST("vault part: a damaged generation is given up for the one before", "[vault]") {
  vault_stage stage(time, 1, mebibyte);
  const auto restore = [&](std::string report) -> task<void> {
    vault_peer peer(stage.address);
    co_await stage.ask(peer, R"({"kind": "find"})");
    peer.say(report);
    // The next answer comes after what was said before.
    co_await stage.ask(peer, R"({"kind": "find"})");
  };
  const auto first = [&]() -> task<void> {
    vault_peer peer(stage.address);
    co_await stage.commit(peer, 0, 10);
    co_await stage.commit(peer, 0, 20);
  };
  co_await stage.attempt(first());
  co_await stage.attempt(restore(R"({"kind": "damaged", "reason": "bad"})"));
  co_await stage.attempt(restore(R"({"kind": "restored", "seconds": 1})"));
  CHECK(stage.events() == texts{"vault_committed 1 of step 10",
                                "vault_dropped 2 of step -1: a part of it is damaged",
                                "vault_restored 1 of step 10"});
  for (int more = 0; more < 2; ++more) {
    co_await stage.attempt(restore(R"({"kind": "restored", "seconds": 1})"));
  }
  const auto second = [&]() -> task<void> {
    vault_peer peer(stage.address);
    const json none = co_await stage.ask(peer, R"({"kind": "find"})");
    CHECK(none["kind"] == "nothing");
  };
  co_await stage.attempt(second());
  CHECK(stage.events().back() ==
        "vault_dropped 1 of step -1: it was restored 3 times without a later commit");
}

TIME_TEST("vault part: restarts in which no worker asks do not count", "[vault]") {
  vault_stage stage(time, 1, mebibyte);
  const auto committing = [&]() -> task<void> {
    vault_peer peer(stage.address);
    co_await stage.commit(peer, 0, 10);
  };
  co_await stage.attempt(committing());
  const auto nothing = []() -> task<void> { co_return; };
  for (int restarts = 0; restarts < 5; ++restarts) co_await stage.attempt(nothing());
  const auto asking = [&]() -> task<void> {
    vault_peer peer(stage.address);
    const json found = co_await stage.ask(peer, R"({"kind": "find"})");
    CHECK(found["step"] == 10);
  };
  co_await stage.attempt(asking());
}

TIME_TEST("vault part: a restore counts once, however often the nodes begin to agree", "[vault]") {
  vault_stage stage(time, 1, mebibyte);
  const auto committing = [&]() -> task<void> {
    vault_peer peer(stage.address);
    co_await stage.commit(peer, 0, 10);
  };
  co_await stage.attempt(committing());
  const auto asking = [&](const char* answer) -> task<void> {
    vault_peer peer(stage.address);
    const json found = co_await stage.ask(peer, R"({"kind": "find"})");
    CHECK(found["kind"] == answer);
  };
  co_await stage.attempt(asking("found"));
  for (int broken = 0; broken < limits::vault_restores; ++broken) {
    // The other node is lost before it has come to the round.
    rendezvous_round round = stage.round;
    round.agents = std::make_shared<memory_store>();
    round.group_world_size = 2;
    task<void> agreeing = stage.part->agree(std::move(round), stage.ranks);
    const time_point lost_at = time.now() + 1s;
    const bool has_agreed = co_await with_deadline(time, lost_at, std::move(agreeing));
    CHECK_FALSE(has_agreed);
  }
  for (int restores = 1; restores < limits::vault_restores; ++restores) {
    co_await stage.attempt(asking("found"));
  }
  co_await stage.attempt(asking("nothing"));
}

TIME_TEST("vault part: a commit without room is skipped with the figures, and logged once",
          "[vault]") {
  vault_stage stage(time, 1, mebibyte);
  const auto first = [&]() -> task<void> {
    vault_peer peer(stage.address);
    for (int commit = 0; commit < 3; ++commit) {
      const json place = co_await stage.ask(peer, R"({"kind": "begin", "bytes": 600000})");
      CHECK(place["kind"] == "skipped");
      CHECK(has_text(place["reason"], "takes two slots of that size, and the limit of 1.0 MiB"));
    }
    peer.say(R"({"kind": "skip", "reason": "no plain tensor"})");
    const json place = co_await stage.ask(peer, R"({"kind": "begin", "bytes": 5000})");
    CHECK(place["generation"] == 5);
  };
  co_await stage.attempt(first());
  REQUIRE(stage.events().size() == 2);
  CHECK(stage.journal->after(0).back().event.count == 4);
  CHECK(has_text(stage.log->text(), "rank 0 skips the commit of generation 1: a commit of 585.9"));
}

TIME_TEST("vault part: a worker ahead of the others waits for none, and spares their commits",
          "[vault]") {
  vault_stage stage(time, 2, mebibyte);
  const auto work = [&]() -> task<void> {
    vault_peer peer(stage.address);
    co_await stage.commit(peer, 0, 10);
    co_await stage.commit(peer, 0, 20);
    const json early = co_await stage.commit(peer, 0, 30);
    CHECK(early["kind"] == "skipped");
    CHECK(has_text(early["reason"], "generation 1 is not complete yet"));
    co_await stage.commit(peer, 1, 10);
    co_await stage.commit(peer, 1, 20);
    const json later = co_await stage.commit(peer, 0, 40);
    CHECK(later["generation"] == 4);
  };
  co_await stage.attempt(work());
  CHECK(stage.log->text().find("skips the commit of generation 3") != std::string::npos);
}

TIME_TEST("vault part: after a rank alone has skipped a commit, the others go on", "[vault]") {
  vault_stage stage(time, 2, mebibyte);
  const auto work = [&]() -> task<void> {
    vault_peer peer(stage.address);
    for (const int rank : {0, 1}) co_await stage.commit(peer, rank, 10);
    peer.say(R"({"kind": "skip", "reason": "no plain tensor"})");
    co_await stage.ask(peer, R"({"kind": "find"})");
    co_await stage.commit(peer, 0, 20);
    for (const std::int64_t step : {30, 40, 50}) {
      for (const int rank : {0, 1}) {
        const json place = co_await stage.commit(peer, rank, step);
        CHECK(place["kind"] == "write");
        CHECK(place["generation"] == step / 10);
      }
    }
  };
  co_await stage.attempt(work());
  const auto asking = [&]() -> task<void> {
    vault_peer peer(stage.address);
    const json found = co_await stage.ask(peer, R"({"kind": "find"})");
    CHECK(found["generation"] == 5);
  };
  co_await stage.attempt(asking());
}

TIME_TEST("vault part: a process that the worker has forked is refused", "[vault]") {
  vault_stage stage(time, 1, mebibyte);
  const auto first = [&]() -> task<void> {
    vault_peer peer(stage.address);
    const pid_t child = ::fork();
    if (child == 0) {
      const char packet[] = R"({"kind": "begin", "bytes": 5000})";
      ::send(peer.socket(), packet, sizeof packet - 1, MSG_NOSIGNAL);
      ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
    const json answer = co_await stage.ask(peer, "");
    CHECK(answer["kind"] == "refused");
    CHECK(has_text(answer["reason"], "only a worker itself uses the vault"));
  };
  co_await stage.attempt(first());
  CHECK(has_text(stage.log->text(), "is not a worker of this node, and is refused"));
}

TIME_TEST("vault part: a worker that claims what it has not done loses its connection", "[vault]") {
  vault_stage stage(time, 1, mebibyte);
  const auto first = [&]() -> task<void> {
    for (const std::string& packet :
         {std::string(R"({"kind": "committed", "slot": 1})"), std::string("{"),
          std::string(5000, ' '), std::string(R"({"kind": "begin", "bytes": 0})")}) {
      vault_peer peer(stage.address);
      const json answer = co_await stage.ask(peer, packet);
      CHECK(answer.is_null());
    }
  };
  co_await stage.attempt(first());
  CHECK(has_text(stage.log->text(), "but its slot does not have it"));
  CHECK(has_text(stage.log->text(), "a message to the vault is longer than 4096 bytes"));
}

TIME_TEST("vault part: a commit with the header of another rank does not count", "[vault]") {
  vault_stage stage(time, 2, mebibyte);
  const auto first = [&]() -> task<void> {
    vault_peer peer(stage.address);
    const json place = co_await stage.ask(peer, R"({"kind": "begin", "bytes": 5000})");
    detail::vault_header header;
    header.id = {place["epoch"], place["generation"]};
    header.rank = 1;
    header.world_size = 2;
    header.manifest_bytes = 2;
    const std::string bytes = bytes_of(header);
    CHECK(::pwrite(peer.file.get(), bytes.data(), bytes.size(), 0) > 0);
    const json answer = co_await stage.ask(peer, R"({"kind": "committed", "slot": 0})");
    CHECK(answer.is_null());
  };
  co_await stage.attempt(first());
}

TIME_TEST("vault part: the limit of file sizes is named", "[vault]") {
  vault_stage stage(time, 1, 64 * mebibyte);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto first = [&]() -> task<void> {
    vault_peer peer(stage.address);
    rlimit small = before;
    small.rlim_cur = 100'000;
    ::setrlimit(RLIMIT_FSIZE, &small);
    const json place = co_await stage.ask(peer, R"({"kind": "begin", "bytes": 200000})");
    ::setrlimit(RLIMIT_FSIZE, &before);
    CHECK(place["kind"] == "skipped");
    CHECK(has_text(place["reason"], "the limit of file sizes (ulimit -f) is 97.7 KiB"));
  };
  co_await stage.attempt(first());
}

TIME_TEST("vault part: without descriptors a commit is skipped", "[vault]") {
  vault_stage stage(time, 1, 64 * mebibyte);
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const auto first = [&]() -> task<void> {
    vault_peer peer(stage.address);
    const json none = co_await stage.ask(peer, R"({"kind": "find"})");
    rlimit small = before;
    small.rlim_cur = 3;
    ::setrlimit(RLIMIT_NOFILE, &small);
    const json place = co_await stage.ask(peer, R"({"kind": "begin", "bytes": 200000})");
    ::setrlimit(RLIMIT_NOFILE, &before);
    CHECK(place["kind"] == "skipped");
    CHECK(has_text(place["reason"], "the agent cannot get 195.3 KiB: Too many open files"));
  };
  co_await stage.attempt(first());
}

int open_slots() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code ignored;
    const std::string target = std::filesystem::read_symlink(entry.path(), ignored);
    if (has_text(target, "memfd:elastic-vault")) ++count;
  }
  return count;
}

TIME_TEST("vault part: the memory is freed when no worker follows", "[vault]") {
  vault_stage stage(time, 1, mebibyte);
  const auto work = [&]() -> task<void> {
    vault_peer peer(stage.address);
    co_await stage.commit(peer, 0, 10);
    co_await stage.commit(peer, 0, 20);
  };
  co_await stage.attempt(work());
  CHECK(open_slots() == 2);
  co_await stage.part->end();
  CHECK(open_slots() == 0);
}

TEST_CASE("vault terms: one limit is needed", "[vault]") {
  vault_terms terms;
  CHECK_FALSE(terms.is_set());
  CHECK_THROWS_AS(validate(terms), error);
  terms.limit_bytes = 1000;
  validate(terms);
  CHECK(vault_limit(terms) == 1000);
  terms.limit_percent = 10;
  CHECK_THROWS_AS(validate(terms), error);
  terms.limit_bytes = 0;
  validate(terms);
  const std::uint64_t tenth = vault_limit(terms);
  terms.limit_percent = 100;
  CHECK(vault_limit(terms) / 10 - tenth < 100);
  terms.limit_percent = 101;
  CHECK_THROWS_AS(validate(terms), error);
}

}  // namespace vault_part_test

}  // namespace
}  // namespace elastic
