// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// How operators of a cluster control a job: the scheduler's variables, signals and files.

#include <elastic/base/detail/unique_fd.hpp>
#include <support/agent_command.hpp>
#include <support/catch.hpp>
#include <support/leftovers.hpp>
#include <support/raw_client.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>
#include <support/task_step.hpp>
#include <support/text.hpp>
#include <support/reserved_port.hpp>

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace operators_test {

using elastic::test::comes_true;
using elastic::test::has_text;
using elastic::test::occurrences;
using elastic::test::program_result;
using elastic::test::running_program;
using variables = std::map<std::string, std::string>;
using words = std::vector<std::string>;

/// What Slurm gives a task of a step with two nodes, both of which are this host.
/// @param job  the number of the job
variables task_of_step(const std::string& job, int node) {
  return {{"SLURM_JOB_ID", job},
          {"SLURM_STEP_ID", "0"},
          {"SLURM_STEP_NUM_NODES", "2"},
          {"SLURM_STEP_NUM_TASKS", "2"},
          {"SLURM_STEP_NODELIST", "127.0.0.[1-2]"},
          {"SLURM_NODEID", std::to_string(node)},
          {"SLURM_PROCID", std::to_string(node)},
          {"LOGLEVEL", "INFO"}};
}

TEST_CASE("operators: in a step of Slurm the nodes meet without an option", "[integration]") {
  const elastic::test::leftovers remains;
  const std::string backend = GENERATE("c10d", "static");
  CAPTURE(backend);
  const words command = {ELASTIC_ELASTICRUN, "--no-python", "sh", "-c",
                         "echo \"$GROUP_RANK of $GROUP_WORLD_SIZE in $TORCHELASTIC_RUN_ID\""};
  const std::string job = elastic::test::number_of_slurm_job();
  std::vector<std::unique_ptr<running_program>> nodes;
  for (int node = 0; node < 2; ++node) {
    variables environment = task_of_step(job, node);
    environment.emplace(remains.name, remains.value);
    if (backend == "static") environment.emplace("PET_RDZV_BACKEND", backend);
    nodes.push_back(std::make_unique<running_program>(command, environment));
  }
  std::string output;
  for (const auto& node : nodes) {
    const program_result result = node->wait();
    INFO(result.err);
    CHECK(result.code == 0);
    CHECK(has_text(result.err, "from Slurm's variables: --nnodes 2 "));
    output += result.out;
  }
  for (int node = 0; node < 2; ++node) {
    CHECK(has_text(output, fmt::format("{} of 2 in {}.0\n", node, job)));
  }
  CHECK(remains.processes().empty());
}

/// A job of nodes on this host, of which each is an elasticrun.
struct operated_job {
  elastic::test::temporary_directory folder;
  elastic::test::leftovers remains;
  words options = {"--nnodes",        "1:2",
                   "--rdzv-id",       "job",
                   "--rdzv-backend",  "c10d",
                   "--rdzv-endpoint", fmt::format("localhost:{}", elastic::test::reserved_port()),
                   "--rdzv-conf",     "last_call_timeout=0.5"};

  std::string level = "WARNING";
  // What a worker does before it prints its world.
  std::string first_of_all;
  bool has_host = false;

  /// The first hosts the rendezvous.
  std::unique_ptr<running_program> start(const words& more, const std::string& work) {
    words command = {ELASTIC_ELASTICRUN};
    command.insert(command.end(), options.begin(), options.end());
    const bool meets_at_host = !options.empty() && options.back() == "last_call_timeout=0.5" &&
                               std::count(more.begin(), more.end(), "--rdzv-backend") == 0;
    if (meets_at_host) {
      command.back() += std::exchange(has_host, true) ? ",is_host=no" : ",is_host=yes";
    }
    command.insert(command.end(), more.begin(), more.end());
    const std::string says = "echo \"world $WORLD_SIZE\"; ";
    command.insert(command.end(), {"--no-python", "bash", "-c", first_of_all + says + work});
    return std::make_unique<running_program>(
        command,
        variables{{remains.name, remains.value}, {"TMPDIR", folder.path()}, {"LOGLEVEL", level}});
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder / name) << text;
  }
};

TEST_CASE("operators: a signal ahead of SIGTERM is taken for it, and ends no worker by itself",
          "[integration]") {
  operated_job job;
  job.level = "INFO";
  job.options.clear();
  const auto node = job.start({"--preempt-signal", "USR1"},
                              "trap 'echo told; exit 0' TERM; echo $BASHPID; "
                              "while :; do sleep 600 & wait $!; done");
  node->await_out("world 1\n");
  node->await_out("\n", 2);
  // A stop during the start kills the workers.
  node->await_err("round 0: ");
  // As Slurm does, which sends it to every process.
  const pid_t worker = std::stoi(node->out().substr(std::string("world 1\n").size()));
  for (int again = 0; again < 3; ++again) ::kill(worker, SIGUSR1);
  CHECK(::kill(worker, 0) == 0);
  node->signal(SIGUSR1);
  const program_result result = node->wait();
  INFO(result.err);
  CHECK(result.code == 128 + SIGTERM);
  CHECK(has_text(result.err, "SIGUSR1 received: "));
  CHECK(has_text(result.out, "told\n"));
  CHECK(job.remains.processes().empty());
}

TEST_CASE("operators: a worker may handle a signal that is ignored for it", "[integration]") {
  operated_job job;
  job.options.clear();
  const auto node = job.start({"--preempt-signal", "USR1", "--guard", GENERATE("none", "required")},
                              "exec python3 -c 'import os, signal; "
                              "print(signal.getsignal(signal.SIGUSR1) == signal.SIG_IGN, "
                              "signal.getsignal(signal.SIGUSR2) == signal.SIG_DFL); "
                              "signal.signal(signal.SIGUSR1, lambda *_: print(\"handled\")); "
                              "os.kill(os.getpid(), signal.SIGUSR1)'");
  const program_result result = node->wait();
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK(has_text(result.out, "True True\nhandled\n"));
}

TEST_CASE("operators: a drain file takes its node out of the job, and the others go on",
          "[integration]") {
  operated_job job;
  const std::string work = "sleep 600";
  const auto host = job.start({}, work);
  host->await_out("world 1\n");
  const auto node = job.start({"--drain-file", job.folder / "drain"}, work);
  host->await_out("world 2\n");
  node->await_out("world 2\n");
  job.write("drain", "GPU 3 is hot\n");
  const program_result drained = node->wait();
  INFO(drained.err);
  CHECK(drained.code == 128 + SIGTERM);
  CHECK(has_text(drained.err, "/drain' exists: GPU 3 is hot: "));
  host->await_out("world 1\n", 2);
  // It is not let in again while the file is there.
  const program_result again = job.start({"--drain-file", job.folder / "drain"}, work)->wait();
  CHECK(again.code == 128 + SIGTERM);
  CHECK(again.out.empty());
  host->signal(SIGTERM);
  CHECK(host->wait().code == 128 + SIGTERM);
  CHECK(job.remains.processes().empty());
}

/// Runs `elasticrun COMMAND unix:SOCKET`.
program_result command(words arguments) {
  arguments.insert(arguments.begin(), ELASTIC_ELASTICRUN);
  return elastic::test::run_agent_command(arguments);
}

TEST_CASE("operators: a command takes its node out of the job, and the others go on",
          "[integration]") {
  operated_job job;
  job.level = "INFO";
  const std::string work = "sleep 600";
  const auto host = job.start({}, work);
  host->await_out("world 1\n");
  const std::string socket = "unix:" + (job.folder / "status");
  const auto node = job.start({"--status", socket}, work);
  host->await_out("world 2\n");
  // Its agent knows that the workers run.
  node->await_err(" of 2, ranks ");
  const program_result nothing = command({"checkpoint", socket});
  CHECK(nothing.code == 1);
  CHECK(nothing.out == "no worker accepts requests for a checkpoint\n");
  const program_result done = command({"drain", socket, "GPU 3", "is hot"});
  INFO(done.err);
  CHECK(done.code == 0);
  CHECK(done.out == "this node leaves the job\n");
  const program_result drained = node->wait();
  INFO(drained.err);
  CHECK(drained.code == 128 + SIGTERM);
  CHECK(has_text(drained.err, fmt::format("drained by user {}: GPU 3 is hot: ", ::geteuid())));
  host->await_out("world 1\n", 2);
  const program_result late = command({"drain", socket});
  CHECK(late.code == 2);
  CHECK(has_text(late.err, "/status': "));
  host->signal(SIGTERM);
  CHECK(host->wait().code == 128 + SIGTERM);
  CHECK(job.remains.processes().empty());
}

TEST_CASE("operators: a command pauses the whole job, another lets it go on", "[integration]") {
  operated_job job;
  job.first_of_all = "trap 'echo told; exit 0' TERM; ";
  const std::string work = "while :; do sleep 600 & wait $!; done";
  const auto host = job.start({}, work);
  host->await_out("world 1\n");
  const std::string socket = "unix:" + (job.folder / "status");
  const auto node = job.start({"--status", socket}, work);
  for (const auto* each : {&host, &node}) (*each)->await_out("world 2\n");
  const program_result paused = command({"pause", socket, "maintenance"});
  INFO(paused.err);
  CHECK(paused.code == 0);
  CHECK(paused.out == "the job is paused: no worker of this node runs\n");
  host->await_err("the job is paused at ");
  host->await_out("told\n", 2);
  const program_result status = command({"status", "--ready", socket});
  CHECK(status.code == 1);
  CHECK(has_text(status.out, "paused: paused at "));
  CHECK(has_text(status.out, fmt::format("by user {}: maintenance", ::geteuid())));
  CHECK(command({"pause", socket}).code == 0);
  CHECK(occurrences(host->out(), "world 2\n") == 1);
  const program_result resumed = command({"resume", socket});
  CHECK(resumed.code == 0);
  CHECK(resumed.out == "the job resumes: its nodes meet\n");
  for (const auto* each : {&host, &node}) (*each)->await_out("world 2\n", 2);
  CHECK(command({"resume", socket}).code == 1);
  for (const auto* each : {&node, &host}) {
    (*each)->signal(SIGTERM);
    const program_result end = (*each)->wait();
    INFO(end.err);
    CHECK(end.code == 128 + SIGTERM);
    CHECK_FALSE(has_text(end.err, "restart 1 of"));
  }
  CHECK(job.remains.processes().empty());
}

TEST_CASE("operators: one node alone pauses, too, and nodes of a fixed job say that they cannot",
          "[integration]") {
  operated_job job;
  const std::string socket = "unix:" + (job.folder / "status");
  SECTION("alone") {
    job.options = {"--standalone"};
    const auto node = job.start({"--status", socket}, "sleep 600");
    node->await_out("world 1\n");
    CHECK(command({"pause", socket}).out == "the job is paused: no worker of this node runs\n");
    CHECK(command({"resume", socket}).code == 0);
    node->await_out("world 1\n", 2);
    node->signal(SIGTERM);
    CHECK(node->wait().code == 128 + SIGTERM);
  }
  SECTION("fixed") {
    job.options = {"--nnodes", "1", "--rdzv-backend", "static"};
    const auto node = job.start({"--status", socket}, "sleep 600");
    node->await_out("world 1\n");
    const program_result refused = command({"pause", socket});
    CHECK(refused.code == 1);
    CHECK(has_text(refused.out, "not paused: nodes that meet by 'static' cannot pause"));
    node->signal(SIGTERM);
    CHECK(node->wait().code == 128 + SIGTERM);
  }
}

TEST_CASE("operators: a command to a stopped agent fails, and is not carried out later",
          "[integration]") {
  const std::string name = GENERATE("drain", "checkpoint", "pause", "resume");
  operated_job job;
  const std::string socket = "unix:" + (job.folder / "status");
  const auto node = job.start({"--status", socket}, "sleep 600");
  node->await_out("world 1\n");
  node->stop();
  const program_result result = running_program({ELASTIC_ELASTICRUN, name, socket}).wait();
  INFO(result.err);
  CHECK(result.code == 2);
  CHECK(has_text(result.err, name + ": the agent does not answer within 5 s"));
  node->signal(SIGCONT);
  const program_result later = command({"checkpoint", socket});
  CHECK(later.out == "no worker accepts requests for a checkpoint\n");
  node->signal(SIGTERM);
  const program_result ended = node->wait();
  INFO(ended.err);
  CHECK_FALSE(has_text(ended.err, "drained by user"));
  CHECK_FALSE(has_text(ended.err, "paused by user"));
  CHECK(job.remains.processes().empty());
}

/// The listening end of a Unix socket.
elastic::detail::unique_fd listen_at(const std::string& path) {
  elastic::detail::unique_fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un place{};
  place.sun_family = AF_UNIX;
  path.copy(place.sun_path, sizeof place.sun_path - 1);
  const auto* const address = reinterpret_cast<const sockaddr*>(&place);
  REQUIRE(::bind(listener.get(), address, sizeof place) == 0);
  REQUIRE(::listen(listener.get(), 16) == 0);
  return listener;
}

TEST_CASE("operators: a command to what falls silent fails within the time that it names",
          "[integration]") {
  const elastic::test::temporary_directory folder;
  const std::string path = folder / "status";
  const elastic::detail::unique_fd listener = listen_at(path);
  const auto begin = std::chrono::steady_clock::now();
  running_program command({ELASTIC_ELASTICRUN, "drain", "unix:" + path});
  const elastic::detail::unique_fd client(::accept(listener.get(), nullptr, nullptr));
  const std::string_view answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
  REQUIRE(::send(client.get(), answer.data(), answer.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(answer.size()));
  const program_result result = command.wait();
  CHECK(result.code == 2);
  CHECK(has_text(result.err, "drain: the agent does not answer within 5 s"));
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(60));
}

TEST_CASE("operators: a drain file counts, too, if inotify is used up", "[integration]") {
  operated_job job;
  job.options.clear();
  const std::string refused = GENERATE("inotify_init1=EMFILE", "inotify_init1=EPERM");
  const std::string drain = job.folder / "drain";
  running_program node({ELASTIC_DENY_SYSCALLS, refused, "--", ELASTIC_ELASTICRUN, "--standalone",
                        "--drain-file", drain, "--no-python", "sh", "-c",
                        "echo runs; exec sleep 600"},
                       variables{{job.remains.name, job.remains.value},
                                 {"TMPDIR", job.folder.path()}});
  node.await_out("runs\n");
  job.write("drain", "GPU 3 is hot\n");
  const program_result result = node.wait();
  INFO(result.err);
  CHECK(result.code == 128 + SIGTERM);
  CHECK(has_text(result.err, "is looked for each second: "));
  CHECK(has_text(result.err, "/drain' exists: GPU 3 is hot: "));
  CHECK(job.remains.processes().empty());
}

TEST_CASE("operators: status --watch waits for an agent that is suspended", "[integration]") {
  operated_job job;
  const std::string socket = "unix:" + (job.folder / "status");
  const auto node = job.start({"--status", socket}, "sleep 600");
  node->await_out("world 1\n");
  running_program watch({ELASTIC_ELASTICRUN, "status", "--watch", socket});
  watch.await_out("running");
  node->signal(SIGSTOP);
  watch.await_out("the agent does not answer\n");
  const int shown = occurrences(watch.out(), "running");
  node->signal(SIGCONT);
  watch.await_out("running", shown + 1);
  node->signal(SIGTERM);
  CHECK(node->wait().code == 128 + SIGTERM);
  const program_result ended = watch.wait();
  INFO(ended.out);
  CHECK(ended.code == 0);
  CHECK(occurrences(ended.out, "the agent does not answer") == 1);
}

TEST_CASE("operators: a node that was drained stays out for its time, and then comes back",
          "[integration]") {
  operated_job job;
  const std::string work = "exec sleep 600";
  const auto host = job.start({}, work);
  host->await_out("world 1\n");
  const std::string socket = "unix:" + (job.folder / "status");
  const std::string seconds = GENERATE("3600", "0.5");
  const words bad = {"--node-name", "gpu7", "--exclude-for", seconds, "--status", socket};
  const auto node = job.start(bad, work);
  host->await_out("world 2\n");
  CHECK(command({"drain", socket, "GPU 3 is hot"}).code == 0);
  CHECK(node->wait().code == 128 + SIGTERM);
  host->await_err(fmt::format("node 'gpu7' is excluded for {} s: drained by user ", seconds));
  const auto again = job.start(bad, work);
  if (seconds == "3600") {
    again->await_err("this node waits: node 'gpu7' is excluded for another ");
    host->await_out("world 1\n", 2);
    CHECK(again->out().empty());
  } else {
    host->await_out("world 2\n", 2);
    again->await_out("world 2\n");
  }
  for (const auto* each : {&again, &host}) {
    (*each)->signal(SIGTERM);
    CHECK((*each)->wait().code == 128 + SIGTERM);
  }
  CHECK(job.remains.processes().empty());
}

TEST_CASE("operators: people see the name of --node-name", "[integration]") {
  operated_job job;
  const std::string socket = "unix:" + (job.folder / "status");
  const std::string work = "exec sleep 600";
  const auto host = job.start({"--node-name", "gpu6", "--status", socket}, work);
  host->await_out("world 1\n");
  const auto node = job.start({"--node-name", "gpu7"}, work);
  host->await_out("world 2\n");
  host->await_err("node gpu7_");
  const auto is_shown = [&] {
    const std::string shown = command({"status", socket}).out;
    return has_text(shown, "node 0 of 2 (gpu6)") && has_text(shown, "active: gpu6_") &&
           has_text(shown, " gpu7_");
  };
  CHECK(comes_true(is_shown));
  CHECK(command({"pause", socket}).code == 0);
  node->await_err("the job is paused at gpu6 by user ");
  for (const auto* each : {&node, &host}) {
    (*each)->signal(SIGTERM);
    CHECK((*each)->wait().code == 128 + SIGTERM);
  }
}

TEST_CASE("operators: the worker that does not come to init_process_group is named",
          "[integration]") {
  // What PyTorch's ranks do first: they count themselves at the store, and stay connected.
  const std::string come =
      "exec 3<> /dev/tcp/$MASTER_ADDR/$MASTER_PORT; "
      "printf '\\3\\5\\0\\0\\0\\0\\0\\0\\0init/\\1\\0\\0\\0\\0\\0\\0\\0' >&3; "
      "head -c 8 <&3 | wc -c; ";
  const elastic::test::leftovers remains;
  running_program job({ELASTIC_ELASTICRUN, "--nproc-per-node", "3", "--no-python", "bash", "-c",
                       "[ $RANK = 1 ] || { " + come + "}; exec sleep 600"},
                      {{remains.name, remains.value}});
  job.await_out("8\n", 2);
  job.await_err("rank 1 has not come to init_process_group after 30 s: it has no connection to ");
  job.await_err(" (2 of 3 ranks have come)\n");
  job.signal(SIGTERM);
  CHECK(job.wait().code == 128 + SIGTERM);
}

TEST_CASE("operators: a job that cannot continue without an excluded node readmits it",
          "[integration]") {
  operated_job job;
  job.options[1] = "2";
  const std::string work = "exec sleep 600";
  const words bad = {"--node-name", "gpu7",         "--exclude-for",
                     "3600",        "--drain-file", job.folder / "drain"};
  const auto host = job.start({}, work);
  const auto node = job.start(bad, work);
  host->await_out("world 2\n");
  node->await_out("world 2\n");
  job.write("drain", "hot");
  CHECK(node->wait().code == 128 + SIGTERM);
  std::filesystem::remove(job.folder / "drain");
  const auto again = job.start(bad, work);
  again->await_err("this node waits: ");
  host->await_err(
      "node 'gpu7' is readmitted early: without the excluded nodes, the job has 1 of at least 2 "
      "nodes");
  again->await_out("world 2\n");
  for (const auto* each : {&again, &host}) {
    (*each)->signal(SIGTERM);
    CHECK((*each)->wait().code == 128 + SIGTERM);
  }
}

TEST_CASE("operators: PyTorch's training goes on elsewhere from what a drained node saved",
          "[integration]") {
  const std::string python = elastic::test::torch_python();
  if (python.empty()) return;
  operated_job job;
  job.options[1] = "2";
  const words options = {"--max-restarts", "0", "--preempt-grace", "20"};
  const std::string work = fmt::format(
      "GLOO_SOCKET_IFNAME=lo OMP_NUM_THREADS=1 exec {} "
      "{}/tests/integration/python/torch_drained_worker.py {} {}",
      python, ELASTIC_SOURCE_DIR, job.folder / "checkpoint", job.folder / "end");
  const std::string socket = "unix:" + (job.folder / "status");
  const auto host = job.start(options, work);
  words bad = options;
  bad.insert(bad.end(), {"--status", socket});
  const auto node = job.start(bad, work);
  host->await_out(" has trained\n");
  job.level = "DEBUG";
  const auto spare = job.start(options, work);
  host->await_out(" trains from step 0, restart 0\n");
  CHECK(command({"drain", socket, "GPU 3 is hot"}).code == 0);
  const program_result drained = node->wait();
  INFO(drained.err);
  CHECK(drained.code == 128 + SIGTERM);
  // None of them is charged with a restart, of which there is none.
  host->await_out("restart 0\n", 2);
  spare->await_out("restart 0\n");
  CHECK_FALSE(has_text(spare->out(), "from step 0,"));
  CHECK(occurrences(host->out(), "from step 0,") == 1);
  job.write("end", "");
  for (const auto* each : {&host, &spare}) {
    const program_result end = (*each)->wait();
    INFO(end.err);
    CHECK(end.code == 0);
    CHECK(has_text(end.out, " ends alike True\n"));
  }
  CHECK(job.remains.processes().empty());
}

TEST_CASE("operators: invalid node names and exclusion times are refused", "[integration]") {
  operated_job job;
  struct row {
    words options;
    std::string sentence;
  };
  const row each =
      GENERATE(row{{"--node-name", "a b"}, "--node-name 'a b': 1 to 64 letters, digits and signs"},
               row{{"--exclude-for", "2592001"}, "--exclude-for 2592001: 0 to 2592000 seconds"},
               row{{"--exclude-for", "1", "--rdzv-backend", "etcd-v2"}, "remembers no bad node"});
  const program_result result = job.start(each.options, "true")->wait();
  CAPTURE(result.err);
  CHECK(result.code == 2);
  CHECK(result.out.empty());
  CHECK(has_text(result.err, each.sentence));
}

TEST_CASE("operators: a drain file that cannot be is refused before anything is started",
          "[integration]") {
  operated_job job;
  for (const std::string& path : {job.folder / "missing/drain", job.folder / ""}) {
    const program_result result = job.start({"--drain-file", path}, "true")->wait();
    CAPTURE(result.err);
    CHECK(result.code == 2);
    CHECK(result.out.empty());
    CHECK(has_text(result.err, "of the drain file does not exist") !=
          has_text(result.err, "' has no name"));
  }
}

TEST_CASE("operators: a node that its check calls unfit takes no part", "[integration]") {
  operated_job job;
  struct row {
    std::string check;
    std::string sentence;
  };
  const row each =
      GENERATE(row{"echo GPU 3 is lost; exit 4",
                   "the node check failed: exit code 4; it wrote: GPU 3 is lost"},
               row{"/nowhere/check", "the node check failed: exit code 127; it wrote: "},
               row{"echo waiting; (trap '' TERM; setsid sleep 600 & sleep 60)",
                   "the node check did not end within 0.3 s"},
               row{"head -c 1000000 /dev/zero | tr '\\0' x; echo end; kill -9 $$", "xxxxxxend"});
  CAPTURE(each.check);
  const program_result result = job.start({"--node-check", each.check, "--node-check-timeout",
                                           has_text(each.check, "waiting") ? "0.3" : "30"},
                                          "true")
                                    ->wait();
  CAPTURE(result.err);
  CHECK(result.code == 1);
  CHECK(result.out.empty());
  CHECK(has_text(result.err, each.sentence));
  CHECK(has_text(result.err, "FAILED on this node, which has left the job: the node check"));
  CHECK(result.err.size() < 2000);
  CHECK(job.remains.processes().empty());
}

TEST_CASE("operators: a node that fails its check before a restart leaves, and the others go on",
          "[integration]") {
  operated_job job;
  const std::string file = job.folder / "broken";
  const auto host = job.start({"--max-restarts", "3"}, "sleep 600");
  host->await_out("world 1\n");
  const auto node = job.start({"--max-restarts", "3", "--node-check", "! test -e " + file},
                              "while ! [ -e " + file + " ]; do sleep 0.02; done; exit 1");
  host->await_out("world 2\n");
  node->await_out("world 2\n");
  job.write("broken", "");
  const program_result result = node->wait();
  CAPTURE(result.err);
  CHECK(result.code == 1);
  CHECK(has_text(result.err, "this node leaves the job: the node check failed: exit code 1"));
  host->await_out("world 1\n", 2);
  host->signal(SIGTERM);
  CHECK(host->wait().code == 128 + SIGTERM);
  CHECK(job.remains.processes().empty());
}

TEST_CASE("operators: a job of named sizes runs with these alone, the rest stand by",
          "[integration]") {
  operated_job job;
  job.level = "DEBUG";
  const std::string work = "exec sleep 600";
  const auto start_at = [&](const std::string& address) {
    return job.start({"--nnodes", "1,3", "--local-addr", address}, work);
  };
  const auto host = start_at("127.0.0.1");
  host->await_out("world 1\n");
  const auto second = start_at("127.0.0.2");
  host->await_err("stands by");
  CHECK(second->out().empty());
  const auto third = start_at("127.0.0.3");
  for (const auto* node : {&host, &second, &third}) (*node)->await_out("world 3\n");
  CHECK(occurrences(host->out(), "world") == 2);
  third->signal(SIGKILL);
  CHECK(third->wait().code == -SIGKILL);
  // Of the two that are left the first in the order of addresses goes on, the other stands by.
  host->await_err("round 2: 1 node in it, 1 on standby");
  host->await_out("world 1\n", 2);
  CHECK(occurrences(second->out(), "world") == 1);
  for (const auto* node : {&second, &host}) {
    (*node)->signal(SIGTERM);
    CHECK((*node)->wait().code == 128 + SIGTERM);
  }
}

TEST_CASE("operators: nodes that come while one stands by join in one restart", "[integration]") {
  operated_job job;
  job.level = "DEBUG";
  const words slowly = {"--nnodes", "1:3", "--scale-up-delay", "10"};
  const std::string work = "exec sleep 600";
  const auto host = job.start(slowly, work);
  host->await_out("world 1\n");
  const auto second = job.start(slowly, work);
  const auto third = job.start(slowly, work);
  host->await_err("stands by", 2);
  for (const auto* node : {&host, &second, &third}) (*node)->await_out("world 3\n");
  CHECK(occurrences(host->out(), "world") == 2);
  for (const auto* node : {&third, &second, &host}) {
    (*node)->signal(SIGTERM);
    CHECK((*node)->wait().code == 128 + SIGTERM);
  }
}

}  // namespace operators_test
