// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// The journal that elasticrun writes, and the commands that read it.

#include <elastic/status/detail/journal_reader.hpp>
#include <support/catch.hpp>
#include <support/elasticrun_stage.hpp>
#include <support/raw_client.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>
#include <support/text.hpp>

#include <csignal>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace {

namespace journal_test {

using elastic::test::contains_text;
using elastic::test::program_result;
using elastic::test::running_program;
using words = std::vector<std::string>;

struct stage : elastic::test::elasticrun_stage {
  words job(const words& options, const words& acts) const {
    return elasticrun({{"--standalone", "--nproc-per-node=2", "--log-dir", logs()},
                       options,
                       {"--no-python", ELASTIC_PUPPET},
                       acts});
  }

  program_result command(const words& arguments) const {
    return run_command(elasticrun({arguments}));
  }
};

/// A trace without its end, as a viewer reads it.
nlohmann::json events_of(const std::string& path) {
  std::string text = elastic::test::file_text(path);
  text.resize(text.rfind(','));
  return nlohmann::json::parse(text + "]");
}

}  // namespace journal_test

namespace jt = journal_test;

TEST_CASE("journal: a run is explained and traced", "[integration][journal]") {
  const jt::stage here;
  const std::string trace = here.folder / "trace.json";
  const auto result =
      here.run_command(here.job({"--max-restarts=1", "--trace", trace}, {"exit", "7"}));
  CHECK(result.code == 1);
  const auto explanation = here.command({"explain", here.logs()});
  CHECK(explanation.code == 0);
  CHECK_THAT(explanation.out, jt::contains_text(": failed after "));
  CHECK_THAT(explanation.out, jt::contains_text("failed: exit code 7"));
  CHECK_THAT(explanation.out, jt::contains_text("the workers restart (restart 1 of 1)"));
  CHECK_THAT(explanation.out, jt::contains_text("the job is given up: "));
  CHECK_THAT(explanation.out, jt::contains_text("\nRoot causes\n  round "));
  CHECK_THAT(explanation.out, jt::contains_text("\nWhere the time went\n"));
  const auto merged = here.command({"trace", here.logs()});
  CHECK(merged.code == 0);
  CHECK(nlohmann::json::parse(merged.out).at("traceEvents").size() == jt::events_of(trace).size());
}

TEST_CASE("journal: of an agent that is killed the journal and the trace can be read",
          "[integration][journal]") {
  const jt::stage here;
  const std::string trace = here.folder / "trace.json";
  const std::string journal = here.folder / "journal";
  jt::running_program job(
      here.job({"--trace", trace, "--journal", journal}, {"line", "ready", "hang"}),
      here.environment());
  job.await_out("ready", 2);
  // Its records are written by another thread.
  REQUIRE(elastic::test::comes_true([&] {
    return elastic::test::occurrences(elastic::test::file_text(trace), "\"ph\"") > 5 &&
           !elastic::test::file_text(journal).empty();
  }));
  job.signal(SIGKILL);
  CHECK(job.wait().code == -SIGKILL);
  CHECK(here.left.processes_become(0));
  CHECK(jt::events_of(trace).size() > 4);
  CHECK_THAT(here.command({"explain", journal}).out,
             jt::contains_text("its agent still runs or was killed; its journal ends after"));
}

TEST_CASE("journal: a full disk is said once, and the job goes on", "[integration][journal]") {
  const jt::stage here;
  const auto result = here.run_command(here.job({"--journal", "/dev/full"}, {"exit", "0"}),
                                       {{"LOGLEVEL", "ERROR"}});
  CHECK(result.code == 0);
  CHECK(result.err.find("the journal '/dev/full' cannot be written, records are lost") ==
        result.err.rfind("the journal '/dev/full'"));
  CHECK_THAT(result.err, jt::contains_text("the journal '/dev/full' cannot be written"));
}

TEST_CASE("journal: a journal that is named twice is read once", "[integration][journal]") {
  const jt::stage here;
  const std::string journal = here.folder / "journal.jsonl";
  REQUIRE(here.run_command(here.job({"--journal", journal}, {"exit", "0"})).code == 0);
  for (const char* word : {"explain", "trace"}) {
    const auto once = here.command({word, journal});
    const auto twice = here.command({word, journal, here.folder / "./journal.jsonl"});
    CHECK(twice.code == 0);
    CHECK(twice.out == once.out);
    CHECK(twice.err == once.err);
  }
}

TEST_CASE("journal: commands that have nothing to read say so", "[integration][journal]") {
  const jt::stage here;
  const auto bare = here.command({"explain"});
  CHECK(bare.code == 2);
  CHECK_THAT(bare.err, jt::contains_text("explain needs a log directory or a journal"));
  const auto missing = here.command({"trace", here.folder / "none"});
  CHECK(missing.code == 2);
  CHECK_THAT(missing.err, jt::contains_text("none' does not exist"));
  const std::string text = here.folder / "text";
  std::ofstream(text) << "hello\n";
  for (const char* word : {"explain", "trace", "status"}) {
    const auto other = here.command({word, text});
    CHECK(other.code == 2);
    CHECK_THAT(other.err, jt::contains_text("text' is not a journal: "));
  }
  const auto empty = here.command({"explain", here.temporary()});
  CHECK(empty.code == 2);
  CHECK_THAT(empty.err, jt::contains_text("no journal is in '"));
  const auto help = here.command({"explain", "--help"});
  CHECK(help.code == 0);
  CHECK_THAT(help.out, jt::contains_text("Usage: elasticrun explain LOGDIR|FILE ..."));
}

}  // namespace
