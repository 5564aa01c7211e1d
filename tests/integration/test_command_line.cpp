// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/process/detail/guard_image.hpp>
#include <support/catch.hpp>
#include <support/run_program.hpp>
#include <support/text.hpp>
#include <support/running_program.hpp>
#include <support/reserved_port.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace {

namespace elasticrun_test {

using elastic::test::contains_text;
using arguments = std::vector<std::string>;
using variables = std::map<std::string, std::string>;

arguments elasticrun(const arguments& words) {
  arguments command = {ELASTIC_ELASTICRUN};
  command.insert(command.end(), words.begin(), words.end());
  return command;
}

std::string joined(const arguments& words) {
  std::string text;
  for (const std::string& word : words) text += "[" + word + "]";
  return text;
}

/// A directory with a script, and a program in the place of Python that leaves a mark when it is
/// started: so a test sees whether anything was.
class stage {
 public:
  stage() {
    write("train.py", "", 0644);
    write("python", "#!/bin/sh\n: > '" + mark() + "'\n", 0755);
  }
  std::string script() const { return folder_ / "train.py"; }
  std::string operator/(const std::string& name) const { return folder_ / name; }
  bool anything_started() const { return std::filesystem::exists(mark()); }

  std::string write(const std::string& name, const std::string& text, mode_t mode) const {
    std::ofstream(folder_ / name) << text;
    ::chmod((folder_ / name).c_str(), mode);
    return folder_ / name;
  }

  elastic::test::program_result run(const arguments& words, variables changes = {}) const {
    changes.emplace("PYTHON_EXEC", folder_ / "python");
    changes.emplace("TMPDIR", folder_.path());  // for the logs of jobs that fail
    return elastic::test::run_program(elasticrun(words), changes);
  }

  /// Bad input: the exit code, one line on stderr that names `says`, and nothing started.
  void refuses(const arguments& words, const std::string& says, int code = 2,
               const variables& changes = {}) const {
    INFO(joined(words));
    const auto result = run(words, changes);
    CHECK(result.code == code);
    CHECK(result.out.empty());
    CHECK(result.err.starts_with("elasticrun: error: "));
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
    CHECK_THAT(result.err, contains_text(says));
    CHECK_FALSE(anything_started());
  }

 private:
  std::string mark() const { return folder_ / "started"; }
  elastic::test::temporary_directory folder_;
};

/// A TCP port of loopback on which somebody else listens.
class busy_port {
 public:
  busy_port() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(::bind(socket_, any, size) == 0);
    REQUIRE(::listen(socket_, 1) == 0);
    REQUIRE(::getsockname(socket_, any, &size) == 0);
    number_ = ntohs(address.sin_port);
  }
  ~busy_port() { ::close(socket_); }
  std::string text() const { return std::to_string(number_); }

 private:
  int socket_;
  int number_ = 0;
};

/// The addresses on which a process listens by TCP, as /proc/net/tcp and tcp6 write them.
std::vector<std::string> listening_addresses(pid_t pid) {
  std::set<std::string> sockets;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (target.starts_with("socket:[")) sockets.insert(target.substr(8, target.size() - 9));
  }
  std::vector<std::string> addresses;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream lines(table);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream fields(line);
      std::vector<std::string> field(10);
      for (std::string& text : field) fields >> text;
      constexpr const char* listening = "0A";
      if (field[3] != listening || sockets.count(field[9]) == 0) continue;
      addresses.push_back(field[1].substr(0, field[1].find(':')));
    }
  }
  return addresses;
}

/// Two workers of the puppet that say "ready" once they can be stopped.
arguments puppets(const arguments& options, const arguments& acts) {
  arguments words = {"--standalone", "--nproc-per-node", "2"};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"--no-python", ELASTIC_PUPPET});
  words.insert(words.end(), acts.begin(), acts.end());
  return elasticrun(words);
}

/// Waits until both are ready, and the agent, whose log level is INFO, knows that they run: an
/// agent that gets a signal before kills them.
void await_puppets(elastic::test::running_program& job) {
  job.await_out("ready", 2);
  job.await_err("round 0: node 0 of 1");
}

const variables with_log = {{"LOGLEVEL", "INFO"}};

}  // namespace elasticrun_test

namespace et = elasticrun_test;

TEST_CASE("elasticrun: bad input ends in one line and exit code 2, and nothing is started",
          "[integration][elasticrun]") {
  const et::stage stage;
  const std::string script = stage.script();
  stage.refuses({"--nonsense", script}, "'--nonsense'");
  stage.refuses({"--nproc-per-nodes", "2", script}, "did you mean --nproc-per-node?");
  for (const char* nodes : {"2:1", "0", "a:b", "1:2:3"}) {
    stage.refuses({"--nnodes", nodes, script}, "MIN:MAX with 1 <= MIN <= MAX");
  }
  for (const char* workers : {"0", "-1", "many"}) {
    stage.refuses({"--nproc-per-node", workers, script}, "a number from 1");
  }
  for (const char* streams : {"4", "10:1", "x"}) {
    stage.refuses({"--redirects", streams, script}, "--redirects");
    stage.refuses({"--tee", streams, script}, "--tee");
  }
  stage.refuses({"--rdzv-conf", "a", script}, "key=value");
  stage.refuses({"--env", "RANK=7", script}, "env: RANK cannot be chosen");
  stage.refuses({"--rdzv-endpoint", ":29400", script}, "no host");
  stage.refuses({"--rdzv-endpoint", "h:70000", script}, "0 to 65535");
  stage.refuses({"--master-port", "70000", script}, "0 to 65535");
  stage.refuses({"--max-restarts", "-1", script}, "--max-restarts '-1'");
  stage.refuses({"-m", "--no-python", script}, "exclude each other");
  stage.refuses({}, "no script given");
  stage.refuses({"--standalone"}, "no script given");
  stage.refuses({"--signals-to-handle", "SIGKILL", script}, "SIGKILL cannot be handled");
  stage.refuses({"--restart-never-after", "BOOM", script}, "'BOOM' is not an exit code");
}

TEST_CASE("elasticrun: files that cannot be used end in exit code 2", "[integration][elasticrun]") {
  const et::stage stage;
  stage.refuses({stage / "none.py"}, "none.py' does not exist");
  stage.refuses({"--log-dir", stage.script(), stage.script()}, "Not a directory");
  stage.refuses({"--log-dir", "/proc/self/logs", stage.script()}, "/proc/self/logs");
}

TEST_CASE("elasticrun: names that nobody knows end in exit code 2", "[integration][elasticrun]") {
  const et::stage stage;
  stage.refuses({"--rdzv-backend", "pigeon", stage.script()},
                "c10d, etcd, etcd-v2, etcd-v3, file, static");
  stage.refuses({"--event-log-handler", "pigeon", stage.script()}, "console");
  stage.refuses({stage.script()}, "LOGLEVEL", 2, {{"LOGLEVEL", "LOUD"}});
  stage.refuses({stage.script()}, "PET_NNODES '0'", 2, {{"PET_NNODES", "0"}});
}

TEST_CASE("elasticrun: a port in use is named", "[integration][elasticrun]") {
  const et::stage stage;
  const et::busy_port busy;
  stage.refuses({"--master-port", busy.text(), stage.script()}, ":" + busy.text());
  stage.refuses(
      {"--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:" + busy.text(), stage.script()},
      ":" + busy.text());
}

TEST_CASE("elasticrun: a program that cannot be run ends as in a shell",
          "[integration][elasticrun]") {
  const et::stage stage;
  stage.refuses({"--no-python", stage / "none"}, "none", 127);
  stage.refuses({"--no-python", "no-such-program-anywhere"}, "no-such-program-anywhere", 127);
  stage.refuses({"--no-python", stage.script()}, "train.py", 126);
  stage.refuses({"--no-python", "/"}, "'/'", 126);
  const auto no_loader = stage.write("no_interpreter", "#!/no/such/shell\n", 0755);
  stage.refuses({"--no-python", no_loader}, "/no/such/shell", 126);
  stage.refuses({stage.script()}, "no-such-python", 127, {{"PYTHON_EXEC", "no-such-python"}});
}

TEST_CASE("elasticrun: help and version go to stdout", "[integration][elasticrun]") {
  const et::stage stage;
  const auto help = stage.run({"--help"});
  CHECK(help.code == 0);
  CHECK(help.err.empty());
  CHECK_THAT(help.out, et::contains_text("--nproc-per-node"));
  const auto version = stage.run({"--version"});
  CHECK(version.code == 0);
  CHECK(version.out.starts_with("elasticrun "));
  CHECK_THAT(version.out, et::contains_text("(I/O: "));
}

TEST_CASE("elasticrun: started in an environment, it runs scripts by the Python there",
          "[integration][elasticrun]") {
  const et::stage stage;
  std::filesystem::create_directories(stage / "venv/bin");
  stage.write("venv/pyvenv.cfg", "", 0644);
  stage.write("venv/bin/python3", "#!/bin/sh\necho the environment\n", 0755);
  const std::string installed = stage / "venv/bin/elasticrun";
  std::filesystem::copy_file(ELASTIC_ELASTICRUN, installed);
  const std::string link = stage / "elasticrun";
  std::filesystem::create_symlink(installed, link);

  const auto run = [&](const std::string& program, const std::string& python) {
    const auto result = elastic::test::run_program({program, "--standalone", stage.script()},
                                                   {{"PYTHON_EXEC", python}});
    CHECK(result.code == 0);
    return result.out;
  };
  CHECK(run(installed, "") == "the environment\n");
  CHECK(run(installed, "/bin/true").empty());
  CHECK(run(link, "").empty());  // the Python of PATH
}

TEST_CASE("elasticrun: the I/O in use is named, and is epoll if io_uring is forbidden",
          "[integration][elasticrun]") {
  const et::stage stage;
  CHECK_THAT(stage.run({"--version"}, {{"ELASTIC_IO", "epoll"}}).out,
             et::contains_text("(I/O: epoll)"));
  stage.refuses({stage.script()}, "ELASTIC_IO 'poll'", 2, {{"ELASTIC_IO", "poll"}});

  const std::string calls = "io_uring_setup,io_uring_enter,io_uring_register";
  const et::arguments without = {ELASTIC_DENY_SYSCALLS, calls, "--", ELASTIC_ELASTICRUN};
  auto version = without;
  version.push_back("--version");
  CHECK_THAT(elastic::test::run_program(version, {{"ELASTIC_IO", ""}}).out,
             et::contains_text("(I/O: epoll, for want of io_uring: "));
  auto job = without;
  job.insert(job.end(), {"--no-python", ELASTIC_PUPPET, "line", "x"});
  CHECK(elastic::test::run_program(job, {{"ELASTIC_IO", ""}}).out == "x\n");
  const auto refused = elastic::test::run_program(job, {{"ELASTIC_IO", "ring"}});
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, et::contains_text("io_uring is not available"));
}

TEST_CASE("elasticrun: the script's arguments and the macro reach each worker",
          "[integration][elasticrun]") {
  const et::stage stage;
  stage.write("python", "#!/bin/sh\necho \"$LOCAL_RANK:$*\"\n", 0755);
  const auto result = stage.run({"--nproc-per-node", "2", stage.script(), "--nnodes", "9",
                                 "--shard=${local_rank}", "$$HOME", ""});
  CHECK(result.code == 0);
  for (const std::string rank : {"0", "1"}) {
    CHECK_THAT(result.out, et::contains_text(rank + ":-u " + stage.script() +
                                             " --nnodes 9 --shard=" + rank + " $HOME \n"));
  }
}

TEST_CASE("elasticrun: several workers get OMP_NUM_THREADS 1 with a warning, one does not",
          "[integration][elasticrun]") {
  const et::stage stage;
  stage.write("python", "#!/bin/sh\necho \"threads=$OMP_NUM_THREADS\"\n", 0755);
  const auto with_env = [&](const char* count) {
    return elastic::test::run_program({"/usr/bin/env", "-u", "OMP_NUM_THREADS", ELASTIC_ELASTICRUN,
                                       "--nproc-per-node", count, stage.script()},
                                      {{"PYTHON_EXEC", stage / "python"}, {"LOGLEVEL", ""}});
  };
  const auto two_workers = with_env("2");
  CHECK(two_workers.out == "threads=1\nthreads=1\n");
  CHECK_THAT(two_workers.err, et::contains_text("OMP_NUM_THREADS is not set"));
  const auto one_worker = with_env("1");
  CHECK(one_worker.out == "threads=\n");
  CHECK(one_worker.err.empty());
}

TEST_CASE("elasticrun: what its parent did to signals and streams reaches no worker",
          "[integration][elasticrun]") {
  const et::stage stage;
  const std::string run = std::string("exec '") + ELASTIC_ELASTICRUN + "' --log-dir '" +
                          (stage / "logs") + "' --redirects 3 --no-python ";
  const auto shell = [&](const std::string& script) {
    return elastic::test::run_program({"/bin/sh", "-c", script});
  };
  CHECK(shell("trap '' CHLD; " + run + "/bin/true").code == 0);
  for (const std::string closed : {"0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"}) {
    CAPTURE(closed);
    const std::string input = closed[0] == '0' ? "" : " </dev/null";
    const std::string looks = "/bin/sh -c '[ \"$(readlink /proc/self/fd/0)\" = /dev/null ]' ";
    CHECK(shell(run + looks + closed + input).code == 0);
  }
}

TEST_CASE("elasticrun: a failed worker ends in exit code 1 with a report",
          "[integration][elasticrun]") {
  const et::stage stage;
  for (const et::arguments& end : {et::arguments{"exit", "7"}, et::arguments{"die", "9"}}) {
    et::arguments words = {"--log-dir", stage / "logs", "--no-python", ELASTIC_PUPPET};
    words.insert(words.end(), end.begin(), end.end());
    const auto result = stage.run(words);
    CHECK(result.code == 1);
    CHECK_THAT(result.err, et::contains_text("Root Cause (first observed failure):"));
    CHECK_THAT(result.err, et::contains_text(std::string(ELASTIC_PUPPET) + " FAILED"));
    CHECK_THAT(result.err, et::contains_text("Logs: " + (stage / "logs")));
  }
}

TEST_CASE("elasticrun: the launcher's own error file gets the worker's, with its exit code",
          "[integration][elasticrun]") {
  const et::stage stage;
  stage.write("python",
              "#!/bin/sh\n"
              "echo '{\"message\": {\"message\": \"E: no\", \"extraInfo\": {\"timestamp\": "
              "\"7\"}}}' > \"$TORCHELASTIC_ERROR_FILE\"\nexit 3\n",
              0755);
  const auto result =
      stage.run({stage.script()}, {{"TORCHELASTIC_ERROR_FILE", stage / "outer.json"}});
  CHECK(result.code == 1);
  const std::string text = elastic::test::file_text(stage / "outer.json");
  CHECK_THAT(text, et::contains_text("\"E: no\""));
  CHECK_THAT(text, et::contains_text("\"errorCode\": 3"));
}

TEST_CASE("elasticrun: an error of the launcher itself goes to its error file, too",
          "[integration][elasticrun]") {
  const et::stage stage;
  const auto result = stage.run({"--no-python", stage / "none"},
                                {{"TORCHELASTIC_ERROR_FILE", stage / "outer.json"}});
  CHECK(result.code == 127);
  CHECK_THAT(elastic::test::file_text(stage / "outer.json"), et::contains_text("none"));
}

TEST_CASE("elasticrun: each signal stops the workers by the same signal, exit code 128 + N",
          "[integration][elasticrun]") {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    INFO("signal " << number);
    const std::string n = std::to_string(number);
    elastic::test::running_program job(
        et::puppets({}, {"on", n, "exit", "0", "line", "ready", "hang"}), et::with_log);
    et::await_puppets(job);
    job.signal(number);
    const auto result = job.wait();
    CHECK(result.code == 128 + number);
    CHECK_THAT(result.err, !et::contains_text("Root Cause"));
  }
}

TEST_CASE("elasticrun: a second SIGINT kills workers that do not end",
          "[integration][elasticrun]") {
  elastic::test::running_program job(
      et::puppets({"--shutdown-timeout", "1000"},
                  {"on", std::to_string(SIGINT), "print", "no", "line", "ready", "hang"}),
      et::with_log);
  et::await_puppets(job);
  job.signal(SIGINT);
  job.await_out("no", 2);
  job.signal(SIGINT);
  CHECK(job.wait().code == 128 + SIGINT);
}

TEST_CASE("elasticrun: a second signal of another kind changes nothing",
          "[integration][elasticrun]") {
  elastic::test::temporary_directory folder;
  elastic::test::running_program job(
      et::puppets({"--shutdown-timeout", "1000"},
                  {"on", std::to_string(SIGTERM), "print", "no", "line", "ready", "await",
                   folder / "end", "line", "bye"}),
      et::with_log);
  et::await_puppets(job);
  job.signal(SIGTERM);
  job.await_out("no", 2);
  job.signal(SIGHUP);
  job.signal(SIGTERM);
  std::ofstream(folder / "end").put('\n');
  job.await_out("bye", 2);
  CHECK(job.wait().code == 128 + SIGTERM);
}

TEST_CASE("elasticrun: workers that do not end are killed after the shutdown timeout",
          "[integration][elasticrun]") {
  elastic::test::running_program job(
      et::puppets({"--shutdown-timeout", "0.2"},
                  {"ignore", std::to_string(SIGTERM), "line", "ready", "hang"}),
      et::with_log);
  et::await_puppets(job);
  const auto start = std::chrono::steady_clock::now();
  job.signal(SIGTERM);
  CHECK(job.wait().code == 128 + SIGTERM);
  // The default is 30 s.
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(28));
}

TEST_CASE("elasticrun: the signals to handle are those that stop the job",
          "[integration][elasticrun]") {
  const auto start = [](elastic::test::running_program& job) { job.await_out("ready", 2); };
  const et::arguments acts = {"on", std::to_string(SIGUSR2), "exit", "0", "line", "ready", "hang"};
  elastic::test::running_program handled(et::puppets({"--signals-to-handle", "SIGUSR2"}, acts));
  start(handled);
  handled.signal(SIGUSR2);
  CHECK(handled.wait().code == 128 + SIGUSR2);
  // What is not among them does to elasticrun what it does to any program.
  elastic::test::running_program unhandled(et::puppets({"--signals-to-handle", "SIGUSR2"}, acts));
  start(unhandled);
  unhandled.signal(SIGTERM);
  CHECK(unhandled.wait().code == -SIGTERM);
}

TEST_CASE("elasticrun: SIGHUP stays ignored under nohup", "[integration][elasticrun]") {
  elastic::test::temporary_directory folder;
  et::arguments command = {"/bin/sh", "-c", "trap '' HUP; exec \"$@\"", "sh"};
  const auto job_command =
      et::puppets({}, {"line", "ready", "await", folder / "end", "line", "bye"});
  command.insert(command.end(), job_command.begin(), job_command.end());
  elastic::test::running_program job(command);
  job.await_out("ready", 2);
  job.signal(SIGHUP);
  std::ofstream(folder / "end").put('\n');
  CHECK(job.wait().code == 0);
  CHECK_THAT(job.out(), et::contains_text("bye"));
}

TEST_CASE("elasticrun: a closed stdout and stderr do not end the job",
          "[integration][elasticrun]") {
  elastic::test::temporary_directory folder;
  const auto job =
      et::puppets({"-t", "3"}, {"line", "x", "eline", "y", "touch", folder / "done.${local_rank}"});
  for (const char* how : {"exec \"$@\" >&- 2>&-", "exec \"$@\" </dev/null >/dev/full 2>&1"}) {
    et::arguments command = {"/bin/sh", "-c", how, "sh"};
    command.insert(command.end(), job.begin(), job.end());
    CHECK(elastic::test::run_program(command).code == 0);
    CHECK(std::filesystem::remove(folder / "done.0"));
    CHECK(std::filesystem::remove(folder / "done.1"));
  }
}

TEST_CASE("elasticrun: output that is lost on the console is reported",
          "[integration][elasticrun]") {
  for (const et::arguments& options :
       {et::arguments{"-t", "3"}, {"--log-format", "json"}, {"--merge-output"}}) {
    INFO(options.front());
    et::arguments command = {"/bin/sh", "-c", "exec \"$@\" >/dev/full", "sh"};
    const auto job = et::puppets(options, {"line", "x", "line", "y"});
    command.insert(command.end(), job.begin(), job.end());
    const auto result = elastic::test::run_program(command);
    CHECK(result.code == 0);
    const std::string report = "output can no longer be shown on stdout: No space left on device";
    CHECK_THAT(result.err, et::contains_text(report));
    CHECK(result.err.find(report) == result.err.rfind(report));
  }
}

TEST_CASE("elasticrun: a limit on the size of files ends neither the job nor its guards",
          "[integration][elasticrun]") {
  elastic::test::temporary_directory folder;
  et::arguments command = {"/bin/sh", "-c", "ulimit -f 16 && exec \"$@\"", "sh"};
  const auto job =
      et::elasticrun({"--standalone", "--log-dir", folder.path(), "-t", "3", "--no-python",
                      "/bin/sh", "-c", "yes | head -c 100000; echo end"});
  command.insert(command.end(), job.begin(), job.end());
  const auto result = elastic::test::run_program(command);
  CHECK(result.code == 0);
  CHECK_THAT(result.out, et::contains_text("]:end\n"));
  CHECK_THAT(result.err, et::contains_text("cannot be written, output is lost: File too large"));
  CHECK_THAT(result.err, !et::contains_text("workers have no guard"));
}

TEST_CASE("elasticrun: a FIFO in place of the report does not hold up the end",
          "[integration][elasticrun]") {
  elastic::test::temporary_directory folder;
  const auto result = elastic::test::run_program(et::elasticrun(
      {"--standalone", "--log-dir", folder.path(), "--no-python", "/bin/sh", "-c",
       "cd \"${TORCHELASTIC_ERROR_FILE%/attempt_0/*}\" && mkfifo report.json; exit 3"}));
  CHECK(result.code == 1);
  CHECK_THAT(result.err, !et::contains_text("cannot be written"));
}

TEST_CASE("elasticrun: names from a job file cannot act on the terminal",
          "[integration][elasticrun]") {
  elastic::test::temporary_directory folder;
  const std::string file = folder / "job.toml";
  std::ofstream(file) << "[role.\"\\u001b[31m\\nX\"]\ncommand = [\"--no-python\", \"true\"]\n";
  const auto result = elastic::test::run_program(et::elasticrun({"--job", file}));
  CHECK(result.code == 2);
  CHECK_THAT(result.err, et::contains_text("error: role '\\x1b[31m\\x0aX': a name is"));
}

TEST_CASE("elasticrun: what cannot be shown is an error", "[integration][elasticrun]") {
  elastic::test::temporary_directory folder;
  const std::string journal = folder / "journal";
  // A file "status" there would be the worker's program.
  const std::string status = "unix:" + std::string(folder / "socket");
  elastic::test::running_program job(
      et::elasticrun({"--standalone", "--journal", journal, "--status", status, "-t", "3",
                      "--no-python", ELASTIC_PUPPET, "line", "ready", "await", folder / "end"}));
  job.await_out("ready");
  const std::vector<et::arguments> commands = {
      {"--help"},           {"--version"},      {"status", "--help"},         {"doctor"},
      {"explain", journal}, {"trace", journal}, {"status", "--watch", status}};
  for (const et::arguments& words : commands) {
    INFO(words.front());
    et::arguments command = {"/bin/sh", "-c", "exec \"$@\" >/dev/full", "sh"};
    const auto program = et::elasticrun(words);
    command.insert(command.end(), program.begin(), program.end());
    const auto result = elastic::test::run_program(command);
    CHECK(result.code == 1);
    CHECK(result.err == "elasticrun: error: stdout cannot be written: No space left on device\n");
    // A pipe that nobody reads any more, as behind head.
    command[2] = "cd '" + folder.path() + "' && mkfifo pipe && exec 4<>pipe 5>pipe 4<&- && "
                 "rm pipe && exec \"$@\" >&5";
    const auto unread = elastic::test::run_program(command);
    CHECK((unread.code == 0 || words.front() == "doctor"));
    CHECK(unread.err.empty());
  }
  std::ofstream(folder / "end").put('\n');
  CHECK(job.wait().code == 0);
}

TEST_CASE("elasticrun: without arguments of its own a job leaves nothing in the temporary folder",
          "[integration][elasticrun]") {
  elastic::test::temporary_directory folder;
  const et::variables temporary = {{"TMPDIR", folder.path()}};
  const auto result = elastic::test::run_program(
      et::elasticrun({"-t", "3", "--no-python", ELASTIC_PUPPET, "line", "x"}), temporary);
  CHECK(result.code == 0);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("elasticrun: a temporary folder that this host does not have is replaced, with a warning",
          "[integration][elasticrun]") {
  const elastic::test::temporary_directory folder;
  std::ofstream(folder / "file").put('x');
  for (const std::string& unusable : {folder / "absent", folder / "file", std::string("/proc")}) {
    CAPTURE(unusable);
    const std::string warning = "the temporary folder '" + unusable + "' cannot be used (";
    const auto warnings = [&](et::arguments words) {
      words.insert(words.end(), {"-r", "3", "--no-python", ELASTIC_PUPPET, "line", "x"});
      const auto result =
          elastic::test::run_program(et::elasticrun(words), {{"TMPDIR", unusable}});
      CHECK(result.code == 0);
      return elastic::test::occurrences(result.err, warning);
    };
    CHECK(warnings({}) == 1);
    // A job that does not use the folder is not warned of it.
    CHECK(warnings({"--log-dir", folder / "logs"}) == 0);
  }
}

TEST_CASE("elasticrun: workers get variables of their own and take themselves for the only one",
          "[integration][elasticrun]") {
  const et::stage stage;
  stage.write("python", "#!/bin/sh\necho \"$RANK $LOCAL_RANK $CUDA_VISIBLE_DEVICES $SHARD\"\n",
              0755);
  const auto result = stage.run(
      {"--nproc-per-node", "2", "--env", "SHARD=s${rank}", "--virtual-local-rank", stage.script()},
      {{"CUDA_VISIBLE_DEVICES", "4,7"}});
  CHECK(result.code == 0);
  CHECK_THAT(result.out, et::contains_text("0 0 4 s0\n"));
  CHECK_THAT(result.out, et::contains_text("1 0 7 s1\n"));
}

TEST_CASE("elasticrun: workers are bound to processors", "[integration][elasticrun]") {
  const et::stage stage;
  stage.write("python", "#!/bin/sh\ngrep Cpus_allowed_list /proc/self/status\n", 0755);
  const auto result =
      stage.run({"--nproc-per-node", "2", "--numa-binding", "exclusive", stage.script()});
  if (result.code == 0) {
    std::istringstream lines(result.out);
    std::string first;
    std::string second;
    std::getline(lines, first);
    std::getline(lines, second);
    CHECK(first.starts_with("Cpus_allowed_list:"));
    CHECK(second.starts_with("Cpus_allowed_list:"));
    CHECK(first != second);
  } else {
    // A machine with one core has none for the second worker.
    CHECK(result.code == 2);
    CHECK_THAT(result.err, et::contains_text("with the binding exclusive each needs one"));
  }
  et::stage().refuses({"--cpu-affinity", "8191", stage.script()},
                      "--cpu-affinity '8191' for local rank 0: this program may use");
}

TEST_CASE("elasticrun: the file that ELASTIC_GUARD names guards the workers",
          "[integration][elasticrun]") {
  const et::stage stage;
  const std::string image(reinterpret_cast<const char*>(elastic::detail::guard_image),
                          sizeof elastic::detail::guard_image);
  const std::string guard = stage.write("guard", image, 0755);
  stage.write("python", "#!/bin/sh\nreadlink /proc/$PPID/exe\n", 0755);
  const auto result =
      stage.run({"--guard", "required", stage.script()}, {{"ELASTIC_GUARD", guard}});
  CHECK(result.code == 0);
  CHECK(result.out == std::filesystem::canonical(guard).string() + "\n");
}

TEST_CASE("elasticrun: a job by itself listens on loopback alone", "[integration][elasticrun]") {
  elastic::test::running_program job(et::puppets({}, {"line", "ready", "hang"}));
  job.await_out("ready", 2);
  const auto addresses = et::listening_addresses(job.pid());
  CHECK_FALSE(addresses.empty());
  for (const std::string& address : addresses) {
    INFO(address);
    // As /proc has them: 127.0.0.1 and ::1.
    CHECK((address == "0100007F" || address == "00000000000000000000000001000000"));
  }
  job.signal(SIGINT);
  job.wait();
}

TEST_CASE("elasticrun: several nodes cannot meet at a port that only one of them knows",
          "[integration][elasticrun]") {
  const et::stage stage;
  for (const char* backend : {"static", "c10d"}) {
    stage.refuses({"--nnodes", "2", "--rdzv-backend", backend, "--rdzv-endpoint", "localhost:0",
                   "--rdzv-id", "job", stage.script()},
                  "--rdzv-endpoint 'localhost:0': several nodes need a port that they all know");
  }
}

TEST_CASE("elasticrun: a misspelt setting of the rendezvous is refused",
          "[integration][elasticrun]") {
  const et::stage stage;
  for (const char* backend : {"static", "c10d", "etcd", "file"}) {
    stage.refuses({"--rdzv-backend", backend, "--rdzv-endpoint", "localhost:0", "--rdzv-conf",
                   "jointimeout=3", stage.script()},
                  "no backend has a setting 'jointimeout'; did you mean join_timeout?");
  }
  stage.refuses({"--rdzv-conf", "jointimeout=3", stage.script()}, "did you mean join_timeout?");
  stage.refuses(
      {"--rdzv-backend", "c10d", "--rdzv-conf", "keep_alive_max_attempt=1", stage.script()},
      "keep_alive_max_attempt=1: a whole number from 2 to 1000000 is needed");
}

TEST_CASE("elasticrun: a password for another backend is in no log and no worker",
          "[integration][elasticrun]") {
  const et::stage stage;
  stage.write("python", "#!/bin/sh\nenv\n", 0755);
  const auto result = stage.run({stage.script()}, {{"PET_RDZV_CONF", "password=s3cret"}});
  CHECK(result.code == 0);
  CHECK_THAT(result.err, et::contains_text("--rdzv-conf password is not used"));
  CHECK_THAT(result.err + result.out, !et::contains_text("s3cret"));
}

TEST_CASE("elasticrun: bash completes commands, options and values", "[integration][elasticrun]") {
  struct row {
    std::string words;
    std::string completions;
  };
  const std::vector<row> rows = {{"elasticrun dra", "drain"},
                                 {"elasticrun --standal", "--standalone"},
                                 {"elasticrun --rdzv-backend etcd", "etcd etcd-v2 etcd-v3"},
                                 {"elasticrun --nproc-per-node g", "gpu"},
                                 {"elasticrun --guard = n", "none"},
                                 {"elasticrun -t 3", "3"},
                                 {"elasticrun --preempt-signal SIGUSR2", "SIGUSR2"},
                                 {"elasticrun status --w", "--watch"},
                                 {"elasticrun status --watch --tok", "--token-file"},
                                 {"elasticrun explain --", ""},
                                 {"elasticrun train.py --w", ""},
                                 {"elasticrun train.py dra", ""}};
  for (const row& entry : rows) {
    CAPTURE(entry.words);
    const std::string script =
        "source <(\"$0\" --print-completion bash); COMP_WORDS=(" + entry.words +
        "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _elasticrun; echo \"${COMPREPLY[*]}\"";
    const auto result =
        elastic::test::run_program({"bash", "-c", script, ELASTIC_ELASTICRUN});
    CHECK(result.out == entry.completions + "\n");
  }
}

TEST_CASE("elasticrun: a node that waits alone says for whom, and stops no workers on Ctrl-C",
          "[integration][elasticrun]") {
  const std::string endpoint = "127.0.0.1:" + std::to_string(elastic::test::reserved_port());
  elastic::test::running_program job(
      et::elasticrun({"--nnodes", "2:4", "--rdzv-backend", "c10d", "--rdzv-endpoint", endpoint,
                      "--rdzv-id", "lone", "--no-python", "/bin/true"}));
  job.await_err("still waiting for other nodes after 5 s: the job needs 2 to 4 nodes, which meet "
                "at " +
                endpoint +
                " (backend c10d, run id 'lone') within 600 s (--rdzv-conf join_timeout)");
  job.signal(SIGINT);
  const auto result = job.wait();
  CHECK(result.code == 128 + SIGINT);
  CHECK_THAT(result.err, et::contains_text("SIGINT received: no worker is running"));
  CHECK_THAT(result.err, !et::contains_text("the workers"));
}

TEST_CASE("elasticrun: a node says at once for how long it waits for the others",
          "[integration][elasticrun]") {
  const std::string port = std::to_string(elastic::test::reserved_port());
  struct row {
    et::arguments options;
    std::string within;
  };
  const row rows[] = {
      {{"--rdzv-backend", "c10d", "--rdzv-endpoint", "127.0.0.1:" + port, "--rdzv-id", "lone"},
       "(backend c10d, run id 'lone') within 600 s (--rdzv-conf join_timeout)"},
      {{"--rdzv-backend", "c10d", "--rdzv-endpoint", "127.0.0.1:" + port, "--rdzv-conf",
        "join_timeout=7.5"},
       "(backend c10d, run id 'none') within 7.5 s (--rdzv-conf join_timeout)"},
      {{"--node-rank", "1", "--master-port", port},
       "(backend static, run id 'none') within 900 s (--rdzv-conf timeout)"},
      {{"--node-rank", "1", "--master-port", port, "--rdzv-conf", "timeout=60"},
       "(backend static, run id 'none') within 60 s (--rdzv-conf timeout)"},
  };
  for (const row& each : rows) {
    et::arguments words = {"--nnodes", "2"};
    words.insert(words.end(), each.options.begin(), each.options.end());
    words.insert(words.end(), {"--no-python", "/bin/true"});
    elastic::test::running_program job(et::elasticrun(words), {{"LOGLEVEL", "INFO"}});
    job.await_err("2 nodes, which meet at 127.0.0.1:" + port + " " + each.within);
    job.signal(SIGINT);
    CHECK(job.wait().code == 128 + SIGINT);
  }
}

}  // namespace
