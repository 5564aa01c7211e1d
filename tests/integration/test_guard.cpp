// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// No descendant outlives its worker, nor its agent, whatever either does.

#include <elastic/base/random.hpp>
#include <elastic/process.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>
#include <support/leftovers.hpp>
#include <support/log_recorder.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace elastic {
namespace {

namespace guard_test {

using namespace std::chrono_literals;
using test::contains_text;
using test::program_result;
using test::run_program;
using test::running_program;
using test::temporary_directory;
using words = std::vector<std::string>;

/// Processes known by an argument of their own, which they keep when they drop their environment.
class marked_sleeps {
 public:
  marked_sleeps() {
    static std::atomic<int> counter = 0;
    mark_ = fmt::format("{}.{:05}{:03}", 86'400 + ::getpid() % 1000, ::getpid() % 100'000,
                        ++counter % 1000);
  }
  marked_sleeps(const marked_sleeps&) = delete;
  marked_sleeps& operator=(const marked_sleeps&) = delete;
  ~marked_sleeps() {
    for (const pid_t pid : alive()) ::kill(pid, SIGKILL);
  }

  /// A script that leaves four processes, each in another way, and then goes on with `then`.
  std::string script(const std::string& then) const {
    const std::string sleep = "sleep " + mark_;
    return sleep + " & (setsid " + sleep + " &) ; (setsid env -i /bin/sh -c '" + sleep +
           " & exit' &) ; (nohup setsid " + sleep + " >/dev/null 2>&1 &) ; " + then;
  }

  /// The processes that have the mark and have not ended.
  std::vector<pid_t> alive() const {
    std::vector<pid_t> found;
    for (const process_entry& entry : read_processes()) {
      if (entry.dead()) continue;
      const std::string line = test::file_text(fmt::format("/proc/{}/cmdline", entry.pid));
      const bool is_one = line == std::string("sleep\0", 6) + mark_ + std::string(1, '\0');
      if (is_one) found.push_back(entry.pid);
    }
    return found;
  }

  /// Waits until there are so many, for at most 10 s.
  bool become(std::size_t count) const {
    const auto limit = std::chrono::steady_clock::now() + 10s;
    while (alive().size() != count && std::chrono::steady_clock::now() < limit) {
      ::poll(nullptr, 0, 1);
    }
    return alive().size() == count;
  }

 private:
  std::string mark_;
};

process_spec shell(const std::string& script) {
  process_spec spec;
  spec.program = "/bin/sh";
  spec.arguments = {"-c", script};
  spec.environment = {"PATH=/usr/bin:/bin"};
  return spec;
}

bool has_children() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/// elasticrun with workers that leave processes behind.
words job(const words& options, const std::string& script) {
  words all{ELASTIC_ELASTICRUN, "--standalone", "--guard", "required"};
  all.insert(all.end(), options.begin(), options.end());
  all.insert(all.end(), {"--no-python", "/bin/sh", "-c", script});
  return all;
}

}  // namespace guard_test

using namespace guard_test;

// ---- a worker and its tree ----------------------------------------------------------------------

CO_TEST("guard: what a worker leaves behind is gone before its place is free",
        "[integration][guard][sanitize]") {
  auto executor = co_await asio::this_coro::executor;
  const marked_sleeps sleeps;
  guarded_launcher launcher(executor);
  for (const std::string end : {"exit 3", "kill -9 $$"}) {
    const process_spec spec = shell(sleeps.script(end));
    const std::unique_ptr<child> worker = co_await launcher.launch(spec);
    const exit_status status = co_await worker->wait();
    CHECK(status == (end == "exit 3" ? exit_status::exited(3) : exit_status::signalled(SIGKILL)));
    co_await worker->end_tree();
    CHECK(sleeps.alive().empty());
    CHECK_FALSE(has_children());
  }
}

CO_TEST("guard: ends the tree of a worker that runs", "[integration][guard]") {
  auto executor = co_await asio::this_coro::executor;
  const marked_sleeps sleeps;
  guarded_launcher launcher(executor);
  const process_spec spec = shell(sleeps.script("sleep 1000"));
  const std::unique_ptr<child> worker = co_await launcher.launch(spec);
  CHECK(sleeps.become(4));
  co_await worker->end_tree();
  CHECK(sleeps.alive().empty());
  const exit_status status = co_await worker->wait();
  CHECK(status == exit_status::signalled(SIGKILL));
}

CO_TEST("guard: every exit code and signal comes home through it", "[integration][guard]") {
  auto executor = co_await asio::this_coro::executor;
  guarded_launcher launcher(executor);
  const std::vector<std::pair<std::string, exit_status>> ends{
      {"exit 0", exit_status::exited(0)},
      {"exit 1", exit_status::exited(1)},
      {"exit 255", exit_status::exited(255)},
      {"kill -15 $$", exit_status::signalled(SIGTERM)},
      {"kill -6 $$", exit_status::signalled(SIGABRT)},
      {"kill -64 $$", exit_status::signalled(64)},
  };
  for (const auto& [script, expected] : ends) {
    process_spec spec = shell("ulimit -c 0; " + script);
    const std::unique_ptr<child> worker = co_await launcher.launch(spec);
    const exit_status status = co_await worker->wait();
    CHECK(status.text() == expected.text());
    co_await worker->end_tree();
  }
}

CO_TEST("guard: its last words are heard although a request to it was left unread",
        "[integration][guard]") {
  auto executor = co_await asio::this_coro::executor;
  const auto log = std::make_shared<test::log_recorder>();
  guarded_launcher_options options;
  options.log = log->log();
  guarded_launcher launcher(executor, options);
  const process_spec spec = shell("exit 5");
  for (int round = 0; round < 300; ++round) {
    const std::unique_ptr<child> worker = co_await launcher.launch(spec);
    const exit_status status = co_await worker->wait();
    REQUIRE(status == exit_status::exited(5));
    // It is about to end by itself.
    co_await worker->end_tree();
  }
  INFO(log->text());
  CHECK_FALSE(log->has("guard"));
}

CO_TEST("guard: a signal goes to the worker and its group, and to none that has ended",
        "[integration][guard]") {
  auto executor = co_await asio::this_coro::executor;
  guarded_launcher launcher(executor);
  process_spec spec = shell("trap 'exit 7' USR1; sleep 1000 & echo ready; wait");
  int out[2];
  REQUIRE(::pipe2(out, O_CLOEXEC) == 0);
  spec.stdout_fd = out[1];
  const std::unique_ptr<child> worker = co_await launcher.launch(spec);
  ::close(out[1]);
  char byte;
  CHECK(::read(out[0], &byte, 1) == 1);
  CHECK(worker->signal(SIGUSR1));
  const exit_status status = co_await worker->wait();
  CHECK(status == exit_status::exited(7));
  CHECK_FALSE(worker->signal(SIGUSR1));
  co_await worker->end_tree();
  ::close(out[0]);
}

CO_TEST("guard: what cannot be started is said as without it", "[integration][guard]") {
  auto executor = co_await asio::this_coro::executor;
  guarded_launcher guarded(executor);
  pidfd_launcher plain(executor);
  const temporary_directory folder;
  std::ofstream(folder / "no_loader") << "#!/not/there\n";
  ::chmod((folder / "no_loader").c_str(), 0755);
  std::ofstream(folder / "text") << "hello\n";
  ::chmod((folder / "text").c_str(), 0755);
  std::vector<process_spec> wrong(5, shell("exit"));
  wrong[0].program = "/not/there";
  wrong[1].program = "/etc/passwd";
  wrong[2].program = folder / "no_loader";
  wrong[3].program = folder / "text";
  wrong[4].directory = "/not/there";
  const auto sentence = [](process_launcher& launcher, process_spec spec) -> task<std::string> {
    try {
      co_await launcher.launch(std::move(spec));
    } catch (const error& failure) {
      co_return failure.what();
    }
    co_return "it was started";
  };
  for (const process_spec& spec : wrong) {
    const std::string behind_guard = co_await sentence(guarded, spec);
    const std::string by_itself = co_await sentence(plain, spec);
    CHECK(behind_guard == by_itself);
  }
}

CO_TEST("guard: that is killed takes its worker along, and that is said", "[integration][guard]") {
  auto executor = co_await asio::this_coro::executor;
  guarded_launcher launcher(executor);
  const process_spec spec = shell("sleep 1000");
  const std::unique_ptr<child> worker = co_await launcher.launch(spec);
  const auto entry = read_process(worker->pid());
  REQUIRE(entry);
  ::kill(entry->parent, SIGKILL);
  const exit_status status = co_await worker->wait();
  CHECK(status == exit_status::guard_lost());
  CHECK_THAT(status.text(), contains_text("descendants of it may survive"));
  co_await worker->end_tree();
  CHECK_FALSE(has_children());
}

TEST_CASE("guard: each tree is its own worker's, with several agents in one process",
          "[integration][guard]") {
  asio::io_context context(1);
  const marked_sleeps one;
  const marked_sleeps other;
  const auto run = [&]() -> task<void> {
    auto executor = co_await asio::this_coro::executor;
    guarded_launcher first(executor);
    guarded_launcher second(executor);
    // A child of the host's own, which is nobody's business.
    const pid_t own = ::fork();
    if (own == 0) {
      ::pause();
      ::_exit(0);
    }
    const process_spec one_spec = shell(one.script("sleep 1000"));
    const process_spec other_spec = shell(other.script("sleep 1000"));
    const std::unique_ptr<child> one_worker = co_await first.launch(one_spec);
    const std::unique_ptr<child> other_worker = co_await second.launch(other_spec);
    CHECK(one.become(4));
    CHECK(other.become(4));
    co_await one_worker->end_tree();
    CHECK(one.alive().empty());
    CHECK(other.alive().size() == 4);
    CHECK(::kill(own, 0) == 0);
    co_await other_worker->end_tree();
    CHECK(other.alive().empty());
    CHECK(::waitpid(own, nullptr, WNOHANG) == 0);
    ::kill(own, SIGKILL);
    ::waitpid(own, nullptr, 0);
  };
  std::exception_ptr failure;
  asio::co_spawn(context, run, [&](std::exception_ptr thrown) { failure = thrown; });
  context.run_for(60s);
  if (failure) std::rethrow_exception(failure);
}

CO_TEST("guard: a host that waits for all its children or ignores SIGCHLD loses no status",
        "[integration][guard]") {
  auto executor = co_await asio::this_coro::executor;
  struct sigaction ignore {};
  struct sigaction before {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGCHLD, &ignore, &before);
  std::atomic<bool> ends = false;
  std::thread reaping([&] {
    while (!ends) {
      ::waitpid(-1, nullptr, WNOHANG);
      std::this_thread::yield();
    }
  });
  guarded_launcher launcher(executor);
  for (int code = 0; code < 20; ++code) {
    const process_spec spec = shell("exit " + std::to_string(code));
    const std::unique_ptr<child> worker = co_await launcher.launch(spec);
    const exit_status status = co_await worker->wait();
    CHECK(status == exit_status::exited(code));
    co_await worker->end_tree();
  }
  ends = true;
  reaping.join();
  ::sigaction(SIGCHLD, &before, nullptr);
}

// ---- the end of an agent ------------------------------------------------------------------------

TEST_CASE("guard: nothing outlives elasticrun, however it ends", "[integration][guard]") {
  for (const int number : {SIGKILL, SIGSEGV, SIGABRT, SIGTERM, SIGINT}) {
    CAPTURE(number);
    const marked_sleeps sleeps;
    const std::string script = "ulimit -c 0; " + sleeps.script("sleep 1000");
    running_program run({"/bin/sh", "-c", "ulimit -c 0; exec \"$@\"", "sh", ELASTIC_ELASTICRUN,
                         "--standalone", "--guard", "required", "--nproc-per-node", "8",
                         "--shutdown-timeout", "5",
                         "--no-python", "/bin/sh", "-c", script});
    CHECK(sleeps.become(32));
    run.signal(number);
    CHECK(sleeps.become(0));
    run.wait();
  }
}

TEST_CASE("guard: when elasticrun has ended by itself nothing is left, at once",
          "[integration][guard]") {
  for (const std::string code : {"0", "1"}) {
    const marked_sleeps sleeps;
    const program_result result = run_program(
        job({"--nproc-per-node", "4", "--max-restarts", "2"}, sleeps.script("exit " + code)));
    CHECK(sleeps.alive().empty());
    CHECK(result.code == std::stoi(code));
  }
}

TEST_CASE("guard: stopped processes do not outlive elasticrun either", "[integration][guard]") {
  const marked_sleeps sleeps;
  running_program run(job({"--nproc-per-node", "2"}, sleeps.script("sleep 1000")));
  CHECK(sleeps.become(8));
  for (const pid_t pid : sleeps.alive()) ::kill(pid, SIGSTOP);
  run.signal(SIGKILL);
  CHECK(sleeps.become(0));
  run.wait();
}

TEST_CASE("guard: a copy of the agent that a fork left behind keeps no tree alive",
          "[integration][guard]") {
  const marked_sleeps sleeps;
  int copy[2];
  REQUIRE(::pipe2(copy, O_CLOEXEC) == 0);
  const pid_t agent = ::fork();
  if (agent == 0) {
    asio::io_context context(1);
    const auto run = [&]() -> task<void> {
      guarded_launcher launcher(co_await asio::this_coro::executor);
      const process_spec spec = shell(sleeps.script("sleep 1000"));
      const std::unique_ptr<child> worker = co_await launcher.launch(spec);
      if (::fork() == 0) {
        ::write(copy[1], "x", 1);
        for (;;) ::pause();
      }
      co_await worker->wait();
    };
    asio::co_spawn(context, run, [](std::exception_ptr) {});
    context.run();
    ::_exit(0);
  }
  REQUIRE(agent > 0);
  CHECK(sleeps.become(4));
  char byte;
  CHECK(::read(copy[0], &byte, 1) == 1);
  std::vector<pid_t> copies;
  for (const pid_t pid : read_children(agent)) {
    if (!test::leftovers::is_guard(pid)) copies.push_back(pid);
  }
  REQUIRE(copies.size() == 1);
  ::kill(agent, SIGKILL);
  ::waitpid(agent, nullptr, 0);
  CHECK(sleeps.become(0));
  CHECK(::kill(copies[0], SIGKILL) == 0);
  ::close(copy[0]);
  ::close(copy[1]);
}

TEST_CASE("guard: elasticrun killed at any moment of a launch leaves nothing",
          "[integration][guard]") {
  const char* const wanted = std::getenv("ELASTIC_GUARD_ROUNDS");
  const int rounds = wanted ? std::atoi(wanted) : 60;
  random_source chance;
  const marked_sleeps sleeps;
  int survived = 0;
  for (int round = 0; round < rounds; ++round) {
    running_program run(job({"--nproc-per-node", "4"}, sleeps.script("sleep 1000")));
    const auto moment = std::chrono::microseconds(chance.below(25'000));
    const auto until = std::chrono::steady_clock::now() + moment;
    while (std::chrono::steady_clock::now() < until) std::this_thread::yield();
    run.signal(SIGKILL);
    run.wait();
    if (!sleeps.become(0)) ++survived;
  }
  CHECK(survived == 0);
}

TEST_CASE("guard: chains that fork without pause do not get away", "[integration][guard]") {
  const marked_sleeps sleeps;
  const temporary_directory folder;
  const std::string chain = folder / "chain.sh";
  std::ofstream(chain) << "#!/bin/sh\n[ -e '" << (folder / "end") << "' ] && exit\n"
                       << "setsid '" << chain << "' &\nexit 0\n";
  ::chmod(chain.c_str(), 0755);
  running_program run(job({"--nproc-per-node", "2"},
                          sleeps.script("'" + chain + "' & echo running; sleep 1000")));
  run.await_out("running", 2);
  run.signal(SIGKILL);
  CHECK(sleeps.become(0));
  const auto chained = [&] {
    std::size_t count = 0;
    for (const process_entry& entry : read_processes()) {
      const std::string line = test::file_text(fmt::format("/proc/{}/cmdline", entry.pid));
      if (!entry.dead() && line.find(chain) != line.npos) ++count;
    }
    return count;
  };
  const auto limit = std::chrono::steady_clock::now() + 10s;
  // Between two of a chain there may be none to be seen.
  int quiet = 0;
  while (quiet < 20 && std::chrono::steady_clock::now() < limit) {
    quiet = chained() == 0 ? quiet + 1 : 0;
  }
  CHECK(quiet == 20);
  std::ofstream(folder / "end").put('x');
  run.wait();
}

// ---- where it runs from -------------------------------------------------------------------------

TEST_CASE("guard: a file that is none is named", "[integration][guard]") {
  const temporary_directory folder;
  std::ofstream(folder / "plain") << "x";
  const auto refused = [&](const std::string& file, const std::string& policy) {
    return run_program(job({"--guard", policy}, "echo ran"), {{"ELASTIC_GUARD", file}});
  };
  const program_result missing = refused(folder / "missing", "required");
  CHECK(missing.code == 1);
  CHECK_THAT(missing.err, contains_text(folder / "missing: No such file or directory"));
  const program_result plain = refused(folder / "plain", "required");
  CHECK_THAT(plain.err, contains_text(folder / "plain: Permission denied"));
  const program_result other = refused("/bin/true", "required");
  CHECK_THAT(other.err, contains_text("/bin/true"));
  CHECK_THAT(other.err, contains_text("of another version"));
  for (const auto* result : {&missing, &plain, &other}) {
    CHECK(result->code != 0);
    CHECK(result->out.empty());
  }
  const program_result without = refused(folder / "missing", "best-effort");
  CHECK(without.code == 0);
  CHECK(without.out == "ran\n");
  CHECK_THAT(without.err, contains_text("workers have no guard"));
  CHECK_THAT(without.err, contains_text(folder / "missing: No such file or directory"));
}

TEST_CASE("guard: runs where files in memory may not be executed", "[integration][guard]") {
  // The setting is that of a pid namespace, so that a new one can have its own.
  const std::string write = "echo \"$1\" > /proc/sys/vm/memfd_noexec && shift && exec \"$@\"";
  for (const std::string policy : {"0", "1", "2"}) {
    CAPTURE(policy);
    words command{"unshare", "--pid", "--fork", "--mount-proc", "/bin/sh",
                  "-c",      write,   "sh",     policy};
    for (const std::string& word : job({"--guard", "required"}, "echo ran")) {
      command.push_back(word);
    }
    const program_result result = run_program(command);
    if (result.err.find("unshare") != std::string::npos ||
        result.err.find("memfd_noexec") != std::string::npos) {
      WARN("left out, it takes a pid namespace of its own: " << result.err);
      return;
    }
    CHECK(result.code == 0);
    CHECK(result.out == "ran\n");
  }
}

TEST_CASE("guard: goes on where a filter refuses a system call", "[integration][guard]") {
  for (const std::string refused : {"memfd_create", "pidfd_open", "close_range"}) {
    CAPTURE(refused);
    const marked_sleeps sleeps;
    words command{ELASTIC_DENY_SYSCALLS, refused, "--"};
    for (const std::string& word :
         job({"--guard", "required", "--nproc-per-node", "2"}, sleeps.script("sleep 1000"))) {
      command.push_back(word);
    }
    running_program run(command);
    CHECK(sleeps.become(8));
    run.signal(SIGKILL);
    CHECK(sleeps.become(0));
    run.wait();
  }
  const words none{ELASTIC_DENY_SYSCALLS, "execveat", "--"};
  words required = none;
  for (const std::string& word : job({"--guard", "required"}, "echo ran")) required.push_back(word);
  const program_result result = run_program(required);
  CHECK(result.code != 0);
  CHECK_THAT(result.err, contains_text("no guard can be executed: memory: "));
  words tried = none;
  for (const std::string& word : job({"--guard", "best-effort"}, "echo ran")) {
    tried.push_back(word);
  }
  CHECK(run_program(tried).out == "ran\n");
}

}  // namespace
}  // namespace elastic
