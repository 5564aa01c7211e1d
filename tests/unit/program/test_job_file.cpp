// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// The file of a job of several roles: what it means, and how it is refused.

#include <program/roles/job_file.hpp>
#include <program/roles/job_of_roles.hpp>

#include <elastic/base/error.hpp>
#include <support/catch.hpp>
#include <support/run_program.hpp>

#include <chrono>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace job_file_tests {

using command_line_option = elastic::command_line::option;
using role_condition = elastic::role::condition;
using role_policy = elastic::role::policy;
using role_readiness = elastic::role::readiness;
using elasticrun::job_file;
using elasticrun::job_of_roles;
using names = std::vector<std::string>;

const std::string sound = R"(name = "grpo"
restarts = 2
log_dir = "/logs"
max_restarts = 3          # of each role

[role.trainer]
command = ["--no-python", "true", "--lr", "1e-4"]
nproc_per_node = 4
env = { NCCL_DEBUG = "INFO", SEED = 7 }
restart_never_after = ["93", "SIGABRT"]

[role.rollout]
command = ["-m", "serve"]
on_failure = "replace"
starts_after = ["trainer:ready", "data:success"]
stops_with = "trainer"
readiness = "start"
virtual_local_rank = false
shutdown_timeout = 1.5

[role.data]
command = ["--no-python", "true"]
on_failure = "ignore"
)";

elastic::command_line_facts facts() {
  elastic::command_line_facts facts;
  facts.environment["PATH"] = "/usr/bin:/bin";
  return facts;
}

job_file parse(const std::string& text, const names& settings = {},
               const std::vector<command_line_option>& outer = {}) {
  return elasticrun::parse_job_file(text, "jobs/job1.toml", settings, outer, facts());
}

job_of_roles make(const std::string& text, const names& settings = {},
                  const std::vector<command_line_option>& outer = {}) {
  return make_job(parse(text, settings, outer), facts());
}

TEST_CASE("job file: each key has its meaning", "[program][roles]") {
  const job_of_roles job = make(sound);
  CHECK(job.options.run_id == "grpo");
  CHECK(job.options.max_restarts == 2);
  CHECK(job.options.log_dir == "/logs");
  REQUIRE(job.options.roles.size() == 3);
  const elastic::role& trainer = job.options.roles[0];
  CHECK(trainer.name == "trainer");
  CHECK(trainer.config.workers.program == "true");
  CHECK(trainer.config.workers.arguments == names{"--lr", "1e-4"});
  CHECK(trainer.config.workers.nproc_per_node == 4);
  CHECK(trainer.config.workers.env == std::vector<std::pair<std::string, std::string>>{
                                          {"NCCL_DEBUG", "INFO"}, {"SEED", "7"}});
  CHECK(trainer.config.workers.max_restarts == 3);
  CHECK(trainer.config.workers.restart.never_after.contains(elastic::exit_status::exited(93)));
  CHECK(trainer.config.standalone);
  CHECK(trainer.on_failure == role_policy::restart_role);
  CHECK(trainer.ready_at == role_readiness::progress);
  const elastic::role& rollout = job.options.roles[1];
  CHECK(rollout.name == "rollout");
  CHECK(rollout.config.workers.arguments == names{"-u", "-m", "serve"});
  CHECK(rollout.config.workers.virtual_local_rank == false);
  CHECK(rollout.config.workers.shutdown_timeout == std::chrono::milliseconds(1500));
  CHECK(rollout.on_failure == role_policy::replace);
  REQUIRE(rollout.starts_after.size() == 2);
  CHECK(rollout.starts_after[0].role == "trainer");
  CHECK(rollout.starts_after[0].what == role_condition::event::ready);
  CHECK(rollout.starts_after[1].role == "data");
  CHECK(rollout.starts_after[1].what == role_condition::event::success);
  CHECK(rollout.stops_with == "trainer");
  CHECK(rollout.ready_at == role_readiness::start);
  CHECK(job.options.roles[2].on_failure == role_policy::ignore);
}

TEST_CASE("job file: processes_per_node is the number of replicas", "[program][roles]") {
  const std::string text = R"(
max_restarts = 3
node_check = "true"
duplicate_stdout_filters = "loss"
[role.trainer]
command = ["--no-python", "true"]
[role.rollout]
command = ["--no-python", "true"]
processes_per_node = 2
stops_with = "trainer"
)";
  const std::vector<command_line_option> outer{{"--nproc-per-node", "4", "--nproc-per-node"}};
  const job_of_roles job = make(text, {}, outer);
  const elastic::role& trainer = job.options.roles[0];
  CHECK(trainer.has_world);
  CHECK(trainer.config.workers.nproc_per_node == 4);
  CHECK(trainer.on_failure == role_policy::restart_role);
  const elastic::role& rollout = job.options.roles[1];
  CHECK_FALSE(rollout.has_world);
  CHECK(rollout.config.workers.nproc_per_node == 2);
  CHECK(rollout.on_failure == role_policy::restart_worker);
  CHECK(rollout.config.workers.node_check.command.empty());
  CHECK(rollout.config.workers.logs.duplicate_stdout_filters.empty());
  const std::string understood = text_of(parse(text));
  CHECK(text_of(parse(understood)) == understood);
  CHECK_THAT(understood, elastic::test::contains_text("processes_per_node = \"2\""));
  CHECK(make(text, {"rollout.processes_per_node=5"}).options.roles[1].config.workers
            .nproc_per_node == 5);
}

TEST_CASE("job file: replicas run on each node beside roles of several", "[program][roles]") {
  const job_of_roles job = make(R"(
nodes = 2
rdzv_backend = "c10d"
rdzv_endpoint = "host0"
[role.trainer]
command = ["--no-python", "true"]
[role.rollout]
command = ["--no-python", "true"]
processes_per_node = 2
starts_after = ["trainer:ready"]
stops_with = "trainer"
)");
  CHECK_FALSE(job.options.roles[1].has_world);
}

TEST_CASE("job file: what nothing is said of", "[program][roles]") {
  const job_of_roles job = make("[role.trainer]\ncommand = [\"--no-python\", \"true\"]\n");
  CHECK(job.options.run_id == "job1");
  CHECK(job.options.max_restarts == 0);
  CHECK(job.options.log_dir.empty());
  CHECK(job.options.roles[0].on_failure == role_policy::fail_job);
  CHECK(job.options.roles[0].config.workers.nproc_per_node == 1);
}

TEST_CASE("job file: the roles of several nodes meet at one place", "[program][roles]") {
  const job_of_roles job = make(R"(
nodes = "2:4"
rdzv_backend = "c10d"
rdzv_endpoint = "host0"
[role.trainer]
command = ["--no-python", "true"]
[role.rollout]
command = ["--no-python", "true"]
nodes = 2
)");
  for (const elastic::role& role : job.options.roles) {
    CHECK_FALSE(role.config.standalone);
    CHECK(role.config.rendezvous.backend == "c10d");
    CHECK(role.config.rendezvous.endpoint == "host0");
    CHECK(role.config.rendezvous.min_nodes == 2);
  }
  CHECK(job.options.roles[0].config.rendezvous.max_nodes == 4);
  CHECK(job.options.roles[1].config.rendezvous.max_nodes == 2);
  CHECK(job.warnings.empty());
}

TEST_CASE("job file: a port whose name cannot be is refused at its line", "[program][roles]") {
  CHECK_THROWS_WITH(parse("[role.rollout]\nnproc_per_node = 2\n"
                          "command = [\"serve.py\", \"--port=${port.my-http}\"]\n"),
                    "jobs/job1.toml:3: command: '--port=${port.my-http}': the form of a port is "
                    "${port.NAME}, with a NAME of 1 to 32 letters, digits and '_' that does not "
                    "begin with a digit");
}

TEST_CASE("job file: --set takes the place of what it says", "[program][roles]") {
  const job_of_roles job = make(
      sound, {"trainer.nproc_per_node=2", "trainer.command=[\"--no-python\", \"false\"]",
              "rollout.on_failure=restart-role", "name=other", "restarts=0", "max_restarts=1"});
  CHECK(job.options.run_id == "other");
  CHECK(job.options.max_restarts == 0);
  CHECK(job.options.roles[0].config.workers.nproc_per_node == 2);
  CHECK(job.options.roles[0].config.workers.program == "false");
  CHECK(job.options.roles[0].config.workers.max_restarts == 1);
  CHECK(job.options.roles[1].on_failure == role_policy::restart_role);
}

TEST_CASE("job file: options beside it are those of every role that says nothing else",
          "[program][roles]") {
  const std::vector<command_line_option> outer{
      {"--job", "job1.toml", "--job"},
      {"--monitor-interval", "2", "--monitor-interval"},
      {"--env", "A=1", "--env"},
      {"--log-dir", "/elsewhere", "--log-dir"},
      {"--nproc-per-node", "3", "PET_NPROC_PER_NODE"}};
  const job_of_roles job = make(sound, {"log_dir=/set"}, outer);
  CHECK(job.options.log_dir == "/set");
  for (const elastic::role& role : job.options.roles) {
    CHECK(role.config.workers.monitor_interval == std::chrono::seconds(2));
    CHECK(role.config.workers.env.front().first == "A");
  }
  // The file is nearer than a variable.
  CHECK(job.options.roles[0].config.workers.nproc_per_node == 4);
}

TEST_CASE("job file: what was understood is a job file of the same meaning", "[program][roles]") {
  const job_file job = parse(sound, {"trainer.env={ \"A\" = \"a \\\"b\\\" \\n\" }"});
  const std::string text = text_of(job);
  CAPTURE(text);
  CHECK(text_of(parse(text)) == text);
  CHECK_THAT(text, elastic::test::contains_text("nproc_per_node = \"4\""));
  CHECK_THAT(text, elastic::test::contains_text("max_restarts = \"3\""));
}

/// The sound file, with a line of it replaced.
std::string with(const std::string& line, const std::string& other) {
  std::string text = sound;
  const std::size_t at = text.find(line);
  REQUIRE(at != std::string::npos);
  return text.replace(at, line.size(), other);
}

TEST_CASE("job file: a mistake is refused with its place and what is allowed", "[program][roles]") {
  struct row {
    std::string text;
    std::string sentence;
  };
  const std::string trainer = "command = [\"--no-python\", \"true\", \"--lr\", \"1e-4\"]";
  const std::vector<row> rows{
      {"", "jobs/job1.toml: a job needs a role: a table such as [role.trainer]"},
      {"[role]", "jobs/job1.toml: a job needs a role: a table such as [role.trainer]"},
      {"role = 3", "jobs/job1.toml:1: role: tables such as [role.trainer] are needed"},
      {"[role]\ntrainer = 3", "jobs/job1.toml:2: role.trainer: a table is needed"},
      {"name = ", "jobs/job1.toml:1: no TOML: "},
      {with("name = \"grpo\"", "name = 7"), "jobs/job1.toml:1: name: a text is needed"},
      {with("restarts = 2", "restarts = -1"),
       "jobs/job1.toml:2: restarts: a whole number from 0 on is needed"},
      {with("virtual_local_rank = false", "processes_per_node = 2\nnproc_per_node = 2"),
       "jobs/job1.toml:19: nproc_per_node is for workers with a world; those of "
       "processes_per_node have none"},
      {with("virtual_local_rank = false", "processes_per_node = 2\nnode_check = \"true\""),
       "jobs/job1.toml:19: node_check is for workers with a world; those of processes_per_node "
       "have none"},
      {with("virtual_local_rank = false", "processes_per_node = \"many\""),
       "jobs/job1.toml:18: processes_per_node"},
      {with("log_dir =", "log_dri ="),
       "jobs/job1.toml:3: unknown key 'log_dri'; did you mean 'log_dir'?"},
      {with("nproc_per_node", "nproc_pre_node"),
       "jobs/job1.toml:8: unknown key 'nproc_pre_node'; did you mean 'nproc_per_node'?"},
      {with("nproc_per_node = 4", "rdzv_endpoint = 'h'"),
       "jobs/job1.toml:8: unknown key 'rdzv_endpoint': it is one of the job, not of a role"},
      {with("nproc_per_node = 4", "status = '8080'"), "jobs/job1.toml:8: unknown key 'status'"},
      {with("nproc_per_node = 4", "nproc_per_node = 'many'"),
       "jobs/job1.toml:8: nproc_per_node 'many': "},
      {with("nproc_per_node = 4", "nproc_per_node = { a = 1 }"),
       "jobs/job1.toml:8: nproc_per_node: a text, a number or a list of them is needed"},
      {with("virtual_local_rank = false", "virtual_local_rank = 'yes'"),
       "jobs/job1.toml:18: virtual_local_rank: true or false is needed"},
      {with(trainer, "command = \"train.py\""),
       "jobs/job1.toml:7: command: a list of texts is needed"},
      {with(trainer, "command = [\"train.py\", 3]"),
       "jobs/job1.toml:7: command: a list of texts is needed"},
      {with(trainer, "command = [\"--standalone\", \"train.py\"]"),
       "jobs/job1.toml:7: command: a script is needed, or -m and a module, or --no-python and a "
       "program"},
      {with(trainer, "command = []"), "jobs/job1.toml:7: command: a script is needed"},
      {with(trainer, ""), "jobs/job1.toml:6: role 'trainer' has no command"},
      {with(trainer, "command = [\"/no/such/train.py\"]"),
       "role 'trainer': the script '/no/such/train.py' does not exist"},
      {with("\"replace\"", "\"retry\""),
       "jobs/job1.toml:14: on_failure 'retry': allowed are fail-job, restart-role, replace, "
       "restart-worker, restart-job, ignore"},
      {with("data:success", "data"),
       "jobs/job1.toml:15: starts_after 'data': the form is ROLE:ready or ROLE:success"},
      {with("readiness = \"start\"", "readiness = \"port\""),
       "jobs/job1.toml:17: readiness 'port': allowed are progress and start"},
      {with("stops_with = \"trainer\"", "stops_with = \"trianer\""),
       "role 'rollout' stops with 'trianer', which is no role of the job (did you mean "
       "'trainer'?)"},
      {with("[role.trainer]", "[role.\"tr/ainer\"]"), "role 'tr/ainer': a name is 1 to 64 letters"},
      {with("[role.trainer]", "[role.rollout]"), "jobs/job1.toml:12: no TOML: "},
      {with("nproc_per_node = 4", "nodes = 2"), "role 'rollout' has one node and role 'trainer' "
                                                "several"},
  };
  for (const row& each : rows) {
    CAPTURE(each.text);
    CHECK_THROWS_WITH(make(each.text), elastic::test::contains_text(each.sentence));
  }
}

TEST_CASE("job file: settings and options that cannot be", "[program][roles]") {
  const auto setting = [](const std::string& text) { make(sound, {text}); };
  using elastic::test::contains_text;
  CHECK_THROWS_WITH(setting("trainer"),
                    contains_text("--set 'trainer': the form is ROLE.KEY=VALUE or KEY=VALUE"));
  CHECK_THROWS_WITH(setting("role=3"), contains_text("the form is ROLE.KEY=VALUE or KEY=VALUE"));
  CHECK_THROWS_WITH(setting("judge.nproc_per_node=3"), contains_text("there is no role 'judge'"));
  CHECK_THROWS_WITH(setting("trainer.nproc=3"),
                    contains_text("--set trainer.nproc: unknown key 'nproc'"));
  CHECK_THROWS_WITH(setting("trainer.on_failure=retry"),
                    contains_text("--set trainer.on_failure: on_failure 'retry': allowed are"));
  CHECK_THROWS_WITH(setting("rollout.command=[\"x\", \"${port.}\"]"),
                    contains_text("--set rollout.command: command: '${port.}': the form"));
  CHECK_THROWS_WITH(setting("nproc=3"), contains_text("--set nproc: unknown key 'nproc'"));
  const auto option = [](command_line_option given) { make(sound, {}, {std::move(given)}); };
  CHECK_THROWS_WITH(option({"--status", "8080", "--status"}),
                    contains_text("--status and --job exclude each other"));
  CHECK_THROWS_WITH(option({"--chaos", "random=1@20s", "PET_CHAOS"}),
                    contains_text("PET_CHAOS and --job exclude each other"));
  CHECK_THROWS_WITH(
      option({"--nproc-per-node", "2", "--nproc-per-node"}),
      contains_text("jobs/job1.toml:8: nproc_per_node = 4 contradicts --nproc-per-node 2: use "
                    "--set, or leave one of them out"));
  CHECK_NOTHROW(option({"--nproc-per-node", "4", "--nproc-per-node"}));
}

TEST_CASE("job file: it is read up to its bound", "[program][roles]") {
  const elastic::test::temporary_directory directory;
  const std::string path = directory / "job.toml";
  CHECK_THROWS_WITH(elasticrun::read_job_file(path),
                    elastic::test::contains_text("cannot be read: No such file or directory"));
  CHECK_THROWS_WITH(elasticrun::read_job_file(directory.path()),
                    elastic::test::contains_text("cannot be read: Is a directory"));
  std::ofstream(path) << std::string(1024 * 1024, '#');
  CHECK(elasticrun::read_job_file(path).size() == 1024 * 1024);
  std::ofstream(path, std::ios::app) << "#";
  CHECK_THROWS_WITH(elasticrun::read_job_file(path),
                    elastic::test::contains_text("is larger than 1048576 bytes"));
}

}  // namespace job_file_tests
