// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Jobs that are disturbed on purpose (--chaos).

#include <support/catch.hpp>
#include <support/elasticrun_stage.hpp>
#include <support/leftovers.hpp>
#include <support/run_program.hpp>

#include <csignal>
#include <string>

namespace chaos_test {

using elastic::test::contains_text;
using elastic::test::program_result;

struct stage : elastic::test::elasticrun_stage {
  /// A job of two workers, which wait for their end in the first attempt.
  program_result run(const std::string& plan) const {
    const std::string worker =
        "[ $TORCHELASTIC_RESTART_COUNT = 0 ] && exec sleep 1000; echo again $RANK";
    return elastic::test::run_program(
        elasticrun({{"--standalone", "--nproc-per-node", "2", "--max-restarts", "1", "--chaos",
                     plan, "--no-python", "sh", "-c", worker}}),
        environment());
  }
};

TEST_CASE("chaos: a worker is killed at its time, and the job recovers", "[elasticrun]") {
  const stage s;
  const auto result = s.run("kill=rank:1@50ms,stop=rank:0@10ms+10ms,kill=rank:7@1h");
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK_THAT(result.out, contains_text("again 0") && contains_text("again 1"));
  for (const char* const text :
       {"chaos: this job is disturbed on purpose: kill=rank:1@50ms,stop=rank:0@10ms+10ms",
        "chaos: nothing happens to rank 7: there are 2 ranks and 1 nodes",
        "chaos: stop=rank:0@10ms+10ms: SIGSTOP sent to rank 0 (local rank 0, pid ",
        "chaos: kill=rank:1@50ms: SIGKILL sent to rank 1 (local rank 1, pid ",
        "chaos: 2 workers run again "}) {
    CHECK_THAT(result.err, contains_text(text));
  }
  CHECK(s.left.processes_become(0));
}

TEST_CASE("chaos: a node is killed with all that it runs", "[elasticrun]") {
  const stage s;
  const auto result = s.run("kill=node:0@50ms,kill=node:1@10ms");
  INFO(result.err);
  CHECK(result.code == -SIGKILL);
  CHECK_THAT(result.err, contains_text("chaos: kill=node:0@50ms: this agent is killed"));
  CHECK(s.left.processes_become(0));
}

TEST_CASE("chaos: a plan that cannot be read starts nothing", "[elasticrun]") {
  const stage s;
  const auto result = s.run("kill=rank:1");
  CHECK(result.code == 2);
  CHECK(result.out.empty());
  CHECK_THAT(result.err, contains_text("--chaos 'kill=rank:1': allowed are kill=rank:R@TIME"));
}

}  // namespace chaos_test
