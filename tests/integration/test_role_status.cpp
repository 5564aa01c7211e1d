// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// What a job of several roles shows while it runs (--job with --status): one server for all roles.

#include <support/agent_command.hpp>
#include <support/catch.hpp>
#include <support/elasticrun_stage.hpp>
#include <support/http_peer.hpp>
#include <support/raw_client.hpp>
#include <support/reserved_port.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace role_status_tests {

using elastic::test::comes_true;
using elastic::test::contains_text;
using elastic::test::elasticrun_stage;
using elastic::test::http_peer;
using elastic::test::program_result;
using elastic::test::running_program;
using words = std::vector<std::string>;

/// A job of a trainer with two ranks and of two replicas, which run until they are stopped.
struct stage : elasticrun_stage {
  explicit stage(const std::string& more = "") {
    const std::string puppet = ELASTIC_PUPPET;
    std::ofstream(file()) << "name = \"grpo\"\nlog_dir = \"" + logs() + R"("
[role.trainer]
command = ["--no-python", ")" + puppet + R"(", "line", "trains", "hang"]
nproc_per_node = 2
readiness = "start"
[role.rollout]
command = ["--no-python", ")" + puppet + R"(", "line", "serves ${port.http}", "hang"]
processes_per_node = 2
max_restarts = 50
starts_after = ["trainer:ready"]
stops_with = "trainer"
)" + more;
  }

  std::string file() const { return folder / "job1.toml"; }
  std::string socket() const { return folder / "socket"; }

  words command(const std::string& address) const {
    return elasticrun({{"--job", file(), "--status", address}});
  }

  program_result ask(const words& arguments) const {
    return elastic::test::run_agent_command(elasticrun({arguments}), environment());
  }
};

/// The port of "Status: http://127.0.0.1:PORT/".
std::uint16_t port_of(running_program& run) {
  const std::string begin = "Status: http://127.0.0.1:";
  run.await_err(begin);
  run.await_err("/\n");
  return static_cast<std::uint16_t>(
      std::atoi(run.err().c_str() + run.err().find(begin) + begin.size()));
}

template <class Place>
std::string body_of(const Place& place, const std::string& path) {
  const std::string answer = http_peer(place).get(path);
  return answer.substr(answer.find("\r\n\r\n") + 4);
}

template <class Place>
nlohmann::json json_of(const Place& place, const std::string& path = "/api/v1/job") {
  return nlohmann::json::parse(body_of(place, path));
}

/// The workers of a role, without what each of them uses, which changes every two seconds.
template <class Place>
nlohmann::json workers_of(const Place& place, const std::string& role) {
  nlohmann::json workers = json_of(place, fmt::format("/roles/{}/api/v1/job", role))["workers"];
  for (nlohmann::json& worker : workers) {
    worker.erase("processors");
    worker.erase("memory_bytes");
  }
  return workers;
}

/// Until both roles run with all of their workers.
template <class Place>
bool all_run(const Place& place) {
  const nlohmann::json roles = json_of(place)["roles"];
  return std::all_of(roles.begin(), roles.end(), [](const nlohmann::json& role) {
    return role["state"] == "running" && role["activity"] == "running" &&
           role["worker_count"] == 2;
  });
}

TEST_CASE("role status: one server shows every role", "[integration][roles][status]") {
  const stage stage;
  running_program run(stage.command("0"), stage.environment());
  const std::uint16_t port = port_of(run);
  CHECK_THAT(http_peer(port).get("/livez"), contains_text("200 OK"));
  REQUIRE(comes_true([&] { return all_run(port); }));
  http_peer follower(port);
  follower.get("/api/v1/events");
  const nlohmann::json shown = json_of(port);
  CHECK(shown["run_id"] == "grpo");
  CHECK(shown["state"] == "running");
  const nlohmann::json& rollout = shown["roles"][1];
  CHECK(rollout["on_failure"] == "restart-worker");
  CHECK(rollout["starts_after"] == nlohmann::json{"trainer:ready"});
  CHECK(shown["roles"][0]["ready"] == true);
  for (const nlohmann::json& worker : rollout["workers"]) {
    CHECK(worker["ports"]["http"].get<int>() > 0);
  }
  CHECK(json_of(port, "/roles/trainer/api/v1/job")["run_id"] == "grpo/trainer");
  const nlohmann::json trainer = workers_of(port, "trainer");
  CHECK(trainer.size() == 2);
  CHECK_THAT(body_of(port, "/"), contains_text("roles.js"));
  CHECK_THAT(body_of(port, "/roles/rollout/"), contains_text("page.js"));
  CHECK_THAT(body_of(port, "/metrics"),
             contains_text("elastic_world_size{role=\"trainer\"} 2\n"));
  CHECK_THAT(body_of(port, "/metrics"),
             contains_text("elastic_job_state{role=\"rollout\",state=\"running\"} 1\n"));
  SECTION("a replica that dies, its successor, and the end") {
    const nlohmann::json before = json_of(port, "/roles/rollout/api/v1/job");
    const auto victim = before["workers"][1]["pid"].get<pid_t>();
    ::kill(victim, SIGKILL);
    REQUIRE(comes_true([&] {
      const nlohmann::json role = json_of(port)["roles"][1];
      return role["restarts"] == 1 && role["worker_count"] == 2;
    }));
    CHECK(json_of(port)["roles"][0]["restarts"] == 0);
    CHECK(workers_of(port, "trainer") == trainer);
    REQUIRE(comes_true([&] {
      const nlohmann::json now = json_of(port, "/roles/rollout/api/v1/job");
      return now["workers"][1]["pid"] != victim && now["workers"][1]["state"] == "running";
    }));
    run.signal(SIGTERM);
    CHECK(run.wait().code == 128 + SIGTERM);
    const std::string events = follower.rest();
    CHECK_THAT(events, contains_text("event: changed\n"));
    const std::string last = events.substr(events.find("event: ended\ndata: ") + 19);
    const nlohmann::json end = nlohmann::json::parse(last.substr(0, last.find('\n')));
    CHECK(end["state"] == "stopped");
    CHECK(end["roles"][0]["state"] == "stopped");
    CHECK(stage.left.processes().empty());
  }
  SECTION("the command shows the same") {
    const std::string place = std::to_string(port);
    const program_result text = stage.ask({"status", place});
    CHECK(text.code == 0);
    CHECK_THAT(text.out, contains_text("job grpo  running\nroles\n"));
    CHECK_THAT(text.out, contains_text("rollout  running"));
    CHECK_THAT(text.out, contains_text(", http "));
    CHECK_THAT(stage.ask({"status", "--role", "trainer", place}).out,
               contains_text("job grpo/trainer  running\n"));
    CHECK(stage.ask({"status", "--ready", place}).code == 0);
    CHECK(stage.ask({"status", "--ready", "--role", "rollout", place}).code == 0);
    CHECK(nlohmann::json::parse(stage.ask({"status", "--json", place}).out)["roles"].size() == 2);
    const program_result unknown = stage.ask({"status", "--role", "judge", place});
    CHECK(unknown.code == 2);
    CHECK_THAT(unknown.err, contains_text("404: there is no such role: the job has trainer, "
                                          "rollout\n"));
    const program_result wrong = stage.ask({"status", "--role", "a/b", place});
    CHECK(wrong.code == 2);
    CHECK_THAT(wrong.err, contains_text("status: --role 'a/b': the name of a role is needed"));
    const program_result journal = stage.ask({"status", "--role", "rollout", stage.log_root()});
    CHECK_THAT(journal.out, contains_text("job grpo/rollout  running\n"));
    CHECK(journal.out.find("grpo/trainer") == std::string::npos);
    run.signal(SIGTERM);
    run.wait();
  }
}

/// How many workers of other nodes run, as the page of a role shows while those of its own node do;
/// -1: it shows none of them.
/// @param again  what its run id has after the name, if all roles have started again
int workers_elsewhere(const std::string& socket, const std::string& role,
                      const std::string& again) {
  const nlohmann::json job = json_of(socket, fmt::format("/roles/{}/api/v1/job", role));
  const bool runs = job["state"] == "running" && job["run_id"] == "grpo/" + role + again;
  if (!runs || job["whole"].is_null()) return -1;
  int count = 0;
  for (const auto& node : job["whole"]["nodes"]) {
    for (const auto& worker : node["workers"]) count += worker["state"] == "running" ? 1 : 0;
  }
  return count;
}

TEST_CASE("role status: the node with the server shows each role on all nodes",
          "[integration][roles][status]") {
  const elasticrun_stage stage;
  const std::string puppet = ELASTIC_PUPPET;
  const std::string file = stage.folder / "job1.toml";
  std::ofstream(file) << "name = \"grpo\"\nnodes = 2\nrestarts = 1\nrdzv_backend = \"c10d\"\n"
                         "[role.trainer]\ncommand = [\"--no-python\", \""
                      << puppet << "\", \"hang\"]\n[role.judge]\ncommand = [\"--no-python\", \""
                      << puppet << R"(", "hang"]
nproc_per_node = 2
on_failure = "restart-job"
)";
  const std::string socket = stage.folder / "socket";
  const words command = elasticrun_stage::elasticrun(
      {{"--job", file, "--rdzv-endpoint",
        fmt::format("127.0.0.1:{}", elastic::test::reserved_port())}});
  words viewed = command;
  viewed.insert(viewed.end(), {"--status", "unix:" + socket});
  running_program host(viewed, stage.environment());
  host.await_err("Status: unix:");
  running_program other(command, stage.environment());
  const auto shows_all = [&](const std::string& again) {
    return workers_elsewhere(socket, "trainer", again) == 1 &&
           workers_elsewhere(socket, "judge", again) == 2;
  };
  REQUIRE(comes_true([&] { return shows_all(""); }));
  CHECK(json_of(socket, "/roles/judge/api/v1/job")["whole"]["active"] == 2);
  SECTION("also when all roles have started again") {
    const nlohmann::json judge = json_of(socket, "/roles/judge/api/v1/job");
    ::kill(judge["workers"][0]["pid"].get<pid_t>(), SIGKILL);
    REQUIRE(comes_true([&] { return shows_all("_1"); }));
  }
  other.signal(SIGTERM);
  host.signal(SIGTERM);
  CHECK(host.wait().code == 128 + SIGTERM);
  CHECK(other.wait().code == 128 + SIGTERM);
  CHECK(stage.left.processes_become(0));
}

TEST_CASE("role status: a command is for all roles, or for one", "[integration][roles][status]") {
  const stage stage;
  running_program run(stage.command("unix:" + stage.socket()), stage.environment());
  run.await_err("Status: unix:");
  REQUIRE(comes_true([&] { return all_run(stage.socket()); }));
  const std::string place = "unix:" + stage.socket();
  const auto check = [&](const words& command, int code, const std::string& line) {
    CAPTURE(command);
    const program_result result = stage.ask(command);
    CHECK(result.code == code);
    CHECK_THAT(code == 2 ? result.err : result.out, contains_text(line));
    const std::string& text = code == 2 ? result.err : result.out;
    CHECK(std::count(text.begin(), text.end(), '\n') == 1);
  };
  check({"drain", "--role", "trainer", place}, 1,
        "a node is drained of all roles: leave out the role\n");
  check({"checkpoint", place}, 1,
        "trainer: no worker accepts requests for a checkpoint; rollout: ");
  check({"pause", "--role", "judge", place}, 2,
        "404: there is no such role: the job has trainer, rollout");
  check({"pause", "--role", "a\nb", place}, 2, "the name of a role is needed");
  check({"logs", place}, 2, "the job has the roles trainer, rollout: name one by --role");
  const nlohmann::json before = workers_of(stage.socket(), "rollout");
  check({"pause", "--role", "trainer", place, "GPU", "3"}, 0, "trainer: ");
  CHECK(json_of(stage.socket())["roles"][0]["worker_count"] == 0);
  CHECK(workers_of(stage.socket(), "rollout") == before);
  check({"resume", "--role", "trainer", place}, 0, "trainer: ");
  REQUIRE(comes_true([&] { return all_run(stage.socket()); }));
  for (const std::string role : {"trainer", "rollout"}) {
    REQUIRE(comes_true([&] {
      return stage.ask({"stacks", "--role", role, place}).out.starts_with("role " + role +
                                                                          "\nranks 0-1: ");
    }));
  }
  check({"drain", place, "the", "disk"}, 0, "this node leaves the job\n");
  const program_result result = run.wait();
  CHECK_THAT(result.err, contains_text("the disk"));
  CHECK(stage.left.processes().empty());
}

TEST_CASE("role status: replicas pause, and go on as they were", "[integration][roles][status]") {
  const stage stage;
  running_program run(stage.command("unix:" + stage.socket()), stage.environment());
  run.await_err("Status: unix:");
  REQUIRE(comes_true([&] { return all_run(stage.socket()); }));
  const std::string place = "unix:" + stage.socket();
  const auto rollout = [&] { return json_of(stage.socket())["roles"][1]; };
  const auto killed = json_of(stage.socket(), "/roles/rollout/api/v1/job")["workers"][1]["pid"];
  ::kill(killed.get<pid_t>(), SIGKILL);
  REQUIRE(comes_true([&] { return rollout()["restarts"] == 1 && rollout()["worker_count"] == 2; }));
  const nlohmann::json before = workers_of(stage.socket(), "trainer");
  CHECK_THAT(stage.ask({"status", "--role", "rollout", place}).out,
             contains_text("  running  replaced rank 1  ran "));
  const auto check = [&](const words& command, int code, const std::string& text) {
    CAPTURE(command);
    const program_result result = stage.ask(command);
    CHECK(result.code == code);
    CHECK(result.out == text);
  };
  check({"resume", "--role", "rollout", place}, 1,
        "rollout: not resumed: the replicas are not paused\n");
  check({"checkpoint", "--role", "rollout", place}, 1,
        "rollout: no worker accepts requests for a checkpoint\n");
  check({"pause", "--role", "rollout", place, "a", "new", "disk"}, 0,
        "rollout: the replicas are paused: none of this node runs\n");
  CHECK(rollout()["worker_count"] == 0);
  CHECK(rollout()["activity"] == "paused");
  check({"pause", "--role", "rollout", place}, 0, "rollout: the replicas are already paused\n");
  check({"checkpoint", "--role", "rollout", place}, 1,
        "rollout: no checkpoint: no workers run on this node now\n");
  CHECK(workers_of(stage.socket(), "trainer") == before);
  check({"resume", "--role", "rollout", place}, 0, "rollout: the replicas run again\n");
  REQUIRE(comes_true([&] { return all_run(stage.socket()); }));
  SECTION("they have used up what they had, and fail on their own") {
    const nlohmann::json now = json_of(stage.socket(), "/roles/rollout/api/v1/job");
    ::kill(now["workers"][0]["pid"].get<pid_t>(), SIGKILL);
    REQUIRE(comes_true([&] {
      return rollout()["restarts"] == 2 && rollout()["worker_count"] == 2;
    }));
    run.signal(SIGTERM);
  }
  SECTION("a job is stopped while they are paused") {
    check({"pause", "--role", "rollout", place}, 0,
          "rollout: the replicas are paused: none of this node runs\n");
    run.signal(SIGTERM);
  }
  CHECK(run.wait().code == 128 + SIGTERM);
  CHECK(stage.left.processes().empty());
}

TEST_CASE("role status: no command comes over TCP", "[integration][roles][status]") {
  const stage stage;
  running_program run(stage.command("0"), stage.environment());
  const std::uint16_t port = port_of(run);
  for (const char* path : {"/api/v1/commands/drain", "/roles/trainer/api/v1/commands/drain",
                           "/roles/judge/api/v1/commands/drain", "/roles/trainer/api/v1/stacks"}) {
    http_peer peer(port);
    peer.send(fmt::format("POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n",
                          path));
    CHECK_THAT(peer.answer(), contains_text("HTTP/1.1 403 "));
  }
  run.signal(SIGTERM);
  run.wait();
}

TEST_CASE("role status: requests that are wrong, and many while roles start again",
          "[integration][roles][status]") {
  const stage stage(R"(
[role.judge]
command = ["--no-python", "/bin/sh", "-c", "exit 3"]
max_restarts = 100000
on_failure = "ignore"
stops_with = "trainer"
)");
  running_program run(stage.command("0"), stage.environment());
  const std::uint16_t port = port_of(run);
  const std::string long_name(10000, 'a');
  for (const auto& [path, status] : std::vector<std::pair<std::string, std::string>>{
           {"/roles/" + long_name + "/", "431"},
           {"/roles/nobody/", "404"},
           {"/roles/%74rainer/api/v1/job", "404"},
           {"/roles/trainer%2fapi%2fv1%2fjob", "404"},
           {"/roles/..%2f..%2fetc/passwd", "404"},
           {"/roles/../api/v1/job", "404"},
           {"/roles//api/v1/job", "404"}}) {
    CAPTURE(path.substr(0, 60));
    CHECK(http_peer(port).get(path).starts_with("HTTP/1.1 " + status));
  }
  std::atomic<int> wrong = 0;
  std::vector<std::thread> clients;
  for (const char* path : {"/api/v1/job", "/roles/judge/api/v1/job", "/metrics",
                           "/roles/judge/api/v1/ranks/0/output"}) {
    clients.emplace_back([port, path, &wrong] {
      for (int count = 0; count < 50; ++count) {
        const std::string answer = http_peer(port).get(path);
        const bool is_answered = answer.starts_with("HTTP/1.1 200") ||
                                 answer.starts_with("HTTP/1.1 404 ") ||
                                 answer.starts_with("HTTP/1.1 503 ");
        if (!is_answered) ++wrong;
      }
    });
  }
  for (std::thread& each : clients) each.join();
  CHECK(wrong == 0);
  CHECK(comes_true([&] { return json_of(port)["roles"][2]["restarts"] > 0; }));
  run.signal(SIGTERM);
  CHECK(run.wait().code == 128 + SIGTERM);
  CHECK(stage.left.processes().empty());
}

TEST_CASE("role status: what is not available is reported before anything starts",
          "[integration][roles][status]") {
  const stage stage;
  const std::string taken = stage.folder / "taken";
  std::ofstream(taken) << "mine";
  for (const auto& [place, problem] : std::vector<std::pair<std::string, std::string>>{
           {"http", "--status 'http': [ADDRESS:]PORT"},
           {"192.0.2.1:0", "cannot listen at 192.0.2.1:0: this is not an address of this host"},
           {"unix:" + taken, "it is in use, or the file exists"}}) {
    CAPTURE(place);
    const program_result result = stage.run_command(stage.command(place));
    CHECK(result.code == 2);
    CHECK_THAT(result.err, contains_text(problem));
    CHECK(result.out.empty());
    CHECK_FALSE(std::filesystem::exists(stage.logs()));
  }
}

}  // namespace role_status_tests
