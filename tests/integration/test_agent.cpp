// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Agents of this process with real workers: each test leaves no process, no descriptor and no file.

#include <elastic/agent/agent_part.hpp>
#include <elastic/agent/local_agent.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/concurrent_run.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/scope.hpp>
#include <elastic/launch/launcher.hpp>
#include <elastic/launch/run_as_program.hpp>
#include <elastic/launch/run_with_signals.hpp>
#include <elastic/nodes/detail/rendezvous_message.hpp>
#include <elastic/rendezvous/rendezvous_registry.hpp>
#include <elastic/status/add_status.hpp>
#include <elastic/telemetry/job_journal.hpp>
#include <elastic/telemetry/journal_sink.hpp>
#include <elastic/torch/detail/pickle_format.hpp>
#include <support/asio.hpp>
#include <support/catch.hpp>
#include <support/leftovers.hpp>
#include <support/log_recorder.hpp>
#include <support/reserved_port.hpp>
#include <support/run_program.hpp>
#include <support/text.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace elastic {
namespace {

namespace agent_test {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using test::file_text;
using test::leftovers;
using test::log_recorder;
using test::occurrences;
using test::temporary_directory;

/// How long a job may take on a busy machine.
constexpr auto test_patience = 300s;

/// Keeps what is shown, and calls somebody for it.
class screen final : public output_sink {
 public:
  std::function<void(const std::string&)> on_text = [](const std::string&) {};
  std::string text;
  task<void> write(std::string_view bytes) override {
    text += bytes;
    on_text(text);
    co_return;
  }
};

/// How often `part` is in `text`.
std::set<std::string> lines_of(const std::string& text) {
  std::set<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.insert(line);
  return lines;
}

/// Calls somebody when the agent knows that its workers run.
class starter final : public agent_part {
 public:
  std::function<void()> on_start = [] {};
  void started(const started_workers&) override { on_start(); }
};

/// One job of puppets, on a context of its own.
class job {
 public:
  /// Each worker does `acts` (see the puppet).
  explicit job(std::vector<std::string> acts, int size = 2) {
    config.workers.program = ELASTIC_PUPPET;
    config.workers.arguments = std::move(acts);
    config.workers.nproc_per_node = size;
    config.standalone = true;
    config.rendezvous.run_id = "a job";
    config.workers.log_dir = folder.path();
    config.workers.environment[remains.name] = remains.value;
    config.workers.environment["OMP_NUM_THREADS"] = "1";
    const char* io = std::getenv("ELASTIC_IO");
    config.rendezvous.use_ring = io == nullptr || std::string_view(io) != "epoll";
  }
  /// Each worker runs a shell script.
  static std::unique_ptr<job> of_shell(const std::string& script, int size = 2) {
    auto made = std::make_unique<job>(std::vector<std::string>{"-c", script}, size);
    made->config.workers.program = "/bin/sh";
    return made;
  }

  launch_config config;
  temporary_directory folder;
  leftovers remains;
  std::shared_ptr<screen> out = std::make_shared<screen>();
  std::shared_ptr<screen> err = std::make_shared<screen>();
  std::shared_ptr<log_recorder> log = std::make_shared<log_recorder>();
  std::shared_ptr<starter> observer = std::make_shared<starter>();
  std::shared_ptr<job_journal> journal;
  std::unique_ptr<local_agent> agent;
  run_result result;

  void make() {
    agent_services services;
    services.console_out = out;
    services.console_err = err;
    services.log = log->log();
    services.journal = journal;
    add_part(services, "observer", observer);
    agent = make_agent(config, services);
  }

  /// Runs it to its end, and checks what is left. Result, errors: those of the run.
  run_result run() {
    {
      asio::io_context context(1);
      if (!agent) make();
      std::exception_ptr failure;
      bool ended = false;
      asio::co_spawn(context, agent->run(), [&](std::exception_ptr thrown, run_result how) {
        ended = true;
        failure = thrown;
        result = std::move(how);
      });
      context.run_for(test_patience);
      if (!ended) FAIL("the job did not end in time; its log:\n" << log->text());
      CHECK(context.stopped());
      check_nothing_left();
      if (failure) std::rethrow_exception(failure);
    }
    agent.reset();
    // Whoever looks at what was shown has a reference of their own.
    out = std::make_shared<screen>();
    err = std::make_shared<screen>();
    CHECK(remains.descriptors() == 0);
    return result;
  }

  void check_nothing_left() {
    CHECK(remains.processes().empty());
    CHECK_FALSE(leftovers::has_children());
  }

  /// The one directory of the run.
  fs::path log_root() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder.path())) found.push_back(entry.path());
    REQUIRE(found.size() == 1);
    return found[0];
  }
  std::string log_file(int attempt, int rank, const std::string& name) const {
    return log_root() / fmt::format("attempt_{}", attempt) / std::to_string(rank) / name;
  }
};

/// Calls `act` when every worker has said "ready", and the agent knows that they run: whoever stops
/// it before has the workers killed.
void when_ready(job& test_job, int workers, std::function<void()> act) {
  test_job.config.workers.tee = stream_selection(std_streams::out);
  struct signs {
    bool said_so = false;
    bool is_known = false;
    bool has_acted = false;
  };
  const auto seen = std::make_shared<signs>();
  const auto look = [seen, act] {
    if (!seen->said_so || !seen->is_known || std::exchange(seen->has_acted, true)) return;
    act();
  };
  test_job.observer->on_start = [seen, look] {
    seen->is_known = true;
    look();
  };
  test_job.out->on_text = [workers, seen, look](const std::string& text) {
    seen->said_so = seen->said_so || occurrences(text, "ready") >= workers;
    look();
  };
}

/// Calls `act` for all that is shown from now on, too.
void when_shown(job& test_job, std::function<void(const std::string&)> act) {
  test_job.out->on_text = [before = test_job.out->on_text, act](const std::string& text) {
    before(text);
    act(text);
  };
}

// ---- what workers are given --------------------------------------------------------------------

TEST_CASE("agent: exactly the promised variables reach each worker", "[integration][agent]") {
  job test_job({"env"});
  test_job.config.workers.role = "trn";
  test_job.config.workers.max_restarts = 4;
  test_job.config.workers.redirects = stream_selection(std_streams::out);
  test_job.config.workers.environment["HOME"] = "/root with a blank";
  test_job.config.workers.environment["EMPTY"] = "";
  CHECK(test_job.run().state == worker_state::succeeded);
  for (int rank = 0; rank < 2; ++rank) {
    std::set<std::string> variables = lines_of(file_text(test_job.log_file(0, rank, "stdout.log")));
    const auto master =
        std::find_if(variables.begin(), variables.end(),
                     [](const std::string& line) { return line.starts_with("MASTER_PORT="); });
    REQUIRE(master != variables.end());
    CHECK(std::stoi(master->substr(12)) > 0);
    variables.erase(master);
    const auto control = variables.begin();
    CHECK(control->starts_with("ELASTIC_CONTROL=@elastic-"));
    variables.erase(control);
    const std::string n = std::to_string(rank);
    const std::set<std::string> promised{
        "ELASTIC_TEST_MARK=" + test_job.remains.value,
        "EMPTY=",
        "GROUP_RANK=0",
        "GROUP_WORLD_SIZE=1",
        "HOME=/root with a blank",
        "LOCAL_RANK=" + n,
        "LOCAL_WORLD_SIZE=2",
        "MASTER_ADDR=127.0.0.1",
        "OMP_NUM_THREADS=1",
        "RANK=" + n,
        "ROLE_NAME=trn",
        "ROLE_RANK=" + n,
        "ROLE_WORLD_SIZE=2",
        "TORCHELASTIC_ERROR_FILE=" + test_job.log_file(0, rank, "error.json"),
        "TORCHELASTIC_MAX_RESTARTS=4",
        "TORCHELASTIC_RESTART_COUNT=0",
        "TORCHELASTIC_RUN_ID=a job",
        "TORCHELASTIC_SIGNALS_TO_HANDLE=SIGTERM,SIGINT,SIGHUP,SIGQUIT",
        "TORCHELASTIC_USE_AGENT_STORE=True",
        "TORCH_NCCL_ASYNC_ERROR_HANDLING=1",
        "WORLD_SIZE=2",
    };
    CHECK(variables == promised);
  }
}

TEST_CASE("agent: the master's port serves a store that is new in each attempt",
          "[integration][agent][io]") {
  auto test_job = job::of_shell("echo $MASTER_PORT; exit $((3 - TORCHELASTIC_RESTART_COUNT))", 1);
  test_job->config.workers.max_restarts = 3;
  test_job->config.workers.redirects = stream_selection(std_streams::out);
  CHECK(test_job->run().state == worker_state::succeeded);
  // Two may happen to have the same.
  std::set<std::string> ports;
  for (int attempt = 0; attempt < 4; ++attempt) {
    ports.insert(file_text(test_job->log_file(attempt, 0, "stdout.log")));
  }
  CHECK(ports.size() > 1);
}

TEST_CASE("agent: the local rank stands in for its macro in arguments", "[integration][agent]") {
  job test_job({"line", "r${local_rank}", "line", "$local_rank$$$other", "args"});
  test_job.config.workers.redirects = stream_selection(std_streams::out);
  CHECK(test_job.run().state == worker_state::succeeded);
  CHECK(file_text(test_job.log_file(0, 1, "stdout.log")).starts_with("r1\n1$$other\n"));
}

// ---- attempts ----------------------------------------------------------------------------------

TEST_CASE("agent: failed attempts are repeated until one succeeds", "[integration][agent]") {
  auto test_job = job::of_shell(
      "echo attempt $TORCHELASTIC_RESTART_COUNT of $LOCAL_RANK; "
      "if [ $LOCAL_RANK = 1 ]; then exit $((2 - TORCHELASTIC_RESTART_COUNT)); fi");
  test_job->config.workers.max_restarts = 5;
  test_job->config.workers.redirects = stream_selection(std_streams::out);
  const run_result result = test_job->run();
  CHECK(result.state == worker_state::succeeded);
  CHECK(result.restarts == 2);
  for (int attempt = 0; attempt < 3; ++attempt) {
    // The other may have been stopped before it could write.
    CHECK(file_text(test_job->log_file(attempt, 1, "stdout.log")) ==
          fmt::format("attempt {} of 1\n", attempt));
  }
  CHECK_FALSE(fs::exists(test_job->log_root() / "attempt_3"));
  CHECK(result.log_directory == test_job->log_root());
}

TEST_CASE("agent: a hundred restarts leave no process and no descriptor",
          "[integration][agent][io]") {
  job test_job({"exit", "1"});
  test_job.config.workers.max_restarts = 100;
  test_job.config.workers.tee = stream_selection(std_streams::both);
  const run_result result = test_job.run();
  CHECK(result.state == worker_state::failed);
  CHECK(result.restarts == 100);
}

TEST_CASE("agent: a worker dies in every way", "[integration][agent]") {
  std::vector<std::pair<std::vector<std::string>, exit_status>> ends{
      {{"exit", "1"}, exit_status::exited(1)},
      {{"exit", "127"}, exit_status::exited(127)},
      {{"exit", "255"}, exit_status::exited(255)},
      {{"exit", "256"}, exit_status::exited(0)},
  };
  for (const int number :
       {SIGHUP, SIGINT, SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGKILL, SIGUSR1,
        SIGSEGV, SIGPIPE, SIGALRM, SIGTERM, SIGXCPU, SIGSYS, SIGRTMIN, SIGRTMAX}) {
    ends.push_back({{"die", std::to_string(number)}, exit_status::signalled(number)});
  }
  for (const auto& [acts, status] : ends) {
    CAPTURE(status.text());
    job test_job(acts, 1);
    const run_result result = test_job.run();
    CHECK((result.state == worker_state::succeeded) == status.is_success());
    if (status.is_success()) continue;
    REQUIRE(result.failures.size() == 1);
    CHECK(result.failures[0].status == status);
    CHECK_FALSE(result.failures[0].stopped_by_agent);
  }
}

TEST_CASE("agent: the others of a worker that died are told to end", "[integration][agent]") {
  auto test_job = job::of_shell(
      "if [ $LOCAL_RANK = 2 ]; then while [ ! -e ready.0 -o ! -e ready.1 ]; do sleep 0.01; done; "
      "kill -9 $$$$; fi; "
      "trap 'echo told; exit 0' TERM; : > ready.$LOCAL_RANK; while :; do sleep 0.01; done",
      3);
  test_job->config.workers.tee = stream_selection(std_streams::out);
  temporary_directory here;
  test_job->config.workers.arguments.at(1) =
      "cd '" + here.path() + "'; " + test_job->config.workers.arguments.at(1);
  const auto shown = test_job->out;
  const run_result result = test_job->run();
  CHECK(result.state == worker_state::failed);
  REQUIRE(result.failures.size() == 1);
  CHECK(result.failures[0].local_rank == 2);
  CHECK(result.failures[0].status == exit_status::signalled(SIGKILL));
  CHECK(occurrences(shown->text, "told") == 2);
}

TEST_CASE("agent: what workers leave running ends with them", "[integration][agent]") {
  const auto leave_running = [](guard_policy guard, const std::string& kind) {
    for (const std::string code : {"0", "1"}) {
      CAPTURE(guard, kind, code);
      job test_job({"fork", kind, "line", "x", "exit", code});
      test_job.config.workers.max_restarts = 1;
      test_job.config.guard = guard;
      // Nobody waits for what is left that long.
      test_job.config.workers.shutdown_timeout = 1h;
      const run_result result = test_job.run();
      CHECK((result.state == worker_state::succeeded) == (code == "0"));
    }
  };
  // One that has made a session of its own and lost its parent can only be found by a guard.
  for (const std::string kind : {"plain", "group", "plain+pipe", "group+pipe"}) {
    leave_running(guard_policy::none, kind);
    leave_running(guard_policy::best_effort, kind);
  }
  for (const std::string kind : {"setsid", "daemon", "daemon+pipe"}) {
    leave_running(guard_policy::best_effort, kind);
  }
}

TEST_CASE("agent: workers have a guard unless the configuration or the services say otherwise",
          "[integration][agent]") {
  const auto is_guarded = [](guard_policy config, std::optional<guard_policy> services) {
    job test_job({"line", "ready", "hang"}, 1);
    test_job.config.guard = config;
    agent_services with;
    with.console_out = test_job.out;
    with.log = test_job.log->log();
    with.processes.guard = services;
    add_part(with, "observer", test_job.observer);
    bool found = false;
    when_ready(test_job, 1, [&] {
      const std::vector<pid_t> workers = test_job.remains.processes();
      found = workers.size() == 1 && leftovers::is_guard(detail::read_process(workers[0])->parent);
      test_job.agent->stop({});
    });
    test_job.agent = make_agent(test_job.config, with);
    test_job.run();
    CHECK(test_job.log->has("no guard") != found);
    return found;
  };
  const launch_config as_it_is;
  CHECK(is_guarded(as_it_is.guard, std::nullopt));
  CHECK(is_guarded(guard_policy::required, std::nullopt));
  CHECK_FALSE(is_guarded(guard_policy::none, std::nullopt));
  CHECK(is_guarded(guard_policy::none, guard_policy::required));
  CHECK_FALSE(is_guarded(guard_policy::required, guard_policy::none));
}

TEST_CASE("agent: a program that is not there or cannot be run is an error",
          "[integration][agent]") {
  job test_job({});
  test_job.config.workers.program = "/nothing/here";
  CHECK_THROWS_AS(test_job.run(), error);
  CHECK(test_job.remains.descriptors() == 0);
  job other_job({});
  other_job.config.workers.program = "/etc/passwd";
  try {
    other_job.run();
    FAIL("it ran");
  } catch (const error& failure) {
    CHECK(failure.code() == errc::program_not_executable);
  }
}

// ---- output and files --------------------------------------------------------------------------

TEST_CASE("agent: output goes to files, to the screen or to both", "[integration][agent]") {
  job test_job({"line", "out ${local_rank}", "eline", "err ${local_rank}", "print", "no end"}, 3);
  test_job.config.workers.role = "trn";
  test_job.config.workers.redirects = stream_selection::parse("0:3,1:1");
  test_job.config.workers.tee = stream_selection::parse("1:1,2:3");
  const auto out = test_job.out;
  const auto err = test_job.err;
  CHECK(test_job.run().state == worker_state::succeeded);
  CHECK(file_text(test_job.log_file(0, 0, "stdout.log")) == "out 0\nno end");
  CHECK(file_text(test_job.log_file(0, 0, "stderr.log")) == "err 0\n");
  CHECK(file_text(test_job.log_file(0, 1, "stdout.log")) == "out 1\nno end");
  CHECK_FALSE(fs::exists(test_job.log_file(0, 1, "stderr.log")));
  CHECK(file_text(test_job.log_file(0, 2, "stdout.log")) == "out 2\nno end");
  CHECK(file_text(test_job.log_file(0, 2, "stderr.log")) == "err 2\n");
  CHECK(occurrences(out->text, "out 0") == 0);
  CHECK(occurrences(out->text, "[trn1]:out 1\n") == 1);
  CHECK(occurrences(out->text, "[trn2]:out 2\n") == 1);
  CHECK(occurrences(out->text, "]:no end") == 2);
  CHECK(occurrences(err->text, "err 0") == 0);
  CHECK(occurrences(err->text, "err 1\n") == 1);
  CHECK(occurrences(err->text, "[trn2]:err 2\n") == 1);
}

TEST_CASE("agent: the prefix of teed lines is the user's", "[integration][agent]") {
  job test_job({"line", "x"});
  test_job.config.workers.tee = stream_selection(std_streams::out);
  test_job.config.workers.log_line_prefix_template = "<${role_name} ${rank}/${local_rank}> ";
  const auto out = test_job.out;
  CHECK(test_job.run().state == worker_state::succeeded);
  CHECK(occurrences(out->text, "<default 0/0> x\n") == 1);
  CHECK(occurrences(out->text, "<default 1/1> x\n") == 1);
}

TEST_CASE("agent: a temporary log directory goes with success, and stays after a failure",
          "[integration][agent]") {
  temporary_directory temporary;
  const char* before = std::getenv("TMPDIR");
  const std::string saved = before ? before : "";
  ::setenv("TMPDIR", temporary.path().c_str(), 1);
  const auto run = [](const std::string& code, std_streams redirected) {
    job test_job({"line", "x", "exit", code}, 1);
    test_job.config.workers.log_dir = "";
    test_job.config.workers.redirects = stream_selection(redirected);
    return test_job.run();
  };
  CHECK(run("0", std_streams::out).log_directory.empty());
  CHECK(fs::is_empty(temporary.path()));
  const std::string silent = run("1", std_streams::none).log_directory;
  CHECK(fs::exists(silent + "/journal.jsonl"));
  CHECK(fs::exists(silent + "/report.json"));
  const std::string kept = run("1", std_streams::out).log_directory;
  CHECK(file_text(kept + "/attempt_0/0/stdout.log") == "x\n");
  before ? ::setenv("TMPDIR", saved.c_str(), 1) : ::unsetenv("TMPDIR");
}

TEST_CASE("agent: without a log directory nothing is written", "[integration][agent]") {
  job test_job({"line", "x", "eline", "y"});
  test_job.config.workers.log_dir = "/dev/null";
  test_job.config.workers.redirects = stream_selection::parse("0:3");
  test_job.config.workers.tee = stream_selection::parse("1:3");
  const auto out = test_job.out;
  const run_result result = test_job.run();
  CHECK(result.log_directory.empty());
  CHECK(out->text == "[default1]:x\n");
  CHECK(fs::is_empty(test_job.folder.path()));
}

// ---- stop --------------------------------------------------------------------------------------

TEST_CASE("agent: a stop gives the workers its signal, once", "[integration][agent]") {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR2}) {
    CAPTURE(number);
    const std::string n = std::to_string(number);
    job test_job({"on", n, "print", "got it", "line", "ready"});
    const std::string end = test_job.folder / "end";
    for (const std::string act : {"await", end.c_str(), "line", "bye"}) {
      test_job.config.workers.arguments.push_back(act);
    }
    test_job.config.workers.shutdown_timeout = 1h;
    const auto shown = test_job.out;
    when_ready(test_job, 2, [&] {
      stop_request request;
      request.signal = number;
      test_job.agent->stop(request);
    });
    when_shown(test_job, [&](const std::string& text) {
      if (occurrences(text, "got it") == 2) std::ofstream(end).put('\n');
    });
    test_job.make();
    const run_result result = test_job.run();
    CHECK(result.state == worker_state::stopped);
    CHECK(result.stop_signal == number);
    CHECK(result.failures.empty());
    CHECK(occurrences(shown->text, "got it") == 2);
    CHECK(occurrences(shown->text, "bye") == 2);
  }
}

TEST_CASE("agent: workers that do not heed a stop are killed when their grace is over",
          "[integration][agent]") {
  job test_job({"ignore", "15", "line", "ready", "hang"});
  test_job.config.workers.shutdown_timeout = 300ms;
  std::chrono::steady_clock::time_point stop_time;
  when_ready(test_job, 2, [&] {
    stop_time = std::chrono::steady_clock::now();
    test_job.agent->stop({});
  });
  test_job.make();
  const run_result result = test_job.run();
  const auto took = std::chrono::steady_clock::now() - stop_time;
  CHECK(result.state == worker_state::stopped);
  CHECK(took >= 300ms);
  CHECK(took < 28s);
  for (const run_result::failure& failure : result.failures) {
    CHECK(failure.status == exit_status::signalled(SIGKILL));
    CHECK(failure.stopped_by_agent);
  }
}

TEST_CASE("agent: a second stop kills workers at once, stopped ones and their children too",
          "[integration][agent]") {
  job test_job({"ignore", "15", "fork", "setsid", "line", "ready", "stop", "hang"});
  test_job.config.workers.shutdown_timeout = 1h;
  when_ready(test_job, 2, [&] {
    test_job.agent->stop({});
    test_job.agent->stop({.escalates = true});
  });
  test_job.make();
  CHECK(test_job.run().state == worker_state::stopped);
}

TEST_CASE("agent: a stopped worker follows a stop", "[integration][agent]") {
  job test_job({"on", "15", "exit", "0", "line", "ready", "stop", "hang"});
  test_job.config.workers.shutdown_timeout = 1h;
  when_ready(test_job, 2, [&] { test_job.agent->stop({}); });
  test_job.make();
  const run_result result = test_job.run();
  CHECK(result.state == worker_state::stopped);
  CHECK(result.failures.empty());
}

/// Calls somebody for each worker that is suspected.
class suspicion_reader final : public journal_sink {
 public:
  std::function<void(const job_event&)> on_suspicion;
  void take(const journal_record& record) override {
    if (record.event.kind == job_event::type::worker_suspected) on_suspicion(record.event);
  }
};

TEST_CASE("agent: a worker that was stopped is named, and lives", "[integration][agent]") {
  job test_job({"on", "15", "exit", "0", "stop", "hang"});
  test_job.config.workers.watch_interval = 10ms;
  test_job.journal = std::make_shared<job_journal>(job_journal::options{});
  const auto reader = std::make_shared<suspicion_reader>();
  std::set<std::int64_t> stopped;
  reader->on_suspicion = [&](const job_event& event) {
    CHECK(event.state == "stopped");
    stopped.insert(event.rank.value_or(-1));
    if (stopped.size() == 2) test_job.agent->stop({});
  };
  test_job.journal->add(reader);
  test_job.make();
  const run_result result = test_job.run();
  CHECK(result.state == worker_state::stopped);
  CHECK(result.failures.empty());
  CHECK(stopped == std::set<std::int64_t>{0, 1});
}

/// Takes nothing, ever.
class stuck_screen final : public output_sink {
 public:
  task<void> write(std::string_view) override {
    event_flag never(co_await asio::this_coro::executor);
    co_await never.wait();
  }
};

TEST_CASE("agent: a console that stands still holds up no stop for longer than its grace",
          "[integration][agent]") {
  for (const int number : {SIGTERM, SIGKILL}) {
    CAPTURE(number);
    job test_job({"eline", "nobody reads this", "touch", "READY", "hang"}, 1);
    const std::string ready = test_job.folder / "ready";
    test_job.config.workers.arguments[3] = ready;
    test_job.config.workers.shutdown_timeout = 300ms;
    agent_services services;
    services.console_err = std::make_shared<stuck_screen>();
    test_job.agent = make_agent(test_job.config, services);
    std::thread stopper([&] {
      while (!fs::exists(ready)) std::this_thread::yield();
      stop_request request;
      request.signal = number;
      test_job.agent->stop(request);
    });
    const auto begin = std::chrono::steady_clock::now();
    CHECK(test_job.run().state == worker_state::stopped);
    CHECK(std::chrono::steady_clock::now() - begin < 28s);
    stopper.join();
  }
}

TEST_CASE("agent: run with signals it is cancelled as by itself, and leaves signals as they were",
          "[integration][agent]") {
  struct sigaction mine {};
  mine.sa_handler = [](int) {};
  struct sigaction before {};
  ::sigaction(SIGTERM, &mine, &before);
  job test_job({"on", "15", "print", "asked", "line", "ready"});
  const std::string end = test_job.folder / "end";
  for (const std::string act : {"await", end.c_str()})
    test_job.config.workers.arguments.push_back(act);
  test_job.config.workers.shutdown_timeout = 1h;
  asio::io_context context(1);
  asio::cancellation_signal cancel;
  const auto shown = test_job.out;
  when_ready(test_job, 2, [&] {
    asio::post(context, [&] { cancel.emit(asio::cancellation_type::partial); });
  });
  when_shown(test_job, [&](const std::string& text) {
    if (occurrences(text, "asked") == 2) std::ofstream(end).put('\n');
  });
  test_job.make();
  std::exception_ptr failure;
  asio::co_spawn(
      context, run_with_signals(*test_job.agent),
      asio::bind_cancellation_slot(
          cancel.slot(), [&](std::exception_ptr thrown, const run_result&) { failure = thrown; }));
  context.run_for(test_patience);
  REQUIRE(failure);
  CHECK(detail::is_cancellation(failure));
  CHECK(occurrences(shown->text, "asked") == 2);
  test_job.check_nothing_left();
  struct sigaction after {};
  ::sigaction(SIGTERM, &before, &after);
  CHECK(after.sa_handler == mine.sa_handler);
}

/// Runs a job as a program does, to its end.
run_result run_shown(job& test_job, const program_options& options) {
  agent_services services;
  services.console_out = test_job.out;
  services.console_err = test_job.err;
  services.log = test_job.log->log();
  add_part(services, "observer", test_job.observer);
  asio::io_context context(1);
  std::exception_ptr failure;
  std::optional<run_result> result;
  asio::co_spawn(context, run_as_program(test_job.config, options, services),
                 [&](std::exception_ptr thrown, run_result how) {
                   failure = thrown;
                   result = std::move(how);
                 });
  context.run_for(test_patience);
  if (!result) FAIL("the job did not end in time; its log:\n" << test_job.log->text());
  CHECK(context.stopped());
  test_job.check_nothing_left();
  if (failure) std::rethrow_exception(failure);
  return *result;
}

TEST_CASE("agent: run as a program it is shown and traced until its drain file appears",
          "[integration][agent]") {
  job test_job({"line", "ready", "hang"});
  const temporary_directory folder;
  const std::string socket = folder / "status";
  std::string url;
  program_options options;
  add_status(options);
  options.status = "unix:" + socket;
  options.on_status = [&](const std::string& text) { url = text; };
  options.trace = folder / "trace";
  options.drain_file = folder / "drain";
  bool is_served = false;
  when_ready(test_job, 2, [&] {
    is_served = fs::is_socket(socket);
    std::ofstream(options.drain_file) << "GPU 3 is hot\n";
  });
  const run_result result = run_shown(test_job, options);
  CHECK(result.state == worker_state::stopped);
  CHECK(result.stop_signal == SIGTERM);
  CHECK_THAT(result.reason, test::contains_text("/drain' exists: GPU 3 is hot"));
  CHECK(url == options.status);
  CHECK(is_served);
  CHECK_FALSE(fs::exists(socket));
  CHECK_THAT(file_text(options.trace), test::contains_text("GPU 3 is hot"));
}

TEST_CASE("agent: run as a program it starts nothing if its status address is taken",
          "[integration][agent]") {
  job test_job({"line", "ready"});
  const temporary_directory folder;
  program_options options;
  add_status(options);
  options.status = "unix:" + (folder / "status");
  std::ofstream(folder / "status") << "taken";
  try {
    run_shown(test_job, options);
    FAIL("it was served");
  } catch (const error& failure) {
    CHECK(failure.code() == errc::address_in_use);
  }
  CHECK(test_job.out->text.empty());
}

TEST_CASE("agent: a context that is destroyed takes a running job with it",
          "[integration][agent][io]") {
  job test_job({"line", "ready", "fork", "plain", "hang"});
  auto context = std::make_unique<asio::io_context>(1);
  when_ready(test_job, 2, [&] { context->stop(); });
  test_job.make();
  asio::co_spawn(*context, test_job.agent->run(), [](std::exception_ptr, const run_result&) {});
  context->run_for(test_patience);
  CHECK(test_job.remains.processes().size() >= 2);
  const auto begin = std::chrono::steady_clock::now();
  context.reset();
  const auto took = std::chrono::steady_clock::now() - begin;
  test_job.agent.reset();
  CHECK(test_job.remains.processes_become(0));
  // The context waits one second for the end of a guard, which may take longer on a busy machine.
  if (took < 1s) CHECK_FALSE(leftovers::has_children());
}

// ---- several agents ----------------------------------------------------------------------------

/// The nodes of a static job, each an agent of this process.
struct static_nodes {
  explicit static_nodes(int count, std::vector<std::string> acts) {
    const std::uint16_t port = elastic::test::reserved_port();
    for (int rank = 0; rank < count; ++rank) {
      nodes.push_back(std::make_unique<job>(acts, rank + 1));
      launch_config& config = nodes.back()->config;
      config.standalone = false;
      config.rendezvous.backend = "static";
      config.rendezvous.endpoint = "127.0.0.1:" + std::to_string(port);
      config.rendezvous.min_nodes = count;
      config.rendezvous.max_nodes = count;
      config.rendezvous.node_rank = rank;
      config.workers.redirects = stream_selection(std_streams::out);
    }
  }

  void run() {
    asio::io_context context(1);
    int ended = 0;
    std::exception_ptr failure;
    for (const auto& node : nodes) {
      node->make();
      asio::co_spawn(context, node->agent->run(),
                     [&, member = node.get()](std::exception_ptr thrown, run_result how) {
                       ++ended;
                       if (thrown) failure = thrown;
                       member->result = std::move(how);
                     });
    }
    context.run_for(test_patience);
    if (failure) std::rethrow_exception(failure);
    REQUIRE(ended == static_cast<int>(nodes.size()));
    for (const auto& node : nodes) node->check_nothing_left();
  }

  std::vector<std::unique_ptr<job>> nodes;
};

TEST_CASE("agent: static nodes number their workers together and end together",
          "[integration][agent][io]") {
  static_nodes job_of_three(3, {"env"});
  job_of_three.run();
  int rank = 0;
  for (int node = 0; node < 3; ++node) {
    const job& node_job = *job_of_three.nodes[static_cast<std::size_t>(node)];
    CHECK(node_job.result.state == worker_state::succeeded);
    INFO(node_job.log->text());
    CHECK_FALSE(node_job.log->has("", log_level::warning));
    for (int local_rank = 0; local_rank <= node; ++local_rank, ++rank) {
      const std::set<std::string> variables =
          lines_of(file_text(node_job.log_file(0, local_rank, "stdout.log")));
      CHECK(variables.count("RANK=" + std::to_string(rank)) == 1);
      CHECK(variables.count("LOCAL_RANK=" + std::to_string(local_rank)) == 1);
      CHECK(variables.count("LOCAL_WORLD_SIZE=" + std::to_string(node + 1)) == 1);
      CHECK(variables.count("WORLD_SIZE=6") == 1);
      CHECK(variables.count("GROUP_RANK=" + std::to_string(node)) == 1);
      CHECK(variables.count("GROUP_WORLD_SIZE=3") == 1);
      CHECK(variables.count("TORCHELASTIC_USE_AGENT_STORE=True") == 1);
      CHECK(variables.count("MASTER_ADDR=127.0.0.1") == 1);
    }
  }
}

TEST_CASE("agent: a static node restarts by itself", "[integration][agent]") {
  static_nodes job_of_two(2, {"exit", "0"});
  job_of_two.nodes[1]->config.workers.program = "/bin/sh";
  job_of_two.nodes[1]->config.workers.arguments = {"-c",
                                                   "exit $((1 - TORCHELASTIC_RESTART_COUNT))"};
  job_of_two.nodes[1]->config.workers.max_restarts = 1;
  job_of_two.run();
  CHECK(job_of_two.nodes[0]->result.state == worker_state::succeeded);
  CHECK(job_of_two.nodes[0]->result.restarts == 0);
  CHECK(job_of_two.nodes[1]->result.state == worker_state::succeeded);
  CHECK(job_of_two.nodes[1]->result.restarts == 1);
}

TEST_CASE("agent: two in one context, one cancelled, the other goes on", "[integration][agent]") {
  job first({"line", "ready", "hang"});
  job second({"line", "ready", "hang"});
  asio::io_context context(1);
  asio::cancellation_signal cancel;
  std::exception_ptr first_failure;
  run_result second_result;
  int ready = 0;
  const auto cancel_first = [&] {
    if (++ready < 2) return;
    asio::post(context, [&] { cancel.emit(asio::cancellation_type::partial); });
  };
  when_ready(first, 2, cancel_first);
  when_ready(second, 2, cancel_first);
  first.make();
  second.make();
  asio::co_spawn(context, first.agent->run(),
                 asio::bind_cancellation_slot(cancel.slot(),
                                              [&](std::exception_ptr thrown, const run_result&) {
                                                first_failure = thrown;
                                                CHECK(first.remains.processes().empty());
                                                CHECK(second.remains.processes().size() == 2);
                                                second.agent->stop({});
                                              }));
  asio::co_spawn(context, second.agent->run(),
                 [&](std::exception_ptr, run_result how) { second_result = std::move(how); });
  context.run_for(test_patience);
  REQUIRE(first_failure);
  CHECK(detail::is_cancellation(first_failure));
  CHECK(second_result.state == worker_state::stopped);
  first.check_nothing_left();
}

TEST_CASE("agent: several on a pool of threads, each ended in its own way",
          "[integration][agent][io][sanitize]") {
  // Before the pool: workers die with the thread that started them.
  std::vector<std::unique_ptr<job>> jobs;
  std::vector<std::unique_ptr<asio::cancellation_signal>> cancels;
  {
    asio::thread_pool pool(3);
    for (int number = 0; number < 8; ++number) {
      const bool ends = number % 4 == 0;
      auto new_job = ends
                         ? job::of_shell("exit $((1 - TORCHELASTIC_RESTART_COUNT))")
                         : std::make_unique<job>(std::vector<std::string>{"line", "ready", "hang"});
      new_job->config.workers.max_restarts = 1;
      cancels.push_back(std::make_unique<asio::cancellation_signal>());
      asio::cancellation_signal& cancel = *cancels.back();
      const auto strand = asio::make_strand(pool.get_executor());
      const auto emit = [strand, &cancel](asio::cancellation_type type) {
        asio::post(strand, [&cancel, type] { cancel.emit(type); });
      };
      job& it = *new_job;
      if (number % 4 == 1) when_ready(it, 2, [&it] { it.agent->stop({}); });
      if (number % 4 == 2) {
        when_ready(it, 2, [emit] { emit(asio::cancellation_type::partial); });
      }
      if (number % 4 == 3) {
        when_ready(it, 2, [emit] { emit(asio::cancellation_type::terminal); });
      }
      it.make();
      asio::co_spawn(
          strand, it.agent->run(),
          asio::bind_cancellation_slot(cancel.slot(), [&it](std::exception_ptr, run_result how) {
            it.result = std::move(how);
          }));
      jobs.push_back(std::move(new_job));
    }
    pool.join();
    // They hold strands of the pool.
    for (const auto& test_job : jobs) {
      test_job->out->on_text = [](const std::string&) {};
      test_job->observer->on_start = [] {};
    }
  }
  for (std::size_t number = 0; number < jobs.size(); ++number) {
    CAPTURE(number);
    const worker_state expected[] = {worker_state::succeeded, worker_state::stopped,
                                     worker_state::init, worker_state::init};
    CHECK(jobs[number]->result.state == expected[number % 4]);
    CHECK(jobs[number]->remains.processes().empty());
  }
  CHECK_FALSE(leftovers::has_children());
}

}  // namespace agent_test
}  // namespace
}  // namespace elastic
