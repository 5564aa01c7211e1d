// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Arguments that mean nothing. Each is refused where it is passed, by an error that names it.

#include "host.hpp"

#include <elastic/agent/logs_specs_registry.hpp>
#include <elastic/base/error.hpp>
#include <elastic/file/file_keys.hpp>
#include <elastic/launch/console_log.hpp>
#include <elastic/launch/drain_file.hpp>
#include <elastic/launch/run_as_program.hpp>
#include <elastic/launch/signal_plan.hpp>
#include <elastic/nodes/registered_rendezvous.hpp>
#include <elastic/process/process_set.hpp>
#include <elastic/store/memory_store.hpp>
#include <elastic/store/prefix_store.hpp>
#include <elastic/store/versioned_store.hpp>
#include <elastic/telemetry/job_journal.hpp>
#include <elastic/testing/log_recorder.hpp>

#include <csignal>

namespace wrong_uses::arguments {

using elastic::errc;
using elastic::error;
using elastic::worker_spec;

/// A call, and what its error must name.
struct call {
  const char* name;
  std::string named;
  std::function<void()> make;
};

/// Makes each call. Its error is `invalid_argument` and names what was wrong.
void refuse_each(const std::vector<call>& calls) {
  for (const call& each : calls) {
    DYNAMIC_SECTION(each.name) {
      std::string text = "no error";
      std::error_code code;
      try {
        each.make();
      } catch (const error& refusal) {
        text = refusal.what();
        code = refusal.code();
      }
      CHECK(code == errc::invalid_argument);
      CHECK_THAT(text, elastic::test::contains_text(each.named));
      CHECK(text.find('\n') == std::string::npos);
    }
  }
}

template <class T>
void finish(task<T> work) {
  asio::io_context context;
  std::exception_ptr failure;
  auto on_end = [&](std::exception_ptr thrown, auto&&...) { failure = thrown; };
  asio::co_spawn(context, std::move(work), on_end);
  context.run();
  if (failure) std::rethrow_exception(failure);
}

/// The construction of a job whose workers were spoiled.
call workers(const char* name, std::string named, std::function<void(worker_spec&)> spoil) {
  return {name, std::move(named), [spoil = std::move(spoil)] {
            host program;
            spoil(program.config.workers);
            program.make(kind::job);
          }};
}

TEST_CASE("wrong use: workers that cannot be are refused at once", "[sanitize]") {
  const std::string zero("a\0b", 3);
  refuse_each({
      workers("no worker", "nproc_per_node is 0",
              [](worker_spec& spec) { spec.nproc_per_node = 0; }),
      workers("too many workers", "1 to 4096",
              [](worker_spec& spec) { spec.nproc_per_node = 1'000'000'000; }),
      workers("no program", "program", [](worker_spec& spec) { spec.program.clear(); }),
      workers("a program with a zero byte", "worker_spec::program",
              [&](worker_spec& spec) { spec.program = zero; }),
      workers("an argument with a zero byte", "worker_spec::arguments",
              [&](worker_spec& spec) { spec.arguments = {zero}; }),
      workers("a directory with a zero byte", "worker_spec::directory",
              [&](worker_spec& spec) { spec.directory = zero; }),
      workers("a role with a line end", "worker_spec::role",
              [](worker_spec& spec) { spec.role = "trainer\nWARNING"; }),
      workers("a role with a zero byte", "worker_spec::role",
              [&](worker_spec& spec) { spec.role = zero; }),
      workers("a role that is too long", "1024",
              [](worker_spec& spec) { spec.role = std::string(1025, 'r'); }),
      workers("a variable with = in its name", "worker_spec::environment",
              [](worker_spec& spec) { spec.environment["A=B"] = "c"; }),
      workers("a variable without a name", "worker_spec::environment",
              [](worker_spec& spec) { spec.environment[""] = "c"; }),
      workers("a variable with a zero byte in its name", "worker_spec::environment",
              [&](worker_spec& spec) { spec.environment[zero] = "c"; }),
      workers("a variable with a zero byte in its value", "worker_spec::environment",
              [&](worker_spec& spec) { spec.environment["A"] = zero; }),
      workers("a variable more with = in its name", "'A=B'",
              [](worker_spec& spec) { spec.env = {{"A=B", "c"}}; }),
      workers("a variable more with a zero byte in its value", "worker_spec::env",
              [&](worker_spec& spec) { spec.env = {{"A", zero}}; }),
      workers("a variable more that the agent sets", "RANK",
              [](worker_spec& spec) { spec.env = {{"RANK", "7"}}; }),
      workers("an ignored signal that does not exist", "worker_spec::ignored_signals",
              [](worker_spec& spec) { spec.ignored_signals = {9999}; }),
      workers("negative restarts", "max_restarts",
              [](worker_spec& spec) { spec.max_restarts = -1; }),
      workers("a negative grace", "shutdown_timeout",
              [](worker_spec& spec) { spec.shutdown_timeout = -std::chrono::seconds(1); }),
      workers("processors for fewer workers", "processors",
              [](worker_spec& spec) { spec.cpu_affinity.resize(1); }),
  });
}

TEST_CASE("wrong use: signals that do not exist are refused at once", "[sanitize]") {
  const int number = GENERATE(9999, 0, -9, 32, 65);
  const std::string named = std::to_string(number);
  host program;
  elastic::local_agent::options options;
  options.workers = program.config.workers;
  options.rendezvous = elastic::rendezvous_registry().make(elastic::rendezvous_parameters());
  elastic::local_agent agent(options);
  elastic::replica_set replicas(program.config);
  elastic::process_set processes(program.executor());
  elastic::job work(program.executor(), program.config);
  const elastic::stop_request request{.signal = number};
  const elastic::stop_plan plan{.signal = number};
  elastic::process_spec spec;
  spec.program = "/bin/true";
  spec.ignored_signals = {number};
  refuse_each({
      {"a job is stopped by it", "stop_request::signal", [&] { work.stop(request); }},
      {"an agent is stopped by it", "stop_request::signal", [&] { agent.stop(request); }},
      {"an agent passes it on", "local_agent::signal", [&] { agent.signal(number); }},
      {"a rank gets it", "local_agent::signal_rank", [&] { agent.signal_rank(0, number); }},
      {"replicas are stopped by it", "stop_request::signal", [&] { replicas.stop(request); }},
      {"replicas get it", "replica_set::signal", [&] { replicas.signal(number); }},
      {"a replica gets it", "replica_set::signal_replica",
       [&] { replicas.signal_replica(0, number); }},
      {"processes get it", "process_set::signal", [&] { processes.signal(number); }},
      {"a process gets it", "process_set::signal", [&] { processes.signal(0, number); }},
      {"processes begin to stop by it", "stop_plan::signal", [&] { processes.begin_stop(plan); }},
      {"processes are stopped by it", "stop_plan::signal",
       [&] { finish(processes.stop(plan)); }},
      {"a process ignores it", "process_spec::ignored_signals",
       [&] {
         elastic::process_set set(program.executor());
         elastic::process_set::process one;
         one.process = spec;
         finish(set.start(0, one));
       }},
      {"a plan has it", named, [&] { validate(elastic::signal_plan{.stop = {number}}); }},
  });
}

TEST_CASE("wrong use: a slot that no set has takes no memory", "[sanitize]") {
  asio::io_context context;
  elastic::process_set set(context.get_executor());
  elastic::process_set::process plan;
  plan.process.program = "/bin/true";
  refuse_each({
      {"a thousand million", "1000000000", [&] { finish(set.start(1'000'000'000, plan)); }},
      {"the first beyond", "65535", [&] { finish(set.start(65'536, plan)); }},
      {"the largest number", "process_set::start", [&] { finish(set.start(SIZE_MAX, plan)); }},
  });
}

TEST_CASE("wrong use: null is refused where it is passed", "[sanitize]") {
  const auto nothing = [](const elastic::rendezvous_parameters&) {
    return elastic::rendezvous_factory();
  };
  elastic::rendezvous_parameters parameters;
  parameters.run_id = "wrong";
  const elastic::launch_config config;
  const elastic::program_options options;
  const elastic::agent_services services;
  host program;
  refuse_each({
      {"no rendezvous", "rendezvous",
       [&] {
         elastic::local_agent::options parts;
         parts.workers = program.config.workers;
         elastic::local_agent agent(parts);
       }},
      {"no choice of a rendezvous", "rendezvous",
       [&] {
         elastic::local_agent::options parts;
         parts.workers = program.config.workers;
         parts.rendezvous = elastic::rendezvous_factory("mine", "wrong", nullptr);
         elastic::local_agent agent(parts);
       }},
      {"a factory of rendezvous", "'mine'",
       [] { elastic::rendezvous_registry().add("mine", nullptr); }},
      {"a factory of logs", "'mine'",
       [] { elastic::logs_specs_registry().add("mine", nullptr); }},
      {"what a factory makes", "'mine'",
       [&] {
         elastic::rendezvous_registry backends;
         backends.add("mine", nothing);
         parameters.backend = "mine";
         backends.make(parameters);
       }},
      {"a backend that nobody added", "'theirs'",
       [&] {
         parameters.backend = "theirs";
         elastic::rendezvous_registry().make(parameters);
       }},
      {"the time of a rendezvous", "rendezvous_parameters::time",
       [&] {
         parameters.time = nullptr;
         elastic::rendezvous_registry().make(parameters);
       }},
      {"the keys of a registry", "registry_place::keys",
       [&] {
         elastic::registry_place place;
         place.name = "nowhere";
         elastic::make_registered_rendezvous(parameters, place);
       }},
      {"the keys of a store", "versioned_store",
       [] { elastic::versioned_store store(nullptr); }},
      {"the store behind a prefix", "prefix_store",
       [] { elastic::prefix_store store("p", nullptr); }},
      {"a sink of a journal", "job_journal::add",
       [] { elastic::job_journal({.node = "here"}).add(nullptr); }},
      {"the time of a log", "console_log", [] { elastic::console_log log(nullptr); }},
      {"the time of a directory", "file_keys", [] { elastic::file_keys keys("/tmp", nullptr); }},
      {"the time of a drain file", "wait_for_drain_file",
       [] { finish(elastic::wait_for_drain_file("/tmp/none", nullptr, {})); }},
      {"the agent of a program", "program_run",
       [&] { finish(elastic::program_run(config, options, services).run(nullptr)); }},
  });
}

TEST_CASE("wrong use: what replicas and roles do not have is refused", "[sanitize]") {
  host program;
  const auto replicas = [&](std::function<void(worker_spec&)> change) {
    return [&program, change = std::move(change)] {
      change(program.config.workers);
      program.make(kind::replicas);
    };
  };
  const auto roles = [&](std::vector<elastic::role> list) {
    return [&program, list = std::move(list)] {
      elastic::role_group::options options;
      options.roles = list;
      elastic::role_group group(program.executor(), options);
    };
  };
  elastic::role one;
  one.name = "one";
  one.config = program.config;
  one.config.workers.log_dir.clear();
  elastic::role other = one;
  other.name = "with a line\nend";
  refuse_each({
      {"replicas with a world", "replace",
       replicas([](worker_spec& spec) { spec.on_failure = elastic::failure_policy::replace; })},
      {"replicas with a node check", "node check",
       replicas([](worker_spec& spec) { spec.node_check.command = "true"; })},
      {"no role", "role", roles({})},
      {"two roles of one name", "one", roles({one, one})},
      {"a role whose name is no name", "x0a", roles({other})},
  });
}

TEST_CASE("wrong use: a recorder of a log need not be shared", "[sanitize]") {
  elastic::logger log;
  {
    struct {
      elastic::testing::log_recorder lines;
    } member;
    log = member.lines.log();
    log.info("the answer is {}", 42);
    CHECK(member.lines.has("the answer is 42"));
  }
  log.info("nobody keeps this");
}

}  // namespace wrong_uses::arguments
