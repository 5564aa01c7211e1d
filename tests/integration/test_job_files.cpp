// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// elasticrun --job: a job of several roles from a file, in one command on each node.

#include <support/catch.hpp>
#include <support/elasticrun_stage.hpp>
#include <support/etcd_server.hpp>
#include <support/reserved_port.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>
#include <support/skip.hpp>
#include <support/small_disk.hpp>
#include <support/text.hpp>

#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace job_files_tests {

using elastic::test::contains_text;
using elastic::test::elasticrun_stage;
using elastic::test::program_result;
using elastic::test::running_program;
using words = std::vector<std::string>;

/// A stage with a job file. In its text, PUPPET and FILES are what their names say.
struct job_stage : elasticrun_stage {
  explicit job_stage(std::string text) {
    replace(text, "PUPPET", ELASTIC_PUPPET);
    replace(text, "FILES", folder.path());
    std::ofstream(file()) << text;
  }

  std::string file() const { return folder / "job1.toml"; }

  words command(const words& options = {}) const {
    return elasticrun({{"--job", file()}, options});
  }

  std::unique_ptr<running_program> start(const words& options = {}) const {
    return std::make_unique<running_program>(command(options), environment({{"LOGLEVEL", "INFO"}}));
  }

 private:
  static void replace(std::string& text, const std::string& word, const std::string& other) {
    for (std::size_t at = text.find(word); at != std::string::npos;
         at = text.find(word, at + other.size())) {
      text.replace(at, word.size(), other);
    }
  }
};

const std::string trainer_and_rollout = R"(
log_dir = "FILES/logs"
redirects = 3
[role.trainer]
command = ["--no-python", "PUPPET", "line", "trained", "await", "FILES/serving-0", "exit", "0"]
[role.rollout]
command = ["--no-python", "PUPPET", "line", "rank ${local_rank}",
           "touch", "FILES/serving-${local_rank}", "hang"]
nproc_per_node = 2
stops_with = "trainer"
)";

/// What the workers of a role have written, in the only run below the log directory.
std::string output(const job_stage& stage, const std::string& role, int rank) {
  for (const auto& run : std::filesystem::directory_iterator(stage.logs())) {
    return elastic::test::file_text(
        fmt::format("{}/{}/attempt_0/{}/stdout.log", run.path().string(), role, rank));
  }
  return {};
}

TEST_CASE("job file: one command runs every role, and its exit code is that of the job",
          "[integration][roles]") {
  const bool is_world = GENERATE(true, false);
  std::string text = trainer_and_rollout;
  if (!is_world) text.replace(text.find("nproc_per_node"), 14, "processes_per_node");
  const job_stage stage(text);
  const program_result result = stage.run_command(stage.command());
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK(output(stage, "trainer", 0) == "trained\n");
  CHECK(output(stage, "rollout", 0) == "rank 0\n");
  // That the rollout ends with the trainer is no warning.
  CHECK(result.err.find("stopping the") == std::string::npos);
}

TEST_CASE("job file: a role that fails is named, with its last words", "[integration][roles]") {
  const job_stage stage(R"(
redirects = "3"
[role.trainer]
command = ["--no-python", "PUPPET", "hang"]
[role.reward]
command = ["--no-python", "PUPPET", "eline", "no model", "exit", "3"]
stops_with = "trainer"
)");
  const program_result result = stage.run_command(stage.command());
  CHECK(result.code == 1);
  CHECK_THAT(result.err, contains_text("role 'reward' failed: rank 0 ended: exit code 3"));
  CHECK_THAT(result.err, contains_text("no model"));
  CHECK_THAT(result.err, contains_text("trainer: stopped"));
}

TEST_CASE("job file: the console shows whose line it is", "[integration][roles]") {
  const job_stage stage(R"(
tee = "1"
[role.trainer]
command = ["--no-python", "PUPPET", "line", "works"]
[role.data]
command = ["--no-python", "PUPPET", "line", "works"]
nproc_per_node = 2
)");
  const program_result result = stage.run_command(stage.command());
  CHECK(result.code == 0);
  for (const std::string prefix : {"[trainer0]:", "[data0]:", "[data1]:"}) {
    CHECK_THAT(result.out, contains_text(prefix + "works\n"));
  }
}

const std::string trainer_and_replicas = R"(
log_dir = "FILES/logs"
[role.trainer]
command = ["--no-python", "sh", "-c", "echo trainer is $$$$; exec PUPPET await FILES/done exit 0"]
[role.rollout]
command = ["--no-python", "sh", "-c", "echo rollout $ROLE_RANK is $$$$; exec PUPPET hang"]
processes_per_node = 2
on_failure = "restart-worker"
max_restarts = 3
stops_with = "trainer"
)";

/// The number after "rollout 0 is ", the last one.
pid_t pid_after(const std::string& text, const std::string& begin) {
  const std::size_t at = text.rfind(begin);
  REQUIRE(at != text.npos);
  return static_cast<pid_t>(std::stol(text.substr(at + begin.size())));
}

TEST_CASE("job file: a replica that is killed comes back alone", "[integration][roles]") {
  const job_stage stage(trainer_and_replicas);
  const auto program = stage.start();
  program->await_out("trainer is ");
  program->await_out("rollout 0 is ");
  program->await_out("rollout 1 is ");
  program->await_out("\n", 3);
  ::kill(pid_after(program->out(), "rollout 1 is "), SIGKILL);
  program->await_out("rollout 1 is ", 2);
  std::ofstream(stage.folder / "done") << "done";
  const program_result result = program->wait();
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK_THAT(result.err, contains_text("ended: SIGKILL; restart 1 of 3"));
  CHECK(elastic::test::occurrences(result.out, "trainer is ") == 1);
  CHECK(elastic::test::occurrences(result.out, "rollout 0 is ") == 1);
  CHECK(elastic::test::occurrences(result.out, "rollout 1 is ") == 2);
  CHECK(stage.left.processes_become(0));
}

TEST_CASE("job file: replicas die with elasticrun", "[integration][roles]") {
  const job_stage stage(trainer_and_replicas);
  const auto program = stage.start();
  program->await_out("rollout 0 is ");
  program->await_out("rollout 1 is ");
  program->signal(SIGKILL);
  CHECK(program->wait().code == -SIGKILL);
  CHECK(stage.left.processes_become(0));
}

TEST_CASE("job file: replicas run on each of two nodes", "[integration][roles]") {
  const job_stage stage(R"(
nodes = 2
rdzv_backend = "c10d"
[role.trainer]
command = ["--no-python", "sh", "-c", "echo trainer of $WORLD_SIZE; exec PUPPET await FILES/done"]
[role.rollout]
command = ["--no-python", "sh", "-c", "echo rollout of $ROLE_WORLD_SIZE; exec PUPPET hang"]
processes_per_node = 1
stops_with = "trainer"
)");
  const words place{"--rdzv-endpoint",
                    fmt::format("127.0.0.1:{}", elastic::test::reserved_port())};
  const auto first = stage.start(place);
  const auto second = stage.start(place);
  for (const auto* node : {&first, &second}) {
    (*node)->await_out("trainer of 2\n");
    (*node)->await_out("rollout of 1\n");
  }
  std::ofstream(stage.folder / "done") << "done";
  for (const auto* node : {&first, &second}) {
    const program_result result = (*node)->wait();
    INFO(result.err);
    CHECK(result.code == 0);
  }
  CHECK(stage.left.processes_become(0));
}

TEST_CASE("job file: SIGINT ends all roles", "[integration][roles]") {
  const job_stage stage(R"(
[role.trainer]
command = ["--no-python", "PUPPET", "line", "runs", "hang"]
[role.rollout]
command = ["--no-python", "PUPPET", "line", "runs", "hang"]
)");
  const auto program = stage.start();
  program->await_out("runs\n", 2);
  program->signal(SIGINT);
  CHECK(program->wait().code == 128 + SIGINT);
  CHECK(stage.left.processes_become(0));
}

/// Two roles on two nodes, which meet as `options` say; the first one decides.
void check_two_nodes(const words& options) {
  const job_stage stage(R"(
nodes = 2
[role.trainer]
command = ["--no-python", "sh", "-c", "echo trainer of $WORLD_SIZE; exec PUPPET await FILES/done"]
[role.rollout]
command = ["--no-python", "sh", "-c", "echo rollout of $WORLD_SIZE; exec PUPPET hang"]
stops_with = "trainer"
)");
  const auto first = stage.start(options);
  const auto second = stage.start(options);
  for (const auto* node : {&first, &second}) {
    (*node)->await_out("trainer of 2\n");
    (*node)->await_out("rollout of 2\n");
  }
  std::ofstream(stage.folder / "done") << "done";
  for (const auto* node : {&first, &second}) {
    const program_result result = (*node)->wait();
    INFO(result.err);
    CHECK(result.code == 0);
  }
  CHECK(stage.left.processes_become(0));
}

TEST_CASE("job file: one journal and one file tell of all roles afterwards",
          "[integration][roles]") {
  const job_stage stage(trainer_and_rollout);
  CHECK(stage.run_command(stage.command()).code == 0);
  const program_result roles =
      stage.run_command(elasticrun_stage::elasticrun({{"roles", stage.logs()}}));
  CHECK(roles.code == 0);
  CHECK_THAT(roles.out, contains_text("trainer  succeeded, round "));
  CHECK_THAT(roles.out, contains_text("rollout  stopped, round "));
  const program_result story =
      stage.run_command(elasticrun_stage::elasticrun({{"explain", stage.logs()}}));
  CHECK(story.code == 0);
  CHECK_THAT(story.out, contains_text("Run job1/trainer on "));
  CHECK_THAT(story.out, contains_text("== Role trainer =="));
  CHECK_THAT(story.out, contains_text("== Role rollout =="));
  for (const auto& run : std::filesystem::directory_iterator(stage.logs())) {
    CHECK(std::filesystem::exists(run.path() / "journal.jsonl"));
    CHECK_FALSE(std::filesystem::exists(run.path() / "trainer" / "journal.jsonl"));
  }
}

// ---- who is where -------------------------------------------------------------------------------

/// The worker of tests/integration/python/role_worker.py.
const std::string python_worker =
    std::string(ELASTIC_SOURCE_DIR) + "/tests/integration/python/role_worker.py";

TEST_CASE("job file: each worker has a port of its own in its command", "[integration][roles]") {
  const job_stage stage(R"(
log_dir = "FILES/logs"
redirects = 3
[role.rollout]
command = ["--no-python", "PUPPET", "line", "${port.http} ${port.rpc} $${port.x} ${port"]
nproc_per_node = 2
)");
  const program_result result = stage.run_command(stage.command());
  INFO(result.err);
  CHECK(result.code == 0);
  std::set<std::string> ports;
  for (const int rank : {0, 1}) {
    std::istringstream said(output(stage, "rollout", rank));
    std::string http;
    std::string rpc;
    std::string rest;
    said >> http >> rpc;
    std::getline(said, rest);
    CHECK(rest == " ${port.x} ${port");
    ports.insert({http, rpc});
  }
  CHECK(ports.size() == 4);
  for (const std::string& port : ports) {
    CHECK(std::stoi(port) > 0);
    CHECK(std::stoi(port) < 65536);
  }
}

TEST_CASE("job file: a trainer finds a rollout that came back at another port",
          "[integration][roles][channel]") {
  const std::string how = GENERATE("wait", "iterate", "async", "call");
  CAPTURE(how);
  const job_stage stage(fmt::format(R"(
log_dir = "FILES/logs"
redirects = 3
[role.trainer]
command = ["{0}", "find", "{1}"]
[role.rollout]
command = ["{0}", "serve", "${{port.http}}"]
max_restarts = 1
stops_with = "trainer"
)",
                                    python_worker, how));
  const program_result result = stage.run_command(stage.command());
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK(output(stage, "trainer", 0) == "found two servers\n");
  CHECK(std::filesystem::is_empty(stage.temporary()));
}

TEST_CASE("job file: the workers of one node find those of the other", "[integration][roles]") {
  const job_stage stage(fmt::format(R"(
nodes = 2
rdzv_backend = "c10d"
[role.trainer]
command = ["{0}", "gather", "4"]
[role.rollout]
command = ["--no-python", "PUPPET", "line", "serves at ${{port.http}}", "hang"]
nproc_per_node = 2
stops_with = "trainer"
)",
                                    python_worker));
  const std::string place = fmt::format("127.0.0.1:{}", elastic::test::reserved_port());
  const auto first = stage.start({"--rdzv-endpoint", place, "--node-name", "alpha"});
  const auto second = stage.start({"--rdzv-endpoint", place, "--node-name", "beta"});
  for (const auto* node : {&first, &second}) {
    const program_result result = (*node)->wait();
    INFO(result.err);
    CHECK(result.code == 0);
    for (const std::string name : {"alpha", "beta"}) {
      const auto lines = [&](int rank) {
        return result.out.find(fmt::format("rank {} on {}: ['http']\n", rank, name)) !=
               std::string::npos;
      };
      // Each node has two ranks in a row.
      CHECK((lines(0) && lines(1)) != (lines(2) && lines(3)));
    }
  }
  CHECK(stage.left.processes_become(0));
}

TEST_CASE("job file: two nodes run the same file", "[integration][roles]") {
  check_two_nodes({"--rdzv-backend", "c10d", "--rdzv-endpoint",
                   fmt::format("127.0.0.1:{}", elastic::test::reserved_port())});
}

TEST_CASE("job file: two nodes meet by an etcd", "[integration][roles][etcd]") {
  const elastic::test::etcd_server server;
  check_two_nodes({"--rdzv-backend", "etcd", "--rdzv-endpoint", server.endpoint()});
}

const std::string trainer_and_one_reward = R"(
[role.trainer]
command = ["--no-python", "sh", "-c", "echo trainer of $WORLD_SIZE; exec PUPPET await FILES/done"]
[role.reward]
command = ["--no-python", "sh", "-c", "echo reward $TORCHELASTIC_RESTART_COUNT; exec PUPPET hang"]
nodes = 1
max_restarts = 1
stops_with = "trainer"
)";

TEST_CASE("job file: a role of one node runs on one of two", "[integration][roles]") {
  const job_stage stage("nodes = 2\n" + trainer_and_one_reward);
  const words place{"--rdzv-backend", "c10d", "--rdzv-endpoint",
                    fmt::format("127.0.0.1:{}", elastic::test::reserved_port())};
  const auto first = stage.start(place);
  first->await_out("reward 0\n");
  const auto second = stage.start(place);
  first->await_out("trainer of 2\n");
  second->await_out("trainer of 2\n");
  std::ofstream(stage.folder / "done") << "done";
  CHECK(first->wait().code == 0);
  const program_result standing_by = second->wait();
  INFO(standing_by.err);
  CHECK(standing_by.code == 0);
  CHECK(standing_by.out == "trainer of 2\n");
  CHECK(stage.left.processes_become(0));
}

/// The first lines of workers: of the trainer in a world of one and of two, and of the reward in
/// its first life and its second.
struct first_lines {
  std::string alone = "trainer of 1\n";
  std::string together = "trainer of 2\n";
  std::string reward = "reward 0\n";
  std::string moved_reward = "reward 1\n";
};

/// The node that runs the reward is killed: the next one runs it, as after a failure.
void check_move(const job_stage& stage, running_program& lost, running_program& next,
                const first_lines& lines = {}) {
  lost.signal(SIGKILL);
  next.await_out(lines.alone);
  next.await_out(lines.moved_reward);
  std::ofstream(stage.folder / "done") << "done";
  const program_result result = next.wait();
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK_THAT(result.err, contains_text("it moves here, which uses up a restart"));
  CHECK(result.out.find(lines.reward) == std::string::npos);
  CHECK(stage.left.processes_become(0));
}

TEST_CASE("job file: a role of one node moves at an etcd when that is lost",
          "[integration][roles][etcd]") {
  const elastic::test::etcd_server server;
  const job_stage stage("nodes = \"1:2\"\n" + trainer_and_one_reward);
  // The lost node leads the role: the next one waits for the end of its lease.
  const words place{"--rdzv-backend",  "etcd",        "--rdzv-endpoint",
                    server.endpoint(), "--rdzv-conf",
                    "last_call_timeout=1,lease_ttl=6,registry_grace=6"};
  const auto first = stage.start(place);
  first->await_out("trainer of 1\n");
  first->await_out("reward 0\n");
  const auto second = stage.start(place);
  second->await_out("trainer of 2\n");
  check_move(stage, *first, *second);
}

/// Two nodes meet by c10d. The reward starts on each when its gate is open, so that the host of the
/// server is the second one, to which it moves.
/// @param roles  a trainer of several nodes and a reward of one, whose table is the last
void check_move_at_c10d(const std::string& roles, const first_lines& lines = {}) {
  const job_stage stage("nodes = \"1:2\"\n" + roles + R"(
starts_after = ["gate:success"]
[role.gate]
command = ["--no-python", "sh", "-c", "exec PUPPET await FILES/open-$GATE"]
processes_per_node = 1
)");
  const words place{"--rdzv-backend",  "c10d",
                    "--rdzv-endpoint", fmt::format("127.0.0.1:{}", elastic::test::reserved_port()),
                    "--rdzv-conf",     "last_call_timeout=1,reconnect_grace=1"};
  const auto with_gate = [&](const char* gate, const char* is_host) {
    words options = place;
    options.back() += std::string(",is_host=") + is_host;
    options.insert(options.end(), {"--env", std::string("GATE=") + gate});
    return stage.start(options);
  };
  const auto host = with_gate("host", "true");
  host->await_out(lines.alone);
  const auto other = with_gate("other", "false");
  other->await_out(lines.together);
  std::ofstream(stage.folder / "open-other") << "open";
  other->await_out(lines.reward);
  std::ofstream(stage.folder / "open-host") << "open";
  host->await_err("role 'reward' starts");
  check_move(stage, *other, *host, lines);
}

TEST_CASE("job file: a role of one node moves at c10d when that is lost",
          "[integration][roles]") {
  check_move_at_c10d(trainer_and_one_reward);
}

TEST_CASE("job file: a role of one node moves with its PyTorch workers", "[integration][roles]") {
  const std::string python = elastic::test::torch_213_python();
  if (python.empty()) return;
  const std::string script = ELASTIC_SOURCE_DIR "/tests/integration/python/torch_restart_worker.py";
  const std::string worker = fmt::format(R"(
command = ["--no-python", "{}", "{}", "FILES/done"]
env = {{ GLOO_SOCKET_IFNAME = "lo", OMP_NUM_THREADS = "1" }}
)",
                                         python, script);
  first_lines lines;
  lines.alone = "trains with 1 in attempt 0\n";
  lines.together = "trains with 2 in attempt 0\n";
  lines.reward = "trains with 3 in attempt 0\n";
  lines.moved_reward = "trains with 3 in attempt 1\n";
  check_move_at_c10d("[role.trainer]\n" + worker + "[role.reward]\n" + worker +
                         "nproc_per_node = 3\nnodes = 1\nmax_restarts = 1\n"
                         "stops_with = \"trainer\"\n",
                     lines);
}

TEST_CASE("job file: a role of one node without restarts does not move", "[integration][roles]") {
  const elastic::test::etcd_server server;
  std::string text = trainer_and_one_reward;
  text.erase(text.find("max_restarts = 1\n"), std::string("max_restarts = 1\n").size());
  const job_stage stage("nodes = \"1:2\"\n" + text);
  const words place{"--rdzv-backend",  "etcd",        "--rdzv-endpoint",
                    server.endpoint(), "--rdzv-conf",
                    "last_call_timeout=1,lease_ttl=6,registry_grace=6"};
  const auto first = stage.start(place);
  first->await_out("reward 0\n");
  const auto second = stage.start(place);
  second->await_out("trainer of 2\n");
  first->signal(SIGKILL);
  const program_result result = second->wait();
  CHECK(result.code == 1);
  CHECK_THAT(result.err, contains_text("role 'reward' failed"));
  CHECK(stage.left.processes_become(0));
}

TEST_CASE("job file: a node with another file is turned away, and the job goes on",
          "[integration][roles]") {
  const std::string text = R"(name = "grpo"
nodes = "1:2"
rdzv_backend = "c10d"
rdzv_conf = "last_call_timeout=0.5"
[role.trainer]
command = ["--no-python", "sh", "-c", "echo trainer of $WORLD_SIZE; exec PUPPET await FILES/done"]
[role.rollout]
command = ["--no-python", "PUPPET", "hang"]
stops_with = "trainer"
)";
  const words place{"--rdzv-endpoint",
                    fmt::format("127.0.0.1:{}", elastic::test::reserved_port())};
  const job_stage stage(text);
  const auto first = stage.start(place);
  first->await_out("trainer of 1\n");
  std::ofstream(stage.folder / "other.toml")
      << elastic::test::file_text(stage.file()) << "heartbeat_timeout = 60\n";
  const program_result refused = elastic::test::run_program(
      elasticrun_stage::elasticrun({{"--job", stage.folder / "other.toml"}, place}),
      stage.environment());
  INFO(refused.err);
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, contains_text("was started with a different job file than this node: "
                                        "they differ in role.rollout; start all nodes with the "
                                        "same file"));
  CHECK(refused.out.empty());
  // What --set says is not of the file.
  const auto second = stage.start({place[0], place[1], "--set", "rollout.heartbeat_timeout=60"});
  second->await_out("trainer of 2\n");
  std::ofstream(stage.folder / "done") << "done";
  for (const auto* node : {&first, &second}) {
    const program_result result = (*node)->wait();
    INFO(result.err);
    CHECK(result.code == 0);
  }
  CHECK(first->out().find("trainer of 1\ntrainer of 2\n") == 0);
  CHECK(stage.left.processes_become(0));
}

TEST_CASE("job file: a node with another file is turned away if no role is in both",
          "[integration][roles]") {
  const job_stage stage(R"(name = "grpo"
nodes = "1:2"
rdzv_conf = "last_call_timeout=0.5"
[role.trainer]
command = ["--no-python", "sh", "-c", "echo trainer of $WORLD_SIZE; exec PUPPET await FILES/done"]
)");
  const std::string backend = GENERATE("c10d", "file", "etcd");
  INFO(backend);
  std::optional<elastic::test::etcd_server> server;
  std::string endpoint = fmt::format("127.0.0.1:{}", elastic::test::reserved_port());
  if (backend == "file") endpoint = stage.folder / "meeting";
  if (backend == "etcd") endpoint = server.emplace().endpoint();
  std::filesystem::create_directory(stage.folder / "meeting");
  const words place{"--rdzv-backend", backend, "--rdzv-endpoint", endpoint};
  const auto first = stage.start(place);
  first->await_out("trainer of 1\n");
  std::string other = elastic::test::file_text(stage.file());
  other.replace(other.find("role.trainer"), 12, "role.learner");
  std::ofstream(stage.folder / "other.toml") << other;
  const auto start_other = [&] {
    return elastic::test::run_program(
        elasticrun_stage::elasticrun({{"--job", stage.folder / "other.toml"}, place}),
        stage.environment());
  };
  const program_result refused = start_other();
  INFO(refused.err);
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, contains_text("the job 'grpo/trainer' was started with a different job "
                                        "file than this node: they differ in role.trainer, "
                                        "role.learner; start all nodes with the same file"));
  CHECK(refused.out.empty());
  std::ofstream(stage.folder / "done") << "done";
  CHECK(first->wait().code == 0);
  CHECK(first->out() == "trainer of 1\n");
  // The job from the first file is over, so that another one may begin.
  const program_result later = start_other();
  INFO(later.err);
  CHECK(later.code == 0);
  CHECK(later.out == "trainer of 1\n");
  CHECK(stage.left.processes_become(0));
}

// ---- options of the command line ----------------------------------------------------------------

TEST_CASE("job file: a trace, a journal and a drain file are those of the whole job",
          "[integration][roles]") {
  const job_stage stage(R"(
log_dir = "FILES/logs"
[role.trainer]
command = ["--no-python", "PUPPET", "line", "trains", "hang"]
[role.rollout]
command = ["--no-python", "PUPPET", "line", "serves", "hang"]
processes_per_node = 2
stops_with = "trainer"
)");
  const std::string drain = stage.folder / "drain";
  const std::string trace = stage.folder / "trace.json";
  const std::string journal = stage.folder / "journal.jsonl";
  const auto program = stage.start(
      {"--drain-file", drain, "--trace", trace, "--journal", journal, "--no-progress"});
  program->await_out("trains\n");
  program->await_out("serves\n", 2);
  // Whole at once: an empty file is read again for a second only.
  std::ofstream(drain + ".new") << "the fan is loud";
  std::filesystem::rename(drain + ".new", drain);
  const program_result result = program->wait();
  INFO(result.err);
  CHECK(result.code == 128 + SIGTERM);
  CHECK_THAT(result.err, contains_text("the fan is loud"));
  const std::string events = elastic::test::file_text(trace);
  CHECK_THAT(events, contains_text("\"trainer on "));
  CHECK_THAT(events, contains_text("\"rollout on "));
  const std::string records = elastic::test::file_text(journal);
  CHECK_THAT(records, contains_text("\"role\": \"trainer\""));
  CHECK_THAT(records, contains_text("\"role\": \"rollout\""));
  for (const auto& run : std::filesystem::directory_iterator(stage.logs())) {
    CHECK_FALSE(std::filesystem::exists(run.path() / "journal.jsonl"));
  }
  CHECK(stage.left.processes_become(0));
}

TEST_CASE("job file: faults on purpose hit the ranks of one role", "[integration][roles]") {
  const job_stage stage(R"(
[role.trainer]
command = ["--no-python", "sh", "-c",
           "echo trains $TORCHELASTIC_RESTART_COUNT; exec PUPPET await FILES/done"]
nproc_per_node = 2
max_restarts = 1
chaos = "kill=rank:1@10ms"
[role.rollout]
command = ["--no-python", "sh", "-c",
           "echo serves ${local_rank} $TORCHELASTIC_RESTART_COUNT; exec PUPPET hang"]
processes_per_node = 2
max_restarts = 1
chaos = "kill=rank:1@10ms"
stops_with = "trainer"
)");
  const auto program = stage.start();
  program->await_out("trains 1\n", 2);
  program->await_out("serves 1 1\n");
  std::ofstream(stage.folder / "done") << "done";
  const program_result result = program->wait();
  INFO(result.err);
  CHECK(result.code == 0);
  for (const std::string line :
       {"trainer: chaos: this job is disturbed on purpose: kill=rank:1@10ms",
        "trainer: chaos: kill=rank:1@10ms: SIGKILL sent to rank 1 ",
        "trainer: chaos: 2 workers run again ",
        "rollout: chaos: this job is disturbed on purpose: kill=rank:1@10ms",
        "rollout: chaos: kill=rank:1@10ms: SIGKILL sent to replica 1 "}) {
    CHECK_THAT(result.err, contains_text(line));
  }
  CHECK(result.out.find("serves 0 1") == std::string::npos);
  CHECK(stage.left.processes_become(0));
}

TEST_CASE("job file: the lines of one role are merged, and those of another one are not",
          "[integration][roles]") {
  const job_stage stage(R"(
merge_output = true
[role.trainer]
command = ["--no-python", "PUPPET", "line", "the same"]
nproc_per_node = 3
[role.eval]
command = ["--no-python", "PUPPET", "line", "other"]
merge_output = false
nproc_per_node = 2
)");
  const program_result result = stage.run_command(stage.command());
  INFO(result.err);
  CHECK(result.code == 0);
  // How many lines become one depends on how close together they are.
  CHECK_THAT(result.out, contains_text("[trainer"));
  CHECK_THAT(result.out, contains_text("]:the same\n"));
  const std::string others = result.out.substr(result.out.find("other\n"));
  CHECK_THAT(others, contains_text("other\n"));
  CHECK(others.find("other\n", 1) != std::string::npos);
  CHECK(result.out.find("[eval") == std::string::npos);
}

TEST_CASE("job file: a role of Python keeps standbys, and another one does not",
          "[integration][roles][standby]") {
  const job_stage stage(R"(
warm_standby = true
[role.trainer]
command = ["FILES/train.py"]
max_restarts = 1
[role.reward]
command = ["--no-python", "PUPPET", "hang"]
stops_with = "trainer"
)");
  std::ofstream(stage.folder / "train.py") << R"(import os, time
while os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    if os.path.exists(os.path.join(os.path.dirname(__file__), "fail")):
        raise SystemExit(1)
    time.sleep(0.01)
)";
  const auto program = stage.start();
  program->await_err("has a standby");
  std::ofstream(stage.folder / "fail") << "fail";
  const program_result result = program->wait();
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK_THAT(result.err, contains_text("local rank 0 starts warm"));
  CHECK(stage.left.processes_become(0));
}

// ---- ready by a port ----------------------------------------------------------------------------

/// A server that listens when a file is there, and a client that must not start before.
const std::string server_and_client = R"(
[role.server]
command = ["--no-python", "/usr/bin/python3", "FILES/server.py", "${port.http}", "FILES"]
processes_per_node = 2
max_restarts = 5
readiness = "port.http"
stops_with = "client"
[role.client]
command = ["--no-python", "sh", "-c", "echo starts; test -e FILES/up_0 -a -e FILES/up_1"]
starts_after = ["server:ready"]
)";

void write_server(const job_stage& stage) {
  std::ofstream(stage.folder / "server.py") << R"(
import os, socket, sys, time
port, files, rank = int(sys.argv[1]), sys.argv[2], os.environ["LOCAL_RANK"]
# At once: the other one writes to the same pipe.
os.write(1, f"waits {os.environ['TORCHELASTIC_RESTART_COUNT']} \n".encode())
while not os.path.exists(f"{files}/open"):
    time.sleep(0.01)
with socket.socket() as server:
    server.bind(("127.0.0.1", port))
    open(f"{files}/up_{rank}", "w").close()
    server.listen()
    while True:
        server.accept()[0].close()
)";
}

TEST_CASE("job file: a role starts when the ports of another one are open",
          "[integration][roles]") {
  const job_stage stage(server_and_client);
  write_server(stage);
  const auto run = stage.start();
  run->await_out("waits 0 ", 2);
  CHECK(run->out().find("starts") == std::string::npos);
  std::ofstream(stage.folder / "open") << "open";
  const program_result result = run->wait();
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK_THAT(result.out, contains_text("starts\n"));
  CHECK_THAT(result.err, contains_text("role 'server' is ready"));
  CHECK(stage.left.processes_become(0));
}

TEST_CASE("job file: a replica that dies before its port is open is waited for in its next life",
          "[integration][roles]") {
  const job_stage stage(server_and_client);
  write_server(stage);
  const auto run = stage.start();
  run->await_out("waits 0 ", 2);
  for (const pid_t pid : stage.left.processes()) {
    if (elastic::test::file_text(fmt::format("/proc/{}/cmdline", pid)).find("server.py") ==
        std::string::npos) {
      continue;
    }
    ::kill(pid, SIGKILL);
    break;
  }
  run->await_out("waits 1 ");
  std::ofstream(stage.folder / "open") << "open";
  const program_result result = run->wait();
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK(stage.left.processes_become(0));
}

TEST_CASE("job file: a job that waits for a port can be stopped", "[integration][roles]") {
  const job_stage stage(server_and_client);
  write_server(stage);
  const auto run = stage.start();
  run->await_out("waits 0 ", 2);
  run->signal(SIGTERM);
  const program_result result = run->wait();
  CHECK(result.code == 128 + SIGTERM);
  CHECK(result.out.find("starts") == std::string::npos);
  CHECK(stage.left.processes_become(0));
}

TEST_CASE("job file: a disk that becomes full costs the log files, and no role",
          "[integration][roles]") {
  const elastic::test::small_disk disk("size=64k");
  if (!disk.is_there) return elastic::test::skip("it takes the right to mount a file system");
  const job_stage stage(R"(
tee = "3"
[role.trainer]
command = ["--no-python", "PUPPET", "flood", "200", "1000", "line", "trained"]
[role.data]
command = ["--no-python", "PUPPET", "flood", "200", "1000", "line", "prepared"]
processes_per_node = 2
)");
  const program_result result = stage.run_command(stage.command({"--log-dir", disk.folder.path()}));
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK_THAT(result.out, contains_text("[trainer0]:trained\n"));
  CHECK_THAT(result.out, contains_text("[data0]:prepared\n"));
  CHECK_THAT(result.out, contains_text("[data1]:prepared\n"));
  CHECK_THAT(result.err, contains_text("No space left on device"));
}

TEST_CASE("job file: on a disk that is full, no role starts", "[integration][roles]") {
  const elastic::test::small_disk disk("size=64k,nr_inodes=1");
  if (!disk.is_there) return elastic::test::skip("it takes the right to mount a file system");
  const job_stage stage(trainer_and_rollout);
  const program_result result =
      stage.run_command(stage.command({"--set", "log_dir=" + disk.folder.path()}));
  CHECK(result.code == 2);
  CHECK_THAT(result.err, contains_text("cannot make the log directory"));
  CHECK_THAT(result.err, contains_text("No space left on device"));
  CHECK_FALSE(std::filesystem::exists(stage.folder / "serving"));
}

TEST_CASE("job file: it is printed as it was understood", "[integration][roles]") {
  const job_stage stage(trainer_and_rollout);
  const program_result result =
      stage.run_command(stage.command({"--set", "rollout.nproc_per_node=3", "--print-job"}));
  CHECK(result.code == 0);
  CHECK_THAT(result.out, contains_text("name = \"job1\"\n"));
  CHECK_THAT(result.out, contains_text("[role.rollout]\n"));
  CHECK_THAT(result.out, contains_text("nproc_per_node = \"3\"\n"));
  CHECK_FALSE(std::filesystem::exists(stage.logs()));
}

TEST_CASE("job file: it can come from standard input", "[integration][roles]") {
  const job_stage stage(trainer_and_rollout);
  const std::string command = fmt::format("'{}' --job - < '{}'", ELASTIC_ELASTICRUN, stage.file());
  const program_result result = stage.run_command({"sh", "-c", command});
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK(output(stage, "trainer", 0) == "trained\n");
}

TEST_CASE("job file: a mistake ends with exit code 2 and one line", "[integration][roles]") {
  struct row {
    words options;
    std::string sentence;
  };
  const job_stage stage(trainer_and_rollout);
  const std::vector<row> rows{
      {{"--job", "/no/such/job.toml"}, "the job file '/no/such/job.toml' cannot be read"},
      {{"--job", stage.file(), "train.py"}, "'train.py' and --job exclude each other"},
      {{"--job", stage.file(), "--on-failure", "replace"},
       "--on-failure and --job exclude each other: each role has its own policy"},
      {{"--job", stage.file(), "--set", "rollout.stops_with=nobody"},
       "role 'rollout' stops with 'nobody', which is not a role of the job"},
      {{"--print-job", "train.py"}, "--print-job is allowed only with --job"},
  };
  for (const row& each : rows) {
    CAPTURE(each.sentence);
    const program_result result = stage.run_command(elasticrun_stage::elasticrun({each.options}));
    CHECK(result.code == 2);
    CHECK_THAT(result.err, contains_text("elasticrun: error: "));
    CHECK_THAT(result.err, contains_text(each.sentence));
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  }
}

}  // namespace job_files_tests
