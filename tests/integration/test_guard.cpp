// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// No descendant outlives its worker or its agent, whatever either does.

#include <elastic/agent/worker_group.hpp>
#include <elastic/base/detail/random.hpp>
#include <elastic/nodes/detail/rendezvous_message.hpp>
#include <elastic/process.hpp>
#include <elastic/process/detail/guarded_child.hpp>
#include <elastic/store/tcp_store.hpp>
#include <support/bounded_cgroup.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>
#include <support/leftovers.hpp>
#include <support/log_recorder.hpp>
#include <support/raw_client.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>
#include <support/skip.hpp>

#include <dlfcn.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace elastic {
namespace {

namespace guard_test {

using namespace std::chrono_literals;
using test::contains_text;
using test::memory_cgroup;
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
    for (const detail::process_entry& entry : detail::read_processes()) {
      if (entry.dead()) continue;
      const std::string line = test::file_text(fmt::format("/proc/{}/cmdline", entry.pid));
      const bool is_one = line == std::string("sleep\0", 6) + mark_ + std::string(1, '\0');
      if (is_one) found.push_back(entry.pid);
    }
    return found;
  }

  const std::string& mark() const { return mark_; }

  /// Waits until there are this many.
  bool become(std::size_t count, std::chrono::seconds patience = 100s) const {
    const auto limit = std::chrono::steady_clock::now() + patience;
    while (alive().size() != count) {
      if (std::chrono::steady_clock::now() > limit) return false;
      ::poll(nullptr, 0, 1);
    }
    return true;
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

/// Makes this process the parent of all processes that lose theirs: also those count that have not
/// executed their program yet, in which no mark can be seen.
class orphan_adoption {
 public:
  orphan_adoption() { REQUIRE(::prctl(PR_SET_CHILD_SUBREAPER, 1) == 0); }
  orphan_adoption(const orphan_adoption&) = delete;
  orphan_adoption& operator=(const orphan_adoption&) = delete;
  ~orphan_adoption() { ::prctl(PR_SET_CHILD_SUBREAPER, 0); }

  /// Waits until this process has no child.
  bool await_none(std::chrono::seconds patience = 100s) const {
    const auto limit = std::chrono::steady_clock::now() + patience;
    for (;;) {
      const pid_t ended = ::waitpid(-1, nullptr, WNOHANG);
      if (ended < 0) return errno == ECHILD;
      if (std::chrono::steady_clock::now() > limit) return false;
      if (ended == 0) ::poll(nullptr, 0, 1);
    }
  }
};

/// A host with an agent: a process of its own with workers behind guards.
class forked_host {
 public:
  /// What the process does besides; a sentence that it throws is written where its log goes.
  struct plan {
    int workers = 1;
    /// First of all.
    std::function<void()> prepare = [] {};
    /// When the workers run and `go` was called.
    std::function<void()> then = {};
  };

  forked_host(const process_spec& spec, const plan& host_plan) {
    int log[2];
    int gate[2];
    if (::pipe2(log, O_CLOEXEC) != 0 || ::pipe2(gate, O_CLOEXEC) != 0) FAIL("no pipe can be made");
    log_ = log[0];
    gate_ = gate[1];
    pid_ = ::fork();
    if (pid_ == 0) be_host(spec, host_plan, log[1], gate[0]);
    ::close(log[1]);
    ::close(gate[0]);
    if (pid_ < 0) FAIL("no process can be made");
  }
  forked_host(const forked_host&) = delete;
  forked_host& operator=(const forked_host&) = delete;
  ~forked_host() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      wait();
    }
    ::close(log_);
    ::close(gate_);
  }

  pid_t pid() const { return pid_; }
  void kill() const { ::kill(pid_, SIGKILL); }
  void go() const { CHECK(::write(gate_, "x", 1) == 1); }

  /// Its wait status.
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }

  /// Waits until its log has this text. Result: the whole log.
  const std::string& await_log(std::string_view text) {
    const auto limit = std::chrono::steady_clock::now() + 100s;
    while (log_text_.find(text) == log_text_.npos) {
      pollfd more{log_, POLLIN, 0};
      const auto rest =
          std::chrono::ceil<std::chrono::milliseconds>(limit - std::chrono::steady_clock::now());
      char part[1024];
      const int ready = ::poll(&more, 1, std::max(0, static_cast<int>(rest.count())));
      const ssize_t size = ready > 0 ? ::read(log_, part, sizeof part) : 0;
      if (size <= 0) FAIL("the host never said '" << text << "' but\n" << log_text_);
      log_text_.append(part, static_cast<std::size_t>(size));
    }
    return log_text_;
  }

 private:
  struct line_writer final : log_handler {
    explicit line_writer(int descriptor) : fd(descriptor) {}
    void write(log_level, std::string_view text) noexcept override {
      const std::string line = std::string(text) + '\n';
      if (::write(fd, line.data(), line.size()) < 0) ::_exit(98);
    }
    int fd;
  };

  [[noreturn]] static void be_host(const process_spec& spec, const plan& host_plan, int log,
                                   int gate) {
    const logger lines(std::make_shared<line_writer>(log), log_level::info);
    asio::io_context context(1);
    const auto run = [&]() -> task<void> {
      guarded_launcher::options options;
      options.log = lines;
      auto executor = co_await asio::this_coro::executor;
      guarded_launcher launcher(executor, options);
      std::vector<std::unique_ptr<child>> workers;
      for (int count = 0; count < host_plan.workers; ++count) {
        std::unique_ptr<child> worker = co_await launcher.launch(spec);
        workers.push_back(std::move(worker));
      }
      char byte;
      if (host_plan.then && ::read(gate, &byte, 1) == 1) host_plan.then();
      for (const auto& worker : workers) {
        co_await worker->wait();
        co_await worker->end_tree();
      }
    };
    const auto say = [&](std::exception_ptr thrown) {
      try {
        if (thrown) std::rethrow_exception(thrown);
      } catch (const std::exception& failure) {
        lines.error("{}", failure.what());
      }
    };
    try {
      host_plan.prepare();
    } catch (...) {
      say(std::current_exception());
      ::_exit(97);
    }
    asio::co_spawn(context, run, say);
    context.run();
    ::_exit(0);
  }

  pid_t pid_ = -1;
  int log_ = -1;
  int gate_ = -1;
  std::string log_text_;
};

void need(bool done, const char* call) {
  if (!done) throw std::runtime_error(fmt::format("{}: {}", call, errno_text(errno)));
}

void become_nobody() {
  constexpr id_t nobody = 65534;
  need(::setgroups(0, nullptr) == 0, "setgroups");
  need(::setresgid(nobody, nobody, nobody) == 0, "setresgid");
  need(::setresuid(nobody, nobody, nobody) == 0, "setresuid");
}

/// Gives the calling process another /proc: of its own, or an empty folder.
void replace_proc(const char* type, const char* options) {
  need(::unshare(CLONE_NEWNS) == 0, "unshare");
  need(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0, "mount /");
  need(::mount(type, "/proc", type, 0, options) == 0, "mount /proc");
}

/// How often a process has gone to sleep or was preempted.
long switches(pid_t pid) {
  const std::string status = test::file_text(fmt::format("/proc/{}/status", pid));
  long count = 0;
  for (const std::string name : {"\nvoluntary_ctxt_switches:", "\nnonvoluntary_ctxt_switches:"}) {
    const std::size_t at = status.find(name);
    if (at == status.npos) FAIL("no process " << pid);
    count += std::atol(status.c_str() + at + name.size());
  }
  return count;
}

/// elasticrun with workers that leave processes behind.
words job(const words& options, const std::string& script) {
  words command{ELASTIC_ELASTICRUN, "--standalone", "--guard", "required"};
  command.insert(command.end(), options.begin(), options.end());
  command.insert(command.end(), {"--no-python", "/bin/sh", "-c", script});
  return command;
}

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
  guarded_launcher::options options;
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
  const auto entry = detail::read_process(worker->pid());
  REQUIRE(entry);
  ::kill(entry->parent, SIGKILL);
  const exit_status status = co_await worker->wait();
  CHECK(status == exit_status::guard_lost());
  CHECK_THAT(status.text(), contains_text("descendants of it may survive"));
  co_await worker->end_tree();
  CHECK_FALSE(has_children());
}

TEST_CASE("guard: the report of a job says that a guard was killed", "[integration][guard]") {
  running_program run(job({"--nproc-per-node", "2"}, "echo $PPID; sleep 1000"),
                      {{"LOGLEVEL", "INFO"}});
  run.await_out("\n", 2);
  // A worker speaks before its guard has told the agent that it runs.
  run.await_err("round 0: node 0 of 1");
  const pid_t guard = std::atoi(run.out().c_str());
  REQUIRE(test::leftovers::is_guard(guard));
  ::kill(guard, SIGKILL);
  const program_result result = run.wait();
  CHECK(result.code == 1);
  const std::size_t report = result.err.find("Root Cause");
  REQUIRE(report != std::string::npos);
  CHECK_THAT(result.err.substr(report),
             contains_text("(its guard was killed, descendants of it may survive)"));
}

TEST_CASE("guard: a worker outlives the thread that started it", "[integration][guard]") {
  asio::io_context context(1);
  const temporary_directory folder;
  std::unique_ptr<child> worker;
  std::thread starter([&] {
    const auto start = [&]() -> task<void> {
      auto executor = co_await asio::this_coro::executor;
      guarded_launcher launcher(executor);
      const process_spec spec =
          shell("while [ ! -e '" + folder / "end" + "' ]; do sleep 0.01; done; exit 4");
      worker = co_await launcher.launch(spec);
    };
    asio::co_spawn(context, start, [](std::exception_ptr) {});
    context.run();
  });
  starter.join();
  REQUIRE(worker);
  std::ofstream(folder / "end").put('x');
  std::optional<exit_status> status;
  const auto wait = [&]() -> task<void> {
    status = co_await worker->wait();
    co_await worker->end_tree();
  };
  asio::co_spawn(context, wait, [](std::exception_ptr) {});
  context.restart();
  context.run_for(100s);
  CHECK(status == exit_status::exited(4));
}

CO_TEST("guard: one that has nothing to do is not woken", "[integration][guard]") {
  auto executor = co_await asio::this_coro::executor;
  const marked_sleeps sleeps;
  guarded_launcher launcher(executor);
  const process_spec spec = shell(sleeps.script("sleep 1000"));
  const std::unique_ptr<child> worker = co_await launcher.launch(spec);
  CHECK(sleeps.become(4));
  const auto entry = detail::read_process(worker->pid());
  REQUIRE(entry);
  // On a busy machine it may take a while until the script's own children have been taken in.
  const auto is_quiet_for = [&](std::chrono::milliseconds span) {
    const long before = switches(entry->parent);
    ::poll(nullptr, 0, static_cast<int>(span.count()));
    return switches(entry->parent) == before;
  };
  bool is_quiet = false;
  for (int tries = 0; tries < 20 && !is_quiet; ++tries) is_quiet = is_quiet_for(2s);
  CHECK(is_quiet);
  co_await worker->end_tree();
}

TEST_CASE("guard: the next attempt begins when nothing is left of the one before",
          "[integration][guard]") {
  const marked_sleeps sleeps;
  const temporary_directory folder;
  // In a file, so that no command line but those of the processes to be found has the mark.
  std::ofstream(folder / "worker.sh")
      << "grep -aqzs '^" << sleeps.mark() << "$' /proc/[0-9]*/cmdline && echo left\n"
      << sleeps.script("exit 1") << "\n";
  const program_result result =
      run_program(job({"--max-restarts", "10"}, ". '" + folder / "worker.sh" + "'"));
  CHECK(result.code == 1);
  CHECK(result.out.empty());
  CHECK(sleeps.alive().empty());
}

TEST_CASE("guard: each tree is its own worker's, with several agents in one process",
          "[integration][guard]") {
  asio::io_context context(1);
  const marked_sleeps sleeps;
  const marked_sleeps other;
  const auto run = [&]() -> task<void> {
    auto executor = co_await asio::this_coro::executor;
    guarded_launcher first(executor);
    guarded_launcher second(executor);
    // A child of the host itself, which no guard may kill.
    const pid_t own = ::fork();
    if (own == 0) {
      ::pause();
      ::_exit(0);
    }
    const process_spec spec = shell(sleeps.script("sleep 1000"));
    const process_spec other_spec = shell(other.script("sleep 1000"));
    const std::unique_ptr<child> worker = co_await first.launch(spec);
    const std::unique_ptr<child> other_worker = co_await second.launch(other_spec);
    CHECK(sleeps.become(4));
    CHECK(other.become(4));
    co_await worker->end_tree();
    CHECK(sleeps.alive().empty());
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
  context.run_for(200s);
  if (failure) std::rethrow_exception(failure);
}

CO_TEST("guard: a host that waits for all its children or ignores SIGCHLD loses no status",
        "[integration][guard]") {
  auto executor = co_await asio::this_coro::executor;
  struct sigaction ignore{};
  struct sigaction before{};
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

// ---- a guard that does not answer ---------------------------------------------------------------

CO_TEST("guard: that was stopped is continued when its worker ends or gets a signal",
        "[integration][guard]") {
  auto executor = co_await asio::this_coro::executor;
  guarded_launcher launcher(executor);
  const process_spec exiting = shell("kill -STOP $PPID; exit 3");
  const std::unique_ptr<child> worker = co_await launcher.launch(exiting);
  exit_status status = co_await worker->wait();
  CHECK(status == exit_status::exited(3));
  co_await worker->end_tree();

  const marked_sleeps sleeps;
  const process_spec staying = shell("kill -STOP $PPID; sleep " + sleeps.mark());
  const std::unique_ptr<child> other = co_await launcher.launch(staying);
  CHECK(sleeps.become(1));
  CHECK(other->signal(SIGTERM));
  status = co_await other->wait();
  CHECK(status == exit_status::signalled(SIGTERM));
  co_await other->end_tree();
  CHECK(sleeps.alive().empty());
  CHECK_FALSE(has_children());
}

/// Keeps a process stopped, as a debugger does, until its end.
class debugger {
 public:
  explicit debugger(pid_t pid) : pid_(pid) {
    REQUIRE(::ptrace(PTRACE_SEIZE, pid_, nullptr, nullptr) == 0);
    REQUIRE(::ptrace(PTRACE_INTERRUPT, pid_, nullptr, nullptr) == 0);
    int status = 0;
    REQUIRE(::waitpid(pid_, &status, __WALL) == pid_);
  }
  debugger(const debugger&) = delete;
  debugger& operator=(const debugger&) = delete;
  ~debugger() {
    // The debugger of a process that was killed takes its status, too.
    if (::ptrace(PTRACE_DETACH, pid_, nullptr, nullptr) != 0) ::waitpid(pid_, nullptr, __WALL);
  }

 private:
  pid_t pid_;
};

CO_TEST("guard: that a debugger holds is given up when its worker has ended, and that is said",
        "[integration][guard]") {
  auto executor = co_await asio::this_coro::executor;
  const auto log = std::make_shared<test::log_recorder>();
  guarded_launcher::options options;
  options.log = log->log();
  guarded_launcher launcher(executor, options);
  const marked_sleeps sleeps;
  for (const bool is_killed : {false, true}) {
    CAPTURE(is_killed);
    const process_spec spec = shell("sleep " + sleeps.mark() + "; exit 3");
    const std::unique_ptr<child> worker = co_await launcher.launch(spec);
    CHECK(sleeps.become(1));
    const auto entry = detail::read_process(worker->pid());
    REQUIRE(entry);
    const debugger holding(entry->parent);
    if (is_killed) {
      co_await worker->end_tree();
    } else {
      for (const pid_t pid : sleeps.alive()) ::kill(pid, SIGKILL);
    }
    const exit_status status = co_await worker->wait();
    CHECK(status == exit_status::guard_lost());
    co_await worker->end_tree();
    CHECK(log->has(fmt::format("worker {} does not answer, since process {} traces it",
                               worker->pid(), ::getpid())));
  }
}

TEST_CASE("guard: that a debugger holds does not keep elasticrun from its end",
          "[integration][guard]") {
  const marked_sleeps sleeps;
  const std::string loop = "while :; do sleep " + sleeps.mark() + "; done";
  running_program run(job({"--shutdown-timeout", "0.2"}, "trap '' TERM; echo $PPID; " + loop),
                      {{"LOGLEVEL", "INFO"}});
  run.await_out("\n");
  CHECK(sleeps.become(1));
  // A worker speaks before its guard has told the agent that it runs.
  run.await_err("round 0: node 0 of 1");
  const pid_t guard = std::atoi(run.out().c_str());
  REQUIRE(test::leftovers::is_guard(guard));
  const debugger holding(guard);
  run.signal(SIGTERM);
  const program_result result = run.wait();
  CHECK_THAT(result.err, contains_text("is killed"));
}

// ---- helpers that clean up ----------------------------------------------------------------------

/// Shared memory with a name of its own, and a Python script that makes it.
class shared_memory {
 public:
  shared_memory() : name_("elastic_test_" + marks_.mark()) {
    std::ofstream(script()) << R"(
import multiprocessing, os, signal, sys, time
from multiprocessing import resource_tracker, shared_memory

def idle():
    signal.pause()

if __name__ == "__main__":
    name, method, then = sys.argv[1:]
    multiprocessing.set_start_method(method)
    memory = shared_memory.SharedMemory(name, create=True, size=1 << 20)
    tracker = resource_tracker._resource_tracker._pid
    # Until it has been executed, its command line is that of this process.
    while b"_tracker" not in open(f"/proc/{tracker}/cmdline", "rb").read():
        time.sleep(0.001)
    for _ in range(2):
        multiprocessing.Process(target=idle).start()
    if then == "die" and int(os.environ["TORCHELASTIC_RESTART_COUNT"]) < 2:
        os.kill(os.getpid(), signal.SIGKILL)
    if then == "stop tracker and die":
        os.kill(tracker, signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGKILL)
    if then == "ignore":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if then in ("wait", "ignore"):
        print("ready", flush=True)
        signal.pause()
    os._exit(0)
)";
  }
  shared_memory(const shared_memory&) = delete;
  shared_memory& operator=(const shared_memory&) = delete;
  ~shared_memory() { std::filesystem::remove(path()); }

  /// elasticrun with a worker that makes it, starts two processes by `method` and does `then`.
  words job(const words& options, const std::string& method, const std::string& then) const {
    words command{ELASTIC_ELASTICRUN, "--standalone"};
    command.insert(command.end(), options.begin(), options.end());
    command.insert(command.end(), {script(), name_, method, then});
    return command;
  }

  bool exists() const { return std::filesystem::exists(path()); }
  bool vanishes() const {
    const auto limit = std::chrono::steady_clock::now() + 30s;
    while (exists() && std::chrono::steady_clock::now() < limit) ::poll(nullptr, 0, 1);
    return !exists();
  }

 private:
  std::string path() const { return "/dev/shm/" + name_; }
  std::string script() const { return folder_ / "worker.py"; }

  marked_sleeps marks_;
  temporary_directory folder_;
  std::string name_;
};

TEST_CASE("guard: shared memory of a worker that was killed is gone before the next attempt",
          "[integration][guard]") {
  for (const std::string policy : {"required", "none"}) {
    for (const std::string method : {"fork", "forkserver", "spawn"}) {
      CAPTURE(policy, method);
      const shared_memory memory;
      // The next attempt makes it under the same name.
      const program_result result = run_program(
          memory.job({"--guard", policy, "--max-restarts", "2"}, method, "die"));
      INFO(result.err);
      CHECK(result.code == 0);
      CHECK_FALSE(memory.exists());
    }
  }
}

TEST_CASE("guard: shared memory is gone when a job was stopped", "[integration][guard]") {
  for (const std::string policy : {"required", "none"}) {
    for (const std::string then : {"wait", "ignore"}) {
      CAPTURE(policy, then);
      const shared_memory memory;
      running_program run(
          memory.job({"--guard", policy, "--shutdown-timeout", "0.2"}, "fork", then));
      run.await_out("ready");
      CHECK(memory.exists());
      run.signal(SIGTERM);
      run.wait();
      CHECK_FALSE(memory.exists());
    }
  }
}

TEST_CASE("guard: shared memory is gone after elasticrun was killed", "[integration][guard]") {
  const shared_memory memory;
  running_program run(memory.job({"--guard", "required"}, "fork", "wait"));
  run.await_out("ready");
  run.signal(SIGKILL);
  run.wait();
  CHECK(memory.vanishes());
}

TEST_CASE("guard: a helper that was stopped cleans up", "[integration][guard]") {
  for (const std::string policy : {"required", "none"}) {
    CAPTURE(policy);
    const shared_memory memory;
    run_program(memory.job({"--guard", policy}, "fork", "stop tracker and die"));
    CHECK_FALSE(memory.exists());
  }
}

/// A worker with two children, of which one calls itself a helper; both would live for long.
class false_helper {
 public:
  explicit false_helper(const std::string& name) {
    // In a file, so that no other command line has the name.
    std::ofstream(folder_ / "worker.sh")
        << "sh -c 'sleep " << sleeps.mark() << "; exit' '" << name << "' &\n"
        << "sleep " << sleeps.mark() << " &\nwait\n";
  }

  process_spec worker() const { return shell(". '" + folder_ / "worker.sh" + "'"); }

  const marked_sleeps sleeps;

 private:
  temporary_directory folder_;
};

CO_TEST("guard: what only calls itself a tracker is gone before its place is free",
        "[integration][guard]") {
  auto executor = co_await asio::this_coro::executor;
  guarded_launcher guarded(executor);
  pidfd_launcher plain(executor);
  const std::vector<process_launcher*> launchers{&guarded, &plain};
  for (process_launcher* const launcher : launchers) {
    const false_helper helper("from multiprocessing.resource_tracker import main");
    const process_spec spec = helper.worker();
    const std::unique_ptr<child> worker = co_await launcher->launch(spec);
    CHECK(helper.sleeps.become(2));
    ::kill(worker->pid(), SIGKILL);
    co_await worker->wait();
    co_await worker->end_tree();
    CHECK(helper.sleeps.alive().empty());
    CHECK_FALSE(has_children());
  }
}

TEST_CASE("guard: what only calls itself a manager holds its place for no longer than itself",
          "[integration][guard]") {
  const false_helper helper("torch_shm_manager");
  asio::io_context context(1);
  bool is_free = false;
  const auto run = [&]() -> task<void> {
    guarded_launcher launcher(co_await asio::this_coro::executor);
    const process_spec spec = helper.worker();
    const std::unique_ptr<child> worker = co_await launcher.launch(spec);
    CHECK(helper.sleeps.become(2));
    ::kill(worker->pid(), SIGKILL);
    co_await worker->wait();
    co_await worker->end_tree();
    // The place is free while the manager, and the sleep that is its child, have yet to end.
    is_free = true;
    CHECK(helper.sleeps.alive().size() == 1);
  };
  asio::co_spawn(context, run, [](std::exception_ptr) {});
  // It returns when the guard has ended, and with it everything that it held.
  context.run();
  CHECK(is_free);
  CHECK(helper.sleeps.alive().empty());
  CHECK_FALSE(has_children());
}

// ---- what lingers -------------------------------------------------------------------------------

/// Both ways to start a process that has a tree.
struct both_launchers {
  explicit both_launchers(const asio::any_io_executor& executor)
      : guarded(executor), plain(executor) {}

  std::vector<process_launcher*> all() { return {&guarded, &plain}; }

  guarded_launcher guarded;
  pidfd_launcher plain;
};

CO_TEST("guard: what a worker leaves behind may linger until it has ended",
        "[integration][guard]") {
  auto executor = co_await asio::this_coro::executor;
  both_launchers launchers(executor);
  for (process_launcher* const launcher : launchers.all()) {
    const temporary_directory folder;
    const std::string last = folder / "last";
    process_spec spec = shell("exec 3<&0; (read line <&3; echo line > '" + last + "') & exit 0");
    int gate[2];
    REQUIRE(::pipe2(gate, O_CLOEXEC) == 0);
    spec.stdin_fd = gate[0];
    spec.linger = 1h;
    const std::unique_ptr<child> worker = co_await launcher->launch(spec);
    ::close(gate[0]);
    co_await worker->wait();
    CHECK_FALSE(std::filesystem::exists(last));
    ::close(gate[1]);
    co_await worker->end_tree();
    CHECK(test::file_text(last) == "line\n");
    CHECK(worker->killed_leftovers().empty());
  }
}

CO_TEST("guard: what lingers for too long is killed and named", "[integration][guard]") {
  auto executor = co_await asio::this_coro::executor;
  both_launchers launchers(executor);
  for (process_launcher* const launcher : launchers.all()) {
    const marked_sleeps sleeps;
    const std::string sleep = "sleep " + sleeps.mark() + " & ";
    process_spec spec = shell(sleep + sleep + "read line; exit 0");
    int gate[2];
    REQUIRE(::pipe2(gate, O_CLOEXEC) == 0);
    spec.stdin_fd = gate[0];
    spec.linger = 100ms;
    const std::unique_ptr<child> worker = co_await launcher->launch(spec);
    ::close(gate[0]);
    CHECK(sleeps.become(2));
    std::vector<pid_t> left = sleeps.alive();
    ::close(gate[1]);
    co_await worker->wait();
    co_await worker->end_tree();
    CHECK(sleeps.alive().empty());
    std::vector<pid_t> named;
    for (const child::leftover& one : worker->killed_leftovers()) {
      CHECK(one.command == "sleep " + sleeps.mark());
      named.push_back(one.pid);
    }
    std::sort(left.begin(), left.end());
    std::sort(named.begin(), named.end());
    CHECK(named == left);
  }
}

CO_TEST("guard: few of the processes that were left behind are named", "[integration][guard]") {
  auto executor = co_await asio::this_coro::executor;
  both_launchers launchers(executor);
  for (process_launcher* const launcher : launchers.all()) {
    const marked_sleeps sleeps;
    const process_spec spec =
        shell("for i in 1 2 3 4 5 6 7 8 9 10; do sleep " + sleeps.mark() + " & done; sleep 1000");
    const std::unique_ptr<child> worker = co_await launcher->launch(spec);
    CHECK(sleeps.become(10));
    ::kill(worker->pid(), SIGKILL);
    co_await worker->wait();
    co_await worker->end_tree();
    const std::vector<child::leftover> killed = worker->killed_leftovers();
    REQUIRE(killed.size() == limits::named_leftovers + 1);
    CHECK(killed.front().pid > 0);
    CHECK(killed.back().pid == 0);
  }
}

CO_TEST("guard: SIGKILL ends the lingering", "[integration][guard]") {
  auto executor = co_await asio::this_coro::executor;
  both_launchers launchers(executor);
  for (process_launcher* const launcher : launchers.all()) {
    const marked_sleeps sleeps;
    process_spec spec = shell("sleep " + sleeps.mark() + " & exit 0");
    spec.linger = 1h;
    const std::unique_ptr<child> worker = co_await launcher->launch(spec);
    co_await worker->wait();
    CHECK(sleeps.become(1));
    const auto kill_soon = [](child& ended) -> task<void> {
      co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
      CHECK_FALSE(ended.signal(SIGKILL));
    };
    asio::co_spawn(executor, kill_soon(*worker), [](std::exception_ptr) {});
    co_await worker->end_tree();
    CHECK(sleeps.alive().empty());
  }
}

TEST_CASE("guard: what lingers ends with the agent", "[integration][guard]") {
  const marked_sleeps sleeps;
  process_spec spec = shell("sleep " + sleeps.mark() + " & exit 0");
  spec.linger = 1h;
  forked_host host(spec, {});
  CHECK(sleeps.become(1));
  host.kill();
  CHECK(sleeps.become(0));
}

TEST_CASE("guard: elasticrun lets linger what was left behind, and names what it kills",
          "[integration][guard]") {
  const marked_sleeps sleeps;
  const temporary_directory folder;
  const std::string last = folder / "last";
  const program_result lingering =
      run_program(job({"--linger", "60"}, "(sleep 0.3; echo line > '" + last + "') & exit 0"));
  CHECK(lingering.code == 0);
  CHECK(test::file_text(last) == "line\n");

  // Before the shell's child has executed its program, it has the name of the shell.
  const std::string is_asleep = "grep -aqzx " + sleeps.mark() + " /proc/$!/cmdline";
  running_program killed(
      job({"--max-restarts", "0"}, "sleep " + sleeps.mark() + " & echo $!; until " + is_asleep +
                                       "; do sleep 0.01; done; exit 0"),
      {{"LOGLEVEL", "INFO"}});
  const program_result result = killed.wait();
  CHECK(result.code == 0);
  CHECK_THAT(result.err, contains_text(fmt::format("which were killed: 'sleep {}' (pid {})",
                                                   sleeps.mark(), std::atoi(result.out.c_str()))));
}

// ---- the end of an agent ------------------------------------------------------------------------

// Runs in a process of its own, whose exit code is that of the worker.
[[noreturn]] void be_host_of_plugin(const std::string& script) {
  void* const plugin = ::dlopen(ELASTIC_GUARDING_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  using run_function = int (*)(const char*);
  if (!plugin) ::_exit(99);
  const auto run = reinterpret_cast<run_function>(::dlsym(plugin, "run_guarded"));
  const int code = run(script.c_str());
  ::dlclose(plugin);
  ::_exit(has_children() ? 98 : code);
}

TEST_CASE("guard: serves a library that its host opened while it ran", "[integration][guard]") {
  const auto started = [](const std::string& script) {
    const pid_t host = ::fork();
    if (host == 0) be_host_of_plugin(script);
    return host;
  };
  const auto ended = [](pid_t host) {
    int status = 0;
    ::waitpid(host, &status, 0);
    return status;
  };
  const marked_sleeps sleeps;
  const int finished = ended(started(sleeps.script("exit 7")));
  REQUIRE(WIFEXITED(finished));
  CHECK(WEXITSTATUS(finished) == 7);
  CHECK(sleeps.alive().empty());

  const pid_t killed = started(sleeps.script("sleep 1000"));
  CHECK(sleeps.become(4));
  ::kill(killed, SIGKILL);
  ended(killed);
  CHECK(sleeps.become(0));
}

TEST_CASE("guard: nothing outlives elasticrun, however it ends", "[integration][guard]") {
  for (const int number : {SIGKILL, SIGSEGV, SIGABRT, SIGTERM, SIGINT}) {
    CAPTURE(number);
    const marked_sleeps sleeps;
    const std::string script = "ulimit -c 0; " + sleeps.script("sleep 1000");
    running_program run({"/bin/sh", "-c", "ulimit -c 0; exec \"$@\"", "sh", ELASTIC_ELASTICRUN,
                         "--standalone", "--guard", "required", "--nproc-per-node", "8",
                         "--shutdown-timeout", "5", "--no-python", "/bin/sh", "-c", script});
    CHECK(sleeps.become(32));
    run.signal(number);
    CHECK(sleeps.become(0));
    run.wait();
  }
}

TEST_CASE("guard: nothing outlives elasticrun that is killed with its process group",
          "[integration][guard]") {
  const marked_sleeps sleeps;
  words command{"setsid"};
  for (const std::string& word : job({"--nproc-per-node", "8"}, sleeps.script("sleep 1000"))) {
    command.push_back(word);
  }
  running_program run(command);
  CHECK(sleeps.become(32));
  REQUIRE(::getpgid(run.pid()) == run.pid());
  ::kill(-run.pid(), SIGKILL);
  CHECK(sleeps.become(0));
  run.wait();
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
  for (const pid_t pid : detail::read_children(agent)) {
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

TEST_CASE("guard: an agent that executes another program ends its trees", "[integration][guard]") {
  const marked_sleeps sleeps;
  forked_host::plan plan;
  plan.then = [] { ::execl("/bin/sleep", "sleep", "1000", nullptr); };
  forked_host host(shell(sleeps.script("sleep 1000")), plan);
  CHECK(sleeps.become(4));
  host.go();
  CHECK(sleeps.become(0));
  // Its trees end a moment before it has its new name.
  const std::string name = fmt::format("/proc/{}/comm", host.pid());
  CHECK(test::comes_true([&] { return test::file_text(name) == "sleep\n"; }));
}

TEST_CASE("guard: an agent that runs out of memory leaves nothing", "[integration][guard][root]") {
  const memory_cgroup bounded(256 << 20);
  if (!bounded.made) {
    return test::skip("it takes a memory cgroup");
  }
  const marked_sleeps sleeps;
  forked_host::plan plan;
  plan.workers = 2;
  plan.prepare = [&] { bounded.enter(); };
  plan.then = [] {
    constexpr std::size_t step = 1 << 20;
    for (;;) std::fill_n(new char[step], step, 'x');
  };
  forked_host host(shell(sleeps.script("sleep 1000")), plan);
  CHECK(sleeps.become(8));
  host.go();
  const int status = host.wait();
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGKILL);
  CHECK(sleeps.become(0));
}

TEST_CASE("guard: 8 trees are gone after a small agent's death", "[integration][guard]") {
  const marked_sleeps sleeps;
  running_program run(job({"--nproc-per-node", "8"}, sleeps.script("sleep 1000")));
  CHECK(sleeps.become(32));
  run.signal(SIGKILL);
  run.wait();
  CHECK(sleeps.become(0));
}

TEST_CASE("guard: 8 trees are gone after the death of an agent of 4 GB",
          "[integration][guard][serial]") {
  constexpr std::size_t size = std::size_t{4} << 30;
  const std::string memory = test::file_text("/proc/meminfo");
  const std::size_t at = memory.find("MemAvailable:");
  const bool fits = at != memory.npos && std::atol(memory.c_str() + at + 13) > (6L << 20);
  if (!fits) {
    return test::skip("it takes 6 GB of free memory");
  }
  const marked_sleeps sleeps;
  forked_host::plan plan;
  plan.prepare = [] {
    void* const large =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    need(large != MAP_FAILED, "mmap");
    // Pages of 4 kB take the kernel longest to give back.
    ::madvise(large, size, MADV_NOHUGEPAGE);
    for (std::size_t page = 0; page < size; page += 4096) static_cast<char*>(large)[page] = 1;
  };
  plan.workers = 8;
  forked_host host(shell(sleeps.script("sleep 1000")), plan);
  CHECK(sleeps.become(32));
  host.kill();
  CHECK(sleeps.become(0));
}

TEST_CASE("guard: elasticrun killed at any moment of a launch leaves nothing",
          "[integration][guard]") {
  const char* const setting = std::getenv("ELASTIC_GUARD_ROUNDS");
  const int rounds = setting ? std::atoi(setting) : 60;
  detail::random_source chance;
  const marked_sleeps sleeps;
  const orphan_adoption adoption;
  int survived = 0;
  for (int round = 0; round < rounds; ++round) {
    running_program run(job({"--nproc-per-node", "4"}, sleeps.script("sleep 1000")));
    const auto moment = std::chrono::microseconds(chance.below(25'000));
    const auto until = std::chrono::steady_clock::now() + moment;
    while (std::chrono::steady_clock::now() < until) std::this_thread::yield();
    run.signal(SIGKILL);
    run.wait();
    if (!adoption.await_none() || !sleeps.alive().empty()) ++survived;
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
  running_program run(
      job({"--nproc-per-node", "2"}, sleeps.script("'" + chain + "' & echo running; sleep 1000")));
  run.await_out("running", 2);
  run.signal(SIGKILL);
  CHECK(sleeps.become(0));
  const auto chained = [&] {
    std::size_t count = 0;
    for (const detail::process_entry& entry : detail::read_processes()) {
      const std::string line = test::file_text(fmt::format("/proc/{}/cmdline", entry.pid));
      if (!entry.dead() && line.find(chain) != line.npos) ++count;
    }
    return count;
  };
  const auto limit = std::chrono::steady_clock::now() + 100s;
  // Between two of a chain there may be none to be seen.
  int quiet = 0;
  while (quiet < 20 && std::chrono::steady_clock::now() < limit) {
    quiet = chained() == 0 ? quiet + 1 : 0;
  }
  CHECK(quiet == 20);
  std::ofstream(folder / "end").put('x');
  run.wait();
}

// ---- another processor --------------------------------------------------------------------------

/// The guard of aarch64 in an emulator, which gives it neither orphans nor pidfds.
class emulated_guard {
 public:
  emulated_guard(const std::string& program, const char* promise, const std::string& script) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) FAIL("no socket");
    socket_ = ends[0];
    words command{"qemu-aarch64", "-0",  detail::guard_version, program, promise, "0", "/bin/sh",
                  "sh",           "-c", script};
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    const int passed = ::fcntl(ends[1], F_DUPFD_CLOEXEC, 5);
    ::posix_spawn_file_actions_adddup2(&actions, passed, detail::guard_socket);
    // What the test inherited there is no agent to watch: CTest leaves its logs open.
    ::posix_spawn_file_actions_addclose(&actions, detail::guard_agent);
    const int failure = ::posix_spawnp(&pid_, command[0].c_str(), &actions, nullptr,
                                       test::program_parts::pointers(command).data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    ::close(passed);
    if (failure != 0) FAIL("cannot start qemu-aarch64");
  }
  emulated_guard(const emulated_guard&) = delete;
  emulated_guard& operator=(const emulated_guard&) = delete;
  ~emulated_guard() {
    leave();
    ::waitpid(pid_, nullptr, 0);
  }

  /// The next that it tells; none after its end.
  std::optional<detail::guard_message> next() {
    pollfd poll_entry{socket_, POLLIN, 0};
    if (::poll(&poll_entry, 1, 100'000) != 1) FAIL("the guard said nothing");
    bool has_ended = false;
    const auto news = detail::receive_news(socket_, has_ended);
    if (!news) return std::nullopt;
    return news->message;
  }
  void ask(unsigned char request) { CHECK(::send(socket_, &request, 1, MSG_NOSIGNAL) == 1); }
  void leave() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }

 private:
  pid_t pid_ = -1;
  int socket_ = -1;
};

TEST_CASE("guard: that of aarch64 starts, signals and ends a worker in an emulator",
          "[integration][guard][aarch64]") {
  const auto is_there = [](const std::string& program) {
    return run_program({"/bin/sh", "-c", "command -v " + program}).code == 0;
  };
  if (!is_there("aarch64-linux-gnu-g++") || !is_there("qemu-aarch64")) {
    return test::skip("it takes g++-aarch64-linux-gnu and qemu-user");
  }
  const temporary_directory folder;
  const std::string program = folder / "guard";
  const program_result built = run_program(
      {"python3", ELASTIC_SOURCE_DIR "/scripts/guard_image.py", "--build", "aarch64", program});
  REQUIRE(built.code == 0);

  emulated_guard refusing(program, detail::guard_must_hold, "exit 3");
  const auto refused = refusing.next();
  REQUIRE(refused);
  CHECK(refused->news == detail::guard_news::not_started);
  CHECK(refused->stage == detail::guard_stage::hold);
  CHECK_FALSE(refusing.next());

  const auto status_of = [](emulated_guard& guard) {
    const auto ended = guard.next();
    REQUIRE(ended);
    CHECK(ended->news == detail::guard_news::ended);
    const auto empty = guard.next();
    REQUIRE(empty);
    CHECK(empty->news == detail::guard_news::empty);
    CHECK_FALSE(guard.next());
    return detail::as_exit_status(ended->value);
  };
  const auto check_started = [](emulated_guard& guard) {
    const auto started = guard.next();
    REQUIRE(started);
    CHECK(started->news == detail::guard_news::started);
    CHECK(started->stage == detail::guard_stage::hold);
  };
  emulated_guard exiting(program, detail::guard_may_fail, "exit 3");
  check_started(exiting);
  CHECK(status_of(exiting) == exit_status::exited(3));

  const marked_sleeps sleeps;
  const std::string script = "sleep " + sleeps.mark() + " & sleep " + sleeps.mark();
  emulated_guard signalled(program, detail::guard_may_fail, script);
  check_started(signalled);
  CHECK(sleeps.become(2));
  signalled.ask(SIGTERM);
  CHECK(status_of(signalled) == exit_status::signalled(SIGTERM));
  CHECK(sleeps.become(0));

  emulated_guard ending(program, detail::guard_may_fail, script);
  check_started(ending);
  CHECK(sleeps.become(2));
  ending.ask(detail::guard_end_tree);
  CHECK(status_of(ending) == exit_status::signalled(SIGKILL));
  CHECK(sleeps.become(0));

  emulated_guard abandoned(program, detail::guard_may_fail, script);
  CHECK(sleeps.become(2));
  abandoned.leave();
  CHECK(sleeps.become(0));
}

// ---- what it cannot see or kill -----------------------------------------------------------------

TEST_CASE("guard: waits quietly for a process that it may not kill, and says so",
          "[integration][guard][root]") {
  const temporary_directory folder;
  struct statvfs place{};
  ::statvfs(folder.path().c_str(), &place);
  const bool is_heeded =
      (place.f_flag & ST_NOSUID) == 0 && ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0;
  if (::geteuid() != 0 || !is_heeded) {
    return test::skip("it takes root, and a setuid program that the kernel heeds");
  }
  ::chmod(folder.path().c_str(), 0755);
  const std::string program = folder / "puppet";
  std::filesystem::copy_file(ELASTIC_PUPPET, program);
  ::chmod(program.c_str(), 04755);
  forked_host::plan plan;
  plan.prepare = become_nobody;
  const std::string root = folder / "root";
  forked_host host(
      shell(program + " become-root touch " + root + " hang & " + program + " await " + root),
      plan);
  const std::string& log_text = host.await_log("runs as another user\n");
  const pid_t stuck = std::atoi(log_text.c_str() + log_text.find("process ") + 8);
  const auto entry = detail::read_process(stuck);
  REQUIRE(entry);
  REQUIRE(test::leftovers::is_guard(entry->parent));
  const long before = switches(entry->parent);
  const auto begin = std::chrono::steady_clock::now();
  ::poll(nullptr, 0, 2500);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  // It looks once a second; as often as before it gave up it would be 50 times.
  CHECK(static_cast<double>(switches(entry->parent) - before) <= 10 * seconds);
  ::kill(stuck, SIGKILL);
  CHECK(host.wait() == 0);
}

TEST_CASE("guard: ends its tree with a /proc that hides others, without one, with a wrong one",
          "[integration][guard][root]") {
  if (::geteuid() != 0) {
    return test::skip("it takes root to mount a /proc");
  }
  const auto end_of_host = [](const std::function<void()>& prepare) {
    const marked_sleeps sleeps;
    forked_host::plan plan;
    plan.workers = 2;
    plan.prepare = prepare;
    forked_host host(shell(sleeps.script("sleep 1000")), plan);
    CHECK(sleeps.become(8));
    host.kill();
    CHECK(sleeps.become(0));
  };
  end_of_host([] {
    replace_proc("proc", "hidepid=2");
    become_nobody();
  });
  end_of_host([] { replace_proc("tmpfs", nullptr); });

  // That of another pid namespace, where processes have other numbers.
  const marked_sleeps sleeps;
  words command{"unshare",
                "--pid",
                "--fork",
                "--kill-child",
                "/bin/sh",
                "-c",
                "\"$@\"; echo ended $?; sleep 1000",
                "sh"};
  for (const std::string& word : job({}, sleeps.script("exit 3"))) command.push_back(word);
  running_program run(command);
  run.await_out("ended 1");
  CHECK(sleeps.alive().empty());
  run.signal(SIGKILL);
}

// ---- where it runs from -------------------------------------------------------------------------

TEST_CASE("guard: a file that is none is named", "[integration][guard]") {
  const temporary_directory folder;
  std::ofstream(folder / "plain") << "x";
  const auto refused = [&](const std::string& file, const std::string& policy) {
    return run_program(job({"--guard", policy}, "echo ran"), {{"ELASTIC_GUARD", file}});
  };
  for (const std::string policy : {"required", "best-effort"}) {
    CAPTURE(policy);
    const program_result missing = refused(folder / "missing", policy);
    CHECK_THAT(missing.err, contains_text(folder / "missing': No such file or directory"));
    const program_result plain = refused(folder / "plain", policy);
    CHECK_THAT(plain.err, contains_text(folder / "plain': Permission denied"));
    const program_result other = refused("/bin/true", policy);
    CHECK_THAT(other.err, contains_text("'/bin/true': "));
    CHECK_THAT(other.err, contains_text("of another version"));
    for (const auto* result : {&missing, &plain, &other}) {
      CHECK_THAT(result->err, contains_text("error: ELASTIC_GUARD '"));
      CHECK(std::count(result->err.begin(), result->err.end(), '\n') == 1);
      CHECK(result->code == 2);
      CHECK(result->out.empty());
    }
  }
  CHECK(refused(folder / "missing", "none").out == "ran\n");
}

TEST_CASE("guard: runs if files in memory may not be executed", "[integration][guard][root]") {
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
      return test::skip("it takes a pid namespace of its own: " + result.err);
    }
    CHECK(result.code == 0);
    CHECK(result.out == "ran\n");
  }
}

TEST_CASE("guard: runs if no file in memory and few folders may hold programs",
          "[integration][guard][root]") {
  // What runs is reached by its descriptor: its own folder may be under one of these.
  const std::string script = R"(
    exec 8<"$1" 9<"$2"; shift 2
    for folder in $1; do mount -t tmpfs -o noexec none "$folder" || exit 77; done; shift
    unset XDG_RUNTIME_DIR
    exec /proc/self/fd/8 memfd_create -- /proc/self/fd/9 "$@")";
  const auto run_without = [&](const std::string& folders) {
    const words arguments = job({}, "echo ran");
    words command{"unshare", "--mount", "--propagation",       "private",         "/bin/sh", "-c",
                  script,    "sh",      ELASTIC_DENY_SYSCALLS, arguments.front(), folders};
    command.insert(command.end(), arguments.begin() + 1, arguments.end());
    return run_program(command);
  };
  const program_result one_left = run_without("/run /tmp");
  if (one_left.code == 77 || one_left.err.find("unshare") != std::string::npos) {
    return test::skip("it takes a mount namespace of its own: " + one_left.err);
  }
  CHECK(one_left.code == 0);
  CHECK(one_left.out == "ran\n");
  const program_result none_left = run_without("/run /tmp /dev/shm");
  CHECK(none_left.code == 1);
  CHECK(none_left.out.empty());
  CHECK_THAT(none_left.err, contains_text("no guard is available: memory: "));
  for (const std::string folder : {"/run", "/tmp", "/dev/shm"}) {
    CHECK_THAT(none_left.err, contains_text("a file in " + folder + ": Permission denied"));
  }
}

TEST_CASE("guard: if a filter refuses a system call it serves, or says that it cannot",
          "[integration][guard]") {
  const auto filtered = [](const std::string& refused, const words& command) {
    words arguments{ELASTIC_DENY_SYSCALLS, refused, "--"};
    arguments.insert(arguments.end(), command.begin(), command.end());
    return arguments;
  };
  for (const std::string refused :
       {"memfd_create", "pidfd_open", "pidfd_send_signal", "close_range", "getdents64"}) {
    CAPTURE(refused);
    const marked_sleeps sleeps;
    running_program run(
        filtered(refused, job({"--nproc-per-node", "2"}, sleeps.script("sleep 1000"))));
    CHECK(sleeps.become(8));
    run.signal(SIGKILL);
    CHECK(sleeps.become(0));
    run.wait();
  }
  for (const std::string refused :
       {"execveat", "socketpair", "signalfd4", "ppoll", "wait4", "kill", "sendmsg"}) {
    CAPTURE(refused);
    const program_result required = run_program(filtered(refused, job({}, "echo ran")));
    CHECK(required.code == 1);
    CHECK(required.out.empty());
    CHECK_THAT(required.err, contains_text("no guard is available: "));
    const program_result tried = run_program(
        filtered(refused, job({"--guard", "best-effort", "--nproc-per-node", "2"}, "echo ran")));
    CHECK(tried.code == 0);
    CHECK(tried.out == "ran\nran\n");
    const std::size_t position = tried.err.find("workers have no guard, so ");
    REQUIRE(position != std::string::npos);
    CHECK(tried.err.find("workers have no guard", position + 1) == std::string::npos);
  }
  // Without this one nobody can know how a worker ended: the job fails, and does not hang.
  for (const std::string policy : {"required", "best-effort"}) {
    CAPTURE(policy);
    CHECK(run_program(filtered("waitid", job({"--guard", policy}, "echo ran"))).code == 1);
  }
}

}  // namespace guard_test
}  // namespace
}  // namespace elastic
