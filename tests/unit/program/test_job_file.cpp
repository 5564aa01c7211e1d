// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// The file of a job of several roles: its meaning, and the errors for invalid files.

#include <program/roles/job_file.hpp>
#include <program/roles/job_of_roles.hpp>

#include <elastic/base/error.hpp>
#include <elastic/cli/detail/chaos_text.hpp>
#include <support/catch.hpp>
#include <support/run_program.hpp>

#include <chrono>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <tuple>
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
signal_scope = "group"

[role.data]
command = ["--no-python", "true"]
on_failure = "ignore"
)";

elastic::command_line::facts facts() {
  elastic::command_line::facts facts;
  facts.environment["PATH"] = "/usr/bin:/bin";
  facts.injects_faults = true;
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
  CHECK(rollout.config.workers.signal_scope == elastic::signal_scope::group);
  CHECK(trainer.config.workers.signal_scope == elastic::signal_scope::process);
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

TEST_CASE("job file: options beside it that are of the whole job", "[program][roles]") {
  const std::vector<command_line_option> outer{{"--trace", "t.json", "--trace"},
                                               {"--drain-file", "/run/drain", "--drain-file"},
                                               {"--journal", "j.jsonl", "--journal"},
                                               {"--no-progress", "1", "--no-progress"}};
  CHECK_THROWS_WITH(
      make(sound, {}, {{"--virtual-local-rank", "1", "--virtual-local-rank"}}),
      elastic::test::contains_text("virtual_local_rank = false contradicts --virtual-local-rank"));
  const job_of_roles job = make(sound, {}, outer);
  CHECK(job.program.trace == "t.json");
  CHECK(job.program.drain_file == "/run/drain");
  CHECK(job.options.journal == "j.jsonl");
  CHECK(make("trace = \"t.json\"\n" + sound).program.trace == "t.json");
  CHECK(make("journal = \"a\"\n" + sound, {}, outer).options.journal == "a");
  // The keys of a file that was printed are in the order of their names.
  const std::string understood = text_of(parse(text_of(parse(sound, {}, outer))));
  CHECK(text_of(parse(understood)) == understood);
  CHECK_THAT(understood, elastic::test::contains_text("trace = \"t.json\"\n"));
}

TEST_CASE("job file: each role takes of the job what is for it", "[program][roles]") {
  const std::string text = R"(
warm_standby = true
diagnose = true
stall_after = 60
merge_output = true
[role.trainer]
command = ["-m", "train"]
chaos = "kill=rank:1@20s"
[role.reward]
command = ["--no-python", "true"]
merge_output = false
[role.rollout]
command = ["-m", "serve"]
processes_per_node = 2
log_format = "json"
stops_with = "trainer"
)";
  const job_file file = parse(text);
  using options = std::vector<std::string>;
  CHECK(file.roles[0].options ==
        options{"--diagnose", "--merge-output", "--stall-after=60", "--warm-standby",
                "--chaos=kill=rank:1@20s"});
  CHECK(file.roles[1].options == options{"--diagnose", "--stall-after=60"});
  CHECK(file.roles[2].options ==
        options{"--diagnose", "--merge-output", "--log-format=json", "--nproc-per-node=2"});
  const job_of_roles job = make_job(file, facts());
  REQUIRE(job.configs.size() == 3);
  CHECK(elastic::detail::to_text(job.configs[0].chaos) == "kill=rank:1@20s");
  CHECK(job.configs[1].chaos.empty());
  // Lines that are JSON objects all differ.
  CHECK(job.configs[0].merges_output);
  CHECK_FALSE(job.configs[1].merges_output);
  const std::string understood = text_of(parse(text_of(file)));
  CHECK(text_of(parse(understood)) == understood);
}

TEST_CASE("job file: what a role cannot have is refused with its reason", "[program][roles]") {
  using elastic::test::contains_text;
  const auto setting = [](const std::string& text) { make(sound, {text}); };
  CHECK_THROWS_WITH(setting("trainer.warm_standby=true"),
                    contains_text("--warm-standby and --no-python exclude each other"));
  CHECK_THROWS_WITH(setting("trainer.stall_after=9"),
                    contains_text("role 'trainer': --stall-after is allowed only with --diagnose"));
  CHECK_THROWS_WITH(setting("trainer.chaos=kill=rank"), contains_text("--set trainer.chaos: "));
  const std::string replicas = R"([role.server]
command = ["--no-python", "true"]
processes_per_node = 2
)";
  CHECK_THROWS_WITH(make(replicas + "chaos = \"kill=rank:0@1s,kill=node:0@1s\"\n"),
                    contains_text("role 'server': chaos kill=node:0@1s: the nodes of replicas have "
                                  "no ranks"));
  CHECK_NOTHROW(make(replicas + "chaos = \"kill=rank:1@1s\"\n"));
  CHECK_THROWS_WITH(make(replicas + "warm_standby = true\n"),
                    contains_text("warm_standby needs workers with a world"));
}

TEST_CASE("job file: its fingerprint is that of its values, however it is laid out",
          "[program][roles]") {
  const std::string base = "name = \"a\"\n[role.x]\ncommand = [\"x.py\"]\nmax_restarts = 1\n";
  const auto of = [](const std::string& text) { return parse(text).fingerprint; };
  CHECK(of(base) == of("# more\nname   = 'a'\nrole = {x = {max_restarts = 1, command = [ "
                       "\"x.py\" ]}}\n"));
  CHECK(parse(base, {"x.max_restarts=7"}).fingerprint == of(base));
  const auto parts_that_differ = [&](const std::string& text) {
    std::istringstream left(of(base));
    std::istringstream right(of(text));
    std::string differing;
    for (std::string mine, other; left >> mine && right >> other;) {
      if (mine != other) differing += other.substr(0, other.find('=')) + " ";
    }
    return differing;
  };
  CHECK(parts_that_differ(base) == "");
  CHECK(parts_that_differ("name = \"b\"\n[role.x]\ncommand = [\"x.py\"]\nmax_restarts = 1\n") ==
        "name ");
  for (const char* role :
       {"command = [\"x.py\"]\nmax_restarts = 2", "command = [\"x.py\"]",
        "command = [\"x.py\", \"\"]\nmax_restarts = 1",
        "command = [\"x.p\", \"y\"]\nmax_restarts = 1",
        "command = [\"x.py\"]\nmax_restarts = \"1\""}) {
    CAPTURE(role);
    CHECK(parts_that_differ(std::string("name = \"a\"\n[role.x]\n") + role + "\n") == "role.x ");
  }
}

TEST_CASE("job file: roles that meet others compare it", "[program][roles]") {
  const std::string text = R"(nodes = 2
[role.trainer]
command = ["--no-python", "true"]
[role.eval]
command = ["--no-python", "true"]
nodes = 1
[role.rollout]
command = ["--no-python", "true"]
processes_per_node = 1
stops_with = "trainer"
)";
  const std::vector<command_line_option> outer{{"--rdzv-backend", "c10d", "--rdzv-backend"},
                                               {"--rdzv-endpoint", "host0", "--rdzv-endpoint"}};
  const job_of_roles job = make(text, {}, outer);
  const auto conf_of = [&](std::size_t role) {
    return job.options.roles[role].config.rendezvous.conf;
  };
  CHECK(conf_of(0).at("fingerprint") == parse(text).fingerprint);
  CHECK(conf_of(2).count("fingerprint") == 0);
  CHECK(make(sound).options.roles[0].config.rendezvous.conf.count("fingerprint") == 0);
}

TEST_CASE("job file: a role can be ready by its port", "[program][roles]") {
  const std::string text = R"(
[role.server]
command = ["--no-python", "true", "${port.http}"]
readiness = "port.http"
)";
  const elastic::role server = make(text).options.roles[0];
  CHECK(server.ready_at == role_readiness::port);
  CHECK(server.ready_port == "http");
  const std::string understood = text_of(parse(text));
  CHECK_THAT(understood, elastic::test::contains_text("readiness = \"port.http\"\n"));
  CHECK(text_of(parse(understood)) == understood);
  CHECK_THROWS_WITH(make(text, {"server.readiness=port.rpc"}),
                    elastic::test::contains_text("there is no ${port.rpc} in its command"));
  CHECK_THROWS_WITH(make(text, {"server.readiness=port."}),
                    elastic::test::contains_text("must be progress, start or port.NAME"));
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

TEST_CASE("job file: a role of several nodes needs a rendezvous that ranks them",
          "[program][roles]") {
  const std::string text = "[role.trainer]\ncommand = [\"--no-python\", \"true\"]\n";
  const char* const sentence =
      "role 'trainer' runs on several nodes, which the rendezvous backend 'static' cannot rank: "
      "choose --rdzv-backend c10d, etcd or file";
  CHECK_THROWS_WITH(make("nodes = 2\n" + text), sentence);
  CHECK_THROWS_WITH(make(text, {}, {{"--nnodes", "2", "--nnodes"},
                                    {"--rdzv-backend", "static", "--rdzv-backend"}}),
                    sentence);
  CHECK_NOTHROW(make("rdzv_backend = \"static\"\n" + text));
  CHECK_NOTHROW(make("nodes = 2\n" + text, {},
                     {{"--rdzv-backend", "c10d", "--rdzv-backend"},
                      {"--rdzv-endpoint", "host0", "--rdzv-endpoint"}}));
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

TEST_CASE("job file: a warning about the Python of all roles appears once", "[program][roles]") {
  elastic::command_line::facts with_warning = facts();
  with_warning.python_warning = "another Python";
  const job_of_roles job = make_job(parse("[role.trainer]\ncommand = [\"-m\", \"train\"]\n"
                                          "[role.rollout]\ncommand = [\"-m\", \"serve\"]\n"),
                                    with_warning);
  CHECK(job.warnings == std::vector<std::string>{"another Python"});
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
      {"role = 3", "jobs/job1.toml:1: role: must be a table such as [role.trainer]"},
      {"[role]\ntrainer = 3", "jobs/job1.toml:2: role.trainer: must be a table"},
      {"name = ", "jobs/job1.toml:1: not valid TOML: "},
      {with("name = \"grpo\"", "name = 7"), "jobs/job1.toml:1: name: must be a non-empty string"},
      {with("restarts = 2", "restarts = -1"),
       "jobs/job1.toml:2: restarts: must be a whole number from 0 to "},
      {with("virtual_local_rank = false", "processes_per_node = 2\nnproc_per_node = 2"),
       "jobs/job1.toml:19: nproc_per_node needs workers with a world, and replicas "
       "(processes_per_node) have none"},
      {with("virtual_local_rank = false", "processes_per_node = 2\nnode_check = \"true\""),
       "jobs/job1.toml:19: node_check needs workers with a world, and replicas "
       "(processes_per_node) have none"},
      {with("virtual_local_rank = false", "processes_per_node = \"many\""),
       "jobs/job1.toml:18: processes_per_node"},
      {with("log_dir =", "log_dri ="),
       "jobs/job1.toml:3: unknown key 'log_dri'; did you mean 'log_dir'?"},
      {with("nproc_per_node", "nproc_pre_node"),
       "jobs/job1.toml:8: unknown key 'nproc_pre_node'; did you mean 'nproc_per_node'?"},
      {with("nproc_per_node = 4", "rdzv_endpoint = 'h'"),
       "jobs/job1.toml:8: unknown key 'rdzv_endpoint': it is a key of the job, not of a role"},
      {with("nproc_per_node = 4", "status = '8080'"), "jobs/job1.toml:8: unknown key 'status'"},
      {with("nproc_per_node = 4", "nproc_per_node = 'many'"),
       "jobs/job1.toml:8: nproc_per_node 'many': "},
      {with("nproc_per_node = 4", "nproc_per_node = { a = 1 }"),
       "jobs/job1.toml:8: nproc_per_node: must be a string, a number or a list of these"},
      {with("env = { NCCL_DEBUG = \"INFO\", SEED = 7 }", "env = [\"A=1\", \"B=2\"]"),
       "jobs/job1.toml:9: env: must be a table such as { NAME = \"value\" }"},
      {with("SEED = 7", "\"SEED=7\" = 8"),
       "jobs/job1.toml:9: env: 'SEED=7' cannot be the name of a variable"},
      {with("SEED = 7", "\"\" = 8"), "jobs/job1.toml:9: env: '' cannot be the name of a variable"},
      {with("virtual_local_rank = false", "virtual_local_rank = 'yes'"),
       "jobs/job1.toml:18: virtual_local_rank: must be true or false"},
      {with(trainer, "command = \"train.py\""),
       "jobs/job1.toml:7: command: must be a list of strings"},
      {with(trainer, "command = [\"train.py\", 3]"),
       "jobs/job1.toml:7: command: must be a list of strings"},
      {with(trainer, "command = [\"--standalone\", \"train.py\"]"),
       "jobs/job1.toml:7: command: must be a script, or -m and a module, or --no-python and a "
       "program"},
      {with(trainer, "command = []"), "jobs/job1.toml:7: command: must be a script"},
      {with(trainer, ""), "jobs/job1.toml:6: role 'trainer' has no command"},
      {with(trainer, "command = [\"/no/such/train.py\"]"),
       "role 'trainer': the script '/no/such/train.py' does not exist"},
      {with("\"replace\"", "\"retry\""),
       "jobs/job1.toml:14: on_failure 'retry': the policies are fail-job, restart-role, replace, "
       "restart-worker, restart-job, ignore"},
      {with("data:success", "data"),
       "jobs/job1.toml:15: starts_after 'data': the form is ROLE:ready or ROLE:success"},
      {with("readiness = \"start\"", "readiness = \"port\""),
       "jobs/job1.toml:17: readiness 'port': must be progress, start or port.NAME"},
      {with("stops_with = \"trainer\"", "stops_with = \"trianer\""),
       "role 'rollout' stops with 'trianer', which is not a role of the job (did you mean "
       "'trainer'?)"},
      {with("[role.trainer]", "[role.\"tr/ainer\"]"), "role 'tr/ainer': a name is 1 to 64 letters"},
      {with("[role.trainer]", "[role.rollout]"), "jobs/job1.toml:12: not valid TOML: "},
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
                    contains_text("--set trainer.on_failure: on_failure 'retry': the policies "));
  CHECK_THROWS_WITH(setting("rollout.command=[\"x\", \"${port.}\"]"),
                    contains_text("--set rollout.command: command: '${port.}': the form"));
  CHECK_THROWS_WITH(setting("nproc=3"), contains_text("--set nproc: unknown key 'nproc'"));
  const auto option = [](command_line_option given) { make(sound, {}, {std::move(given)}); };
  for (const auto& [name, text, source, sentence] :
       std::vector<std::tuple<std::string, std::string, std::string, std::string>>{
           {"--chaos", "random=1@20s", "PET_CHAOS",
            "PET_CHAOS and --job exclude each other: its ranks are those of one role: set chaos in "
            "the table of that role, or use --set ROLE.chaos=PLAN"},
           {"--on-failure", "replace", "--on-failure",
            "--on-failure and --job exclude each other: each role has its own policy: set "
            "on_failure in the file, or use --set ROLE.on_failure=POLICY"},
           {"--rdzv-id", "7", "--rdzv-id", "or use --set name=NAME"},
           {"--role", "a", "--role", "the name of its table"},
           {"--no-python", "1", "--no-python", "the file has the command of each role"},
           {"--node-rank", "1", "--node-rank", "assigns node ranks: use c10d, etcd or file"},
           {"--master-port", "1", "--master-port", "--rdzv-endpoint"},
           {"--start-method", "spawn", "--start-method", "a process of its own"}}) {
    CAPTURE(name);
    CHECK_THROWS_WITH(option({name, text, source}), contains_text(sentence));
  }
  CHECK_THROWS_WITH(make("on_failure = \"replace\"\n" + sound),
                    contains_text("unknown key 'on_failure': it is a key of a role, not of the "
                                  "job"));
  CHECK_THROWS_WITH(make("chaos = \"kill=rank:0@1s\"\n" + sound),
                    contains_text("unknown key 'chaos': it is a key of a role, not of the job"));
  CHECK_THROWS_WITH(setting("trainer.trace=x.json"),
                    contains_text("unknown key 'trace': it is a key of the job, not of a role"));
  CHECK_THROWS_WITH(
      option({"--nproc-per-node", "2", "--nproc-per-node"}),
      contains_text("jobs/job1.toml:8: nproc_per_node = 4 contradicts --nproc-per-node 2: "
                    "leave one of them out, or override the file by --set"));
  CHECK_NOTHROW(option({"--nproc-per-node", "4", "--nproc-per-node"}));
  // Against the command line, another --set is no help.
  CHECK_THROWS_WITH(make(sound, {"trainer.nproc_per_node=3"},
                         {{"--nproc-per-node", "2", "--nproc-per-node"}}),
                    Catch::EndsWith("--set trainer.nproc_per_node: nproc_per_node = 3 contradicts "
                                    "--nproc-per-node 2: leave one of them out"));
  CHECK_NOTHROW(make(sound, {"trainer.nproc_per_node=2"},
                     {{"--nproc-per-node", "2", "--nproc-per-node"}}));
}

TEST_CASE("job file: a key of too many parts is refused, and texts and comments are no keys",
          "[program][roles]") {
  const auto parts = [](int count) {
    std::string key = "a";
    for (int i = 1; i < count; ++i) key += i % 2 == 0 ? ".a" : " . \"a.#\"";
    return key;
  };
  constexpr int many = 100'000;  // which the parser would nest until its stack is used up
  const std::string refusal = "a key has more than 16 parts";
  CHECK_THROWS_WITH(parse(sound + parts(many) + " = 1"),
                    Catch::Equals("jobs/job1.toml:25: " + refusal));
  CHECK_THROWS_WITH(parse("[" + parts(many) + "]"), Catch::Equals("jobs/job1.toml:1: " + refusal));
  CHECK_THROWS_WITH(parse("text = \"\"\"\n\"\"\"\nx = { y = 'z', " + parts(many) + " = 1 }"),
                    Catch::Equals("jobs/job1.toml:3: " + refusal));
  CHECK_THROWS_WITH(parse(parts(17) + " = 1"), elastic::test::contains_text(refusal));
  CHECK_THROWS_WITH(parse(parts(16) + " = 1"), elastic::test::contains_text("unknown key 'a'"));

  const std::string dots(64, '.');
  const std::vector<std::string> texts{"\"\\\"" + dots + "\"", "'" + dots + "\\'",
                                       "\"\"\"\n\"" + dots + "\\\"\"\"\"",
                                       "'''\n'" + dots + "'''"};
  for (const std::string& text : texts) {
    CAPTURE(text);
    CHECK_NOTHROW(parse("# it's " + dots + "\n" + sound + "env = { A = " + text + " } # " + dots));
  }
  CHECK_NOTHROW(parse(sound, {"trainer.env={ A = \"" + dots + "\" }"}));
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
