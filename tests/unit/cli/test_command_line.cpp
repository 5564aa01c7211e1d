// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/version.hpp>
#include <elastic/cli/command_line.hpp>
#include <elastic/cli/detail/option_row.hpp>
#include <elastic/cli/io_choice.hpp>
#include <elastic/launch/launcher.hpp>
#include <support/catch.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace {

namespace command_line_test {

using elastic::environment_map;
using elastic::program_config;
using arguments = std::vector<std::string>;
using settings = decltype(elastic::rendezvous_parameters::conf);

auto parse(const arguments& words, environment_map environment = {}, int accelerators = 0) {
  elastic::command_line::facts facts;
  facts.environment = std::move(environment);
  facts.processors = 6;
  facts.accelerators = accelerators;
  facts.commands = {{"explain", "LOGDIR", "Tell the story of a run."}};
  facts.offers_debugger = true;
  facts.injects_faults = true;
  facts.reads_job_files = true;
  return elastic::parse_command_line(words, facts);
}

std::string text_of(const arguments& words) {
  std::string text;
  for (const std::string& word : words) text += "[" + word + "]";
  return text;
}

elastic::command_line command_line_of(const arguments& words, environment_map environment = {},
                                      int accelerators = 0) {
  auto outcome = parse(words, std::move(environment), accelerators);
  if (const auto* exit = std::get_if<elastic::early_exit>(&outcome)) {
    FAIL(text_of(words) << " was refused: " << exit->text);
  }
  return std::get<elastic::command_line>(std::move(outcome));
}

program_config config_of(const arguments& words, environment_map environment = {},
                         int accelerators = 0) {
  return command_line_of(words, std::move(environment), accelerators).config;
}

elastic::early_exit early_exit_of(const arguments& words, environment_map environment = {}) {
  auto outcome = parse(words, std::move(environment));
  if (!std::holds_alternative<elastic::early_exit>(outcome)) {
    FAIL(text_of(words) << " was accepted");
  }
  return std::get<elastic::early_exit>(std::move(outcome));
}

/// The sentence of a refusal: one line on stderr, exit code 2.
std::string refusal_of(const arguments& words, environment_map environment = {}) {
  INFO(text_of(words));
  const auto exit = early_exit_of(words, std::move(environment));
  CHECK(exit.code == 2);
  CHECK(exit.to_stderr);
  const std::string start = "elasticrun: error: ";
  CHECK(exit.text.starts_with(start));
  CHECK(std::count(exit.text.begin(), exit.text.end(), '\n') == 1);
  CHECK(exit.text.ends_with("\n"));
  return exit.text.substr(start.size());
}

// A field of the configuration, by the member of the part that holds it.
template <class T>
T field(const program_config& config, T program_config::* member) {
  return config.*member;
}
template <class T>
T field(const program_config& config, T elastic::program_options::* member) {
  return config.program.*member;
}
template <class T>
T field(const program_config& config, T elastic::launch_config::* member) {
  return config.job.*member;
}
template <class T>
T field(const program_config& config, T elastic::worker_spec::* member) {
  return config.job.workers.*member;
}
template <class T>
T field(const program_config& config, T elastic::liveness_settings::* member) {
  return config.job.workers.liveness.*member;
}
template <class T>
T field(const program_config& config, T elastic::warm_standby::* member) {
  return config.standby.*member;
}
template <class T>
T field(const program_config& config, T elastic::rendezvous_parameters::* member) {
  return config.job.rendezvous.*member;
}
template <class T>
T field(const program_config& config, T elastic::rendezvous_settings::* member) {
  return config.job.rendezvous.*member;
}

/// Arguments before a script.
arguments with_script(arguments options) {
  options.push_back("train.py");
  return options;
}

struct refusal_row {
  arguments words;
  std::string message;
};

void check_refusals(const std::vector<refusal_row>& rows, const environment_map& environment = {}) {
  for (const refusal_row& row : rows) {
    CHECK_THAT(refusal_of(row.words, environment), elastic::test::contains_text(row.message));
  }
}

TEST_CASE("command line: messages about a setting name its option", "[cli]") {
  const elastic::launch_config job = config_of({"train.py"}).job;
  const std::vector<std::pair<std::string, std::string>> of_the_rendezvous = {
      {"endpoint", "--rdzv-endpoint"}, {"exclude_for", "--exclude-for"},
      {"local_addr", "--local-addr"},  {"max_nodes", "--nnodes"},
      {"min_nodes", "--nnodes"},       {"node_counts", "--nnodes"},
      {"node_name", "--node-name"},    {"node_rank", "--node-rank"},
      {"run_id", "--rdzv-id"},         {"conf", "--rdzv-conf"},
      {"scale_up_delay", "--scale-up-delay"}};
  for (const auto& [setting, option] : of_the_rendezvous) {
    CHECK(job.rendezvous.name_of(setting) == option);
    CHECK(elastic::detail::option_named(option).long_name() == option);
  }
  CHECK(job.rendezvous.name_of("join_timeout") == "--rdzv-conf join_timeout");
  CHECK(job.rendezvous.name_of("secret_file") == "--rdzv-conf secret_file");
  for (const std::string field :
       {"cpu_affinity", "env", "exit_barrier_timeout", "hang_hook", "linger",
        "liveness.learn_timeouts", "max_restarts", "monitor_interval", "node_check",
        "nproc_per_node", "on_failure", "preempt_grace", "rejoin_timeout", "restart.while_progress",
        "role", "shutdown_timeout", "wrap"}) {
    const std::string option = job.workers.name_of(field);
    CHECK(elastic::detail::option_named(option).long_name() == option);
  }
  CHECK(job.workers.name_of("restart.while_progress") == "--restart-while-progress");
}

}  // namespace command_line_test

namespace t = command_line_test;

TEST_CASE("command_line: a script alone runs once, by itself", "[cli]") {
  const auto config = t::config_of({"train.py"});
  CHECK(config.job.workers.program == "python3");
  CHECK(config.job.workers.arguments == t::arguments{"-u", "train.py"});
  CHECK(config.script == "train.py");
  CHECK(config.job.rendezvous.min_nodes == 1);
  CHECK(config.job.rendezvous.max_nodes == 1);
  CHECK(config.job.workers.nproc_per_node == 1);
  CHECK(config.job.workers.role == "default");
  CHECK(config.job.standalone);
  CHECK(config.job.rendezvous.run_id.empty());
  CHECK(config.job.workers.max_restarts == 0);
  CHECK(config.job.workers.shutdown_timeout == std::chrono::seconds(30));
  CHECK(config.job.workers.preempt_grace == std::chrono::seconds(0));
  CHECK(config.job.workers.liveness.heartbeat_timeout == std::chrono::seconds(0));
  CHECK(config.job.workers.liveness.first_heartbeat_timeout == std::chrono::seconds(0));
  CHECK(config.job.workers.liveness.learn_timeouts == 0);
  CHECK(config.job.workers.hang_hook.command.empty());
  CHECK(config.job.workers.hang_hook.timeout == std::chrono::seconds(10));
  CHECK(config.job.guard == elastic::guard_policy::best_effort);
  CHECK(config.job.guard_file.empty());
  CHECK(config.job.workers.log_dir.empty());
  CHECK(config.job.workers.redirects == elastic::stream_selection());
  CHECK(config.job.workers.tee == elastic::stream_selection());
  CHECK(config.job.workers.log_line_prefix_template.empty());
  CHECK(config.job.event_log_handler == "null");
  CHECK(config.job.rendezvous.local_addr.empty());
}

TEST_CASE("command_line: each option reaches its field", "[cli]") {
  using elastic::std_streams;
  using std::chrono::milliseconds;
  const auto field_is = [](auto member, auto value) {
    return std::function<bool(const t::program_config&)>(
        [=](const t::program_config& config) { return t::field(config, member) == value; });
  };
  const auto command_is = [](elastic::shell_command elastic::worker_spec::* command, auto member,
                             auto value) {
    return std::function<bool(const t::program_config&)>([=](const t::program_config& config) {
      return config.job.workers.*command.*member == value;
    });
  };
  struct row {
    t::arguments words;
    std::function<bool(const t::program_config&)> holds;
  };
  using c = elastic::launch_config;
  using p = elastic::program_options;
  using w = elastic::worker_spec;
  using r = elastic::rendezvous_parameters;
  using l = elastic::liveness_settings;
  using x = elastic::shell_command;
  using s = elastic::warm_standby;
  const std::vector<row> rows = {
      {{"--nnodes", "3"}, field_is(&r::min_nodes, 3)},
      {{"--nnodes", "3"}, field_is(&r::max_nodes, 3)},
      {{"--nnodes", "2:4", "--rdzv-backend", "c10d"}, field_is(&r::min_nodes, 2)},
      {{"--nnodes", "2:4", "--rdzv-backend", "c10d"}, field_is(&r::max_nodes, 4)},
      {{"--nnodes", "2,4,8", "--rdzv-backend", "c10d"},
       field_is(&r::node_counts, std::vector<int>{2, 4, 8})},
      {{"--nnodes", "2,4,8", "--rdzv-backend", "c10d"}, field_is(&r::min_nodes, 2)},
      {{"--nnodes", "2,4,8", "--rdzv-backend", "c10d"}, field_is(&r::max_nodes, 8)},
      {{"--nnodes", "2,4,8", "--rdzv-backend", "c10d", "--nnodes", "3"},
       field_is(&r::node_counts, std::vector<int>{})},
      {{"--scale-up-delay", "0.5"}, field_is(&r::scale_up_delay, milliseconds(500))},
      {{"--nproc-per-node", "8"}, field_is(&w::nproc_per_node, 8)},
      {{"--nproc-per-node", "cpu"}, field_is(&w::nproc_per_node, 6)},
      {{"--role", "trainer"}, field_is(&w::role, std::string("trainer"))},
      {{"--standalone"}, field_is(&c::standalone, true)},
      {{"--rdzv-backend", "c10d"}, field_is(&r::backend, std::string("c10d"))},
      {{"--rdzv-endpoint", "host0:29400"}, field_is(&r::endpoint, std::string("host0:29400"))},
      {{"--rdzv-endpoint", "host0"}, field_is(&r::endpoint, std::string("host0"))},
      {{"--rdzv-endpoint", "[::1]:1"}, field_is(&r::endpoint, std::string("[::1]:1"))},
      {{"--rdzv-id", "night"}, field_is(&r::run_id, std::string("night"))},
      {{"--rdzv-conf", "a=1, b = x=y ,a=2"},
       field_is(&r::conf, t::settings{{"a", "2"}, {"b", "x=y"}})},
      {{"--rdzv-conf", "  "}, field_is(&r::conf, t::settings{})},
      {{"--nnodes", "3", "--node-rank", "2"}, field_is(&r::node_rank, 2)},
      {{"--master-addr", "host0"}, field_is(&c::master_addr, std::string("host0"))},
      {{"--master-addr", "[::1]"}, field_is(&c::master_addr, std::string("::1"))},
      {{"--master-addr", "::1"}, field_is(&c::master_addr, std::string("::1"))},
      {{"--master-port", "1234"}, field_is(&c::master_port, std::uint16_t{1234})},
      {{"--master-port", "65535"}, field_is(&c::master_port, std::uint16_t{65535})},
      {{"--local-addr", "10.0.0.1"}, field_is(&r::local_addr, std::string("10.0.0.1"))},
      {{"--max-restarts", "3"}, field_is(&w::max_restarts, 3)},
      {{"--max-restarts", "2147483647"}, field_is(&w::max_restarts, 2147483647)},
      {{"--on-failure", "restart"}, field_is(&w::on_failure, elastic::failure_policy::restart)},
      {{"--on-failure", "replace"}, field_is(&w::on_failure, elastic::failure_policy::replace)},
      {{"--on-failure", "replace", "--rejoin-timeout", "2.5"},
       field_is(&w::rejoin_timeout, milliseconds(2500))},
      {{"--shutdown-timeout", "5"}, field_is(&w::shutdown_timeout, milliseconds(5000))},
      {{"--shutdown-timeout", "0.25"}, field_is(&w::shutdown_timeout, milliseconds(250))},
      {{"--shutdown-timeout", "0"}, field_is(&w::shutdown_timeout, milliseconds(0))},
      {{"--linger", "3600"}, field_is(&w::linger, milliseconds(3'600'000))},
      {{"--linger", "0"}, field_is(&w::linger, milliseconds(0))},
      {{"--signal-scope", "worker"}, field_is(&w::signal_scope, elastic::signal_scope::process)},
      {{"--signal-scope", "group"}, field_is(&w::signal_scope, elastic::signal_scope::group)},
      {{"--preempt-grace", "30"}, field_is(&w::preempt_grace, milliseconds(30'000))},
      {{"--heartbeat-timeout=0.5"}, field_is(&l::heartbeat_timeout, milliseconds(500))},
      {{"--first", "60"}, field_is(&l::first_heartbeat_timeout, milliseconds(60'000))},
      {{"--learn", "2.5"}, field_is(&l::learn_timeouts, 2.5)},
      {{"--learn-timeouts", "0"}, field_is(&l::learn_timeouts, 0.0)},
      {{"--hang-hook", "py-spy dump -p $ELASTIC_HUNG_PID"},
       command_is(&w::hang_hook, &x::command, std::string("py-spy dump -p $ELASTIC_HUNG_PID"))},
      {{"--node-check", "nvidia-smi"},
       command_is(&w::node_check, &x::command, std::string("nvidia-smi"))},
      {{"--node-check", "true", "--node-check-timeout", "0.5"},
       command_is(&w::node_check, &x::timeout, milliseconds(500))},
      {{"--drain-file", "/run/drain"}, field_is(&p::drain_file, std::string("/run/drain"))},
      {{"--warm-standby"}, field_is(&elastic::program_config::keeps_standbys, true)},
      {{"--warm-standby", "--preload", "torch, pandas.core"},
       field_is(&s::modules, t::arguments{"torch", "pandas.core"})},
      {{"--warm-standby", "--preload", "auto"}, field_is(&s::modules, t::arguments{})},
      {{"--warm-standby", "--standbys", "2"}, field_is(&s::count, std::size_t{2})},
      {{"--warm-standby", "--standby-delay", "0.5"}, field_is(&s::delay, milliseconds(500))},
      {{"--hang-hook-timeout", "0.5"}, command_is(&w::hang_hook, &x::timeout, milliseconds(500))},
      {{"--hang-hook-timeout", "3600"},
       command_is(&w::hang_hook, &x::timeout, milliseconds(3'600'000))},
      {{"--guard", "required"}, field_is(&c::guard, elastic::guard_policy::required)},
      {{"--guard=best-effort"}, field_is(&c::guard, elastic::guard_policy::best_effort)},
      {{"--guard", "none"}, field_is(&c::guard, elastic::guard_policy::none)},
      {{"--monitor-interval", "0.5"}, field_is(&w::monitor_interval, milliseconds(500))},
      {{"--monitor-interval", "0"}, field_is(&w::monitor_interval, milliseconds(1))},
      {{"--log-dir", "/logs"}, field_is(&w::log_dir, std::string("/logs"))},
      {{"--log-dir", ""}, field_is(&w::log_dir, std::string())},
      {{"--redirects", "3"}, field_is(&w::redirects, elastic::stream_selection(std_streams::both))},
      {{"-r", "0:1,1:2"}, field_is(&w::redirects, elastic::stream_selection::parse("0:1,1:2"))},
      {{"--tee", "1"}, field_is(&w::tee, elastic::stream_selection(std_streams::out))},
      {{"-t", "2"}, field_is(&w::tee, elastic::stream_selection(std_streams::err))},
      {{"--log-line-prefix-template", "${rank}| "},
       field_is(&w::log_line_prefix_template, std::string("${rank}| "))},
      {{"--event-log-handler", "console"}, field_is(&c::event_log_handler, std::string("console"))},
      {{"--logs-specs", "mine"}, field_is(&c::logs_specs, std::string("mine"))},
      {{"--run-path"}, field_is(&w::program, std::string("python3"))},
  };
  for (const row& entry : rows) {
    INFO(t::text_of(entry.words));
    CHECK(entry.holds(t::config_of(t::with_script(entry.words))));
  }
}

TEST_CASE("command_line: names with dashes or underscores are one option", "[cli]") {
  for (const char* name : {"--nproc-per-node", "--nproc_per_node", "--nproc_per-node"}) {
    CHECK(t::config_of({name, "4", "train.py"}).job.workers.nproc_per_node == 4);
    CHECK(t::config_of({std::string(name) + "=4", "train.py"}).job.workers.nproc_per_node == 4);
  }
  // In a value an underscore is an underscore.
  CHECK(t::config_of({"--role=a_b", "train.py"}).job.workers.role == "a_b");
}

TEST_CASE("command_line: a name may be shortened while it is unique", "[cli]") {
  CHECK(t::config_of({"--nproc", "4", "train.py"}).job.workers.nproc_per_node == 4);
  CHECK(t::config_of({"--max", "4", "train.py"}).job.workers.max_restarts == 4);
  CHECK(t::config_of({"--te=3", "train.py"}).job.workers.tee.of(0) == elastic::std_streams::both);
  // The whole name of one option counts, also if it begins another's.
  CHECK(t::config_of({"--role", "r", "train.py"}).job.workers.role == "r");
  t::check_refusals({
      {{"--log", "x", "train.py"}, "--log-dir, --log-line-prefix-template"},
      {{"--n", "2", "train.py"}, "--nnodes"},
      {{"--rdzv", "x", "train.py"}, "'--rdzv' is ambiguous"},
      {{"--local", "x", "train.py"}, "--local-addr, --local-ranks-filter"},
  });
}

TEST_CASE("command_line: short options stand alone, with their value, or in a row", "[cli]") {
  using elastic::std_streams;
  CHECK(t::config_of({"-t3", "train.py"}).job.workers.tee.of(0) == std_streams::both);
  CHECK(t::config_of({"-t", "3", "train.py"}).job.workers.tee.of(0) == std_streams::both);
  CHECK(t::config_of({"-t=3", "train.py"}).job.workers.tee.of(0) == std_streams::both);
  CHECK(t::config_of({"-r0:3,1:0", "train.py"}).job.workers.redirects.of(0) == std_streams::both);
  for (const t::arguments& words : {t::arguments{"-mt", "3", "mod"}, t::arguments{"-mt3", "mod"},
                                    t::arguments{"-m", "-t", "3", "mod"}}) {
    const auto config = t::config_of(words);
    CHECK(config.job.workers.tee.of(0) == std_streams::both);
    CHECK(config.job.workers.arguments == t::arguments{"-u", "-m", "mod"});
  }
}

TEST_CASE("command_line: the last of a repeated option counts", "[cli]") {
  CHECK(t::config_of({"--role", "a", "--role=b", "train.py"}).job.workers.role == "b");
  CHECK(t::config_of({"-t1", "--tee", "2", "train.py"}).job.workers.tee.of(0) ==
        elastic::std_streams::err);
  CHECK(t::config_of({"--max-restarts", "-1", "--max-restarts", "1", "train.py"})
            .job.workers.max_restarts == 1);
  CHECK(t::config_of({"--standalone", "--standalone", "train.py"}).job.standalone);
}

TEST_CASE("command_line: what follows the script is the script's", "[cli]") {
  const t::arguments script_arguments = {"--nnodes", "9",      "-m", "--",
                                         "-x",       "--help", "",   "${local_rank}"};
  t::arguments words = {"--nproc-per-node", "2", "train.py"};
  words.insert(words.end(), script_arguments.begin(), script_arguments.end());
  t::arguments expected = {"-u", "train.py"};
  expected.insert(expected.end(), script_arguments.begin(), script_arguments.end());
  CHECK(t::config_of(words).job.workers.arguments == expected);
  CHECK(t::config_of(words).job.rendezvous.max_nodes == 1);
}

TEST_CASE("command_line: -- ends the options, and what follows is the script", "[cli]") {
  CHECK(t::config_of({"--role", "r", "--", "train.py", "--", "a"}).job.workers.arguments ==
        t::arguments{"-u", "train.py", "--", "a"});
  CHECK(t::config_of({"--", "-odd.py"}).script == "-odd.py");
  CHECK(t::config_of({"-", "a"}).script == "-");
}

TEST_CASE("command_line: a value may be empty or look like an option", "[cli]") {
  CHECK(t::config_of({"--role=", "train.py"}).job.workers.role.empty());
  CHECK(t::config_of({"--role", "", "train.py"}).job.workers.role.empty());
  CHECK(t::config_of({"--role", "-x", "train.py"}).job.workers.role == "-x");
  CHECK(t::config_of({"--role", "--odd", "train.py"}).job.workers.role == "--odd");
  CHECK(t::config_of({"--role=--standalone", "train.py"}).job.workers.role == "--standalone");
  CHECK(t::config_of({"--role", "a=b", "train.py"}).job.workers.role == "a=b");
  for (const char* text : {"[a,b]", "{}", "%%", "'q'", "\"q\"", "a b", "a,b", "--=", "#"}) {
    CHECK(t::config_of({"--role", text, "train.py"}).job.workers.role == text);
  }
  t::check_refusals({
      {{"--role", "--standalone", "train.py"}, "--role needs a value"},
      {{"--role", "-m", "train.py"}, "--role needs a value"},
      {{"--role", "--", "train.py"}, "--role needs a value"},
      {{"--role"}, "--role needs a value"},
      {{"-t"}, "-t needs a value"},
      {{"-mt"}, "-t needs a value"},
  });
}

TEST_CASE("command_line: a flag takes no value", "[cli]") {
  t::check_refusals({
      {{"--standalone=0", "train.py"}, "--standalone takes no value"},
      {{"--standalone=", "train.py"}, "--standalone takes no value"},
      {{"-m=1", "train.py"}, "-m takes no value"},
  });
}

TEST_CASE("command_line: unknown options are refused, with the one that is near", "[cli]") {
  t::check_refusals({
      {{"--nonsense", "train.py"}, "unknown option '--nonsense'; see --help"},
      {{"--nproc-per-nodes", "2", "train.py"}, "did you mean --nproc-per-node?"},
      {{"--nproc_per_nodes=2", "train.py"}, "did you mean --nproc-per-node?"},
      {{"--stand-alone", "train.py"}, "did you mean --standalone?"},
      {{"--max-restrats", "1", "train.py"}, "did you mean --max-restarts?"},
      {{"-standalone", "train.py"}, "did you mean --standalone?"},
      {{"-nnodes=2", "train.py"}, "did you mean --nnodes?"},
      {{"-x", "train.py"}, "unknown option '-x'; see"},
      {{"-mx", "train.py"}, "unknown option '-x' in '-mx'"},
      {{"-1", "train.py"}, "unknown option '-1'"},
      {{"--=3", "train.py"}, "is ambiguous"},
      {{"---role", "x", "train.py"}, "unknown option '---role'"},
      {{"--\n\x1b[2J", "train.py"}, "'--\\x0a\\x1b[2J'"},
  });
}

TEST_CASE("command_line: options of other launchers are refused with what to do instead",
          "[cli]") {
  t::check_refusals({
      {{"--num_processes", "8", "a.py"}, "'--num_processes'; use --nproc-per-node, the number of"},
      {{"--num-processes=8", "a.py"}, "accelerate's is that of all nodes together"},
      {{"--num_machines", "2", "a.py"}, "unknown option '--num_machines'; use --nnodes"},
      {{"--machine_rank", "0", "a.py"}, "use --node-rank, or --rdzv-endpoint"},
      {{"--main_process_ip", "a", "a.py"}, "use --master-addr, or --rdzv-endpoint"},
      {{"--main_process_port", "1", "a.py"}, "use --master-port, or --rdzv-endpoint"},
      {{"--multi_gpu", "a.py"}, "leave it out: --nproc-per-node gpu"},
      {{"--mixed_precision", "bf16", "a.py"}, "give this one to Accelerator in the script"},
      {{"--config_file", "f", "a.py"}, "elasticrun reads no configuration of accelerate"},
      {{"--num_gpus", "8", "a.py"}, "unknown option '--num_gpus'; use --nproc-per-node"},
      {{"--num_nodes", "2", "a.py"}, "unknown option '--num_nodes'; use --nnodes"},
      {{"--hostfile", "f", "a.py"}, "start elasticrun on each host, with --nnodes"},
      {{"--include", "a@b:0", "a.py"}, "start elasticrun on each host"},
      {{"--min_elastic_nodes", "2", "a.py"}, "use --nnodes MIN:MAX"},
  });
}

TEST_CASE("command_line: --env refuses a field that does not exist", "[cli]") {
  t::check_refusals({
      {{"--env", "A=${rnk}", "a.py"},
       "--env 'A=${rnk}': there is no field ${rnk} (did you mean ${rank}?); the fields are "
       "${local_rank}, ${local_world_size}, ${master_addr}, ${master_port}, ${node_rank}, ${rank}, "
       "${role_name} and ${world_size}, and $$ means a $"},
      {{"--env", "A=x${rank}-${localrank}", "a.py"}, "did you mean ${local_rank}?"},
      {{"--env", "A=${HOME}", "a.py"}, "there is no field ${HOME}; the fields are"},
  });
  // What is not a field of braces goes to the worker as it is.
  for (const char* value : {"A=$HOME", "A=$${HOME}", "A=${", "A=${}", "A=$5", "A=${rank}$rank"}) {
    CAPTURE(value);
    CHECK(t::config_of({"--env", value, "a.py"}).job.workers.env.size() == 1);
  }
}

TEST_CASE("command_line: --wire names what the workers get besides torchrun's variables", "[cli]") {
  using kinds = std::set<elastic::wire_up>;
  CHECK(t::config_of({"a.py"}).wire.kinds.empty());
  CHECK(t::config_of({"--wire", "jax,tf", "a.py"}).wire.kinds ==
        kinds{elastic::wire_up::jax, elastic::wire_up::tf});
  CHECK(t::config_of({"a.py"}, {{"PET_WIRE", "mpi"}}).wire.kinds == kinds{elastic::wire_up::mpi});
  const auto config = t::config_of({"--wire", "mpi", "--local-addr", "10.0.0.1", "a.py"});
  CHECK(config.wire.address == "10.0.0.1");
  t::check_refusals({
      {{"--wire", "jaxx", "a.py"}, "--wire 'jaxx': there is no wire-up 'jaxx' (did you mean jax?)"},
      {{"--wire", "", "a.py"}, "there is no wire-up ''; the wire-ups are jax, mpi and tf"},
      {{"--wire", "jax,mpi", "a.py"}, "the wire-ups jax and mpi exclude each other"},
      {{"--wire", "mpi", "--on-failure", "replace", "a.py"},
       "--wire mpi and --on-failure replace exclude each other: processes of an MPI program"},
      {{"--wire", "mpi", "--warm-standby", "a.py"},
       "--wire mpi and --warm-standby exclude each other: a standby cannot be given the socket"},
      {{"--wire", "jax", "--virtual-local-rank", "a.py"},
       "--wire jax and --virtual-local-rank exclude each other: JAX takes the GPU of its"},
  });
}

TEST_CASE("command_line: --vault-limit is a size or a part of the memory", "[cli]") {
  CHECK_FALSE(t::config_of({"a.py"}).vault.is_set());
  CHECK(t::config_of({"--vault-limit", "3G", "a.py"}).vault.limit_bytes == std::uint64_t{3} << 30);
  const auto part = t::config_of({"a.py"}, {{"PET_VAULT_LIMIT", "40%"}}).vault;
  CHECK(part.limit_percent == 40);
  CHECK(part.limit_bytes == 0);
  for (const char* value :
       {"", "0", "-1", "1k", "1.5G", "x", "%", "0%", "101%", "1.5%", "99999999999G"}) {
    CAPTURE(value);
    t::check_refusals({{{"--vault-limit", value, "a.py"}, "a size of 1M or more such as 64G"}});
  }
  t::check_refusals({
      {{"--vault-limit", "1G", "--nnodes", "2", "--rdzv-backend", "static", "a.py"},
       "--vault-limit and --rdzv-backend static exclude each other in jobs of several nodes"},
      {{"--vault-limit", "1G", "--nnodes", "2", "--rdzv-backend", "c10d", "--rdzv-conf",
        "dialect=2.6", "a.py"},
       "--vault-limit and --rdzv-conf dialect=2.6 exclude each other in jobs of several nodes"},
  });
}

TEST_CASE("command_line: --wrap is a command in front of workers", "[cli]") {
  const auto wrap = t::config_of({"--wrap", "nsys profile -o r${rank}", "--wrap-ranks", "0,8-15",
                                  "a.py"})
                        .job.workers.wrap;
  CHECK(wrap.command == "nsys profile -o r${rank}");
  for (const int rank : {0, 8, 15}) CHECK(wrap.is_for(rank));
  for (const int rank : {1, 7, 16}) CHECK_FALSE(wrap.is_for(rank));
  const auto of_all = t::config_of({"a.py"}, {{"PET_WRAP", "nice"}}).job.workers.wrap;
  CHECK(of_all.is_for(7));
  t::check_refusals({
      {{"--wrap", "", "a.py"}, "a command for the shell is needed"},
      {{"--wrap", "nsys -o ${rnk}", "a.py"}, "there is no field ${rnk} (did you mean ${rank}?)"},
      {{"--wrap-ranks", "0", "a.py"}, "--wrap-ranks is allowed only with --wrap"},
      {{"--wrap", "nice", "--warm-standby", "a.py"},
       "--warm-standby and --wrap exclude each other"},
  });
  for (const char* ranks : {"", "a", "1,", ",1", "-1", "3-1", "1-", "1-2-3", "1000000", "1 2"}) {
    CAPTURE(ranks);
    t::check_refusals({{{"--wrap", "nice", "--wrap-ranks", ranks, "a.py"},
                        "is not a list of ranks, such as 0,8-15"}});
  }
}

TEST_CASE("command_line: --debug-rank names one worker, and --debug-address where it waits",
          "[cli]") {
  const auto none = t::config_of({"a.py"}).debugger;
  CHECK_FALSE(none.rank);
  const auto usual = t::config_of({"--nproc-per-node", "4", "--debug-rank", "3", "a.py"}).debugger;
  CHECK(usual.rank == 3);
  CHECK(usual.host == "127.0.0.1");
  CHECK(usual.port == 0);
  struct row {
    const char* text;
    const char* host;
    int port;
  };
  const row rows[] = {
      {"10.0.0.1", "10.0.0.1", 0},          {"eth0:5678", "eth0", 5678},
      {"[fd00::1]:5678", "fd00::1", 5678},  {"10.1.0.0/16", "10.1.0.0/16", 0},
      {"10.1.0.0/16:5678", "10.1.0.0/16", 5678}, {"fd00::/64:5678", "fd00::/64", 5678},
  };
  for (const auto& [text, host, port] : rows) {
    CAPTURE(text);
    const auto plan = t::config_of({"--debug-rank", "0", "--debug-address", text, "a.py"}).debugger;
    CHECK(plan.host == host);
    CHECK(plan.port == port);
  }
  // With several nodes, the round decides which ranks there are.
  CHECK(t::config_of({"--nnodes", "2", "--debug-rank", "9", "a.py"}).debugger.rank == 9);
  t::check_refusals({
      {{"--debug-rank", "1", "a.py"},
       "--debug-rank '1': there is no such rank: the last one of the job is 0"},
      {{"--debug-rank", "-1", "a.py"}, "--debug-rank '-1': a rank from 0 to "},
      {{"--debug-rank", "one", "a.py"}, "--debug-rank 'one': a rank from 0 to "},
      {{"--debug-rank", "0", "--debug-rank", "1", "a.py"},
       "--debug-rank '1': one rank can be debugged, and 0 is named already"},
      {{"--debug-rank", "0", "--no-python", "sh"},
       "--debug-rank and --no-python exclude each other: debugpy debugs only Python"},
      {{"--debug-rank", "0", "--warm-standby", "a.py"},
       "--debug-rank and --warm-standby exclude each other"},
      {{"--debug-rank", "0", "--wrap", "nice", "a.py"},
       "--debug-rank and --wrap exclude each other: the command would be debugged"},
      {{"--debug-address", "10.0.0.1", "x"}, "--debug-address is allowed only with --debug-rank"},
      {{"--debug-rank", "0", "--debug-address", "", "a.py"},
       "--debug-address: an address is needed"},
      {{"--debug-rank", "0", "--debug-address", "eth0:x", "a.py"},
       "--debug-address: endpoint 'eth0:x': the port must be a number"},
  });
  const auto others =
      t::config_of({"--debug-rank", "0", "--nproc-per-node", "2", "--wrap", "nice", "--wrap-ranks",
                    "1", "a.py"});
  CHECK(others.debugger.rank == 0);
}

TEST_CASE("command_line: values out of bounds are refused with what is allowed", "[cli]") {
  const std::string range = "allowed is N, MIN:MAX with 1 <= MIN <= MAX";
  const std::string workers = "must be a number from 1 to 4096, cpu, gpu or auto";
  const std::string streams = "0:3,1:1 by local rank";
  std::vector<t::refusal_row> rows;
  const auto add = [&](const char* name, const t::arguments& values, const std::string& message) {
    for (const std::string& value : values) {
      rows.push_back({{name, value, "train.py"}, std::string(name)});
      rows.push_back({{name, value, "train.py"}, message});
    }
  };
  add("--nnodes", {"2,", ",2", "2,,4", "4,2", "2,2", "0,2", "2,100001", "2,4:8", "2, 4", "2,x"},
      "at most 64 ascending numbers of nodes from 1 to 100000 are needed, such as 2,4,8");
  add("--scale-up-delay", {"", "-1", "soon"}, "a number of seconds from 0 to 100000000 is needed");
  add("--nnodes",
      {"0", "-1", "2:1", "0:1", "a:b", "1:2:3", "1:", ":1", ":", "", "1.5", " 1", "1 ", "+1",
       "100001", "99999999999999999999", "1:100001"},
      range);
  add("--nproc-per-node", {"0", "-1", "many", "", "1.0", "4097", "CPU", "99999999999999999999"},
      workers);
  add("--nproc-per-node", {"gpu"}, "no GPU");
  add("--nproc-per-node", {"xpu"}, "not counted");
  add("--max-restarts", {"-1", "x", "", "1.0", "2147483648"},
      "a whole number from 0 to 2147483647 is needed");
  add("--node-rank", {"-1", "x", ""}, "a whole number from 0");
  add("--master-port", {"-1", "65536", "70000", "x", ""}, "a whole number from 0 to 65535");
  add("--learn-timeouts", {"", "x", "0.5", "-1", "nan", "inf", "1e7"},
      "must be 0 (nothing is learned) or a factor from 1");
  for (const char* name : {"--preempt-grace", "--heartbeat-timeout", "--first-heartbeat-timeout"}) {
    add(name, {"", "-1", "soon"}, "a number of seconds from 0 to 100000000 is needed");
  }
  add("--preload", {"", ",", "torch,", ",torch", "a b", "torch.", "9a", "torch,auto-x", "a:b"},
      "is not the name of a module: identifiers with dots between are allowed");
  add("--preload", {std::string(600, ',')}, "at most 256 are allowed");
  add("--standbys", {"", "0", "-1", "x", "1.5"}, "a whole number from 1 to");
  add("--standby-delay", {"", "-1", "soon", "inf", "nan", "1e9"},
      "a number of seconds from 0 to 100000000 is needed");
  add("--stall-after", {"", "-1", "soon"}, "a number of seconds from 0 to 100000000 is needed");
  add("--stall-after", {"0", "0.9"}, "at least 1 second is needed");
  add("--hang-hook", {""}, "a command for the shell is needed");
  for (const char* name : {"--drain-file", "--journal", "--trace"}) {
    add(name, {""}, "the path of a file is needed");
  }
  add("--node-name", {""}, "the name of this node is needed");
  for (const char* name : {"--local-addr", "--master-addr"}) {
    add(name, {"bad addr", "127.0.0.1:80", "::x"},
        "the name or the address of a host is needed, without a port");
  }
  add("--node-check", {""}, "a command for the shell is needed");
  add("--hang-hook-timeout", {"", "-1", "soon", "0", "0.0001", "3600.001", "1e7", "1e300"},
      "a number of seconds over 0 and up to 3600 is needed");
  add("--guard", {"", "yes", "Required"}, "must be required, best-effort or none");
  add("--chaos",
      {"", "kill", "kill=rank:1", "hang=rank:1@1s", "stop=node:1@1s+1s", "cut=node:1@1s"},
      "the faults are kill=rank:R@TIME");
  add("--chaos", {"random=@1s", "random=1@", "random=1@99ms"}, "allowed is random=SEED@TIME");
  add("--shutdown-timeout", {"-1", "x", "", "nan", "inf", "1e9", "5s"}, "a number of seconds");
  add("--linger", {"", "-1", "soon", "3600.001", "nan"},
      "a number of seconds from 0 to 3600 is needed");
  add("--monitor-interval", {"-1", "x", ""}, "a number of seconds");
  add("--redirects", {"4", "a", "10:1", "0:4", "0:1,", "", "0:1,1"}, streams);
  add("--tee", {"4", "0:", "0-1"}, streams);
  add("--rdzv-conf", {"a", "a=", "=b", "a=1,", ",a=1", "a=1,,b=2", " =b", "a= "},
      "key=value,key=value");
  add("--rdzv-endpoint", {":29400", ":1", "[]:1"}, "host");
  add("--rdzv-endpoint", {"host:65536", "host:-1", "host:x", "host:", ":", "host:123456"},
      "0 to 65535");
  add("--rdzv-endpoint", {"host:1,host2:1", "host,"}, "several endpoints take --rdzv-backend c10d");
  add("--rdzv-endpoint", {"ho st:1", "http://host:1", "a/b"}, "host");
  add("--master-addr", {"", "a b", "a/b"}, "host");
  t::check_refusals(rows);
}

TEST_CASE("command_line: a value that cannot be used is quoted in one line", "[cli]") {
  const auto text = t::refusal_of({"--nnodes", "1\n2\x1b", "train.py"});
  CHECK_THAT(text, elastic::test::contains_text("--nnodes '1\\x0a2\\x1b': allowed"));
  const auto long_refusal = t::refusal_of({"--nnodes", std::string(100'000, '9'), "train.py"});
  CHECK(long_refusal.size() < 500);
}

TEST_CASE("command_line: a script must be given", "[cli]") {
  t::check_refusals({
      {{}, "no script given"},
      {{"--standalone"}, "no script given"},
      {{"--"}, "no script given"},
      {{""}, "no script given"},
      {{"--no-python"}, "no script given"},
      {{"-m"}, "no script given"},
  });
}

TEST_CASE("command_line: Python, a module, or a program of its own", "[cli]") {
  struct row {
    t::arguments words;
    t::environment_map environment;
    std::string program;
    t::arguments arguments;
    std::string script;
  };
  const t::environment_map own_python = {{"PYTHON_EXEC", "/opt/python"}};
  const std::vector<row> rows = {
      {{"a.py", "x"}, {}, "python3", {"-u", "a.py", "x"}, "a.py"},
      {{"a.py"}, own_python, "/opt/python", {"-u", "a.py"}, "a.py"},
      {{"a.py"}, {{"PYTHON_EXEC", ""}}, "python3", {"-u", "a.py"}, "a.py"},
      {{"-m", "pkg.mod", "x"}, {}, "python3", {"-u", "-m", "pkg.mod", "x"}, ""},
      {{"--module", "pkg.mod"}, own_python, "/opt/python", {"-u", "-m", "pkg.mod"}, ""},
      {{"--no-python", "./prog", "-u", "x"}, own_python, "./prog", {"-u", "x"}, ""},
      {{"--run-path", "/a.py"}, {}, "python3", {"-u", "/a.py"}, "/a.py"},
      {{"--run-path", "--no-python", "/a.py"}, {}, "python3", {"-u", "/a.py"}, "/a.py"},
  };
  for (const row& entry : rows) {
    INFO(t::text_of(entry.words));
    const auto config = t::config_of(entry.words, entry.environment);
    CHECK(config.job.workers.program == entry.program);
    CHECK(config.job.workers.arguments == entry.arguments);
    CHECK(config.script == entry.script);
    CHECK(config.name == *std::find_if(entry.words.begin(), entry.words.end(),
                                       [](const auto& word) { return !word.starts_with('-'); }));
  }
}

TEST_CASE("command_line: PYTHON_EXEC goes before the Python of this environment", "[cli]") {
  elastic::command_line::facts facts;
  facts.python = "/venv/bin/python3";
  const auto program = [&](const t::arguments& words) {
    const auto outcome = elastic::parse_command_line(words, facts);
    return std::get<elastic::command_line>(outcome).config.job.workers.program;
  };
  CHECK(program({"a.py"}) == "/venv/bin/python3");
  CHECK(program({"--no-python", "./a"}) == "./a");
  facts.environment = {{"PYTHON_EXEC", "/opt/python"}};
  CHECK(program({"a.py"}) == "/opt/python");
}

TEST_CASE("command_line: contradictions are refused", "[cli]") {
  t::check_refusals({
      {{"-m", "--no-python", "x"}, "--module and --no-python exclude each other"},
      {{"--no-python", "-m", "x"}, "--module and --no-python exclude each other"},
      {{"--warm-standby", "--no-python", "x"}, "--warm-standby and --no-python exclude each other"},
      {{"--preload", "torch", "x"}, "--preload is allowed only with --warm-standby"},
      {{"--standbys", "1", "x"}, "--standbys is allowed only with --warm-standby"},
      {{"--standby-delay", "1", "x"}, "--standby-delay is allowed only with --warm-standby"},
      {{"--stall-after", "5", "x"}, "--stall-after is allowed only with --diagnose"},
      {{"--on-stall", "warn", "x"}, "--on-stall is allowed only with --diagnose"},
      {{"--diagnose", "--on-stall", "end", "x"},
       "--on-stall 'end': must be warn, restart or replace"},
      {{"--diagnose", "--on-stall", "replace", "x"},
       "--on-stall replace needs --on-failure replace"},
      {{"--node-check-timeout", "1", "x"},
       "--node-check-timeout is allowed only with --node-check"},
      {{"--status-token-file", "f", "x"}, "--status-token-file is allowed only with --status"},
      {{"--status", "0", "--status-token-file", "", "x"}, "the path of a file is needed"},
      {{"-m", "--run-path", "x"}, "--module and --run-path exclude each other"},
      {{"--standalone", "--nnodes", "2", "a.py"}, "--standalone is for one node"},
      {{"--nnodes", "1:2", "a.py"}, "static needs a fixed number of nodes"},
      {{"--nnodes", "1,2", "a.py"}, "static needs a fixed number of nodes"},
      {{"--nnodes", "2", "--node-rank", "2", "a.py"}, "--node-rank 2: with --nnodes 2"},
      {{"--rdzv-backend", "static", "--node-rank", "1", "a.py"}, "--node-rank 1"},
      {{"--nnodes", "2", "--master-port", "0", "a.py"}, "--master-port 0"},
      {{"--rdzv-backend", "c10d", "--rdzv-endpoint", "/shared/job", "--rdzv-conf",
        "store_type=file", "a.py"},
       "--rdzv-conf store_type=file: use --rdzv-backend file"},
  });
  t::check_refusals({{{"-m", "x"}, "--module and PET_NO_PYTHON exclude each other"}},
                    {{"PET_NO_PYTHON", "1"}});
}

TEST_CASE("command_line: a user of the default Python is warned if it may be the wrong one",
          "[cli]") {
  elastic::command_line::facts facts;
  facts.python_warning = "another Python";
  facts.reads_job_files = true;
  const auto is_warned = [&](const t::arguments& words) {
    const auto parsed = elastic::parse_command_line(words, facts);
    const std::vector<std::string>& warnings = std::get<elastic::command_line>(parsed).warnings;
    return std::count(warnings.begin(), warnings.end(), facts.python_warning);
  };
  CHECK(is_warned({"train.py"}) == 1);
  CHECK(is_warned({"-m", "trainer"}) == 1);
  CHECK(is_warned({"--no-python", "./train"}) == 0);
  CHECK(is_warned({"--job", "job.toml"}) == 0);
  facts.environment["PYTHON_EXEC"] = "/opt/python3";
  CHECK(is_warned({"train.py"}) == 0);
}

TEST_CASE("command_line: one node is by itself unless a rendezvous is named", "[cli]") {
  struct row {
    t::arguments words;
    bool standalone;
    std::string run_id;
  };
  const std::vector<row> rows = {
      {{}, true, ""},
      {{"--standalone"}, true, ""},
      {{"--nnodes", "1"}, true, ""},
      {{"--nnodes", "1:1"}, true, ""},
      {{"--nnodes", "1:4", "--standalone"}, true, ""},
      {{"--rdzv-id", "mine"}, true, "mine"},
      {{"--standalone", "--rdzv-id", "mine"}, true, ""},
      {{"--standalone", "--rdzv-backend", "c10d", "--rdzv-endpoint", "h:1"}, true, ""},
      {{"--nnodes", "2"}, false, "none"},
      {{"--rdzv-backend", "static"}, false, "none"},
      {{"--rdzv-backend", "c10d"}, false, "none"},
      {{"--rdzv-endpoint", "h:1"}, false, "none"},
      {{"--master-addr", "h"}, false, "none"},
      {{"--master-port", "1"}, false, "none"},
      {{"--node-rank", "0"}, false, "none"},
  };
  for (const row& entry : rows) {
    INFO(t::text_of(entry.words));
    const auto config = t::config_of(t::with_script(entry.words));
    CHECK(config.job.standalone == entry.standalone);
    CHECK(config.job.rendezvous.run_id == entry.run_id);
    if (config.job.standalone) CHECK(config.job.rendezvous.max_nodes == 1);
  }
}

TEST_CASE("command_line: a job of several nodes without a name is warned of", "[cli]") {
  const auto warnings =
      t::command_line_of(t::with_script({"--rdzv-backend", "c10d", "--nnodes", "1:2"})).warnings;
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0] ==
        "no --rdzv-id is given: any other job without one would meet this one at "
        "the same endpoint, under the name 'none'");
}

TEST_CASE("command_line: a job that has a name elsewhere needs none", "[cli]") {
  elastic::command_line::facts facts;
  facts.has_run_id = true;
  const auto parsed = elastic::parse_command_line(
      t::with_script({"--rdzv-backend", "c10d", "--nnodes", "1:2"}), facts);
  CHECK(std::get<elastic::command_line>(parsed).warnings.empty());
}

TEST_CASE("command_line: what a job file may say is not missed beside it", "[cli]") {
  using words = t::arguments;
  CHECK(t::command_line_of(words{"--job=a.toml", "--rdzv-backend=c10d", "--nnodes=1:2"})
            .warnings.empty());
  CHECK(t::command_line_of(words{"--job=a.toml", "--local-addr=10.0.0.1"}).warnings.empty());
}

TEST_CASE("command_line: options that nothing looks at are warned of", "[cli]") {
  struct row {
    t::arguments words;
    std::string option;  // empty: no warning
  };
  const std::vector<row> rows = {
      {{}, ""},
      {{"--nnodes", "2", "--node-rank", "1", "--master-addr", "h", "--master-port", "1"}, ""},
      {{"--rdzv-backend", "c10d", "--local-addr", "10.0.0.1"}, ""},
      {{"--standalone", "--node-rank", "0"}, ""},
      {{"--rdzv-backend", "c10d", "--nnodes", "2", "--rdzv-id", "j", "--node-rank", "1"},
       "--node-rank"},
      {{"--standalone", "--master-port", "1"}, "--master-port"},
      {{"--rdzv-endpoint", "h:1", "--master-addr", "h"}, "--master-addr"},
      {{"--standalone", "--local-addr", "10.0.0.1"}, "--local-addr"},
      {{"--standalone", "--scale-up-delay", "1"}, "--scale-up-delay"},
      {{"--nnodes", "2", "--local-addr", "10.0.0.1"}, "--local-addr"},
      {{"--nnodes", "2", "--local-addr", "10.0.0.1", "--wire", "tf"}, ""},
      {{"--standalone", "--local-addr", "10.0.0.1", "--wire", "tf"}, "--local-addr"},
  };
  for (const row& entry : rows) {
    INFO(t::text_of(entry.words));
    const auto warnings = t::command_line_of(t::with_script(entry.words)).warnings;
    REQUIRE(warnings.size() == (entry.option.empty() ? 0u : 1u));
    if (!entry.option.empty()) CHECK(warnings[0].starts_with(entry.option + " has no effect"));
  }
  const auto variable_warnings =
      t::command_line_of({"a.py"}, {{"PET_LOCAL_ADDR", "10.0.0.1"}}).warnings;
  REQUIRE(variable_warnings.size() == 1);
  CHECK(variable_warnings[0].starts_with("PET_LOCAL_ADDR"));
}

TEST_CASE("command_line: GPUs are what the machine has", "[cli]") {
  CHECK(t::config_of({"--nproc-per-node", "gpu", "a.py"}, {}, 4).job.workers.nproc_per_node == 4);
  CHECK(t::config_of({"--nproc-per-node", "auto", "a.py"}, {}, 4).job.workers.nproc_per_node == 4);
  CHECK(t::config_of({"--nproc-per-node", "auto", "a.py"}, {}, 0).job.workers.nproc_per_node == 6);
  CHECK(t::config_of({"--nproc-per-node", "cpu", "a.py"}, {}, 4).job.workers.nproc_per_node == 6);
}

TEST_CASE("command_line: PET_ variables are the defaults of options", "[cli]") {
  const t::environment_map environment = {
      {"PET_NPROC_PER_NODE", "4"}, {"PET_MAX_RESTARTS", "2"},
      {"PET_ROLE", "trainer"},     {"PET_TEE", "3"},
      {"PET_LOG_DIR", "/logs"},    {"PET_MODULE", "1"},
      {"PET_RDZV_CONF", "a=b"},    {"PET_MONITOR_INTERVAL", "1.5"}};
  const auto config = t::config_of({"mod"}, environment);
  CHECK(config.job.workers.nproc_per_node == 4);
  CHECK(config.job.workers.max_restarts == 2);
  CHECK(config.job.workers.role == "trainer");
  CHECK(config.job.workers.tee.of(0) == elastic::std_streams::both);
  CHECK(config.job.workers.log_dir == "/logs");
  CHECK(config.job.workers.arguments == t::arguments{"-u", "-m", "mod"});
  CHECK(config.job.rendezvous.conf == t::settings{{"a", "b"}});
  CHECK(config.job.workers.environment == environment);
}

TEST_CASE("command_line: the command line wins over PET_ variables", "[cli]") {
  CHECK(t::config_of({"--role", "mine", "a.py"}, {{"PET_ROLE", "theirs"}}).job.workers.role ==
        "mine");
  CHECK(t::config_of({"--role", "", "a.py"}, {{"PET_ROLE", "theirs"}}).job.workers.role.empty());
  CHECK(t::config_of({"--max-restarts", "1", "a.py"}, {{"PET_MAX_RESTARTS", "bad"}})
            .job.workers.max_restarts == 1);
}

TEST_CASE("command_line: an empty PET_ variable counts as not set", "[cli]") {
  const auto config = t::config_of(
      {"a.py"}, {{"PET_ROLE", ""}, {"PET_NNODES", ""}, {"PET_STANDALONE", ""}, {"PET_TEE", ""}});
  CHECK(config.job.workers.role == "default");
  CHECK(config.job.rendezvous.max_nodes == 1);
}

TEST_CASE("command_line: a flag in the environment is a number", "[cli]") {
  const auto is_module = [](const std::string& value) {
    return t::config_of({"mod"}, {{"PET_MODULE", value}}).script.empty();
  };
  CHECK(is_module("1"));
  CHECK(is_module("2"));
  CHECK(is_module("-1"));
  CHECK_FALSE(is_module("0"));
  for (const char* value : {"abc", "true", "1x", " "}) {
    CHECK_THAT(t::refusal_of({"mod"}, {{"PET_MODULE", value}}),
               elastic::test::contains_text("PET_MODULE"));
  }
}

TEST_CASE("command_line: a bad value in the environment is named by its variable", "[cli]") {
  const std::vector<std::pair<const char*, const char*>> rows = {
      {"PET_NNODES", "0"},
      {"PET_NPROC_PER_NODE", "many"},
      {"PET_MAX_RESTARTS", "-1"},
      {"PET_MASTER_PORT", "x"},
      {"PET_REDIRECTS", "9"},
      {"PET_RDZV_CONF", "a"},
      {"PET_RDZV_ENDPOINT", ":1"},
      {"PET_SHUTDOWN_TIMEOUT", "x"},
      {"PET_MASTER_ADDR", "a b"},
      {"PET_STANDALONE", "yes"},
      {"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "x"},
      {"LOGLEVEL", "LOUD"},
      {"PET_SIGNALS_TO_HANDLE", "SIGKILL"},
      {"PET_VIRTUAL_LOCAL_RANK", "yes"}};
  for (const auto& [variable, value] : rows) {
    CHECK_THAT(t::refusal_of({"a.py"}, {{variable, value}}),
               elastic::test::contains_text(variable));
  }
}

TEST_CASE("command_line: torchrun's own variables are defaults, too", "[cli]") {
  const t::environment_map environment = {{"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "7"},
                                          {"TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE", "<${rank}>"}};
  CHECK(t::config_of({"a.py"}, environment).job.workers.shutdown_timeout ==
        std::chrono::seconds(7));
  CHECK(t::config_of({"a.py"}, environment).job.workers.log_line_prefix_template == "<${rank}>");
  auto both_timeouts = environment;
  both_timeouts["PET_SHUTDOWN_TIMEOUT"] = "8";
  CHECK(t::config_of({"a.py"}, both_timeouts).job.workers.shutdown_timeout ==
        std::chrono::seconds(8));
  CHECK(t::config_of({"--shutdown-timeout", "9", "a.py"}, both_timeouts)
            .job.workers.shutdown_timeout == std::chrono::seconds(9));
}

TEST_CASE("command_line: what is shown of the output, how, and what is kept of it", "[cli]") {
  using texts = std::vector<std::string>;
  const auto logs = [](t::arguments options) {
    options.insert(options.begin(), {"--nproc-per-node", "4"});
    return t::config_of(t::with_script(std::move(options))).job.workers.logs;
  };
  CHECK(logs({}).format == elastic::log_options::line_format::text);
  CHECK(logs({"--log-format", "text"}).format == elastic::log_options::line_format::text);
  CHECK(logs({"--log-format", "json"}).format == elastic::log_options::line_format::json);
  CHECK(logs({}).local_ranks_filter.empty());
  CHECK(logs({"--local-ranks-filter", "0, 3"}).local_ranks_filter == std::vector<int>{0, 3});
  CHECK(logs({"--duplicate-stdout-filters", "loss,error"}).duplicate_stdout_filters ==
        texts{"loss", "error"});
  CHECK(logs({"--duplicate-stderr-filters", "a,,b,,,c"}).duplicate_stderr_filters ==
        texts{"a,b,", "c"});
  CHECK(logs({}).rotation.max_size == 0);
  CHECK(logs({"--log-max-size", "4096"}).rotation.max_size == 4096);
  CHECK(logs({"--log-max-size", "500k"}).rotation.max_size == 500 * 1024);
  CHECK(logs({"--log-max-size", "100M"}).rotation.max_size == 100 * 1024 * 1024);
  CHECK(logs({"--log-max-size", "8G"}).rotation.max_size == std::uint64_t{8} << 30);
  CHECK(logs({"--log-max-size", "1M"}).rotation.max_files == 5);
  CHECK(logs({"--log-max-size", "1M", "--log-max-files", "3"}).rotation.max_files == 3);
  const auto warnings = t::command_line_of({"--log-max-files", "3", "a.py"}).warnings;
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], elastic::test::contains_text("without --log-max-size"));
  CHECK(t::command_line_of({"--log-format", "json", "--log-line-prefix-template", "x", "a.py"})
            .warnings.size() == 1);
}

TEST_CASE("command_line: output that cannot be had as wished is refused", "[cli]") {
  t::check_refusals({
      {{"--log-line-prefix-template", "[${rnk}]", "a.py"},
       "--log-line-prefix-template '[${rnk}]': a line prefix has no field 'rnk'"},
      {{"--log-line-prefix-template", "$x", "a.py"}, "no field 'x'"},
      {{"--log-format", "xml", "a.py"}, "--log-format 'xml': must be text or json"},
      {{"--local-ranks-filter", "1", "a.py"}, "--local-ranks-filter '1': there is no local rank 1"},
      {{"--nproc-per-node", "2", "--local-ranks-filter", "0,2", "a.py"}, "no local rank 2"},
      {{"--local-ranks-filter", "0,", "a.py"}, "a list of local ranks is needed"},
      {{"--local-ranks-filter", "-1", "a.py"}, "a list of local ranks is needed"},
      {{"--local-ranks-filter", "all", "a.py"}, "a list of local ranks is needed"},
      {{"--duplicate-stdout-filters", ",", "a.py"}, "--duplicate-stdout-filters"},
      {{"--log-dir", "/dev/null", "--duplicate-stderr-filters", "x", "a.py"},
       "--duplicate-stderr-filters 'x': the lines go to a file, but --log-dir is /dev/null"},
      {{"--log-max-size", "1023", "a.py"}, "--log-max-size '1023': a size of 1k or more"},
      {{"--log-max-size", "k", "a.py"}, "a size of 1k or more"},
      {{"--log-max-size", "1T", "a.py"}, "a size of 1k or more"},
      {{"--log-max-size", "1M", "--log-max-files", "0", "a.py"}, "--log-max-files '0'"},
  });
  t::check_refusals({{{"a.py"}, "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE '${x}': "}},
                    {{"TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE", "${x}"}});
}

TEST_CASE("command_line: LOGLEVEL has Python's names", "[cli]") {
  using elastic::log_level;
  const std::vector<std::pair<const char*, log_level>> rows = {
      {"", log_level::warning},    {"DEBUG", log_level::debug},     {"INFO", log_level::info},
      {"info", log_level::info},   {"WARNING", log_level::warning}, {"WARN", log_level::warning},
      {"ERROR", log_level::error}, {"CRITICAL", log_level::off}};
  for (const auto& [name, level] : rows) {
    CHECK(t::command_line_of({"a.py"}, {{"LOGLEVEL", name}}).threshold == level);
  }
  CHECK(t::command_line_of({"a.py"}).threshold == log_level::warning);
}

TEST_CASE("command_line: numbers of LOGLEVEL are warned of and taken", "[cli]") {
  using elastic::log_level;
  const std::vector<std::pair<const char*, log_level>> rows = {
      {"NOTSET", log_level::warning}, {"notset", log_level::warning}, {"0", log_level::warning},
      {"10", log_level::debug},       {"20", log_level::info},        {"25", log_level::warning},
      {"30", log_level::warning},     {"40", log_level::error},       {"50", log_level::off}};
  for (const auto& [text, level] : rows) {
    INFO(text);
    const auto result = t::command_line_of({"a.py"}, {{"LOGLEVEL", text}});
    CHECK(result.threshold == level);
    REQUIRE(result.warnings.size() == 1);
    CHECK(result.warnings[0].starts_with("LOGLEVEL '"));
  }
  t::check_refusals({{{"a.py"}, "LOGLEVEL '-1': the levels are DEBUG, INFO"}},
                    {{"LOGLEVEL", "-1"}});
}

TEST_CASE("command_line: no worker inherits a password", "[cli]") {
  const auto inherits = [](const char* settings) {
    const auto config = t::config_of({"a.py"}, {{"PET_RDZV_CONF", settings}});
    return config.job.workers.environment.count("PET_RDZV_CONF") > 0;
  };
  CHECK_FALSE(inherits("password=secret"));
  CHECK_FALSE(inherits("'user=u, password = secret'"));
  CHECK(inherits("user=u,password_file=/etc/secret"));
  CHECK(t::config_of({"a.py"}, {{"PET_RDZV_CONF", "password=x"}}).job.rendezvous.conf ==
        t::settings{{"password", "x"}});
}

TEST_CASE("command_line: restarts have terms", "[cli]") {
  using namespace std::chrono_literals;
  const auto config =
      t::config_of({"--max-restarts", "5", "--restart-delay", "0.5", "--restart-delay-max=8",
                    "--restart-healthy-uptime", "30", "--restart-window", "3600",
                    "--restart-never-after", "93,SIGABRT", "--restart-only-after", "1", "a.py"});
  CHECK(config.job.workers.max_restarts == 5);
  CHECK(config.job.workers.restart.delay == 500ms);
  CHECK(config.job.workers.restart.delay_max == 8s);
  CHECK(config.job.workers.restart.healthy_uptime == 30s);
  CHECK(config.job.workers.restart.window == 1h);
  CHECK(config.job.workers.restart.never_after == elastic::exit_selection::parse("93,SIGABRT"));
  CHECK(config.job.workers.restart.only_after == elastic::exit_selection::parse("1"));
  const auto defaults = t::config_of({"a.py"}).job.workers.restart;
  CHECK(defaults.delay == 0s);
  CHECK(defaults.window == 0s);
  CHECK(defaults.never_after.empty());
  CHECK(defaults.only_after.empty());
  t::check_refusals({
      {{"--restart-delay", "x", "a.py"}, "--restart-delay 'x': a number of seconds from 0 to"},
      {{"--restart-delay", "90000", "a.py"}, "the delay of restarts is 0 to 24 hours"},
      {{"--restart-never-after", "93,BOOM", "a.py"},
       "--restart-never-after: 'BOOM' is not an exit code"},
      {{"--restart-only-after", "300", "a.py"}, "--restart-only-after: '300' is not an exit code"},
  });
}

TEST_CASE("command_line: signals stop the job or are passed on", "[cli]") {
  using numbers = std::vector<int>;
  const auto defaults = t::config_of({"a.py"}).job.signals;
  CHECK(defaults.stop == numbers{SIGTERM, SIGINT, SIGHUP, SIGQUIT});
  CHECK(defaults.forward.empty());
  const auto config = t::config_of(
      {"--signals-to-handle", "SIGTERM, USR2", "--forward-signals", "SIGUSR1", "a.py"});
  CHECK(config.job.signals.stop == numbers{SIGTERM, SIGUSR2});
  CHECK(config.job.signals.forward == numbers{SIGUSR1});
  CHECK(t::config_of({"--preempt-signal", "USR1", "a.py"}).job.signals.preempt == numbers{SIGUSR1});
  const auto inherited_config =
      t::config_of({"a.py"}, {{"TORCHELASTIC_SIGNALS_TO_HANDLE", "SIGINT"}});
  CHECK(inherited_config.job.signals.stop == numbers{SIGINT});
  t::check_refusals({
      {{"--signals-to-handle", "SIGFOO", "a.py"}, "names of signals are needed"},
      {{"--signals-to-handle", "SIGKILL", "a.py"}, "SIGKILL cannot be handled"},
      {{"--forward-signals", "SIGSEGV", "a.py"}, "--forward-signals: SIGSEGV cannot be handled"},
      {{"--forward-signals", "SIGTERM", "a.py"}, "cannot both stop the job and be passed on"},
      {{"--preempt-signal", "SIGUSR0", "a.py"}, "names of signals are needed"},
      {{"--preempt-signal", "SIGSTOP", "a.py"}, "--preempt-signal: SIGSTOP cannot be handled"},
      {{"--preempt-signal", "SIGTERM", "a.py"}, "SIGTERM stops the job already"},
      {{"--preempt-signal", "USR1", "--forward-signals", "USR1", "a.py"},
       "SIGUSR1 cannot both act as SIGTERM and be passed on to the workers"},
  });
}

TEST_CASE("command_line: workers have a place and variables of their own", "[cli]") {
  using elastic::launch_config;
  using elastic::processor_set;
  using variables = std::vector<std::pair<std::string, std::string>>;
  const std::vector<std::pair<const char*, launch_config::processor_binding>> kinds = {
      {"node", launch_config::processor_binding::node},
      {"socket", launch_config::processor_binding::socket},
      {"exclusive", launch_config::processor_binding::exclusive},
      {"core-complex", launch_config::processor_binding::core_complex}};
  for (const auto& [name, kind] : kinds) {
    CHECK(t::config_of({"--numa-binding", name, "a.py"}).job.numa_binding == kind);
  }
  CHECK(t::config_of({"a.py"}).job.numa_binding == launch_config::processor_binding::none);
  CHECK(t::config_of({"--nproc-per-node", "2", "--cpu-affinity", "0-1,8:2", "a.py"})
            .job.workers.cpu_affinity ==
        std::vector<processor_set>{processor_set::parse("0-1,8"), processor_set::parse("2")});
  CHECK(t::config_of({"--env", "A=1,2", "--env", "B=", "--env=A=x=y", "a.py"}).job.workers.env ==
        variables{{"A", "1,2"}, {"B", ""}, {"A", "x=y"}});
  CHECK(t::config_of({"a.py"}, {{"PET_ENV", "A=1"}}).job.workers.env == variables{{"A", "1"}});
  CHECK(t::config_of({"--virtual-local-rank", "a.py"}).job.workers.virtual_local_rank);
  CHECK(t::config_of({"a.py"}, {{"PET_VIRTUAL_LOCAL_RANK", "1"}}).job.workers.virtual_local_rank);
  CHECK_FALSE(
      t::config_of({"a.py"}, {{"PET_VIRTUAL_LOCAL_RANK", "0"}}).job.workers.virtual_local_rank);
  t::check_refusals({
      {{"--numa-binding", "numa", "a.py"}, "must be node, socket, exclusive or core-complex"},
      {{"--cpu-affinity", "0:1", "a.py"}, "a list for each worker is needed, 1 in all"},
      {{"--cpu-affinity", "x", "a.py"}, "--cpu-affinity: 'x' is not a list of processors"},
      {{"--cpu-affinity", "0", "--numa-binding", "node", "a.py"}, "exclude each other"},
      {{"--env", "A", "a.py"}, "--env 'A': NAME=VALUE is needed"},
      {{"--env", "=1", "a.py"}, "NAME=VALUE is needed"},
  });
}

TEST_CASE("command_line: no abbreviation of torchrun's is lost to an option of our own",
          "[cli]") {
  CHECK(t::config_of({"--re", "3", "a.py"}).job.workers.redirects ==
        elastic::stream_selection::parse("3"));
  CHECK(t::config_of({"--restart-wi", "9", "a.py"}).job.workers.restart.window ==
        std::chrono::seconds(9));
  t::check_refusals({{{"--restart-delay-", "1", "--restart", "9", "a.py"}, "is ambiguous"}});
}

TEST_CASE("command_line: the start method is for functions, and changes nothing", "[cli]") {
  for (const char* method : {"spawn", "fork", "forkserver"}) {
    CHECK(t::config_of({"--start-method", method, "a.py"}).job.workers.arguments ==
          t::arguments{"-u", "a.py"});
    CHECK(t::config_of({"a.py"}, {{"PET_START_METHOD", method}}).script == "a.py");
  }
  t::check_refusals({{{"--start-method", "thread", "a.py"},
                      "--start-method 'thread': must be spawn, fork or forkserver"}});
}

TEST_CASE("command_line: options of other launchers get a hint", "[cli]") {
  t::check_refusals({
      {{"--nprocs", "2", "a.py"}, "did you mean --nproc-per-node?"},
      {{"--use_env", "a.py"}, "unknown option '--use_env'; leave it out: workers have LOCAL_RANK"},
      {{"--use-env", "a.py"}, "leave it out: workers have LOCAL_RANK in their environment"},
  });
}

TEST_CASE("command_line: a variable that nearly is one of an option is warned of", "[cli]") {
  const std::vector<std::pair<const char*, const char*>> rows = {
      {"PET_NPROCPERNODE", "PET_NPROC_PER_NODE"},
      {"PET_NPROC_PER_NODES", "PET_NPROC_PER_NODE"},
      {"PET_MAX_RESTRATS", "PET_MAX_RESTARTS"}};
  for (const auto& [variable, option] : rows) {
    const auto result = t::command_line_of({"a.py"}, {{variable, "2"}});
    REQUIRE(result.warnings.size() == 1);
    CHECK(result.warnings[0] ==
          std::string("'") + variable + "' has no effect: did you mean " + option + "?");
    CHECK(result.config.job.workers.nproc_per_node == 1);
  }
  CHECK(t::command_line_of({"a.py"}, {{"PET_SHOP", "2"}, {"PET_ROLE", "x"}, {"CARPET_ROL", "x"}})
            .warnings.empty());
}

TEST_CASE("command_line: quotes that no shell took away are none of a setting", "[cli]") {
  const auto conf = [](const char* text) {
    return t::config_of({"--rdzv-conf", text, "a.py"}).job.rendezvous.conf;
  };
  const t::settings both_settings = {{"host_grace", "10"}, {"timeout", "5"}};
  CHECK(conf("'host_grace=10,timeout=5'") == both_settings);
  CHECK(conf("\"host_grace=10,timeout=5\"") == both_settings);
  CHECK(conf("host_grace='10', timeout=\"5\"") == both_settings);
  CHECK(conf("'host_grace'=10, \"timeout\"=5") == both_settings);
  CHECK(conf("''").empty());
  t::check_refusals({{{"--rdzv-conf", "'a'", "a.py"}, "key=value,key=value"}});
}

TEST_CASE("command_line: help names every option, on lines that fit a terminal", "[cli]") {
  for (const t::arguments& words : {t::arguments{"--help"}, t::arguments{"-h"}, t::arguments{"-mh"},
                                    t::arguments{"--role", "x", "--he", "--nonsense"}}) {
    const auto exit = t::early_exit_of(words);
    CHECK(exit.code == 0);
    CHECK_FALSE(exit.to_stderr);
    for (const auto& row : elastic::detail::option_rows()) {
      const std::string names = row.names;
      INFO(names);
      CHECK_THAT(exit.text, elastic::test::contains_text(names.substr(names.find("--"))));
    }
  }
  const std::string text = t::early_exit_of({"--help"}).text;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = text.find('\n', start);
    const std::string line = text.substr(start, end - start);
    INFO(line);
    CHECK(line.size() <= 80);
    CHECK_FALSE(line.ends_with(' '));
    start = end + 1;
  }
}

TEST_CASE("command_line: the page of options has each with its value and default", "[cli]") {
  std::ifstream page(std::string(ELASTIC_SOURCE_DIR) + "/docs/command_line.md");
  std::vector<std::string> lines;
  for (std::string line; std::getline(page, line);) lines.push_back(line);
  for (const auto& row : elastic::detail::option_rows()) {
    INFO(row.names);
    const std::string name = row.long_name();
    const auto line = std::find_if(lines.begin(), lines.end(), [&](const std::string& candidate) {
      const auto cell = candidate.substr(0, candidate.find(" | "));
      return cell.starts_with("| `") &&
             (cell + " ").find(name + (row.takes_value() ? " " : "`")) != std::string::npos;
    });
    REQUIRE(line != lines.end());
    CHECK_THAT(*line, elastic::test::contains_text(name));
    if (!row.type.show || *row.default_text != '\0') continue;
    const std::string value = row.type.show({});
    if (!value.empty()) CHECK_THAT(*line, elastic::test::contains_text("`" + value + "`"));
  }
}

TEST_CASE("command_line: completions and the manual page name every option", "[cli]") {
  const std::vector<t::arguments> requests = {{"--print-completion", "bash"},
                                              {"--print-completion=zsh"},
                                              {"--print-completion", "fish"},
                                              {"--print-man-page", "--nonsense"}};
  for (const t::arguments& words : requests) {
    const auto exit = t::early_exit_of(words);
    CHECK(exit.code == 0);
    CHECK_FALSE(exit.to_stderr);
    // man wants a backslash before a dash, fish wants none.
    std::string text = exit.text;
    std::erase(text, '\\');
    for (const auto& row : elastic::detail::option_rows()) {
      const std::string name = row.long_name();
      INFO(words[0] << ": " << name);
      const bool is_fish = words.back() == "fish";
      CHECK_THAT(text, elastic::test::contains_text(is_fish ? "-l " + name.substr(2) : name));
    }
    CHECK_THAT(text, elastic::test::contains_text("explain"));
  }
  // After a command, fish would offer the options of a job, too.
  const std::string fish = t::early_exit_of({"--print-completion", "fish"}).text;
  const std::size_t end = fish.find(" -l run-path");
  REQUIRE(end != std::string::npos);
  const std::string condition = fish.substr(fish.rfind('\n', end) + 1, end);
  CHECK_THAT(condition, Catch::StartsWith("complete -c elasticrun -n "
                                          "'not __fish_seen_subcommand_from "));
  CHECK_THAT(condition.substr(0, condition.find('\n')), elastic::test::contains_text(" explain"));
  t::check_refusals({{{"--print-completion", "csh"},
                      "--print-completion 'csh': must be bash, zsh, fish or tcsh"}});
}

TEST_CASE("command_line: tcsh completes options, their choices, and files", "[cli]") {
  const std::string text = t::early_exit_of({"--print-completion", "tcsh"}).text;
  std::string names;
  for (const auto& row : elastic::detail::option_rows()) {
    names += (names.empty() ? "" : " ") + row.long_name().substr(2);
  }
  CHECK_THAT(text, elastic::test::contains_text("'c/--/(" + names + ")/'"));
  CHECK_THAT(text, elastic::test::contains_text("'n/--start-method/(spawn fork forkserver)/'"));
  CHECK_THAT(text, Catch::EndsWith("'p/*/f/'\n"));
}

TEST_CASE("command_line: a launcher of one's own has its name, its commands and no faults",
          "[cli]") {
  elastic::command_line::facts facts;
  facts.program = "mine";
  const auto text_of = [&](const t::arguments& words) {
    const auto outcome = elastic::parse_command_line(words, facts);
    const auto* exit = std::get_if<elastic::early_exit>(&outcome);
    return exit ? exit->text : std::string();
  };
  CHECK_THAT(text_of({"--help"}), elastic::test::contains_text("Usage: mine [options] script"));
  CHECK_THAT(text_of({"--help"}), !elastic::test::contains_text("Commands in place of a script"));
  CHECK(text_of({"--chaos", "random=7@20s", "a.py"}) ==
        "mine: error: --chaos: mine injects no faults\n");
  facts.commands = {{"mend", "HOST", "Mend a host."}};
  CHECK_THAT(text_of({"--help"}), elastic::test::contains_text("  mend HOST\n"));
}

TEST_CASE("command_line: an error before --help is still an error", "[cli]") {
  CHECK_THAT(t::refusal_of({"--nonsense", "--help"}), elastic::test::contains_text("--nonsense"));
}

TEST_CASE("command_line: version names the I/O in use", "[cli]") {
  const auto outcome = t::parse({"--role", "x", "--version"}, {{"ELASTIC_IO", "epoll"}});
  REQUIRE(std::holds_alternative<elastic::command_line::version_request>(outcome));
  const auto exit =
      elastic::show_version(std::get<elastic::command_line::version_request>(outcome).io);
  CHECK(exit.code == 0);
  CHECK_FALSE(exit.to_stderr);
  CHECK(exit.text == std::string("elasticrun ") + elastic::version_text + " (I/O: epoll)\n");
}

TEST_CASE("command_line: ELASTIC_IO chooses the I/O", "[cli]") {
  using elastic::command_line;
  const std::vector<std::pair<const char*, command_line::io_choice>> rows = {
      {"", command_line::io_choice::automatic},
      {"auto", command_line::io_choice::automatic},
      {"ring", command_line::io_choice::ring},
      {"epoll", command_line::io_choice::epoll}};
  for (const auto& [name, io] : rows) {
    const auto result = t::command_line_of({"a.py"}, {{"ELASTIC_IO", name}});
    CHECK(result.io == io);
    CHECK(result.config.job.rendezvous.use_ring == (io != command_line::io_choice::epoll));
  }
  CHECK_THAT(t::refusal_of({"a.py"}, {{"ELASTIC_IO", "poll"}}),
             elastic::test::contains_text("ELASTIC_IO 'poll'"));
}

TEST_CASE("command_line: any text ends in an answer", "[cli]") {
  // Pieces of options and values in every combination of two, with and without a script.
  const t::arguments pieces = {
      "",    "-",  "--",  "---",    "-=",      "--=",  "-t",          "-t=", "-m",           "--t",
      "=",   "-h", "a",   "--role", "--role=", "\xff", "--nnodes=1:", "-mt", "--standalone", "_",
      "--_", "-_", "--__"};
  for (const auto& first_piece : pieces) {
    for (const auto& second_piece : pieces) {
      for (const char* last_piece : {"--", "a"}) {
        const auto outcome = t::parse({first_piece, second_piece, last_piece});
        if (const auto* exit = std::get_if<elastic::early_exit>(&outcome)) {
          if (exit->code != 0 && exit->code != 2)
            FAIL(t::text_of({first_piece, second_piece, last_piece}));
        }
      }
    }
  }
}

}  // namespace
