// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Standbys with real interpreters. Two things must never happen: a script runs although no worker
// was started, or a standby changes how a job ends.

#include <elastic/process/detail/process_tree.hpp>
#include <support/catch.hpp>
#include <support/elasticrun_stage.hpp>
#include <support/raw_client.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>
#include <support/text.hpp>
#include <support/reserved_port.hpp>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic {
namespace {

namespace standby_test {

namespace fs = std::filesystem;
using test::comes_true;
using test::file_text;
using test::has_text;
using test::occurrences;
using test::running_program;
using words = std::vector<std::string>;
using variables = std::map<std::string, std::string>;

const std::string scripts = ELASTIC_SOURCE_DIR "/tests/integration/python/";

/// A start of the script, as it noted it itself.
struct noted_start {
  int local_rank = 0;
  std::string attempt;
  pid_t pid = 0;
  /// Of the process that imported the module `marked`.
  pid_t importer = 0;
};

/// A job of Python workers with standbys, which import the module `marked`.
class standby_job : public test::elasticrun_stage {
 public:
  standby_job() {
    fs::create_directory(library());
    write(library() / "marked.py", "import os\npid = os.getpid()\n");
  }

  fs::path library() const { return folder / "library"; }
  std::string starts_file() const { return folder / "starts"; }

  static void write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

  /// Replaces the interpreter by a shell script.
  void wrap(const std::string& text) {
    python_ = folder / "wrapper";
    write(python_, "#!/bin/sh\n" + text + "\n");
    fs::permissions(python_, fs::perms::owner_all);
  }
  void use_python(std::string path) { python_ = std::move(path); }

  variables environment(variables more = {}) const {
    more.insert({{"LOGLEVEL", "INFO"},
                 {"PYTHON_EXEC", python_},
                 {"PYTHONPATH", library().string()},
                 {"PYTHONDONTWRITEBYTECODE", "1"},
                 {"OMP_NUM_THREADS", "1"}});
    return elasticrun_stage::environment(std::move(more));
  }

  words command(const words& options, const words& script = {}) const {
    const words worker = script.empty() ? words{scripts + "standby_worker.py"} : script;
    return elasticrun({{"--standalone", "--max-restarts", "1", "--warm-standby", "--standby-delay",
                        "0", "--log-dir", "/dev/null"},
                       options,
                       worker,
                       {starts_file()}});
  }

  /// What has started until now.
  std::vector<noted_start> starts() const {
    std::vector<noted_start> found;
    std::istringstream lines(file_text(starts_file()));
    for (noted_start start;
         lines >> start.local_rank >> start.attempt >> start.pid >> start.importer;) {
      found.push_back(start);
    }
    return found;
  }

  /// Waits until so many have started; result: the start of a local rank in an attempt.
  noted_start await_start(std::size_t count, int local_rank, const std::string& attempt) const {
    INFO("starts of the script:\n" << file_text(starts_file()));
    REQUIRE(comes_true([&] { return starts().size() >= count; }));
    for (const noted_start& start : starts()) {
      if (start.local_rank == local_rank && start.attempt == attempt) return start;
    }
    FAIL("no start of local rank " << local_rank << " in attempt " << attempt);
    return {};
  }

  /// Every rank has started once in each of so many attempts, and nothing else has.
  void check_starts(int ranks, int attempts) const {
    INFO("starts of the script:\n" << file_text(starts_file()));
    const auto entries = starts();
    CHECK(entries.size() == static_cast<std::size_t>(ranks * attempts));
    for (int rank = 0; rank < ranks; ++rank) {
      for (int attempt = 0; attempt < attempts; ++attempt) {
        CHECK(std::count_if(entries.begin(), entries.end(), [&](const noted_start& start) {
                return start.local_rank == rank && start.attempt == std::to_string(attempt);
              }) == 1);
      }
    }
  }

 private:
  std::string python_ = "/usr/bin/python3";
};

/// The processes of the standbys that wait, as the log names them.
std::vector<pid_t> standbys_in(const std::string& log) {
  std::vector<pid_t> pids;
  const std::regex line(R"(has a standby: process (\d+))");
  for (std::sregex_iterator each(log.begin(), log.end(), line), end; each != end; ++each) {
    pids.push_back(std::atoi((*each)[1].str().c_str()));
  }
  return pids;
}

/// Kills rank 0 of the first attempt when the log says `text` so often, and waits for the end.
test::program_result fail_after(const standby_job& job, running_program& program,
                                const std::string& text, int count = 1, std::size_t ranks = 1) {
  const noted_start first = job.await_start(ranks, 0, "0");
  program.await_err(text, count);
  ::kill(first.pid, SIGKILL);
  test::program_result result = program.wait();
  CHECK(job.left.processes().empty());
  return result;
}

TEST_CASE("standby: after a failure the workers are those that have waited",
          "[integration]"
          "[standby]") {
  const standby_job job;
  running_program program(job.command({"--nproc-per-node", "2"}), job.environment());
  const auto result = fail_after(job, program, "has a standby", 2, 2);
  INFO(result.err);
  CHECK(result.code == 0);
  job.check_starts(2, 2);
  std::vector<pid_t> waited = standbys_in(result.err);
  std::vector<pid_t> started;
  for (const noted_start& start : job.starts()) {
    CHECK(start.importer == start.pid);
    if (start.attempt == "1") started.push_back(start.pid);
  }
  std::sort(waited.begin(), waited.end());
  std::sort(started.begin(), started.end());
  CHECK(waited == started);
  CHECK(has_text(result.err, "local rank 0 starts warm"));
  CHECK(has_text(result.err, "local rank 1 starts warm"));
  CHECK(has_text(result.out, "attempt 1 of True"));
}

TEST_CASE("standby: those whose imports have read their rank serve only that",
          "[integration]"
          "[standby]") {
  const standby_job job;
  standby_job::write(job.library() / "marked.py",
                     "import os\npid = os.getpid()\nrank = os.environ['LOCAL_RANK']\n");
  standby_job::write(job.folder / "script.py",
                     "import marked, os, signal, sys\n"
                     "attempt = os.environ['TORCHELASTIC_RESTART_COUNT']\n"
                     "rank, device = os.environ['LOCAL_RANK'], os.environ['DEVICE']\n"
                     "print('rank', rank, 'imported as', marked.rank, 'device', device, "
                     "flush=True)\n"
                     "with open(sys.argv[1], 'a') as starts:\n"
                     "    starts.write(f'{rank} {attempt} {os.getpid()} {marked.pid}\\n')\n"
                     "if attempt == '0':\n"
                     "    signal.pause()\n");
  running_program program(
      job.command({"--nproc-per-node", "2", "--env", "DEVICE=${local_rank}"},
                  {job.folder / "script.py"}),
      job.environment());
  const auto result = fail_after(job, program, "has a standby", 2, 2);
  INFO(result.err);
  CHECK(result.code == 0);
  job.check_starts(2, 2);
  CHECK(has_text(result.err, "each standby serves only one local rank"));
  for (const char* rank : {"0", "1"}) {
    CHECK(has_text(result.err, fmt::format("local rank {} starts warm", rank)));
    CHECK(occurrences(result.out, fmt::format("rank {0} imported as {0} device {0}", rank)) == 2);
  }
}

TEST_CASE("standby: the script cannot tell a warm start from a cold one",
          "[integration]"
          "[standby]") {
  const bool is_module = GENERATE(false, true);
  const std::string option = GENERATE("", "--redirects", "--tee");
  const standby_job job;
  const std::string name = "standby_properties";
  words options{"--nproc-per-node", "1", "--log-dir", job.logs()};
  if (!option.empty()) options.insert(options.end(), {option, "3"});
  if (is_module) options.emplace_back("-m");
  fs::copy(scripts + name + ".py", job.library() / (name + ".py"));
  const std::string script = is_module ? name : (job.library() / (name + ".py")).string();
  fs::create_directory(job.logs());
  const auto text_of = [&](const std::string& attempt) {
    const std::regex run(R"(TORCHELASTIC_RUN_ID(=|": ")[0-9a-f-]+)");
    return std::regex_replace(file_text(job.starts_file() + "." + attempt), run,
                              "TORCHELASTIC_RUN_ID");
  };
  std::string plain;
  if (option.empty()) {
    words command = job.command(options, {script});
    command.erase(std::find(command.begin(), command.end(), "--warm-standby"));
    const auto delay = std::find(command.begin(), command.end(), "--standby-delay");
    command.erase(delay, delay + 2);
    running_program without(command, job.environment());
    job.await_start(1, 0, "0");
    plain = text_of("0");
    without.signal(SIGTERM);
    without.wait();
    fs::remove(job.starts_file());
  }
  running_program program(job.command(options, {script}), job.environment());
  // A module of the script's folder hides all others of its name; here it is on the path as well.
  const auto result = fail_after(job, program, "has a standby");
  INFO(result.err);
  CHECK(result.code == 0);
  job.check_starts(1, 2);
  CHECK(has_text(result.err, "starts warm"));
  const std::string cold = text_of("0");
  CHECK(cold.size() > 4000);
  CHECK(text_of("1") == cold);
  if (option.empty()) CHECK(plain == cold);
  // What the script wrote is where it is in any other attempt.
  const bool is_shown = option != "--redirects";
  CHECK(has_text(result.out, "out of 0") == is_shown);
  CHECK(has_text(result.err, "err of 0") == is_shown);
}

TEST_CASE("standby: an interpreter that skips the hook runs no script by mistake",
          "[integration]"
          "[standby]") {
  const std::string wrapper = GENERATE(
      "exec /usr/bin/python3 -I \"$@\"", "exec /usr/bin/python3 -E \"$@\"",
      "exec /usr/bin/python3 -S \"$@\"", "/usr/bin/python3 \"$@\"; exit $?",
      "unset PYTHONPATH; exec /usr/bin/python3 \"$@\"", "exec /usr/bin/python3 \"$@\" </dev/null");
  standby_job job;
  job.wrap(wrapper);
  const fs::path script = job.library() / "script.py";
  standby_job::write(script,
                     "import os, signal, sys\n"
                     "attempt = os.environ.get('TORCHELASTIC_RESTART_COUNT', 'none')\n"
                     "with open(sys.argv[1], 'a') as starts:\n"
                     "    starts.write(f'0 {attempt} {os.getpid()} 0\\n')\n"
                     "if attempt != '1': signal.pause()\n");
  running_program program(job.command({"--nproc-per-node", "1"}, {script}), job.environment());
  const auto result = fail_after(job, program, "no more standbys are made");
  INFO(result.err);
  CHECK(result.code == 0);
  job.check_starts(1, 2);
  CHECK(has_text(result.err, "starts cold, because there are no standbys"));
}

TEST_CASE("standby: it imports what a worker of the last attempt has imported later",
          "[integration][standby]") {
  // What the script does before it imports more, and whether a standby then imports that, too.
  const auto [before, is_known] = GENERATE(table<std::string, bool>({
      {"", true},
      {"os.environ['BEFORE'] = '1'", false},
      {"sys.path.insert(0, '/tmp')", false},
  }));
  INFO(before);
  const standby_job job;
  fs::create_directory(job.library() / "package");
  standby_job::write(job.library() / "package/__init__.py", "import os\nos.environ['OWN'] = '1'\n");
  standby_job::write(job.library() / "package/later.py", "import package.last\n");
  standby_job::write(job.library() / "package/last.py", "");
  standby_job::write(job.library() / "package/broken.py", "raise ImportError('always')\n");
  const fs::path script = job.folder / "script.py";
  standby_job::write(script,
                     "import os, signal, sys\n"
                     "import marked, package\n"
                     "attempt = os.environ['TORCHELASTIC_RESTART_COUNT']\n"
                     "names = ['package.later', 'package.last', 'colorsys']\n"
                     "print(attempt, 'has', [name in sys.modules for name in names], flush=True)\n"
                     "def begin():\n    " +
                         before +
                         "\n"
                         "    try:\n"
                         "        import package.broken\n"
                         "    except ImportError:\n"
                         "        pass\n"
                         "    import package.later, colorsys\n"
                         "begin()\n"
                         "with open(sys.argv[1], 'a') as starts:\n"
                         "    starts.write(f'0 {attempt} {os.getpid()} {marked.pid}\\n')\n"
                         "if attempt != '2': signal.pause()\n");
  running_program program(job.command({"--nproc-per-node", "1", "--max-restarts", "2"}, {script}),
                          job.environment());
  ::kill(job.await_start(1, 0, "0").pid, SIGKILL);
  const noted_start second = job.await_start(2, 0, "1");
  program.await_err("local rank 0 starts ");
  program.await_err("has a standby", has_text(program.err(), "starts warm") ? 2 : 1);
  ::kill(second.pid, SIGKILL);
  const auto result = program.wait();
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  job.check_starts(1, 3);
  CHECK(has_text(result.out, "0 has [False, False, False]"));
  CHECK(
      has_text(result.out, is_known ? "2 has [True, True, False]" : "2 has [False, False, False]"));
  CHECK(job.left.processes().empty());
}

TEST_CASE("standby: a user's own sitecustomize runs once in each process",
          "[integration]"
          "[standby]") {
  const standby_job job;
  standby_job::write(job.library() / "sitecustomize.py",
                     "import os\n"
                     "with open(os.environ['SITES'], 'a') as file:\n"
                     "    file.write(f'{os.getpid()}\\n')\n");
  running_program program(job.command({"--nproc-per-node", "1"}),
                          job.environment({{"SITES", job.folder / "sites"}}));
  const auto result = fail_after(job, program, "has a standby");
  INFO(result.err);
  CHECK(result.code == 0);
  job.check_starts(1, 2);
  CHECK(has_text(result.err, "starts warm"));
  for (const noted_start& start : job.starts()) {
    CHECK(occurrences(file_text(job.folder / "sites"), fmt::format("{}\n", start.pid)) == 1);
  }
}

struct harm {
  /// What the module does as a standby imports it.
  std::string text;
  /// What is awaited in the log before the worker is killed.
  std::string awaited;
  /// What the log says at the end.
  std::string says;
};

TEST_CASE("standby: an import that does harm costs no restart and runs no script",
          "[integration]"
          "[standby]") {
  const std::string ready = "has a standby";
  const std::string is_off = "no more standbys are made";
  const std::string died = "a standby could not be made: it ended";
  const std::string dropped = "standbys do not import marked: its import failed";
  const harm row = GENERATE_COPY(
      harm{"raise ValueError('bad')", ready, dropped}, harm{"sys.exit(0)", ready, dropped},
      harm{"os.write(0, b'x')", ready, dropped}, harm{"os._exit(0)", died, "starts cold"},
      harm{"os.kill(pid, signal.SIGKILL)", died, "starts cold"},
      harm{"os.closerange(3, 1000)", died, "starts cold"}, harm{"os.fork()", ready, "starts warm"},
      harm{"if 'AGAIN' not in os.environ: os.environ['AGAIN'] = '1'; os.execv(sys.executable, "
           "sys.orig_argv)",
           ready, "standbys do not import marked: its import executes another program"},
      harm{"os.fork() or os.execlp('true', 'true')", ready, "starts warm"},
      harm{"sys.path.insert(0, '/')", ready,
           "standbys do not import marked: its import puts folders in front"},
      harm{"sys.path.append('/')", ready, "starts warm"},
      harm{"from importlib import util; util.find_spec('standby_hook')", is_off,
           "the script's folder has standby_hook, which an import has looked for"},
      harm{"os.chdir('/')", is_off, "starts cold"},
      harm{"print('x' * 10_000_000)", ready, "starts warm"},
      harm{"[os.write(1, b'x' * 10_000_000) for _ in range(3)]", ready, dropped},
      harm{"variables = os.environ.copy()", is_off, "an import keeps a copy of the environment"},
      harm{"A = type('A', (), {'b': [{k: v for k, v in os.environ.items() if 'RANK' in k}]})",
           is_off, "an import keeps a copy of the environment"},
      harm{"len({k: v for k, v in os.environ.items() if k != 'A'})", ready, "starts warm"},
      harm{"os.environ.get('MASTER_PORT')", ready, "because an import has read MASTER_PORT"},
      harm{"os.environ['RANK'] = '7'", ready, "starts warm"},
      harm{"os.environ['MASTER_PORT'] = '7'", ready, "because an import has changed MASTER_PORT"},
      harm{"import socket; socket.socket(fileno=os.dup(200)).send(b'prepared')",
           "a standby could not be made: it was prepared for nothing", "starts cold"},
      harm{"import socket; socket.socket(fileno=os.dup(200)).send(b'x' * 70_000)",
           "a standby could not be made: a message of a standby is too long", "starts cold"});
  INFO(row.text);
  const standby_job job;
  standby_job::write(job.library() / "marked.py",
                     "import os, signal, sys\n"
                     "pid = os.getpid()\n"
                     "if b'MASTER_ADDR' not in os.environ._data:\n"
                     "    " +
                         row.text + "\n");
  running_program program(job.command({"--nproc-per-node", "1"}), job.environment());
  const auto result = fail_after(job, program, row.awaited);
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK(result.out.size() < 1000);
  job.check_starts(1, 2);
  CHECK(has_text(result.err, row.says));
}

TEST_CASE("standby: what changed since is not used", "[integration][standby]") {
  const std::string change = GENERATE("module", "folder");
  const standby_job job;
  const fs::path script = job.folder / "script";
  fs::create_directory(script);
  fs::copy(scripts + "standby_worker.py", script / "standby_worker.py");
  running_program program(job.command({"--nproc-per-node", "1"}, {script / "standby_worker.py"}),
                          job.environment());
  const noted_start first = job.await_start(1, 0, "0");
  program.await_err("has a standby");
  if (change == "module") {
    standby_job::write(job.library() / "marked.py", "pid = 1\n");
  } else {
    standby_job::write(script / "marked.py", "pid = 1\n");
  }
  ::kill(first.pid, SIGKILL);
  const auto result = program.wait();
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK(job.await_start(2, 0, "1").importer == 1);
  job.check_starts(1, 2);
  CHECK(has_text(result.err, change == "module" ? "because what it imported was changed since"
                                                : "because the script's folder has its own"));
  CHECK(job.left.processes().empty());
}

TEST_CASE("standby: one that is killed or stopped while it waits costs no restart",
          "[integration]"
          "[standby]") {
  const int number = GENERATE(SIGKILL, SIGSTOP);
  const bool is_guard = number == SIGKILL && GENERATE(false, true);
  const standby_job job;
  running_program program(job.command({"--nproc-per-node", "1"}), job.environment());
  program.await_err("has a standby");
  const noted_start first = job.await_start(1, 0, "0");
  const pid_t standby = standbys_in(program.err()).at(0);
  ::kill(is_guard ? detail::read_process(standby)->parent : standby, number);
  const std::string state = number == SIGKILL ? "" : ") T";
  REQUIRE(comes_true([&] {
    const std::string text = file_text(fmt::format("/proc/{}/stat", standby));
    return state.empty() ? text.empty() : has_text(text, state);
  }));
  ::kill(first.pid, SIGKILL);
  const auto result = program.wait();
  INFO(result.err);
  CHECK(result.code == 0);
  job.check_starts(1, 2);
  // One that was killed may have been replaced by then.
  if (number == SIGSTOP) CHECK(has_text(result.err, "starts cold, because"));
  CHECK(job.left.processes().empty());
}

TEST_CASE("standby: a worker that dies during the imports starts again without them",
          "[integration][standby]") {
  const standby_job job;
  const std::string importing = job.folder / "importing";
  standby_job::write(job.library() / "marked.py",
                     "import os, signal\n"
                     "pid = os.getpid()\n"
                     "if b'MASTER_ADDR' not in os.environ._data:\n"
                     "    open(" +
                         ("'" + importing + "'") +
                         ", 'w').close()\n"
                         "    signal.pause()\n");
  running_program program(job.command({"--nproc-per-node", "1"}), job.environment());
  const noted_start first = job.await_start(1, 0, "0");
  REQUIRE(comes_true([&] { return fs::exists(importing); }));
  ::kill(first.pid, SIGKILL);
  const auto result = program.wait();
  INFO(result.err);
  CHECK(result.code == 0);
  job.check_starts(1, 2);
  CHECK(has_text(result.err, "starts cold, because no standby was ready"));
  CHECK(job.left.processes().empty());
}

TEST_CASE("standby: one that is killed while it waits is replaced", "[integration][standby]") {
  const standby_job job;
  running_program program(job.command({"--nproc-per-node", "1"}), job.environment());
  program.await_err("has a standby");
  const pid_t lost = standbys_in(program.err()).at(0);
  ::kill(lost, SIGKILL);
  const auto result = fail_after(job, program, "has a standby", 2);
  INFO(result.err);
  CHECK(result.code == 0);
  job.check_starts(1, 2);
  CHECK(has_text(result.err, fmt::format("process {}, is lost: ", lost)));
  CHECK(has_text(result.err, "starts warm"));
}

/// A node of a job of one or two, whose workers say their rank and the size of the world.
running_program node_of(const standby_job& job, const std::string& endpoint) {
  const fs::path script = job.folder / "node.py";
  standby_job::write(script,
                     "import os, signal, sys\n"
                     "import marked\n"
                     "world = os.environ['WORLD_SIZE']\n"
                     "with open(sys.argv[1], 'a') as starts:\n"
                     "    starts.write(f'0 {world} {os.getpid()} {marked.pid}\\n')\n"
                     "print(os.environ['RANK'], 'of', world, flush=True)\n"
                     "signal.pause()\n");
  return running_program(test::elasticrun_stage::elasticrun(
                             {{"--nnodes", "1:2", "--nproc-per-node", "1", "--rdzv-id", "job",
                               "--rdzv-backend", "c10d", "--rdzv-endpoint", endpoint, "--rdzv-conf",
                               "last_call_timeout=0.1", "--warm-standby", "--standby-delay", "1000",
                               "--log-dir", "/dev/null", script, job.starts_file()}}),
                         job.environment());
}

TEST_CASE("standby: when a node joins all start with what has waited, and none before",
          "[integration][standby]") {
  const standby_job job;
  const std::string endpoint = fmt::format("localhost:{}", elastic::test::reserved_port());
  running_program first = node_of(job, endpoint);
  first.await_out("0 of 1");
  running_program second = node_of(job, endpoint);
  first.await_out("of 2");
  second.await_out("of 2");
  first.await_err("starts warm", 2);
  second.await_err("starts warm");
  INFO(first.err() << second.err());
  CHECK(has_text(first.err(),
                 "waits to join: the workers continue for at most 10 s, since 1 of them "
                 "has no standby yet"));
  CHECK(has_text(second.err(), "this node joins when its standbys are ready"));
  const auto entries = job.starts();
  CHECK(entries.size() == 3);
  for (const noted_start& start : entries) CHECK(start.importer == start.pid);
  // Not the one first that serves the rendezvous.
  second.signal(SIGTERM);
  const auto result = second.wait();
  CHECK(result.code == 128 + SIGTERM);
  CHECK(has_text(result.err, "the workers' starts on this node: 1 warm"));
  first.signal(SIGTERM);
  CHECK(first.wait().code == 128 + SIGTERM);
  CHECK(job.left.processes().empty());
}

TEST_CASE("standby: nothing outlives an agent that is killed, at any step",
          "[integration]"
          "[standby]") {
  const std::string step = GENERATE("probe", "import", "ready", "restart");
  const int number = GENERATE(SIGKILL, SIGTERM);
  const standby_job job;
  const std::string mark = job.folder / "reached";
  const std::string block = "    open('" + mark + "', 'w').close()\n    signal.pause()\n";
  const std::string head =
      "import os, signal\npid = os.getpid()\nif b'MASTER_ADDR' not in os.environ._data:\n";
  if (step == "probe") standby_job::write(job.library() / "sitecustomize.py", head + block);
  if (step == "import") standby_job::write(job.library() / "marked.py", head + block);
  running_program program(job.command({"--nproc-per-node", "2"}), job.environment());
  const noted_start first = job.await_start(2, 0, "0");
  if (step == "probe" || step == "import") {
    REQUIRE(comes_true([&] { return fs::exists(mark); }));
  } else {
    program.await_err("has a standby", 2);
    if (step == "restart") {
      ::kill(first.pid, SIGKILL);
      program.await_err("restarting");
    }
  }
  program.signal(number);
  CHECK(job.left.processes_become(0));
  program.wait();
  for (const noted_start& start : job.starts()) CHECK(start.attempt != "none");
  if (step != "restart") job.check_starts(2, 1);
}

TEST_CASE("standby: one that is killed before it is ready, or its guard, costs no restart",
          "[integration][standby]") {
  const std::string module = GENERATE("sitecustomize", "marked");
  const bool is_guard = GENERATE(false, true);
  CAPTURE(module, is_guard);
  const standby_job job;
  const std::string mark = job.folder / "reached";
  // The first that is not a worker stays there: the probe, or the standby itself.
  standby_job::write(job.library() / (module + ".py"),
                     "import os, signal\n"
                     "pid = os.getpid()\n"
                     "if b'MASTER_ADDR' not in os.environ._data and not os.path.exists('" +
                         mark + "'):\n    with open('" + mark +
                         ".new', 'w') as file:\n        file.write(str(pid))\n    os.rename('" +
                         mark + ".new', '" + mark + "')\n    signal.pause()\n");
  running_program program(job.command({"--nproc-per-node", "1"}), job.environment());
  job.await_start(1, 0, "0");
  REQUIRE(comes_true([&] { return fs::exists(mark); }));
  const pid_t reached = std::atoi(file_text(mark).c_str());
  ::kill(is_guard ? detail::read_process(reached)->parent : reached, SIGKILL);
  program.await_err("a standby could not be made: ");
  const auto result = fail_after(job, program, "has a standby");
  INFO(result.err);
  CHECK(result.code == 0);
  job.check_starts(1, 2);
  CHECK(has_text(result.err, "starts warm"));
}

TEST_CASE("standby: it imports from a virtual environment that is not activated",
          "[integration][standby]") {
  standby_job job;
  const fs::path environment = job.folder / "environment";
  const auto made =
      test::run_program({"/usr/bin/python3", "-m", "venv", "--without-pip", environment.string()});
  INFO(made.err);
  REQUIRE(made.code == 0);
  for (const auto& version : fs::directory_iterator(environment / "lib")) {
    fs::rename(job.library() / "marked.py", version.path() / "site-packages" / "marked.py");
  }
  job.use_python(environment / "bin" / "python3");
  running_program program(job.command({"--nproc-per-node", "1"}), job.environment());
  const auto result = fail_after(job, program, "has a standby");
  INFO(result.err);
  CHECK(result.code == 0);
  job.check_starts(1, 2);
  for (const noted_start& start : job.starts()) CHECK(start.importer == start.pid);
  CHECK(has_text(result.err, "starts warm"));
}

TEST_CASE("standby: none is made if no restart is left, or the option is not given",
          "[integration][standby]") {
  const standby_job job;
  words command = job.command({"--nproc-per-node", "1", "--max-restarts", "0"});
  if (GENERATE(false, true)) {
    command = job.command({"--nproc-per-node", "1"});
    std::erase(command, "--warm-standby");
    const auto delay = std::find(command.begin(), command.end(), "--standby-delay");
    command.erase(delay, delay + 2);
  }
  running_program program(command, job.environment());
  const noted_start first = job.await_start(1, 0, "0");
  // The worker and elasticrun.
  CHECK(job.left.processes().size() == 2);
  ::kill(first.pid, SIGKILL);
  const auto result = program.wait();
  CHECK_FALSE(has_text(result.err, "has a standby"));
  CHECK_FALSE(has_text(result.err, "starts warm"));
  CHECK_FALSE(has_text(result.err, "starts cold"));
  CHECK(job.left.processes().empty());
}

TEST_CASE("standby: what the hook finds in scripts", "[integration][standby]") {
  const std::string hooks = ELASTIC_SOURCE_DIR "/include/elastic/python/embedded/";
  const auto result = test::run_program({"/usr/bin/python3", scripts + "standby_hook.py", hooks});
  INFO(result.err);
  CHECK(result.out == "all functions do as expected\n");
}

TEST_CASE("standby: a worker that started warm is heard, and found hung",
          "[integration][standby]") {
  const standby_job job;
  const fs::path script = job.folder / "script.py";
  standby_job::write(script,
                     "import os, signal, sys\n"
                     "import marked\n"
                     "sys.path.insert(0, '" ELASTIC_SOURCE_DIR
                     "/python')\n"
                     "from elasticrun import worker\n"
                     "attempt = os.environ['TORCHELASTIC_RESTART_COUNT']\n"
                     "with open(sys.argv[1], 'a') as starts:\n"
                     "    starts.write(f'0 {attempt} {os.getpid()} {marked.pid}\\n')\n"
                     "if attempt == '1': worker.connect().heartbeat(timeout=0.1)\n"
                     "if attempt != '2': signal.pause()\n");
  running_program program(job.command({"--nproc-per-node", "1", "--max-restarts", "2"}, {script}),
                          job.environment());
  const auto result = fail_after(job, program, "has a standby");
  INFO(result.err);
  CHECK(result.code == 0);
  job.check_starts(1, 3);
  const auto warm = result.err.find("starts warm");
  REQUIRE(warm != std::string::npos);
  CHECK(result.err.find("is hung", warm) != std::string::npos);
}

void check_torch_job(const std::string& python, words script) {
  standby_job job;
  job.use_python(python);
  words options{"--nproc-per-node", "2"};
  if (script[0] == "-m") {
    fs::copy(scripts + script[1] + ".py", job.library() / (script[1] + ".py"));
    options.emplace_back("-m");
    script.erase(script.begin());
  }
  running_program program(job.command(options, script),
                          job.environment({{"GLOO_SOCKET_IFNAME", "lo"}}),
                          std::chrono::seconds(240));
  program.await_err("has a standby", 2);
  program.await_out("step 1 of 2");
  ::kill(job.await_start(2, 1, "0").pid, SIGKILL);
  const auto result = program.wait();
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  job.check_starts(2, 2);
  for (const noted_start& start : job.starts()) CHECK(start.importer == start.pid);
  CHECK(occurrences(result.err, "starts warm") == 2);
  CHECK(has_text(result.out, "attempt 1: step 1 of 2"));
  CHECK(has_text(result.out, "attempt 1: 3 items by fork"));
  CHECK(has_text(result.out, "attempt 1: 3 items by spawn"));
  CHECK(job.left.processes().empty());
}

TEST_CASE("standby: a job of PyTorch 2.13 goes on with processes that have imported it",
          "[integration][standby]") {
  const std::string python = test::torch_213_python();
  if (!python.empty()) check_torch_job(python, {scripts + "torch_warm.py"});
}

TEST_CASE("standby: a job of PyTorch 1.13 goes on with processes that have imported it",
          "[integration][standby]") {
  const std::string python = test::torch_python();
  if (!python.empty()) check_torch_job(python, {"-m", "torch_warm"});
}

}  // namespace standby_test

}  // namespace
}  // namespace elastic
