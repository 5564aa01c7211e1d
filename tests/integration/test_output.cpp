// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// `elasticrun logs`: the output of all ranks of a job, from its status server or a log directory.

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
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
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
using words = std::vector<std::string>;

/// Jobs whose workers write a line to each stream, and a last one once they may end.
struct stage : elasticrun_stage {
  std::string socket() const { return folder / "socket"; }
  std::string address() const { return "unix:" + socket(); }
  void let_end() const { std::ofstream(folder / "end").close(); }

  words workers() const {
    return {"--no-python", "sh", "-c",
            fmt::format("echo \"out $RANK\"; echo \"err $RANK\" >&2; "
                        "while [ ! -e {} ]; do sleep 0.05; done; echo \"later $RANK\"",
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
  CHECK_THAT(missing.err, contains_text("does not exist"));
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
  CHECK_THAT(unnamed.err, contains_text("name one by --role"));
}

/// Nodes of one job, each a separate elasticrun on this host. The first shows the job.
struct nodes_stage : stage {
  std::unique_ptr<running_program> start_node(bool shows) const {
    words options{"--nnodes",      "3",         "--nproc-per-node", "2",    "--rdzv-backend",
                  "c10d",          "--tee",     "3",                "--rdzv-endpoint",
                  endpoint,        "--log-dir", logs(),             "--rdzv-id", "job"};
    if (shows) options.insert(options.end(), {"--status", address()});
    return start(options);
  }

  /// Until the node that shows the job knows that all ranks run.
  bool shows_all() const {
    const std::string answer = http_peer(socket()).get("/api/v1/job");
    const auto shown = nlohmann::json::parse(answer.substr(answer.find("\r\n\r\n") + 4));
    if (shown["whole"].is_null()) return false;
    std::size_t ranks = shown["workers"].size();
    for (const auto& node : shown["whole"]["nodes"]) ranks += node["workers"].size();
    return ranks == 6;
  }

  std::string endpoint = fmt::format("localhost:{}", elastic::test::reserved_port());
};

TEST_CASE("logs: one node shows the lines of all ranks of all nodes", "[integration][status]") {
  const nodes_stage stage;
  const auto first = stage.start_node(true);
  first->await_err("Status: ");
  const auto second = stage.start_node(false);
  const auto third = stage.start_node(false);
  for (const auto* node : {&first, &second, &third}) {
    (*node)->await_out("out", 2);
    (*node)->await_err("err", 2);
  }
  REQUIRE(comes_true([&] { return stage.shows_all(); }));
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
  for (int rank = 0; rank < 2; ++rank) {
    CHECK_THAT(read.out, contains_text(fmt::format("[rank {}]: later {}\n", rank, rank)));
  }
  CHECK(stage.left.processes().empty());
}

}  // namespace output_tests
