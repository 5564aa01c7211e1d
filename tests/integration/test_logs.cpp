// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// The workers' output: which of it is shown and how, what is kept, and that nothing is lost.

#include <support/catch.hpp>
#include <support/elasticrun_stage.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace {

namespace logs_test {

namespace fs = std::filesystem;
using elastic::test::contains_text;
using elastic::test::file_text;
using elastic::test::program_result;
using elastic::test::running_program;
using words = std::vector<std::string>;
using variables = std::map<std::string, std::string>;

/// A place for one test, and a mark on all that it starts; nothing of that may be left.
struct stage : elastic::test::elasticrun_stage {
  ~stage() { CHECK(left.processes().empty()); }

  variables environment() const {
    return elasticrun_stage::environment({{"OMP_NUM_THREADS", "1"}});
  }

  words command(int workers, const words& options, const words& worker) const {
    return elasticrun({{"--standalone", "--nproc-per-node", std::to_string(workers), "--log-dir",
                        logs(), "--role", "trn"},
                       options,
                       {"--no-python"},
                       worker});
  }

  /// A job whose workers do what a line of the shell says.
  program_result run(int workers, const words& options, const std::string& script) const {
    return elastic::test::run_program(command(workers, options, {"sh", "-c", script}),
                                      environment());
  }

  /// The directory of the first attempt.
  fs::path attempt() const { return log_root() / "attempt_0"; }
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::multiset<std::string> sorted(const std::string& text) {
  const auto lines = lines_of(text);
  return {lines.begin(), lines.end()};
}

/// How many lines "0 xxx", "1 xxx", … of 100 bytes stand here one after the other, and nothing
/// else; -1 if one is missing or torn.
long counted(const std::string& text, const std::string& prefix = "") {
  if (text.empty()) return 0;
  if (!text.ends_with('\n')) return -1;
  long number = 0;
  for (std::string_view rest = text; !rest.empty(); ++number) {
    const std::string_view line = rest.substr(0, rest.find('\n') + 1);
    rest.remove_prefix(line.size());
    const std::string begin = prefix + std::to_string(number) + " ";
    if (!line.starts_with(begin) || line.size() != prefix.size() + 100) return -1;
  }
  return number;
}

/// The lines that begin with a prefix, without it.
std::string lines_behind(const std::string& text, const std::string& prefix) {
  std::string found;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n') + 1);
    rest.remove_prefix(line.size());
    if (line.starts_with(prefix)) found += line.substr(prefix.size());
  }
  return found;
}

}  // namespace logs_test

namespace t = logs_test;
namespace fs = std::filesystem;
using elastic::test::contains_text;
using elastic::test::file_text;

// ---- what is shown -----------------------------------------------------------------------------

TEST_CASE("logs: a prefix says which worker of which host wrote a line and when",
          "[integration][logs]") {
  const t::stage here;
  const auto result =
      here.run(2,
               {"-t", "1", "--log-line-prefix-template",
                "${time} ${hostname} ${role_name} ${rank}.${local_rank} ${pid} $$|"},
               "echo $$$$; echo again");  // $$ is a $ in arguments of workers
  REQUIRE(result.code == 0);
  const std::regex form(R"((\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) (\S+) trn )"
                        R"(([01])\.([01]) (\d+) \$\|(.*))");
  int count = 0;
  for (const std::string& line : t::lines_of(result.out)) {
    std::smatch parts;
    INFO(line);
    REQUIRE(std::regex_match(line, parts, form));
    CHECK(parts[3] == parts[4]);
    if (parts[6] == "again") continue;
    CHECK(parts[5] == parts[6]);
    ++count;
  }
  CHECK(count == 2);
  // The files have what was written, and nothing else.
  CHECK(t::lines_of(file_text(here.attempt() / "0" / "stdout.log")).size() == 2);
  CHECK(file_text(here.attempt() / "1" / "stdout.log").ends_with("\nagain\n"));
}

TEST_CASE("logs: only the local ranks that were chosen are shown, and files have all",
          "[integration][logs]") {
  const std::string script = "echo out $RANK; echo err $RANK >&2";
  {
    const t::stage here;
    const auto result = here.run(3, {"-t", "3", "--local-ranks-filter", "0,2"}, script);
    CHECK(result.code == 0);
    CHECK(t::sorted(result.out) == t::sorted("[trn0]:out 0\n[trn2]:out 2\n"));
    CHECK(t::sorted(result.err) == t::sorted("[trn0]:err 0\n[trn2]:err 2\n"));
    for (const char* rank : {"0", "1", "2"}) {
      CHECK(file_text(here.attempt() / rank / "stdout.log") == std::string("out ") + rank + "\n");
      CHECK(file_text(here.attempt() / rank / "stderr.log") == std::string("err ") + rank + "\n");
    }
  }
  const t::stage here;
  const auto result = here.run(3, {"--local-ranks-filter", "1"}, script);
  CHECK(result.out == "out 1\n");
  CHECK(result.err == "err 1\n");
}

TEST_CASE("logs: a worker that is not shown is reported with its last words all the same",
          "[integration][logs]") {
  const t::stage here;
  const auto result = here.run(2, {"--local-ranks-filter", "0"},
                               "[ $RANK = 0 ] || { echo last words >&2; exit 3; }; exec sleep 600");
  CHECK(result.code == 1);
  CHECK_THAT(result.err, contains_text("last words"));
}

TEST_CASE("logs: as JSON every line is an object that says whose it is", "[integration][logs]") {
  const t::stage here;
  const auto result = here.run(2, {"--log-format", "json", "-t", "1"},
                               R"(printf 'say "hi"\t\\\n\377ok\r\nlast'; echo "on stderr" >&2)");
  REQUIRE(result.code == 0);
  std::map<int, std::vector<std::string>> texts;
  for (const std::string& line : t::lines_of(result.out)) {
    INFO(line);
    const auto object = nlohmann::json::parse(line);
    CHECK(object.at("stream") == "stdout");
    CHECK(object.at("role") == "trn");
    CHECK(object.at("attempt") == 0);
    CHECK(object.at("rank") == object.at("local_rank"));
    CHECK_FALSE(object.at("host").get<std::string>().empty());
    CHECK(object.at("time").get<std::string>().size() == 24);
    CHECK(object.size() == 8);
    texts[object.at("rank")].push_back(object.at("text"));
  }
  const std::vector<std::string> expected = {"say \"hi\"\t\\", "\xef\xbf\xbdok", "last"};
  CHECK(texts == std::map<int, std::vector<std::string>>{{0, expected}, {1, expected}});
  // What is not teed, too.
  const auto errors = t::lines_of(result.err);
  REQUIRE(errors.size() == 2);
  CHECK(nlohmann::json::parse(errors[0]).at("stream") == "stderr");
  CHECK(nlohmann::json::parse(errors[1]).at("text") == "on stderr");
  CHECK(file_text(here.attempt() / "0" / "stdout.log") == "say \"hi\"\t\\\n\377ok\r\nlast");
}

TEST_CASE("logs: --merge-output shows each line of each worker, and leaves the files as they are",
          "[integration][logs]") {
  const t::stage here;
  const auto result = here.run(
      4, {"--merge-output", "--tee", "1"},
      "echo same; echo own $LOCAL_RANK; echo warning >&2; printf 'same end'; exit 0");
  CHECK(result.code == 0);
  const auto ranks_with = [](const std::string& shown, const std::string& text) {
    std::multiset<int> ranks;
    for (const std::string& line : t::lines_of(shown)) {
      const std::size_t end = line.find("]:");
      REQUIRE(line.starts_with("[trn"));
      REQUIRE(end != line.npos);
      if (line.substr(end + 2) != text) continue;
      // "0,2-3"
      std::istringstream ranges(line.substr(4, end - 4));
      for (std::string range; std::getline(ranges, range, ',');) {
        const std::size_t dash = range.find('-');
        const int first = std::stoi(range);
        const int last = dash == range.npos ? first : std::stoi(range.substr(dash + 1));
        for (int rank = first; rank <= last; ++rank) ranks.insert(rank);
      }
    }
    return ranks;
  };
  const std::multiset<int> all = {0, 1, 2, 3};
  CHECK(ranks_with(result.out, "same") == all);
  CHECK(ranks_with(result.out, "same end") == all);
  CHECK(ranks_with(result.err, "warning") == all);
  for (int rank = 0; rank < 4; ++rank) {
    INFO(rank);
    CHECK(ranks_with(result.out, "own " + std::to_string(rank)) == std::multiset<int>{rank});
    CHECK(file_text(here.attempt() / std::to_string(rank) / "stdout.log") ==
          "same\nown " + std::to_string(rank) + "\nsame end");
  }
}

TEST_CASE("logs: an unfinished last line has a line of its own on the console, and no end in files",
          "[integration][logs]") {
  const t::stage here;
  const auto result =
      here.run(2, {"--tee", "3"}, "printf part$RANK; printf \"oops$RANK\" >&2");
  CHECK(result.code == 0);
  CHECK(t::sorted(result.out) == t::sorted("[trn0]:part0\n[trn1]:part1\n"));
  CHECK(t::sorted(result.err) == t::sorted("[trn0]:oops0\n[trn1]:oops1\n"));
  CHECK(result.out.ends_with('\n'));
  for (const std::string rank : {"0", "1"}) {
    CHECK(file_text(here.attempt() / rank / "stdout.log") == "part" + rank);
    CHECK(file_text(here.attempt() / rank / "stderr.log") == "oops" + rank);
  }
}

TEST_CASE("logs: without a prefix, what follows an unfinished line ends it, and nothing else does",
          "[integration][logs]") {
  {
    const t::stage here;
    CHECK(here.run(1, {}, "printf alone >&2").err == "alone");
  }
  const t::stage here;
  const auto result = here.run(
      2, {"--max-restarts", "1"},
      "if [ $TORCHELASTIC_RESTART_COUNT = 1 ]; then printf 'again\\n' >&2; exit 0; fi; "
      "if [ $RANK = 1 ]; then exec sleep 600; fi; printf half >&2; exit 1");
  CHECK(result.code == 0);
  const auto lines = t::lines_of(result.err);
  CHECK(std::count(lines.begin(), lines.end(), "half") == 1);
  CHECK(std::count(lines.begin(), lines.end(), "again") == 2);
  for (const std::string& line : lines) {
    if (line == "half" || line == "again") continue;
    INFO(line);
    CHECK(std::regex_search(line, std::regex("^(WARNING|ERROR) ")));
  }
}

// ---- what is kept ------------------------------------------------------------------------------

TEST_CASE("logs: lines that match a filter are in one file, those of all workers",
          "[integration][logs]") {
  const t::stage here;
  const auto result = here.run(
      2,
      {"-r", "0:1", "--duplicate-stdout-filters", "loss,a,,b", "--duplicate-stderr-filters",
       "Error", "--local-ranks-filter", "0"},
      "echo loss $RANK; echo step $RANK; printf 'a,b end'; echo Error $RANK >&2; echo fine >&2");
  CHECK(result.code == 0);
  const fs::path attempt = here.attempt();
  CHECK(t::sorted(file_text(attempt / "filtered_stdout.log")) ==
        t::sorted("[trn0]:loss 0\n[trn0]:a,b end\n[trn1]:loss 1\n[trn1]:a,b end\n"));
  CHECK(t::sorted(file_text(attempt / "filtered_stderr.log")) ==
        t::sorted("[trn0]:Error 0\n[trn1]:Error 1\n"));
  // Everything else is as without filters.
  CHECK(file_text(attempt / "0" / "stdout.log") == "loss 0\nstep 0\na,b end");
  CHECK(result.out.empty());
  CHECK(result.err == "Error 0\nfine\n");
}

TEST_CASE("logs: files keep to their size, teed or redirected, and the newest are kept",
          "[integration][logs]") {
  const t::stage here;
  const auto result = elastic::test::run_program(
      here.command(2, {"-r", "0:1", "-t", "1:1", "--log-max-size", "10k", "--log-max-files", "3"},
                   {ELASTIC_PUPPET, "flood", "1000", "100"}),
      here.environment());
  CHECK(result.code == 0);
  CHECK(t::counted(result.out, "[trn1]:") == 1000);
  for (const char* rank : {"0", "1"}) {
    const fs::path log = here.attempt() / rank / "stdout.log";
    std::string kept;
    for (const char* name : {".2", ".1", ""}) {
      const std::string text = file_text(log.string() + name);
      CHECK(text.size() <= 10 * 1024);
      CHECK(text.ends_with('\n'));
      kept += text;
    }
    CHECK_FALSE(fs::exists(log.string() + ".3"));
    const auto lines = t::lines_of(kept);
    REQUIRE(lines.size() > 200);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      REQUIRE(lines[i].starts_with(std::to_string(1000 - lines.size() + i) + " "));
    }
  }
}

TEST_CASE("logs: the files of a job are their user's alone, whatever the umask",
          "[integration][logs]") {
  const t::stage here;
  const mode_t before = ::umask(0);
  const auto result = here.run(
      2,
      {"-t", "0:3", "-r", "1:3", "--log-dir", here.folder / "new/logs", "--journal",
       here.folder / "journal", "--trace", here.folder / "trace"},
      "echo '{\"message\": \"no luck\"}' > $TORCHELASTIC_ERROR_FILE; echo words; exit 3");
  ::umask(before);
  INFO(result.err);
  CHECK(result.code == 1);
  const auto mode_of = [](const fs::path& path) {
    return static_cast<unsigned>(fs::status(path).permissions());
  };
  // The directory that the user named is the user's matter; that of the run is not.
  CHECK(mode_of(here.folder / "new/logs") == 0777);
  const fs::path run = fs::directory_iterator(here.folder / "new/logs")->path();
  CHECK(mode_of(run) == 0700);
  CHECK(mode_of(run / "report.json") == 0600);
  CHECK(mode_of(run / "attempt_0") == 0700);
  for (const char* rank : {"0", "1"}) {
    CHECK(mode_of(run / "attempt_0" / rank) == 0700);
    for (const char* name : {"stdout.log", "stderr.log"}) {
      CHECK(mode_of(run / "attempt_0" / rank / name) == 0600);
    }
  }
  CHECK(mode_of(here.folder / "journal") == 0600);
  CHECK(mode_of(here.folder / "trace") == 0600);
}

// ---- nothing is lost ---------------------------------------------------------------------------

TEST_CASE("logs: four workers that flood lose nothing, and no line is torn",
          "[integration][logs]") {
  const t::stage here;
  const auto result = elastic::test::run_program(
      here.command(4, {"-t", "1"}, {ELASTIC_PUPPET, "flood", "50000", "100"}), here.environment());
  CHECK(result.code == 0);
  CHECK(t::lines_of(result.out).size() == 200'000);
  for (const char* rank : {"0", "1", "2", "3"}) {
    const std::string prefix = std::string("[trn") + rank + "]:";
    CHECK(t::counted(t::lines_behind(result.out, prefix)) == 50'000);
    CHECK(t::counted(file_text(here.attempt() / rank / "stdout.log")) == 50'000);
  }
}

TEST_CASE("logs: what a worker wrote before it failed is all there", "[integration][logs]") {
  for (const t::words& end : {t::words{"exit", "3"}, t::words{"die", "9"}, t::words{"die", "11"}}) {
    const t::stage here;
    t::words worker = {ELASTIC_PUPPET, "flood", "20000", "100"};
    worker.insert(worker.end(), end.begin(), end.end());
    const auto result =
        elastic::test::run_program(here.command(1, {"-t", "1"}, worker), here.environment());
    INFO(end[0] << " " << end[1]);
    CHECK(result.code == 1);
    CHECK(t::counted(result.out, "[trn0]:") == 20'000);
    CHECK(t::counted(file_text(here.attempt() / "0" / "stdout.log")) == 20'000);
  }
}

TEST_CASE("logs: if a failure ends a worker that writes, what it wrote has no gap",
          "[integration][logs]") {
  const t::stage here;
  const std::string mark = here.folder / "mark";
  // Rank 1 fails once rank 0 writes.
  const std::string script = "[ $RANK = 1 ] || { : > '" + mark +
                             "'; exec '" ELASTIC_PUPPET
                             "' flood-lines 100000000 100; }; '" ELASTIC_PUPPET "' await '" +
                             mark + "'; exit 5";
  const auto result = here.run(2, {"-t", "1"}, script);
  CHECK(result.code == 1);
  const long shown = t::counted(result.out, "[trn0]:");
  CHECK(shown >= 0);
  CHECK(t::counted(file_text(here.attempt() / "0" / "stdout.log")) == shown);
}

TEST_CASE("logs: if the job is stopped, all that workers wrote is there, without a gap",
          "[integration][logs]") {
  for (const int number : {SIGTERM, SIGINT}) {
    const t::stage here;
    t::running_program job(
        here.command(2, {"-t", "1"}, {ELASTIC_PUPPET, "flood-lines", "100000000", "100"}),
        here.environment());
    job.await_out("[trn0]:999 ");
    job.await_out("[trn1]:999 ");
    job.signal(number);
    const auto result = job.wait();
    CHECK(result.code == 128 + number);
    for (const char* rank : {"0", "1"}) {
      const std::string prefix = std::string("[trn") + rank + "]:";
      const long shown = t::counted(t::lines_behind(result.out, prefix));
      CHECK(shown >= 1000);
      CHECK(t::counted(file_text(here.attempt() / rank / "stdout.log")) == shown);
    }
  }
}

// ---- bad input ---------------------------------------------------------------------------------

TEST_CASE("logs: what cannot be had is named, and nothing is started", "[integration][logs]") {
  const std::vector<std::pair<t::words, std::string>> rows = {
      {{"-t", "1", "--log-line-prefix-template", "${nobody}"}, "no field 'nobody'"},
      {{"--local-ranks-filter", "0,2"}, "there is no local rank 2"},
      {{"--logs-specs", "mine"}, "there are no logs specs 'mine'; there are: default"},
      {{"--log-format", "xml"}, "--log-format 'xml'"},
      {{"--duplicate-stdout-filters", ","}, "--duplicate-stdout-filters"},
      {{"--log-max-size", "much"}, "--log-max-size 'much'"},
  };
  for (const auto& [options, says] : rows) {
    const t::stage here;
    const std::string mark = here.folder / "mark";
    INFO(says);
    const auto result = here.run(2, options, ": > '" + mark + "'");
    CHECK(result.code == 2);
    CHECK_THAT(result.err, contains_text(says));
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
    CHECK_FALSE(fs::exists(mark));
    CHECK_FALSE(fs::exists(here.folder / "logs"));
  }
}

}  // namespace
