// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// The status that a job serves while it runs (--status), and `elasticrun status`.

#include <support/agent_command.hpp>
#include <support/catch.hpp>
#include <support/elasticrun_stage.hpp>
#include <support/http_peer.hpp>
#include <support/raw_client.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>
#include <support/reserved_port.hpp>
#include <support/skip.hpp>

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace {

namespace status_tests {

using elastic::test::comes_true;
using elastic::test::contains_text;
using elastic::test::elasticrun_stage;
using elastic::test::http_peer;
using elastic::test::program_result;
using elastic::test::run_program;
using elastic::test::running_program;
using words = std::vector<std::string>;

const words job{"--standalone", "--nproc-per-node", "2", "--max-restarts", "1"};
const words forever{"--no-python", ELASTIC_PUPPET, "line", "up", "hang"};

/// The port of "Status: http://127.0.0.1:PORT/".
std::uint16_t port_of(running_program& run) {
  const std::string begin = "Status: http://127.0.0.1:";
  run.await_err(begin);
  run.await_err("/\n");
  return static_cast<std::uint16_t>(
      std::atoi(run.err().c_str() + run.err().find(begin) + begin.size()));
}

nlohmann::json json_of(std::uint16_t port) {
  const std::string answer = http_peer(port).get("/api/v1/job");
  return nlohmann::json::parse(answer.substr(answer.find("\r\n\r\n") + 4));
}

bool is_ready(std::uint16_t port) {
  return http_peer(port).get("/readyz").starts_with("HTTP/1.1 200");
}

program_result ask(const elasticrun_stage& stage, const words& arguments) {
  return elastic::test::run_agent_command(elasticrun_stage::elasticrun({{"status"}, arguments}),
                                          stage.environment());
}

TEST_CASE("status: what a failed worker left", "[integration][status]") {
  const elasticrun_stage stage;
  const words worker{"--no-python", "/bin/sh", "-c", "echo '<b>no luck</b>' >&2; exit 3"};
  stage.run_command(elasticrun_stage::elasticrun({job, {"--log-dir", stage.logs()}, worker}));
  const program_result answer = ask(stage, {stage.log_root(), "--json"});
  const nlohmann::json shown = nlohmann::json::parse(answer.out);
  REQUIRE(shown["attempts"].size() == 2);
  for (const nlohmann::json& attempt : shown["attempts"]) {
    CHECK(attempt["last_lines"] == "<b>no luck</b>\n");
  }
}

TEST_CASE("status: a restart, its reason, and the end", "[integration][status]") {
  const elasticrun_stage stage;
  const words command =
      elasticrun_stage::elasticrun({job, {"--status", "0", "--log-dir", stage.logs()}, forever});
  running_program run(command, stage.environment());
  const std::uint16_t port = port_of(run);
  CHECK_THAT(http_peer(port).get("/livez"), contains_text("200 OK"));
  run.await_out("up", 2);
  REQUIRE(comes_true([&] { return is_ready(port); }));
  http_peer follower(port);
  follower.get("/api/v1/events");
  ::kill(json_of(port)["workers"][1]["pid"].get<pid_t>(), SIGKILL);
  run.await_out("up", 4);
  REQUIRE(comes_true([&] { return is_ready(port) && json_of(port)["attempts"].size() == 2; }));
  const nlohmann::json shown = json_of(port);
  CHECK(shown["restarts"] == 1);
  CHECK(shown["state"] == "running");
  CHECK(shown["attempts"][0]["end"] == "failure");
  CHECK(shown["attempts"][0]["failed_rank"] == 1);
  CHECK(shown["attempts"][0]["lost_seconds"] >= 0);
  const std::string place = std::to_string(port);
  const program_result text = ask(stage, {place});
  CHECK(text.code == 0);
  CHECK_THAT(text.out, contains_text("failure: rank 1 ended: "));
  CHECK_THAT(text.out, contains_text("restarts 1 of 1"));
  CHECK(ask(stage, {"--ready", place}).code == 0);
  CHECK(nlohmann::json::parse(ask(stage, {"--json", place}).out)["restarts"] == 1);
  CHECK_THAT(http_peer(port).get("/metrics"),
             contains_text("elastic_restarts_total{cause=\"failure\"} 1\n"));
  CHECK_THAT(http_peer(port).get("/metrics"), contains_text("\nelastic_store_keys 0\n"));
  run.signal(SIGTERM);
  CHECK(run.wait().code == 128 + SIGTERM);
  CHECK_THAT(follower.rest(), contains_text("\"kind\": \"agent_ended\""));
  CHECK(stage.left.processes().empty());
  const program_result after = ask(stage, {place});
  CHECK(after.code == 2);
  CHECK_THAT(after.err, contains_text("Connection refused"));
  // What is left in the logs says the same.
  const program_result journal = ask(stage, {stage.log_root().string()});
  CHECK_THAT(journal.out, contains_text("stopped"));
  CHECK_THAT(journal.out, contains_text("failure: rank 1 ended: "));
}

TEST_CASE("status: a log directory shows that its agent was killed", "[integration][status]") {
  const elasticrun_stage stage;
  running_program run(elasticrun_stage::elasticrun({job, {"--log-dir", stage.logs()}, forever}),
                      stage.environment());
  run.await_out("up", 2);
  const std::string logs = stage.log_root().string();
  const auto state = [&] {
    const auto shown = nlohmann::json::parse(ask(stage, {logs, "--json"}).out, nullptr, false);
    return shown.is_object() ? shown.value("state", "") : std::string();
  };
  // Workers may run before the agent has written so.
  REQUIRE(comes_true([&] { return state() == "running"; }));
  CHECK(ask(stage, {logs}).out.find("is gone") == std::string::npos);
  const pid_t agent = run.pid();
  run.signal(SIGKILL);
  CHECK(run.wait().code == -SIGKILL);
  const std::string gone = fmt::format("The agent (pid {}) is gone, and was last seen at ", agent);
  CHECK_THAT(ask(stage, {logs}).out, contains_text(gone));
  CHECK_THAT(ask(stage, {logs, "--watch"}).out, contains_text(gone));
  CHECK(state() == "running");
}

TEST_CASE("status: an agent in another pid namespace of its host is not taken for gone",
          "[integration][status]") {
  // The containers of a pod share the name of the host, and may share the log directory.
  const words container{"unshare", ::geteuid() == 0 ? "-pf" : "-Urpf", "--mount-proc",
                        "--kill-child=KILL"};
  const auto inside = [&](const words& command) {
    words all = container;
    all.insert(all.end(), command.begin(), command.end());
    return all;
  };
  const program_result tried = run_program(inside({"sh", "-c", "exit 0"}));
  if (tried.code != 0) return elastic::test::skip("it takes pid namespaces: " + tried.err);
  const elasticrun_stage stage;
  running_program run(elasticrun_stage::elasticrun({job, {"--log-dir", stage.logs()}, forever}),
                      stage.environment());
  run.await_out("up", 2);
  const std::string logs = stage.log_root().string();
  const auto status_inside = [&] {
    return run_program(inside({ELASTIC_ELASTICRUN, "status", logs}), stage.environment()).out;
  };
  REQUIRE(comes_true([&] { return status_inside().find("running") != std::string::npos; }));
  CHECK(status_inside().find("The agent (pid") == std::string::npos);
  run.signal(SIGKILL);
  CHECK(run.wait().code == -SIGKILL);
  CHECK_THAT(status_inside(), contains_text("is gone, and was last seen at "));
}

TEST_CASE("status: is alive and not ready while nodes are waited for", "[integration][status]") {
  const elasticrun_stage stage;
  const std::string socket = stage.folder / "socket";
  const std::string endpoint = fmt::format("localhost:{}", elastic::test::reserved_port());
  running_program run(
      elasticrun_stage::elasticrun({{"--nnodes", "2", "--rdzv-id", "job", "--rdzv-backend", "c10d",
                                     "--rdzv-endpoint", endpoint, "--status", "unix:" + socket},
                                    forever}),
      stage.environment());
  run.await_err("Status: unix:" + socket);
  const program_result ready = ask(stage, {"--ready", "unix:" + socket});
  CHECK(ready.code == 1);
  CHECK(comes_true([&] {
    return ask(stage, {"--ready", "unix:" + socket}).out ==
           "rendezvous: waiting for the nodes of the next round\n";
  }));
  CHECK_THAT(http_peer(socket).get("/livez"), contains_text("200 OK"));
  run.signal(SIGTERM);
  run.wait();
  CHECK_FALSE(std::filesystem::exists(socket));
}

program_result stacks(const elasticrun_stage& stage, const words& before, const words& after) {
  words command = before;
  command.insert(command.end(), {"stacks"});
  command.insert(command.end(), after.begin(), after.end());
  return run_program(command, stage.environment());
}

void check_refusal(const program_result& result, const std::string& reason) {
  INFO(result.out << result.err);
  CHECK(result.code == 2);
  CHECK(result.out.empty());
  CHECK_THAT(result.err, contains_text(reason));
  CHECK(result.err.find('\n') == result.err.size() - 1);
}

TEST_CASE("status: no token opens the stacks to clients over TCP", "[integration][status]") {
  const elasticrun_stage stage;
  const std::string token(32, 't');
  const std::string file = stage.folder / "token";
  std::ofstream(file) << token;
  ::chmod(file.c_str(), 0600);
  running_program run(
      elasticrun_stage::elasticrun(
          {job, {"--status", "0.0.0.0:0", "--status-token-file", file}, forever}),
      stage.environment());
  run.await_out("up", 2);
  run.await_err("Status: http://");
  run.await_err("/\n");
  const std::string& text = run.err();
  const auto line_end = text.find("/\n", text.find("Status: http://"));
  const auto colon = text.rfind(':', line_end);
  const auto port = static_cast<std::uint16_t>(std::atoi(text.c_str() + colon + 1));
  const std::string header = fmt::format("Authorization: Bearer {}\r\n", token);
  CHECK_THAT(http_peer(port).get("/api/v1/job", header), contains_text("200 OK"));
  for (const std::string& given : {std::string(), header}) {
    const std::string answer = http_peer(port).get("/api/v1/stacks", given);
    INFO(answer);
    CHECK(answer.starts_with("HTTP/1.1 403 "));
    CHECK_THAT(answer, contains_text("\r\n\r\ncommands are accepted only over a Unix socket"));
  }
  for (const std::string& place : {fmt::format("http://127.0.0.1:{}/?token={}", port, token),
                                   std::to_string(port)}) {
    check_refusal(stacks(stage, {ELASTIC_ELASTICRUN}, {place}), "over TCP the user is unknown");
  }
  run.signal(SIGTERM);
  run.wait();
}

TEST_CASE("status: the stacks are shown to the job's own user, and to no other",
          "[integration][status][root]") {
  const elasticrun_stage stage;
  const std::string path = stage.folder / "socket";
  running_program run(elasticrun_stage::elasticrun({job, {"--status", "unix:" + path}, forever}),
                      stage.environment());
  run.await_out("up", 2);
  // They have said that they are up before the agent may know that all are started.
  program_result own;
  CHECK(comes_true([&] {
    own = stacks(stage, {ELASTIC_ELASTICRUN}, {"unix:" + path});
    return own.code == 0;
  }));
  CHECK_THAT(own.out, contains_text("no Python stacks"));
  // They have said that they are up before they wait.
  CHECK(comes_true([&] {
    const program_result both = stacks(stage, {ELASTIC_ELASTICRUN}, {"unix:" + path});
    return both.out.starts_with("ranks 0-1: ");
  }));
  const program_result one = stacks(stage, {ELASTIC_ELASTICRUN}, {"--rank", "1", "unix:" + path});
  CHECK_THAT(one.out, contains_text("rank 1 (") && contains_text("local rank 1): "));
  const program_result none = stacks(stage, {ELASTIC_ELASTICRUN}, {"--rank", "9", "unix:" + path});
  CHECK(none.code == 1);
  CHECK_THAT(none.out, contains_text("there is no rank 9: the job has ranks 0-1"));
  if (::geteuid() != 0) return elastic::test::skip("it takes root to ask as another user");
  // It may be that nobody else reaches the program where it was built.
  ::chmod(stage.folder.path().c_str(), 0755);
  const std::string copy = stage.folder / "elasticrun";
  std::filesystem::copy_file(ELASTIC_ELASTICRUN, copy);
  const words as_nobody{"setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", copy};
  check_refusal(stacks(stage, as_nobody, {"unix:" + path}), "Permission denied");
  // Whoever opens the socket to others does not open the stacks.
  ::chmod(path.c_str(), 0666);
  check_refusal(stacks(stage, as_nobody, {"unix:" + path}),
                "403: commands are accepted only from root, not from user 65534");
  run.signal(SIGTERM);
  run.wait();
}

TEST_CASE("status: what is not available is reported before anything starts",
          "[integration][status]") {
  const elasticrun_stage stage;
  const std::string taken = stage.folder / "taken";
  std::ofstream(taken) << "mine";
  const std::string long_path(120, 'x');
  struct row {
    std::string place;
    std::string problem;
  };
  for (const row& entry : std::vector<row>{
           {"http", "--status 'http': [ADDRESS:]PORT"},
           {"70000", "--status '70000': [ADDRESS:]PORT"},
           {"192.0.2.1:0", "cannot listen at 192.0.2.1:0: this is not an address of this host"},
           {"unix:" + taken, "it is in use, or the file exists"},
           {"unix:" + long_path, "the path has 120 bytes; 1 to 107 are allowed"}}) {
    CAPTURE(entry.place);
    const program_result result =
        stage.run_command(elasticrun_stage::elasticrun({job, {"--status", entry.place}, forever}));
    CHECK(result.code == 2);
    CHECK_THAT(result.err, contains_text(entry.problem));
    CHECK(result.out.empty());
  }
  const program_result open = stage.run_command(elasticrun_stage::elasticrun(
      {job, {"--status", "0", "--status-token-file", taken}, forever}));
  CHECK(open.code == 2);
  CHECK_THAT(open.err, contains_text("is open to others"));
}

TEST_CASE("status: the command says what it needs", "[integration][status]") {
  const elasticrun_stage stage;
  for (const auto& [arguments, problem] : std::vector<std::pair<words, std::string>>{
           {{}, "which job?"},
           {{"--watch", "--ready", "1"}, "either --watch or --ready"},
           {{"--ready", stage.folder.path()}, "would be a log directory"},
           {{"--nothing"}, "'--nothing' cannot be used"},
           {{"1", "2"}, "'2' cannot be used"},
           {{stage.folder / "missing"}, "does not exist"},
           {{"unix:" + stage.folder.path() + "/missing"}, "No such file"}}) {
    CAPTURE(arguments);
    const program_result result = ask(stage, arguments);
    CHECK(result.code == 2);
    CHECK_THAT(result.err, contains_text(problem));
  }
  CHECK(ask(stage, {"--help"}).code == 0);
}

}  // namespace status_tests

}  // namespace
