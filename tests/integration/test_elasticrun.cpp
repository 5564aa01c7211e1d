// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// The program as its users run it. Each test leaves no process and no file.

#include <elastic/base/asio.hpp>
#include <elastic/process/processor_set.hpp>
#include <support/catch.hpp>
#include <support/elasticrun_stage.hpp>
#include <support/io_uring.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>
#include <support/text.hpp>
#include <support/reserved_port.hpp>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace {

namespace program_test {

namespace fs = std::filesystem;
using elastic::test::contains_text;
using elastic::test::file_text;
using elastic::test::occurrences;
using elastic::test::program_result;
using elastic::test::running_program;
using elastic::test::text_between;
using words = std::vector<std::string>;
using variables = std::map<std::string, std::string>;

struct stage : elastic::test::elasticrun_stage {
  static words command(const words& options, const words& worker) {
    return elasticrun({options, {"--no-python"}, worker});
  }
  static words puppet(const words& acts) {
    words worker{ELASTIC_PUPPET};
    worker.insert(worker.end(), acts.begin(), acts.end());
    return worker;
  }

  program_result run(const words& options, const words& worker, variables more = {}) const {
    return run_command(command(options, worker), std::move(more));
  }
};

std::map<std::string, std::string> variables_of(const std::string& text) {
  std::map<std::string, std::string> found;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const auto equals = line.find('=');
    if (equals != line.npos) found[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return found;
}

words lines_with(const std::string& text, const std::string& part) {
  words found;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.find(part) != line.npos) found.push_back(line);
  }
  return found;
}

/// The events of ends among what was written to stderr, of workers or of the agent; not those of
/// phases and starts.
std::vector<nlohmann::json> ends_of(const std::string& source, const std::string& text) {
  std::vector<nlohmann::json> found;
  for (const std::string& line : lines_with(text, "{\"name\": ")) {
    INFO(line);
    auto happened = nlohmann::json::parse(line, nullptr, false);
    REQUIRE(happened.is_object());
    if (happened["source"] != source) continue;
    CHECK(happened["name"] ==
          "torchelastic.worker.status." + happened["metadata"]["state"].get<std::string>());
    const auto& metadata = happened["metadata"];
    if (metadata["state"] != "START" && metadata["duration_ms"].is_null())
      found.push_back(metadata);
  }
  return found;
}

/// A command in whose environment nobody has chosen a number of threads.
words without_threads(words command) {
  command.insert(command.begin(), {"/usr/bin/env", "-u", "OMP_NUM_THREADS"});
  return command;
}

// ---- what workers are given --------------------------------------------------------------------

TEST_CASE("elasticrun: the promised environment reaches each worker, on top of its own",
          "[integration][elasticrun]") {
  const stage here;
  const auto result =
      here.run({"--standalone", "--nproc-per-node=2", "--max-restarts=3", "--role=trn",
                "--rdzv-id=my-job", "--log-dir", here.logs(), "-r", "1"},
               stage::puppet({"env"}), {{"MY_OWN", "kept as it is"}, {"RANK", "77"}});
  REQUIRE(result.code == 0);
  for (int rank = 0; rank < 2; ++rank) {
    const std::string n = std::to_string(rank);
    auto values = variables_of(file_text(here.log_root() / "attempt_0" / n / "stdout.log"));
    CHECK(values["MY_OWN"] == "kept as it is");
    CHECK(values["RANK"] == n);
    CHECK(values["LOCAL_RANK"] == n);
    CHECK(values["GROUP_RANK"] == "0");
    CHECK(values["ROLE_RANK"] == n);
    CHECK(values["WORLD_SIZE"] == "2");
    CHECK(values["LOCAL_WORLD_SIZE"] == "2");
    CHECK(values["GROUP_WORLD_SIZE"] == "1");
    CHECK(values["ROLE_WORLD_SIZE"] == "2");
    CHECK(values["ROLE_NAME"] == "trn");
    CHECK(values["MASTER_ADDR"] == "127.0.0.1");
    CHECK(std::stoi(values["MASTER_PORT"]) > 0);
    CHECK(values["TORCHELASTIC_RESTART_COUNT"] == "0");
    CHECK(values["TORCHELASTIC_MAX_RESTARTS"] == "3");
    CHECK(!values["TORCHELASTIC_RUN_ID"].empty());
    CHECK(values["TORCHELASTIC_USE_AGENT_STORE"] == "True");
    CHECK(values["TORCHELASTIC_ERROR_FILE"] ==
          (here.log_root() / "attempt_0" / n / "error.json").string());
    CHECK(values.count("NCCL_ASYNC_ERROR_HANDLING") == 0);
    CHECK(values["TORCHELASTIC_SIGNALS_TO_HANDLE"] == "SIGTERM,SIGINT,SIGHUP,SIGQUIT");
    CHECK(values["TORCH_NCCL_ASYNC_ERROR_HANDLING"] == "1");
    CHECK(values["OMP_NUM_THREADS"] == "1");
  }
}

TEST_CASE("elasticrun: a static job of one node has the master that was asked for",
          "[integration][elasticrun]") {
  const stage here;
  const std::string port = std::to_string(elastic::test::reserved_port());
  const auto result = here.run({"--master-port", port, "--log-dir", here.logs(), "-r", "1"},
                               stage::puppet({"env"}));
  REQUIRE(result.code == 0);
  auto values = variables_of(file_text(here.log_root() / "attempt_0" / "0" / "stdout.log"));
  CHECK(values["MASTER_ADDR"] == "127.0.0.1");
  CHECK(values["MASTER_PORT"] == port);
  CHECK(values["TORCHELASTIC_USE_AGENT_STORE"] == "True");
  CHECK(values["TORCHELASTIC_RUN_ID"] == "none");
}

TEST_CASE("elasticrun: a store that is not shared leaves the master's port to rank 0",
          "[integration][elasticrun]") {
  const stage here;
  const auto result =
      here.run({"--standalone", "--log-dir", here.logs(), "-r", "1"}, stage::puppet({"env"}),
               {{"TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1"}});
  REQUIRE(result.code == 0);
  auto values = variables_of(file_text(here.log_root() / "attempt_0" / "0" / "stdout.log"));
  CHECK(values["TORCHELASTIC_USE_AGENT_STORE"] == "False");
  CHECK(std::stoi(values["MASTER_PORT"]) > 0);
}

TEST_CASE("elasticrun: workers have its stdin and its working directory",
          "[integration][elasticrun]") {
  const stage here;
  std::string script = "cd '" + here.folder.path() + "' && echo from outside | '" +
                       ELASTIC_ELASTICRUN + "' --standalone --no-python /bin/sh -c 'cat; pwd'";
  const auto result = elastic::test::run_program({"/bin/sh", "-c", script}, here.environment());
  CHECK(result.code == 0);
  CHECK(result.out == "from outside\n" + fs::canonical(here.folder.path()).string() + "\n");
}

// ---- attempts and files ------------------------------------------------------------------------

TEST_CASE("elasticrun: restarts are counted, told to the workers and kept apart in the logs",
          "[integration][elasticrun][io]") {
  const stage here;
  const auto result = here.run({"--standalone", "--nproc-per-node=2", "--max-restarts=2",
                                "--log-dir", here.logs(), "-r", "3"},
                               {"/bin/sh", "-c",
                                "echo attempt $TORCHELASTIC_RESTART_COUNT; echo to stderr >&2; "
                                "exit $((2 - TORCHELASTIC_RESTART_COUNT))"});
  CHECK(result.code == 0);
  CHECK_THAT(result.err, contains_text("restart 1 of 2"));
  CHECK_THAT(result.err, contains_text("restart 2 of 2"));
  for (int attempt = 0; attempt < 3; ++attempt) {
    for (int rank = 0; rank < 2; ++rank) {
      const fs::path at =
          here.log_root() / ("attempt_" + std::to_string(attempt)) / std::to_string(rank);
      INFO(at.string());
      // The one that did not fail first may have been stopped before it wrote.
      const std::string out = file_text(at / "stdout.log");
      CHECK((out == "attempt " + std::to_string(attempt) + "\n" || (attempt < 2 && out.empty())));
      CHECK(fs::exists(at / "stderr.log"));
    }
  }
  CHECK_FALSE(fs::exists(here.log_root() / "attempt_3"));
  CHECK(fs::is_empty(here.temporary()));
}

TEST_CASE("elasticrun: workers die in every way, and are reported by it",
          "[integration][elasticrun]") {
  const stage here;
  const std::vector<std::pair<words, std::string>> ends{
      {{"exit", "3"}, "exitcode  : 3 (pid:"}, {{"die", "9"}, "(SIGKILL)"},
      {{"die", "11"}, "(SIGSEGV)"},           {{"die", "6"}, "(SIGABRT)"},
      {{"die", "15"}, "(SIGTERM)"},
  };
  for (const auto& [acts, text] : ends) {
    const auto result = here.run({"--standalone"}, stage::puppet(acts));
    INFO(text);
    CHECK(result.code == 1);
    CHECK_THAT(result.err, contains_text("Root Cause (first observed failure):"));
    CHECK_THAT(result.err, contains_text(text));
    here.take_journal();
  }
}

TEST_CASE("elasticrun: output is redirected, teed and prefixed by local rank",
          "[integration][elasticrun]") {
  const stage here;
  const auto result = here.run(
      {"--standalone", "--nproc-per-node=3", "--role=trn", "--log-dir", here.logs(), "-r",
       "0:3,1:1", "-t", "2:3"},
      stage::puppet({"line", "out ${local_rank}", "eline", "err ${local_rank}", "print", "end"}));
  CHECK(result.code == 0);
  const fs::path at = here.log_root() / "attempt_0";
  CHECK(file_text(at / "0" / "stdout.log") == "out 0\nend");
  CHECK(file_text(at / "0" / "stderr.log") == "err 0\n");
  CHECK(file_text(at / "1" / "stdout.log") == "out 1\nend");
  CHECK_FALSE(fs::exists(at / "1" / "stderr.log"));
  CHECK(file_text(at / "2" / "stdout.log") == "out 2\nend");
  CHECK(file_text(at / "2" / "stderr.log") == "err 2\n");
  CHECK(result.out == "[trn2]:out 2\n[trn2]:end\n");
  CHECK(occurrences(result.err, "err 0") == 0);
  CHECK(occurrences(result.err, "err 1\n") == 1);
  CHECK(occurrences(result.err, "[trn2]:err 2\n") == 1);
}

TEST_CASE("elasticrun: the prefix of teed lines is the user's", "[integration][elasticrun]") {
  const stage here;
  const words worker = stage::puppet({"line", "x"});
  const auto by_option = here.run(
      {"--standalone", "-t", "1", "--log-line-prefix-template", "<${role_name} ${rank}> "}, worker);
  CHECK(by_option.out == "<default 0> x\n");
  const auto by_variable = here.run({"--standalone", "-t", "1"}, worker,
                                    {{"TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE", "${local_rank}| "}});
  CHECK(by_variable.out == "0| x\n");
  CHECK(fs::is_empty(here.temporary()));
}

// ---- what it says ------------------------------------------------------------------------------

TEST_CASE("elasticrun: events say what became of each worker, and that the agent did its work",
          "[integration][elasticrun]") {
  const stage here;
  const auto result =
      here.run({"--standalone", "--nproc-per-node=2", "--max-restarts=1", "--role=trn",
                "--event-log-handler", "console"},
               {"/bin/sh", "-c",
                "if [ $RANK = 1 ]; then exec sleep 1000; fi; "
                "echo '{\"message\": \"no luck\"}' > $TORCHELASTIC_ERROR_FILE; exit 3"});
  CHECK(result.code == 1);
  INFO(result.err);

  // Of the last attempt only.
  const auto workers = ends_of("WORKER", result.err);
  REQUIRE(workers.size() == 2);
  const auto& failed = workers[0];
  CHECK(failed["state"] == "FAILED");
  CHECK(failed["global_rank"] == 0);
  CHECK(nlohmann::json::parse(failed["raw_error"].get<std::string>())["message"] == "no luck");
  const auto& stopped = workers[1];
  CHECK(stopped["state"] == "TERMINATED");
  CHECK(stopped["global_rank"] == 1);
  CHECK(stopped["raw_error"].is_null());
  for (const auto& worker : workers) {
    CHECK(worker["role"] == "trn");
    CHECK(worker["group_rank"] == 0);
    CHECK(worker["agent_restarts"] == 1);
    CHECK(std::stoi(worker["worker_id"].get<std::string>()) > 0);
    const auto inner = nlohmann::json::parse(worker["metadata"].get<std::string>());
    CHECK(inner["entry_point"] == "sh");
    CHECK(inner["local_rank"] == nlohmann::json::array({worker["global_rank"]}));
  }

  const auto agents = ends_of("AGENT", result.err);
  REQUIRE(agents.size() == 1);
  CHECK(agents[0]["state"] == "SUCCEEDED");
  CHECK(agents[0]["raw_error"].is_null());
  CHECK(agents[0]["global_rank"].is_null());
  CHECK(agents[0]["run_id"] == failed["run_id"]);
  CHECK(agents[0]["agent_restarts"] == 1);
}

TEST_CASE("elasticrun: workers that succeed are events, too", "[integration][elasticrun]") {
  const stage here;
  const auto result =
      here.run({"--standalone", "--nproc-per-node=2", "--event-log-handler", "console"},
               stage::puppet({"exit", "0"}));
  CHECK(result.code == 0);
  const auto workers = ends_of("WORKER", result.err);
  REQUIRE(workers.size() == 2);
  for (const auto& worker : workers) {
    CHECK(worker["state"] == "SUCCEEDED");
    CHECK(worker["raw_error"].is_null());
  }
  REQUIRE(ends_of("AGENT", result.err).size() == 1);
  CHECK(ends_of("AGENT", result.err)[0]["state"] == "SUCCEEDED");
}

TEST_CASE("elasticrun: an agent that cannot do its work is an event that says why",
          "[integration][elasticrun]") {
  const stage here;
  const words console{"--standalone", "--event-log-handler", "console"};
  const auto nothing = here.run(console, {here.folder / "none"});
  CHECK(nothing.code == 127);
  CHECK(ends_of("WORKER", nothing.err).empty());
  auto agents = ends_of("AGENT", nothing.err);
  REQUIRE(agents.size() == 1);
  CHECK(agents[0]["state"] == "FAILED");
  CHECK_THAT(agents[0]["raw_error"].get<std::string>(), contains_text(here.folder / "none"));

  running_program job(stage::command(console, stage::puppet({"line", "ready", "hang"})),
                      here.environment({{"LOGLEVEL", "INFO"}}));
  job.await_out("ready");
  job.await_err("round 0: node 0 of 1");
  job.signal(SIGTERM);
  const auto stopped = job.wait();
  CHECK(stopped.code == 128 + SIGTERM);
  for (const auto& worker : ends_of("WORKER", stopped.err)) {
    CHECK(worker["state"] == "TERMINATED");
  }
  agents = ends_of("AGENT", stopped.err);
  REQUIRE(agents.size() == 1);
  CHECK(agents[0]["state"] == "FAILED");
  CHECK_THAT(agents[0]["raw_error"].get<std::string>(), contains_text("SIGTERM"));
  CHECK(here.left.processes().empty());
}

TEST_CASE("elasticrun: to bad input it says one line, whatever else it would have warned of",
          "[integration][elasticrun]") {
  const stage here;
  asio::io_context context;
  const asio::ip::tcp::acceptor somebody(context, {asio::ip::address_v4::loopback(), 0});
  const std::string busy = std::to_string(somebody.local_endpoint().port());
  const std::string data = here.folder / "data";
  std::ofstream(data) << "nothing to execute\n";

  struct row {
    words options;
    words worker;
    int code;
    std::string says;
  };
  const words hang = stage::puppet({"hang"});
  const std::vector<row> table = {
      {{"--rdzv-backend", "pigeon"}, hang, 2, "'pigeon'"},
      {{"--event-log-handler", "pigeon"}, hang, 2, "'pigeon'"},
      {{"--master-port", busy}, hang, 2, ":" + busy},
      {{}, {here.folder / "none"}, 127, "none'"},
      {{}, {"no-such-program-anywhere"}, 127, "'no-such-program-anywhere'"},
      {{}, {data}, 126, "data'"},
  };
  for (const row& bad : table) {
    INFO(bad.says);
    words options = bad.options;
    options.insert(options.end(), {"--nproc-per-node", "2"});
    const auto result = elastic::test::run_program(
        without_threads(stage::command(options, bad.worker)), here.environment({{"LOGLEVEL", ""}}));
    CHECK(result.code == bad.code);
    CHECK(result.out.empty());
    CHECK(result.err.starts_with("elasticrun: error: "));
    CHECK(occurrences(result.err, "\n") == 1);
    CHECK_THAT(result.err, contains_text(bad.says));
    CHECK(here.left.processes().empty());
    CHECK(fs::is_empty(here.temporary()));
  }
}

TEST_CASE("elasticrun: that it has chosen the number of threads is said once in a job",
          "[integration][elasticrun]") {
  const stage here;
  const auto result = elastic::test::run_program(
      without_threads(stage::command({"--standalone", "--nproc-per-node=2", "--max-restarts=1"},
                                     {"/bin/sh", "-c",
                                      "echo threads=$OMP_NUM_THREADS; exit $((1 - "
                                      "TORCHELASTIC_RESTART_COUNT))"})),
      here.environment({{"LOGLEVEL", ""}}));
  CHECK(result.code == 0);
  CHECK_THAT(result.out, contains_text("threads=1\n"));
  CHECK_THAT(result.err, contains_text("restart 1 of 1"));
  CHECK(occurrences(result.err, "OMP_NUM_THREADS is not set") == 1);
  CHECK(here.left.processes().empty());
}

TEST_CASE("elasticrun: its log names the I/O in use once, and why it is not io_uring",
          "[integration][elasticrun]") {
  const stage here;
  const words restarts_once =
      stage::command({"--standalone", "--max-restarts=1"},
                     {"/bin/sh", "-c", "exit $((1 - TORCHELASTIC_RESTART_COUNT))"});
  const words version{ELASTIC_ELASTICRUN, "--version"};
  const auto without_ring = [](words command) {
    command.insert(command.begin(), {ELASTIC_DENY_SYSCALLS,
                                     "io_uring_setup,io_uring_enter,io_uring_register", "--"});
    return command;
  };
  // What the log of a job says of the I/O.
  const auto logged = [&](const words& command, const std::string& choice,
                          const std::string& level) {
    const auto result = elastic::test::run_program(
        command, here.environment({{"ELASTIC_IO", choice}, {"LOGLEVEL", level}}));
    INFO(result.err);
    CHECK(result.code == 0);
    CHECK_THAT(result.err, contains_text("restart 1 of 1"));
    CHECK(here.left.processes().empty());
    words found;
    for (const std::string& line : lines_with(result.err, "I/O: ")) {
      found.push_back(line.substr(line.find("I/O: ")));
    }
    return found;
  };
  // What --version says of it.
  const auto shown = [](const words& command) {
    const auto result = elastic::test::run_program(command, {{"ELASTIC_IO", ""}});
    return text_between(result.out, "(", ")\n");
  };
  if (elastic::test::is_io_uring_here()) CHECK(shown(version) == "I/O: io_uring");
  CHECK(logged(restarts_once, "", "INFO") == words{shown(version)});
  CHECK(logged(restarts_once, "epoll", "INFO") == words{"I/O: epoll"});
  const std::string forbidden = shown(without_ring(version));
  CHECK(forbidden.starts_with("I/O: epoll"));
  CHECK_THAT(forbidden, contains_text("io_uring_setup: Operation not permitted"));
  CHECK(logged(without_ring(restarts_once), "", "INFO") == words{forbidden});
  CHECK(logged(without_ring(restarts_once), "", "WARNING").empty());
}

TEST_CASE("elasticrun: workers run on the processors that they were given",
          "[integration][elasticrun]") {
  const stage here;
  const auto run = [&](const std::vector<std::string>& options) {
    std::vector<std::string> arguments{"--standalone", "--no-python"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return here.run(arguments, {"/bin/sh", "-c", "grep Cpus_allowed_list /proc/self/status"});
  };
  const elastic::processor_set allowed = elastic::processor_set::allowed_here();
  const std::string first = std::to_string(*allowed.begin());
  for (const std::string guard : {"required", "none"}) {
    const auto bound = run({"--guard", guard, "--cpu-affinity", first});
    CHECK(bound.code == 0);
    CHECK(bound.out == "Cpus_allowed_list:\t" + first + "\n");
    const auto nowhere = run({"--guard", guard, "--cpu-affinity", "8191"});
    CHECK(nowhere.code == 2);
    CHECK_THAT(nowhere.err, contains_text("--cpu-affinity '8191' for local rank 0: this program"));
  }
  const auto of_node = run({"--numa-binding", "node"});
  CHECK(of_node.code == 0);
  const std::string list = of_node.out.substr(of_node.out.find('\t') + 1);
  for (const int number : elastic::processor_set::parse(list.substr(0, list.find('\n')))) {
    CHECK(allowed.contains(number));
  }
}

// ---- how it ends -------------------------------------------------------------------------------

/// Waits until so many workers are ready, and the agent, whose log level is INFO, knows that they
/// run: an agent that gets a signal before kills them.
void await_workers(running_program& job, int workers) {
  job.await_out("ready", workers);
  job.await_err("round 0: node 0 of 1");
}

TEST_CASE("elasticrun: a signal reaches each worker once", "[integration][elasticrun]") {
  const stage here;
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    INFO("signal " << number);
    const std::string n = std::to_string(number);
    const std::string end = here.folder / ("end_" + n);
    running_program job(
        stage::command({"--standalone", "--nproc-per-node=2"},
                       stage::puppet({"on", n, "print", "got it", "line", "ready", "await", end})),
        here.environment({{"LOGLEVEL", "INFO"}}));
    await_workers(job, 2);
    job.signal(number);
    job.await_out("got it", 2);
    std::ofstream(end).put('\n');
    const auto result = job.wait();
    CHECK(result.code == 128 + number);
    CHECK(occurrences(result.out, "got it") == 2);
    CHECK(here.left.processes().empty());
  }
}

TEST_CASE("elasticrun: a signal that is to be forwarded reaches each worker and ends none",
          "[integration][elasticrun]") {
  const stage here;
  const std::string end = here.folder / "end";
  const std::string usr1 = std::to_string(SIGUSR1);
  running_program job(
      stage::command({"--standalone", "--nproc-per-node=2", "--forward-signals", "SIGUSR1"},
                     stage::puppet({"on", usr1, "print", "got it", "line", "ready", "await", end})),
      here.environment({{"LOGLEVEL", "INFO"}}));
  await_workers(job, 2);
  for (std::size_t times = 1; times <= 3; ++times) {
    job.signal(SIGUSR1);
    job.await_out("got it", 2 * times);
  }
  std::ofstream(end).put('\n');
  CHECK(job.wait().code == 0);
  CHECK(here.left.processes().empty());
}

TEST_CASE("elasticrun: a signal that has no use is ignored with one line, and ends nothing",
          "[integration][elasticrun]") {
  const stage here;
  const std::string end = here.folder / "end";
  running_program job(stage::command({"--standalone", "--preempt-signal", "USR2"},
                                     stage::puppet({"line", "ready", "await", end})),
                      here.environment({{"LOGLEVEL", "INFO"}}));
  await_workers(job, 1);
  job.signal(SIGUSR1);
  job.await_err("SIGUSR1 received and ignored");
  job.signal(SIGUSR1);
  std::ofstream(end).put('\n');
  const auto result = job.wait();
  CHECK(result.code == 0);
  CHECK(occurrences(result.err, "SIGUSR1 received") == 1);
  CHECK(here.left.processes().empty());
}

TEST_CASE("elasticrun: the first Ctrl-C says how long the workers have, the second kills them",
          "[integration][elasticrun]") {
  const stage here;
  running_program job(stage::command({"--standalone", "--shutdown-timeout", "500"},
                                     stage::puppet({"ignore", "2", "line", "ready", "hang"})),
                      here.environment({{"LOGLEVEL", "INFO"}}));
  await_workers(job, 1);
  job.signal(SIGINT);
  job.await_err("SIGINT received: stopping the workers, which have 500 s before they are killed; "
                "a second SIGINT (Ctrl-C) kills them at once\n");
  job.signal(SIGINT);
  const auto result = job.wait();
  CHECK(result.code == 128 + SIGINT);
  CHECK_THAT(result.err, contains_text("SIGINT received: killing the workers\n"));
  CHECK(here.left.processes().empty());
}

TEST_CASE("elasticrun: after an end that is excluded there is no restart",
          "[integration][elasticrun]") {
  const stage here;
  const auto result = elastic::test::run_program(
      stage::command({"--standalone", "--max-restarts=5", "--restart-never-after=93"},
                     stage::puppet({"line", "ran", "exit", "93"})),
      here.environment());
  CHECK(result.code == 1);
  CHECK(occurrences(result.out, "ran") == 1);
  CHECK_THAT(result.err, contains_text("no restart after exit code 93"));
}

TEST_CASE("elasticrun: workers that heed no signal, and their children, are gone at the end",
          "[integration][elasticrun]") {
  for (const std::string guard : {"best-effort", "none"}) {
    INFO("guard " << guard);
    const stage here;
    running_program job(stage::command({"--standalone", "--nproc-per-node=2", "--shutdown-timeout",
                                        "0.3", "--guard", guard},
                                       stage::puppet({"ignore", "15", "fork", "setsid", "fork",
                                                      "group", "line", "ready", "hang"})),
                        here.environment());
    job.await_out("ready", 2);
    CHECK(here.left.processes().size() == 7);
    job.signal(SIGTERM);
    CHECK(job.wait().code == 128 + SIGTERM);
    CHECK(here.left.processes().empty());
  }
}

TEST_CASE("elasticrun: a second SIGINT ends workers and their children at once",
          "[integration][elasticrun]") {
  const stage here;
  running_program job(
      stage::command(
          {"--standalone", "--nproc-per-node=2", "--shutdown-timeout", "1000"},
          stage::puppet({"on", "2", "print", "no", "fork", "setsid", "line", "ready", "hang"})),
      here.environment({{"LOGLEVEL", "INFO"}}));
  await_workers(job, 2);
  job.signal(SIGINT);
  job.await_out("no", 2);
  job.signal(SIGINT);
  CHECK(job.wait().code == 128 + SIGINT);
  CHECK(here.left.processes().empty());
}

TEST_CASE("elasticrun: its workers die with it when it is killed", "[integration][elasticrun]") {
  for (const std::string guard : {"best-effort", "none"}) {
    INFO("guard " << guard);
    const stage here;
    running_program job(
        stage::command({"--standalone", "--nproc-per-node=4", "--guard", guard},
                       stage::puppet({"ignore", "1", "ignore", "15", "line", "ready", "hang"})),
        here.environment());
    job.await_out("ready", 4);
    CHECK(here.left.processes().size() == 5);
    job.signal(SIGKILL);
    CHECK(job.wait().code == -SIGKILL);
    CHECK(here.left.processes_become(0));
  }
}

TEST_CASE("elasticrun: what workers leave running ends with a failed attempt, too",
          "[integration][elasticrun]") {
  const stage here;
  const auto leave_running = [&](const std::string& guard, const std::string& kind) {
    INFO(guard << ", " << kind);
    const auto result =
        here.run({"--standalone", "--nproc-per-node=2", "--max-restarts=1", "--guard", guard},
                 stage::puppet({"fork", kind, "line", "x", "exit", "1"}));
    CHECK(result.code == 1);
    here.take_journal();
  };
  // One that has made a session of its own and lost its parent can only be found by a guard.
  for (const std::string kind : {"plain", "group", "plain+pipe", "group+pipe"}) {
    leave_running("none", kind);
    leave_running("best-effort", kind);
  }
  for (const std::string kind : {"setsid", "daemon", "daemon+pipe"}) {
    leave_running("best-effort", kind);
  }
}

TEST_CASE("elasticrun: a job that is stopped leaves nothing in the temporary folder",
          "[integration][elasticrun]") {
  const stage here;
  running_program job(stage::command({"--standalone"}, stage::puppet({"line", "ready", "hang"})),
                      here.environment());
  job.await_out("ready");
  job.signal(SIGTERM);
  CHECK(job.wait().code == 128 + SIGTERM);
  CHECK(fs::is_empty(here.temporary()));
}

TEST_CASE("elasticrun: jobs run side by side on one machine", "[integration][elasticrun][io]") {
  const stage here;
  const std::string end = here.folder / "end";
  std::vector<std::unique_ptr<running_program>> jobs;
  for (int number = 0; number < 4; ++number) {
    jobs.push_back(std::make_unique<running_program>(
        stage::command({"--standalone", "--nproc-per-node=2"},
                       stage::puppet({"line", "ready", "await", end})),
        here.environment()));
  }
  for (const auto& job : jobs) job->await_out("ready", 2);
  std::ofstream(end).put('\n');
  for (const auto& job : jobs) CHECK(job->wait().code == 0);
  CHECK(here.left.processes().empty());
}

// ---- several nodes -----------------------------------------------------------------------------

words node_options(const stage& here, int rank, const std::string& port) {
  return {"--nnodes=2",
          "--nproc-per-node=" + std::to_string(rank + 1),
          "--node-rank=" + std::to_string(rank),
          "--master-addr=127.0.0.1",
          "--master-port=" + port,
          "--log-dir",
          here.folder / ("logs_" + std::to_string(rank)),
          "-t",
          "1"};
}

TEST_CASE("elasticrun: two static nodes number their workers together and both end",
          "[integration][elasticrun][io]") {
  const stage here;
  // Whoever comes first.
  for (const bool master_first : {true, false}) {
    INFO((master_first ? "node 0 first" : "node 1 first"));
    const std::string port = std::to_string(elastic::test::reserved_port());
    const words worker{"/bin/sh", "-c",
                       "echo rank $RANK of $WORLD_SIZE, local $LOCAL_RANK of $LOCAL_WORLD_SIZE, "
                       "node $GROUP_RANK of $GROUP_WORLD_SIZE at $MASTER_ADDR:$MASTER_PORT"};
    std::unique_ptr<running_program> nodes[2];
    for (const int rank : {master_first ? 0 : 1, master_first ? 1 : 0}) {
      nodes[rank] = std::make_unique<running_program>(
          stage::command(node_options(here, rank, port), worker), here.environment());
    }
    const auto first = nodes[0]->wait();
    const auto second = nodes[1]->wait();
    CHECK(first.code == 0);
    CHECK(second.code == 0);
    const std::string at = " at 127.0.0.1:" + port + "\n";
    CHECK(first.out == "[default0]:rank 0 of 3, local 0 of 1, node 0 of 2" + at);
    CHECK(occurrences(second.out, "rank 1 of 3, local 0 of 2, node 1 of 2" + at) == 1);
    CHECK(occurrences(second.out, "rank 2 of 3, local 1 of 2, node 1 of 2" + at) == 1);
    CHECK_THAT(first.err, !contains_text("at the end"));
    CHECK_THAT(second.err, !contains_text("at the end"));
    CHECK(here.left.processes().empty());
  }
}

TEST_CASE("elasticrun: it may open more files than its workers, which keep the limit of before",
          "[integration][elasticrun]") {
  const stage here;
  // More connections than the workers may open without raising their own limit.
  const char* const script = R"(
import os, resource, socket
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
store = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
connections = [socket.create_connection(store, 120) for _ in range(100)]
for connection in connections:
    connection.sendall(b"\x06")
    assert len(connection.recv(8)) == 8
print(soft)
)";
  for (const std::string guard : {"required", "none"}) {
    INFO("guard " << guard);
    words command{"/bin/sh", "-c", "ulimit -Sn 64; exec \"$@\"", "sh"};
    for (const std::string& word :
         stage::command({"--standalone", "--guard", guard}, {"/usr/bin/python3", "-c", script})) {
      command.push_back(word);
    }
    const auto result = here.run_command(command);
    CHECK(result.code == 0);
    CHECK(result.out == "64\n");
  }
}

TEST_CASE("elasticrun: a static node that waits for the others can be stopped",
          "[integration][elasticrun]") {
  const stage here;
  const std::string port = std::to_string(elastic::test::reserved_port());
  for (const int rank : {0, 1}) {
    INFO("node " << rank);
    running_program job(stage::command(node_options(here, rank, port), stage::puppet({"hang"})),
                        here.environment({{"LOGLEVEL", "DEBUG"}}));
    // It has its handlers by then: before, the signal is ignored if the parent ignored it.
    job.await_err(rank == 0 ? "listening" : "the job needs 2 nodes");
    job.signal(SIGINT);
    CHECK(job.wait().code == 128 + SIGINT);
    CHECK(here.left.processes().empty());
  }
}

TEST_CASE("elasticrun: a static node whose others never come gives up",
          "[integration][elasticrun]") {
  const stage here;
  const std::string port = std::to_string(elastic::test::reserved_port());
  for (const int rank : {0, 1}) {
    INFO("node " << rank);
    words options = node_options(here, rank, port);
    options.push_back("--rdzv-conf=timeout=0.3");
    const auto result = here.run(options, stage::puppet({"hang"}));
    CHECK(result.code == 1);
    CHECK_THAT(result.err, contains_text("within 0.3 s"));
  }
}

}  // namespace program_test
}  // namespace
