// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// `elasticrun logs`: the output of all ranks of a job, from its status server or a log directory.

#include <elastic/base/limits.hpp>
#include <support/candidate_endpoints.hpp>
#include <support/catch.hpp>
#include <support/elasticrun_stage.hpp>
#include <support/http_peer.hpp>
#include <support/raw_client.hpp>
#include <support/reserved_port.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>

#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace output_tests {

using elastic::test::comes_true;
using elastic::test::contains_text;
using elastic::test::elasticrun_stage;
using elastic::test::http_peer;
using elastic::test::program_result;
using elastic::test::run_program;
using elastic::test::running_program;
namespace limits = elastic::limits;
using words = std::vector<std::string>;

/// Jobs whose workers write a line to each stream, and once they may end, a last one without a line
/// end.
struct stage : elasticrun_stage {
  std::string socket() const { return folder / "socket"; }
  std::string address() const { return "unix:" + socket(); }
  void let_end() const { std::ofstream(folder / "end").close(); }

  words workers() const {
    return {"--no-python", "sh", "-c",
            fmt::format("echo \"out $RANK\"; echo \"err $RANK\" >&2; "
                        "while [ ! -e {} ]; do sleep 0.05; done; printf \"later $RANK\"",
                        std::string(folder / "end"))};
  }

  /// @param options  of the job, before its workers
  std::unique_ptr<running_program> start(const words& options) const {
    return std::make_unique<running_program>(elasticrun({options, workers()}), environment());
  }

  program_result ask(const words& arguments) const {
    return run_program(elasticrun({{"logs"}, arguments}), environment());
  }
};

/// The lines of a text in an order that does not depend on that of the ranks.
words sorted_lines(const std::string& text) {
  words lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

const words job{"--standalone", "--nproc-per-node", "2"};

TEST_CASE("logs: what lies in a log directory, after the job", "[integration][status]") {
  const stage stage;
  stage.let_end();
  stage.run_command(elasticrun_stage::elasticrun(
      {job, {"--log-dir", stage.logs(), "--redirects", "3"}, stage.workers()}));
  const program_result all = stage.ask({stage.logs(), "--follow"});
  CHECK(all.code == 0);
  CHECK(sorted_lines(all.out) ==
        words{"[rank 0 stderr]: err 0", "[rank 0]: later 0", "[rank 0]: out 0",
              "[rank 1 stderr]: err 1", "[rank 1]: later 1", "[rank 1]: out 1"});
  CHECK(all.out.find("out 0") < all.out.find("later 0"));
  CHECK(stage.ask({stage.logs(), "--ranks", "1", "--stderr"}).out == "[rank 1 stderr]: err 1\n");
  CHECK(stage.ask({stage.logs(), "--grep", "ter 0"}).out == "[rank 0]: later 0\n");
  CHECK(stage.ask({stage.log_root(), "--ranks", "0", "--stdout", "--lines", "1"}).out ==
        "[rank 0]: later 0\n");
  const program_result none = stage.ask({stage.logs(), "--ranks", "7"});
  CHECK(none.code == 2);
  CHECK_THAT(none.err, contains_text("--ranks is in the log directory, which has 0, 1"));
}

TEST_CASE("logs: a log directory that holds no output says what would keep it",
          "[integration][status]") {
  const stage stage;
  stage.let_end();
  stage.run_command(elasticrun_stage::elasticrun({job, {"--log-dir", stage.logs()},
                                                  stage.workers()}));
  const program_result none = stage.ask({stage.logs()});
  CHECK(none.code == 0);
  CHECK(none.out.empty());
  CHECK_THAT(none.err, contains_text("--tee 3"));
  const program_result missing = stage.ask({stage.folder / "missing"});
  CHECK(missing.code == 2);
  CHECK_THAT(missing.err, contains_text("the log directory or journal '" +
                                        (stage.folder / "missing") + "' does not exist"));
}

TEST_CASE("logs: a job without files shows stderr, and how stdout would be kept",
          "[integration][status]") {
  const stage stage;
  const auto run = stage.start({"--standalone", "--nproc-per-node", "2", "--status",
                                stage.address()});
  run->await_out("out", 2);
  run->await_err("err", 2);
  const program_result answer = stage.ask({stage.address()});
  CHECK(answer.code == 0);
  CHECK(sorted_lines(answer.out) == words{"[rank 0 stderr]: err 0", "[rank 1 stderr]: err 1"});
  CHECK_THAT(answer.err, contains_text("--tee 3 would keep it"));
  stage.let_end();
  CHECK(run->wait().code == 0);
  const program_result after = stage.ask({stage.address()});
  CHECK(after.code == 2);
  CHECK_THAT(after.err, contains_text("elasticrun: error: "));
}

TEST_CASE("logs: a reader that follows gets the last lines of the job, and ends with it",
          "[integration][status]") {
  const stage stage;
  const auto run = stage.start({"--standalone", "--nproc-per-node", "2", "--tee", "3", "--log-dir",
                                stage.logs(), "--status", stage.address()});
  run->await_out("out", 2);
  running_program reader(
      elasticrun_stage::elasticrun({{"logs", stage.address(), "--follow", "--stdout"}}),
      stage.environment());
  reader.await_out("out", 2);
  stage.let_end();
  CHECK(run->wait().code == 0);
  const program_result read = reader.wait();
  CHECK(read.code == 0);
  CHECK(sorted_lines(read.out) == words{"[rank 0]: later 0", "[rank 0]: out 0",
                                        "[rank 1]: later 1", "[rank 1]: out 1"});
  CHECK(stage.left.processes().empty());
}

TEST_CASE("logs: over TCP only with the token, which may only read", "[integration][status]") {
  const stage stage;
  const std::string token = stage.folder / "token";
  std::ofstream(token) << "0123456789abcdef\n";
  std::filesystem::permissions(token, std::filesystem::perms(0600));
  const auto port = std::to_string(elastic::test::reserved_port());
  const auto run = stage.start({"--standalone", "--nproc-per-node", "1", "--tee", "3", "--status",
                                port, "--status-token-file", token});
  run->await_out("out");
  const program_result refused = stage.ask({port});
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, contains_text("401"));
  const program_result shown = stage.ask({port, "--token-file", token, "--stdout"});
  CHECK(shown.code == 0);
  CHECK(shown.out == "[rank 0]: out 0\n");
  stage.let_end();
  CHECK(run->wait().code == 0);
}

TEST_CASE("logs: a server without a token shows no output over TCP", "[integration][status]") {
  const stage stage;
  const auto port = std::to_string(elastic::test::reserved_port());
  const auto run =
      stage.start({"--standalone", "--nproc-per-node", "1", "--tee", "3", "--status", port});
  run->await_out("out");
  const program_result refused = stage.ask({port});
  CHECK(refused.code == 2);
  CHECK(refused.out.empty());
  CHECK_THAT(refused.err, contains_text("403"));
  stage.let_end();
  CHECK(run->wait().code == 0);
}

TEST_CASE("logs: of a job of several roles, those of one are shown", "[integration][status]") {
  const stage stage;
  stage.let_end();
  const std::string file = stage.folder / "job.toml";
  std::ofstream(file) << "name = \"two\"\nlog_dir = \"" << stage.logs() << R"("
[role.a]
command = ["--no-python", "sh", "-c", "echo of a"]
redirects = "3"
[role.b]
command = ["--no-python", "sh", "-c", "echo of b"]
redirects = "3"
)";
  CHECK(run_program(elasticrun_stage::elasticrun({{"--job", file}}), stage.environment()).code ==
        0);
  CHECK(stage.ask({stage.logs(), "--role", "a"}).out == "[rank 0]: of a\n");
  CHECK(stage.ask({stage.logs(), "--role", "b"}).out == "[rank 0]: of b\n");
  const program_result unnamed = stage.ask({stage.logs()});
  CHECK(unnamed.code == 2);
  CHECK_THAT(unnamed.err, contains_text("the job has the roles a, b: name one by --role"));
  const program_result unknown = stage.ask({stage.logs(), "--role", "c"});
  CHECK(unknown.code == 2);
  CHECK_THAT(unknown.err, contains_text("there is no role 'c', only a, b"));
}

// ---- what workers and file systems do -----------------------------------------------------------

/// A program that follows the output of a job.
std::unique_ptr<running_program> follow(const stage& stage, const words& arguments) {
  return std::make_unique<running_program>(
      elasticrun_stage::elasticrun({{"logs", "--follow"}, arguments}), stage.environment());
}

/// A worker that runs a script of `sh`, in which "pass NAME" waits until the test opens a gate.
struct gated_script {
  words command(const std::string& script) const {
    return {"--no-python", "sh", "-c",
            fmt::format("pass() {{ while [ ! -e {}/$1 ]; do sleep 0.05; done; }}; {}",
                        gates.path(), script)};
  }
  void open(const std::string& gate) const { std::ofstream(gates / gate).close(); }

  elastic::test::temporary_directory gates;
};

TEST_CASE("logs: escapes, invalid bytes and lines of many MB arrive, or are left out as a whole",
          "[integration][status]") {
  const stage stage;
  const gated_script script;
  running_program run(
      elasticrun_stage::elasticrun(
          {{"--standalone", "--redirects", "3", "--log-dir", stage.logs(), "--status",
            stage.address()},
           script.command("echo ready; pass bytes; printf 'a \\033[2J \\377\\303 z\\n'; "
                          "pass line; head -c 600000 /dev/zero | tr '\\0' x; echo; "
                          "pass lines; head -c 5000000 /dev/zero | tr '\\0' y; echo; echo after")}),
      stage.environment());
  run.await_err("Status: ");
  const auto reader = follow(stage, {stage.address(), "--stdout"});
  reader->await_out("[rank 0]: ready\n");
  script.open("bytes");
  reader->await_out("[rank 0]: a \x1b[2J \xff\xc3 z\n");
  script.open("line");
  reader->await_out(fmt::format("xx … ({} bytes more)\n", 600'000 - limits::read_line_bytes));
  script.open("lines");
  CHECK(run.wait().code == 0);
  const program_result read = reader->wait();
  CHECK(read.code == 0);
  CHECK(read.out.ends_with("[rank 0]: after\n"));
  CHECK(read.out.size() < 3 * limits::read_line_bytes);
}

TEST_CASE("logs: files that are rotated while they are followed show every line in order",
          "[integration][status]") {
  const stage stage;
  const auto run = std::make_unique<running_program>(
      elasticrun_stage::elasticrun(
          {{"--standalone", "--tee", "1", "--log-dir", stage.logs(), "--log-max-size", "4k",
            "--log-max-files", "1000"},
           {"--no-python", "sh", "-c",
            "for part in $(seq 40); do seq -f \"$part %g and so on\" 200; sleep 0.02; done"}}),
      stage.environment());
  run->await_out("1 1 and");
  const auto reader = follow(stage, {stage.log_root(), "--lines", "10000"});
  CHECK(run->wait().code == 0);
  const program_result read = reader->wait();
  CHECK(read.code == 0);
  CHECK(read.err.empty());
  // It began with what was in the newest file then; from there on nothing is missing.
  std::istringstream lines(read.out);
  int former = 0;
  for (std::string line; std::getline(lines, line);) {
    int part = 0;
    int number = 0;
    REQUIRE(std::sscanf(line.c_str(), "[rank 0]: %d %d and so on", &part, &number) == 2);
    const int place = part * 200 + number;
    if (former != 0) REQUIRE(place == former + 1);
    former = place;
  }
  CHECK(former == 41 * 200);
}

TEST_CASE("logs: a log directory that vanishes while it is followed is named",
          "[integration][status]") {
  const stage stage;
  const auto run = stage.start({"--standalone", "--tee", "3", "--log-dir", stage.logs()});
  run->await_out("out");
  const auto reader = follow(stage, {stage.logs(), "--stdout"});
  reader->await_out("out 0");
  std::filesystem::remove_all(stage.logs());
  const program_result read = reader->wait();
  CHECK(read.code == 2);
  CHECK(read.out == "[rank 0]: out 0\n");
  CHECK_THAT(read.err, contains_text("the log directory or journal '" + stage.logs() +
                                     "' does not exist"));
  stage.let_end();
  CHECK(run->wait().code == 0);
}

TEST_CASE("logs: the directory of an agent that was killed is read to its end",
          "[integration][status]") {
  const stage stage;
  const auto run = std::make_unique<running_program>(
      elasticrun_stage::elasticrun(
          {{"--standalone", "--redirects", "3", "--log-dir", stage.logs()},
           {"--no-python", "sh", "-c", "echo first; printf unfinished; exec sleep 1000"}}),
      stage.environment());
  REQUIRE(comes_true([&] {
    return std::filesystem::exists(stage.logs()) && stage.ask({stage.logs()}).out.size() > 30;
  }));
  const auto reader = follow(stage, {stage.logs()});
  reader->await_out("first");
  run->signal(SIGKILL);
  const program_result read = reader->wait();
  CHECK(read.code == 0);
  CHECK(read.out == "[rank 0]: first\n[rank 0]: unfinished\n");
  CHECK_THAT(read.err, contains_text("is gone, and was last seen at"));
  CHECK(stage.left.processes_become(0));
}

/// The lines "RANK NUMBER of …" that a reader of /api/v1/output has got: in order, each gap told.
class numbered_lines {
 public:
  /// @param events  whole ones
  void take(const std::string& events) {
    std::size_t begin = 0;
    for (std::size_t end; (end = events.find("\n\n", begin)) != events.npos; begin = end + 2) {
      const std::string event = events.substr(begin, end - begin);
      if (event.starts_with("data: ")) take_piece(nlohmann::json::parse(event.substr(6)));
    }
  }

  /// Of each rank.
  std::map<int, int> last;
  std::uint64_t skipped = 0;

 private:
  void take_piece(const nlohmann::json& piece) {
    const int rank = piece["rank"];
    if (piece.contains("skipped")) has_gap_[rank] = true;
    skipped += piece.value("skipped", std::uint64_t{0});
    std::istringstream lines(piece["text"].get<std::string>());
    for (std::string line; std::getline(lines, line);) {
      int of_rank = -1;
      int number = -1;
      REQUIRE(std::sscanf(line.c_str(), "%d %d of", &of_rank, &number) == 2);
      REQUIRE(line.ends_with(" in all"));
      REQUIRE(of_rank == rank);
      const int former = std::exchange(last[rank], number);
      const bool has_gap = std::exchange(has_gap_[rank], false);
      REQUIRE((has_gap ? number > former : number == former + 1));
    }
  }

  std::map<int, bool> has_gap_;
};

/// Nodes of one job, each a separate elasticrun on this host. The first shows the job.
struct nodes_stage : stage {
  words options() const {
    return {"--nnodes",        sizes,       "--nproc-per-node", "2",
            "--rdzv-backend",  "c10d",      "--rdzv-id",        "job",
            "--rdzv-endpoint", endpoints,   "--rdzv-conf",      "last_call_timeout=" + last_call,
            "--tee",           "3",         "--log-dir",        logs()};
  }

  /// The node that shows the job. It serves the endpoint when this returns: the first one to come
  /// does.
  std::unique_ptr<running_program> start_first(const words& all, const words& work) const {
    auto first = std::make_unique<running_program>(
        elasticrun({all, {"--status", address()}, work}), environment());
    first->await_err("Status: ");
    await_ranks(0);
    return first;
  }

  /// Whether the node that shows the job at this socket knows so many ranks that run.
  static bool shows(const std::string& socket, std::size_t ranks) {
    const std::string answer = http_peer(socket).get("/api/v1/job");
    const auto shown = nlohmann::json::parse(answer.substr(answer.find("\r\n\r\n") + 4));
    if (shown["whole"].is_null()) return false;
    std::size_t known = shown["workers"].size();
    for (const auto& node : shown["whole"]["nodes"]) known += node["workers"].size();
    return known == ranks;
  }

  void await_ranks(std::size_t ranks) const {
    const bool are_shown = comes_true([&] { return shows(socket(), ranks); });
    INFO(http_peer(socket()).get("/api/v1/job"));
    REQUIRE(are_shown);
  }

  std::string sizes = "3";
  /// How long a first round that could do without some nodes waits for them, in seconds.
  std::string last_call = "0.3";
  std::string endpoints = fmt::format("localhost:{}", elastic::test::reserved_port());
};

TEST_CASE("logs: one node shows the lines of all ranks of all nodes", "[integration][status]") {
  const nodes_stage stage;
  const auto first = stage.start_first(stage.options(), stage.workers());
  const auto second = stage.start(stage.options());
  const auto third = stage.start(stage.options());
  for (const auto* node : {&first, &second, &third}) {
    (*node)->await_out("out", 2);
    (*node)->await_err("err", 2);
  }
  stage.await_ranks(6);
  const program_result all = stage.ask({stage.address()});
  CHECK(all.code == 0);
  words expected;
  for (int rank = 0; rank < 6; ++rank) {
    expected.push_back(fmt::format("[rank {} stderr]: err {}", rank, rank));
    expected.push_back(fmt::format("[rank {}]: out {}", rank, rank));
  }
  std::sort(expected.begin(), expected.end());
  CHECK(sorted_lines(all.out) == expected);
  CHECK(all.err.empty());
  CHECK(sorted_lines(stage.ask({stage.address(), "--ranks", "1,4-5", "--stdout"}).out) ==
        words{"[rank 1]: out 1", "[rank 4]: out 4", "[rank 5]: out 5"});
  // Lines that are written later, of all nodes, up to the end of the job.
  running_program reader(elasticrun_stage::elasticrun(
                             {{"logs", stage.address(), "--follow", "--lines", "1", "--stdout"}}),
                         stage.environment());
  reader.await_out("out", 6);
  stage.let_end();
  for (const auto* node : {&first, &second, &third}) CHECK((*node)->wait().code == 0);
  const program_result read = reader.wait();
  CHECK(read.code == 0);
  for (int rank = 0; rank < 6; ++rank) {
    CHECK_THAT(read.out, contains_text(fmt::format("[rank {}]: later {}\n", rank, rank)));
  }
  CHECK(read.err.empty());
  CHECK(stage.left.processes().empty());
}

TEST_CASE("logs: a node that is lost while it is read is named, and the others are read on",
          "[integration][status]") {
  nodes_stage stage;
  stage.sizes = "2:3";
  // Each rank writes once before the node is lost.
  stage.last_call = "60";
  const auto first = stage.start_first(stage.options(), stage.workers());
  const auto second = stage.start(stage.options());
  const auto third = stage.start(stage.options());
  stage.await_ranks(6);
  const auto reader = follow(stage, {stage.address(), "--stdout"});
  reader->await_out("out", 6);
  third->signal(SIGKILL);
  CHECK(third->wait().code == -SIGKILL);
  reader->await_err("is lost: lines that it had not sent yet are missing");
  // The workers that are left start again.
  reader->await_out("out", 6 + 4);
  stage.let_end();
  CHECK(first->wait().code == 0);
  CHECK(second->wait().code == 0);
  const program_result read = reader->wait();
  CHECK(read.code == 0);
  CHECK(std::count(read.err.begin(), read.err.end(), '\n') == 1);
  CHECK(stage.left.processes_become(0));
}

TEST_CASE("logs: a reader at the next leader reads the whole job, the one at a lost leader is told",
          "[integration][status]") {
  const elastic::test::candidate_endpoints endpoints;
  nodes_stage stage;
  stage.sizes = "2:3";
  stage.endpoints = endpoints.list();
  struct member {
    std::string socket;
    std::unique_ptr<running_program> node;
    std::unique_ptr<running_program> reader;
  };
  std::vector<member> members;
  for (const char* name : {"a", "b", "c"}) {
    member& made = members.emplace_back();
    made.socket = stage.folder / name;
    words options = stage.options();
    options.insert(options.end(), {"--status", "unix:" + made.socket});
    made.node = std::make_unique<running_program>(
        elasticrun_stage::elasticrun({options, stage.workers()}), stage.environment());
    made.node->await_err("Status: ");
  }
  const auto leader_of = [&](std::size_t ranks) {
    return std::find_if(members.begin(), members.end(), [&](const member& each) {
      return nodes_stage::shows(each.socket, ranks);
    });
  };
  REQUIRE(comes_true([&] { return leader_of(6) != members.end(); }));
  for (member& each : members) each.reader = follow(stage, {"unix:" + each.socket, "--stdout"});
  const auto leader = leader_of(6);
  REQUIRE(leader != members.end());
  for (member& each : members) {
    each.reader->await_out("out", &each == &*leader ? 6 : 2);
    if (&each != &*leader) each.reader->await_err("another node shows the whole job");
  }
  leader->node->signal(SIGKILL);
  CHECK(leader->node->wait().code == -SIGKILL);
  const program_result cut = leader->reader->wait();
  CHECK(cut.code == 2);
  CHECK_THAT(cut.err, contains_text("the agent has ended before all lines were sent"));
  members.erase(leader);
  REQUIRE(comes_true([&] { return leader_of(4) != members.end(); }));
  // It had the lines of its own two ranks, and has those of all four in the new round.
  leader_of(4)->reader->await_out("out", 2 + 4);
  stage.let_end();
  for (const member& each : members) CHECK(each.node->wait().code == 0);
  for (const member& each : members) CHECK(each.reader->wait().code == 0);
  CHECK(stage.left.processes_become(0));
}

TEST_CASE("logs: a reader who does not read stops neither the workers nor the agents",
          "[integration][status]") {
  constexpr int lines = 200'000;
  nodes_stage stage;
  stage.sizes = "2";
  const gated_script script;
  const words workers = script.command(
      fmt::format("pass begin; seq -f \"$RANK %.0f of {0} in all\" {0}; touch {1}/$RANK; pass end",
                  lines, script.gates.path()));
  words options = stage.options();
  // Not to the terminal, which the test would have to read.
  *std::find(options.begin(), options.end(), "--tee") = "--redirects";
  const auto first = stage.start_first(options, workers);
  running_program second(elasticrun_stage::elasticrun({options, workers}), stage.environment());
  stage.await_ranks(4);
  http_peer reader(stage.socket());
  CHECK(reader.get("/api/v1/output?follow&stream=stdout").starts_with("HTTP/1.1 200"));
  script.open("begin");
  for (const char* rank : {"0", "1", "2", "3"}) {
    REQUIRE(comes_true([&] { return std::filesystem::exists(script.gates / rank); }));
    // Another reader, who reads, gets the end of the stream.
    CHECK(stage.ask({stage.address(), "--ranks", rank, "--stdout", "--lines", "1"}).out ==
          fmt::format("[rank {0}]: {0} {1} of {1} in all\n", rank, lines));
  }
  for (const running_program* node : {first.get(), &second}) {
    const std::string status =
        elastic::test::file_text(fmt::format("/proc/{}/status", node->pid()));
    const long peak_kib = std::atol(status.c_str() + status.find("VmHWM:") + 6);
    CHECK(peak_kib > 0);
    CHECK(peak_kib < 40 * 1024);
  }
  // Now it reads.
  numbered_lines read;
  const std::string last = fmt::format("{0} of {0} in all\\n\"}}\n\n", lines);
  for (int ended = 0; ended < 4; ++ended) {
    const std::string events = reader.read_to(last);
    REQUIRE(events.ends_with(last));
    read.take(events);
  }
  for (int rank = 0; rank < 4; ++rank) CHECK(read.last[rank] == lines);
  CHECK(read.skipped > 0);
  script.open("end");
  CHECK(first->wait().code == 0);
  CHECK(second.wait().code == 0);
  CHECK(reader.rest().ends_with("event: end\ndata: {}\n\n"));
  CHECK(stage.left.processes_become(0));
}

}  // namespace output_tests
