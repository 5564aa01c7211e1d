// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Real processes: each test leaves no process, no zombie and no descriptor behind.

#include <elastic/base/detail/internals.hpp>
#include <elastic/file/file_rendezvous.hpp>
#include <elastic/functions.hpp>
#include <elastic/nodes/detail/rendezvous_message.hpp>
#include <elastic/process.hpp>
#include <elastic/process/detail/process_tree.hpp>
#include <elastic/process/detail/spawn.hpp>
#include <support/asio.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>
#include <support/freezer.hpp>
#include <support/run_program.hpp>
#include <support/sanitized.hpp>
#include <support/skip.hpp>
#include <support/standing_clock.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <exception>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic {
namespace {

using namespace std::chrono_literals;
using strings = std::vector<std::string>;

// ---- what was left behind ----------------------------------------------------------------------

std::size_t count_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

// The processes that have `mark` in their environment and have not ended.
std::vector<pid_t> marked_processes(const std::string& mark) {
  std::vector<pid_t> found;
  for (const detail::process_entry& entry : detail::read_processes()) {
    if (entry.dead()) continue;
    const std::string path = "/proc/" + std::to_string(entry.pid) + "/environ";
    if (test::file_text(path).find(mark) != std::string::npos) found.push_back(entry.pid);
  }
  return found;
}

// Whether this process has a child, a zombie included.
bool has_children() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

// To be made first in a test, so that it looks when everything else is gone.
class leftovers {
 public:
  explicit leftovers(asio::any_io_executor executor) {
    static std::atomic<int> counter = 0;
    mark_ = "ELASTIC_TEST_MARK=" + std::to_string(::getpid()) + "." + std::to_string(++counter);
    asio::posix::stream_descriptor makes_the_reactor(executor);
    descriptors_ = count_descriptors();
  }
  leftovers(const leftovers&) = delete;
  leftovers& operator=(const leftovers&) = delete;
  ~leftovers() {
    if (std::uncaught_exceptions() > 0) {
      kill_marked();
      return;
    }
    CHECK(marked_processes(mark_).empty());
    CHECK_FALSE(has_children());
    CHECK(count_descriptors() == descriptors_);
    kill_marked();
  }

  const std::string& mark() const { return mark_; }
  std::vector<pid_t> alive() const { return marked_processes(mark_); }

  void kill_marked() const {
    for (const pid_t pid : alive()) ::kill(pid, SIGKILL);
  }

  // A puppet that does what `actions` says, word by word.
  process_spec puppet(const std::string& actions) const {
    process_spec spec;
    spec.program = ELASTIC_PUPPET;
    std::istringstream words(actions);
    for (std::string word; words >> word;) spec.arguments.push_back(word);
    spec.environment = {mark_, "PATH=/usr/bin:/bin"};
    return spec;
  }

 private:
  std::string mark_;
  std::size_t descriptors_ = 0;
};

// ---- the set and where its output goes ------------------------------------------------------

class collected_output final : public output_sink {
 public:
  explicit collected_output(asio::any_io_executor executor) : changed_(executor, 1) {}

  task<void> write(std::string_view bytes) override {
    text += bytes;
    changed_.try_send(asio::error_code(), 0);
    co_return;
  }

  // Waits until `part` was written.
  task<void> has(std::string part) {
    while (text.find(part) == text.npos) co_await changed_.async_receive(asio::use_awaitable);
  }

  std::string text;

 private:
  asio::experimental::channel<void(asio::error_code, int)> changed_;
};

struct process_bench {
  explicit process_bench(asio::any_io_executor executor,
                         std::shared_ptr<time_source> clock = std::make_shared<system_time>())
      : remains(executor),
        time(std::move(clock)),
        launcher(std::make_shared<pidfd_launcher>(executor)),
        out(std::make_shared<collected_output>(executor)),
        err(std::make_shared<collected_output>(executor)),
        set(executor, services()) {}

  process_set::services services() const {
    process_set::services parts;
    parts.launcher = launcher;
    parts.time = time;
    parts.console_out = out;
    parts.console_err = err;
    return parts;
  }

  // A puppet whose stdout comes to `out` with a prefix, and whose stderr is nobody's.
  process_set::process puppet(const std::string& actions) const {
    process_set::process worker;
    worker.process = remains.puppet(actions);
    worker.out.kind = output_plan::how::copy;
    worker.out.prefix = "[p0]:";
    worker.err.kind = output_plan::how::null;
    return worker;
  }

  task<process_set::process_end> run(process_set::process worker) {
    co_await set.start(0, worker);
    const process_set::process_end end = co_await set.next_end();
    co_await set.clear(0);
    co_return end;
  }

  leftovers remains;
  std::shared_ptr<time_source> time;
  std::shared_ptr<process_launcher> launcher;
  std::shared_ptr<collected_output> out;
  std::shared_ptr<collected_output> err;
  process_set set;
};

stop_plan plan_of(int signal, duration grace) {
  stop_plan plan;
  plan.signal = signal;
  plan.grace = grace;
  return plan;
}

// Runs a process to its end, tree included.
task<exit_status> run_to_end(process_launcher& launcher, process_spec spec) {
  const std::unique_ptr<child> process = co_await launcher.launch(std::move(spec));
  const exit_status status = co_await process->wait();
  co_await process->end_tree();
  co_return status;
}

// What a process wrote to a descriptor that it was given as its stdout.
struct output_pipe {
  output_pipe() {
    int fds[2];
    if (::pipe2(fds, O_CLOEXEC) != 0) FAIL("no pipe");
    read = detail::unique_fd(fds[0]);
    write = detail::unique_fd(fds[1]);
  }
  std::string text() {
    write.reset();
    std::string content;
    char bytes[4096];
    for (ssize_t size; (size = ::read(read.get(), bytes, sizeof bytes)) > 0;) {
      content.append(bytes, static_cast<std::size_t>(size));
    }
    return content;
  }
  detail::unique_fd read;
  detail::unique_fd write;
};

task<std::string> output_of(process_launcher& launcher, process_spec spec) {
  output_pipe pipe;
  spec.stdout_fd = pipe.write.get();
  co_await run_to_end(launcher, std::move(spec));
  co_return pipe.text();
}

std::set<std::string> lines_of(const std::string& text) {
  std::set<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.insert(line);
  return lines;
}

// ---- how processes end -------------------------------------------------------------------------

CO_TEST("process: every exit code comes home as it is", "[integration][process][sanitize]") {
  process_bench bench(co_await asio::this_coro::executor);
  constexpr std::size_t at_once = 32;
  for (int first = 0; first < 256; first += at_once) {
    for (std::size_t i = 0; i < at_once; ++i) {
      const int code = first + static_cast<int>(i);
      const process_set::process worker = bench.puppet("exit " + std::to_string(code));
      co_await bench.set.start(i, worker);
    }
    for (std::size_t i = 0; i < at_once; ++i) {
      const process_set::process_end end = co_await bench.set.next_end();
      CHECK(end.status.code() == first + static_cast<int>(end.index));
      CHECK(end.pid == bench.set.pid(end.index));
      co_await bench.set.clear(end.index);
    }
  }
}

CO_TEST("process: every signal that kills comes home as a signal", "[integration][process]") {
  process_bench bench(co_await asio::this_coro::executor);
  const std::set<int> harmless = {SIGCONT, SIGSTOP, SIGTSTP, SIGTTIN,
                                  SIGTTOU, SIGCHLD, SIGURG,  SIGWINCH};
  for (int number = 1; number <= 64; ++number) {
    if (harmless.count(number) > 0) continue;
    CAPTURE(number);
    const process_set::process_end end =
        co_await bench.run(bench.puppet("die " + std::to_string(number)));
    CHECK(end.status.signal() == number);
    CHECK_FALSE(end.status.has_dumped_core());
  }
}

CO_TEST("process: who ignores SIGTERM is killed after the grace",
        "[integration][process][sanitize]") {
  process_bench bench(co_await asio::this_coro::executor);
  const process_set::process stubborn =
      bench.puppet("ignore " + std::to_string(SIGTERM) + " line ready hang");
  for (std::size_t i = 0; i < 3; ++i) co_await bench.set.start(i, stubborn);
  while (std::count(bench.out->text.begin(), bench.out->text.end(), '\n') < 3) {
    co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
  }
  const time_point begin = bench.time->now();
  co_await bench.set.stop(plan_of(SIGTERM, 150ms));
  CHECK(bench.time->now() - begin >= 150ms);
  const std::vector<process_set::process_end> ends = bench.set.take_ends();
  REQUIRE(ends.size() == 3);
  for (const process_set::process_end& end : ends) CHECK(end.status.signal() == SIGKILL);
}

CO_TEST("process: who answers the question ends as it likes", "[integration][process]") {
  process_bench bench(co_await asio::this_coro::executor);
  const process_set::process polite =
      bench.puppet("on " + std::to_string(SIGINT) + " exit 7 line ready hang");
  co_await bench.set.start(0, polite);
  co_await bench.out->has("ready\n");
  co_await bench.set.stop(plan_of(SIGINT, 30s));
  CHECK(bench.set.take_ends().at(0).status.code() == 7);
}

CO_TEST("process: who had ended before the question was not stopped by it, seen or not",
        "[integration][process]") {
  process_bench bench(co_await asio::this_coro::executor);
  const process_set::process brief = bench.puppet("exit 3");
  const process_set::process lasting = bench.puppet("hang");
  co_await bench.set.start(0, brief);
  co_await bench.set.start(1, lasting);
  // It ends while nobody looks.
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(bench.set.pid(0)), &info, WEXITED | WNOWAIT) == 0);
  co_await bench.set.stop(plan_of(SIGTERM, 30s));
  for (const process_set::process_end& end : bench.set.take_ends()) {
    CHECK(end.was_stopped == (end.index == 1));
    if (end.index == 0) CHECK(end.status.code() == 3);
  }
}

CO_TEST("process: a stopped process follows the question, too", "[integration][process]") {
  process_bench bench(co_await asio::this_coro::executor);
  const process_set::process asleep =
      bench.puppet("on " + std::to_string(SIGTERM) + " exit 7 line ready stop hang");
  co_await bench.set.start(0, asleep);
  co_await bench.out->has("ready\n");
  while (detail::read_process(bench.set.pid(0))->state != 'T') {
    co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
  }
  co_await bench.set.stop(plan_of(SIGTERM, 30s));
  CHECK(bench.set.take_ends().at(0).status.code() == 7);
}

CO_TEST("process: kill ends a stop under way", "[integration][process][sanitize]") {
  process_bench bench(co_await asio::this_coro::executor);
  const process_set::process stubborn =
      bench.puppet("ignore " + std::to_string(SIGTERM) + " line ready hang");
  co_await bench.set.start(0, stubborn);
  co_await bench.out->has("ready\n");
  auto kill_soon = [](process_bench& test_bench) -> task<void> {
    co_await test_bench.time->sleep_until(test_bench.time->now() + 20ms);
    test_bench.set.kill();
  };
  bool killed = false;
  auto note = [&](std::exception_ptr) { killed = true; };
  asio::co_spawn(co_await asio::this_coro::executor, kill_soon(bench), note);
  co_await bench.set.stop(plan_of(SIGTERM, 600s));
  CHECK(killed);
  CHECK(bench.set.take_ends().at(0).status.signal() == SIGKILL);
}

CO_TEST("process: a cancelled wait ends nothing, and may be repeated",
        "[integration][process][sanitize]") {
  auto executor = co_await asio::this_coro::executor;
  const leftovers remains(executor);
  system_time time;
  pidfd_launcher launcher(executor);
  const std::unique_ptr<child> process = co_await launcher.launch(remains.puppet("hang"));
  for (int i = 0; i < 3; ++i) {
    const auto none = co_await with_deadline(time, time.now() + 2ms, process->wait());
    CHECK_FALSE(none);
  }
  CHECK(remains.alive().size() == 1);
  process->signal(SIGUSR1);
  const exit_status status = co_await process->wait();
  const exit_status again = co_await process->wait();
  CHECK(status.signal() == SIGUSR1);
  CHECK(again == status);
  process->signal(SIGKILL);  // nothing is there to be killed
  co_await process->end_tree();
}

// ---- what a process starts with ----------------------------------------------------------------

CO_TEST("process: has its own session, no foreign descriptors and default signals",
        "[integration][process]") {
  auto executor = co_await asio::this_coro::executor;
  const leftovers remains(executor);
  // What a host may have done to itself.
  const detail::unique_fd inheritable(::open("/dev/null", O_RDONLY));
  sigset_t blocked;
  sigset_t before;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  struct sigaction pipe_before {};
  ::sigaction(SIGPIPE, &ignore, &pipe_before);

  pidfd_launcher::options options;
  options.parent = executor;
  pidfd_launcher launcher(executor, options);
  output_pipe pipe;
  process_spec spec = remains.puppet("ids fds signals");
  spec.stdout_fd = pipe.write.get();
  const std::unique_ptr<child> process = co_await launcher.launch(spec);
  co_await process->wait();
  co_await process->end_tree();
  ::sigaction(SIGPIPE, &pipe_before, nullptr);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);

  const std::string pid = std::to_string(process->pid());
  const std::set<std::string> lines = lines_of(pipe.text());
  CHECK(lines == std::set<std::string>{
                     "pid " + pid, "parent " + std::to_string(::getpid()), "group " + pid,
                     "session " + pid, "death_signal " + std::to_string(SIGKILL), "fd 0", "fd 1",
                     "fd 2", "SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000"});
}

CO_TEST("process: gets the environment, arguments and directory it was given, and no more",
        "[integration][process]") {
  auto executor = co_await asio::this_coro::executor;
  const leftovers remains(executor);
  pidfd_launcher launcher(executor);
  const test::temporary_directory folder;
  process_spec spec = remains.puppet("env cwd args");
  spec.directory = folder.path();
  const std::string real = std::filesystem::canonical(folder.path()).string();
  const std::string text = co_await output_of(launcher, spec);
  CHECK(text == remains.mark() + "\nPATH=/usr/bin:/bin\ncwd " + real + "\narg " + ELASTIC_PUPPET +
                    "\narg env\narg cwd\narg args\n");
}

CO_TEST("process: is tied to no thread if none is named", "[integration][process]") {
  auto executor = co_await asio::this_coro::executor;
  const leftovers remains(executor);
  pidfd_launcher launcher(executor);
  const std::string text = co_await output_of(launcher, remains.puppet("ids"));
  CHECK_THAT(text, test::contains_text("death_signal 0\n"));
}

TEST_CASE("process: dies with the thread that was named, not with the one that asked",
          "[integration][process][sanitize]") {
  asio::io_context asking;
  asio::io_context naming;
  const leftovers remains(asking.get_executor());
  output_pipe pipe;
  auto lasting = asio::make_work_guard(naming);
  std::thread parent([&] { naming.run(); });
  std::unique_ptr<child> process;
  std::thread asker([&] {
    pidfd_launcher::options options;
    options.parent = naming.get_executor();
    pidfd_launcher launcher(asking.get_executor(), options);
    process_spec spec = remains.puppet("line ready hang");
    spec.stdout_fd = pipe.write.get();
    asio::co_spawn(
        asking, launcher.launch(spec),
        [&](std::exception_ptr, std::unique_ptr<child> started) { process = std::move(started); });
    asking.run();
  });
  asker.join();
  REQUIRE(process);
  char byte;
  CHECK(::read(pipe.read.get(), &byte, 1) == 1);
  CHECK(remains.alive().size() == 1);
  lasting.reset();
  parent.join();
  std::optional<exit_status> status;
  asking.restart();
  const auto wait = [&]() -> task<void> { status = co_await process->wait(); };
  asio::co_spawn(asking, wait, [](std::exception_ptr) {});
  asking.run();
  CHECK(status == exit_status::signalled(SIGKILL));
}

CO_TEST("process: any descriptors can become its streams", "[integration][process]") {
  auto executor = co_await asio::this_coro::executor;
  const leftovers remains(executor);
  pidfd_launcher launcher(executor);
  const std::string arguments = "line to_out eline to_err";

  output_pipe pipe;
  process_spec both = remains.puppet(arguments);
  both.stdout_fd = both.stderr_fd = pipe.write.get();
  co_await run_to_end(launcher, both);
  CHECK(pipe.text() == "to_out\nto_err\n");

  // This program's own 1 and 2 for a moment, exchanged in the child.
  output_pipe out;
  output_pipe err;
  const detail::unique_fd saved_out(::fcntl(1, F_DUPFD_CLOEXEC, 3));
  const detail::unique_fd saved_err(::fcntl(2, F_DUPFD_CLOEXEC, 3));
  ::dup3(out.write.get(), 1, O_CLOEXEC);
  ::dup3(err.write.get(), 2, O_CLOEXEC);
  process_spec exchanged = remains.puppet(arguments);
  exchanged.stdout_fd = 2;
  exchanged.stderr_fd = 1;
  co_await run_to_end(launcher, exchanged);
  // One that is not named is this program's, unless it is private (close-on-exec).
  process_spec same = remains.puppet(arguments);
  same.stdout_fd = 1;
  co_await run_to_end(launcher, same);
  ::dup2(err.write.get(), 2);
  co_await run_to_end(launcher, same);
  ::dup2(saved_out.get(), 1);
  ::dup2(saved_err.get(), 2);
  CHECK(out.text() == "to_err\nto_out\nto_out\n");
  CHECK(err.text() == "to_out\nto_err\n");
}

// A shell that writes to descriptor 5 which others it has.
process_spec speaker_at_five(const std::string& mark, int descriptor) {
  process_spec spec;
  spec.program = "/bin/sh";
  spec.arguments = {"-c",
                    "for fd in 3 4 6 7 8 9; do [ -e /proc/self/fd/$fd ] && echo $fd >&5; done; "
                    "echo end >&5"};
  spec.environment = {mark};
  spec.passed_fd = descriptor;
  return spec;
}

CO_TEST("process: a descriptor is passed on, and no other one", "[integration][process]") {
  const auto executor = co_await asio::this_coro::executor;
  const leftovers remains(executor);
  pidfd_launcher unguarded(executor);
  guarded_launcher guarded(executor);
  for (process_launcher* const launcher :
       {static_cast<process_launcher*>(&unguarded), static_cast<process_launcher*>(&guarded)}) {
    output_pipe pipe;
    const process_spec spec = speaker_at_five(remains.mark(), pipe.write.get());
    const exit_status end = co_await run_to_end(*launcher, spec);
    CHECK(end.is_success());
    CHECK(pipe.text() == "end\n");
  }
}

TEST_CASE("process: a descriptor is passed on, whatever number it has", "[integration][process]") {
  detail::child_stack stack;
  for (const int number : {3, 4, 5, 6}) {
    INFO(number);
    output_pipe pipe;
    // What this program has there comes back.
    const detail::unique_fd other(::fcntl(number, F_DUPFD_CLOEXEC, 20));
    const detail::unique_fd saved(::fcntl(pipe.write.get(), F_DUPFD_CLOEXEC, 20));
    ::dup3(saved.get(), number, O_CLOEXEC);
    const process_spec spec = speaker_at_five("ELASTIC_TEST_MARK=passed", number);
    const detail::spawn_request request{
        .spec = spec,
        .path = spec.program,
        .arguments = detail::pointers_to(&spec.program, spec.arguments)};
    const detail::spawn_result started = detail::spawn(request, stack, detail::real_syscalls);
    if (other) {
      ::dup3(other.get(), number, O_CLOEXEC);
    } else {
      ::close(number);
    }
    REQUIRE(started.failure == 0);
    const detail::unique_fd pidfd(started.pidfd);
    siginfo_t ended{};
    ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd.get()), &ended, WEXITED);
    CHECK(ended.si_status == 0);
    char text[64];
    const ssize_t size = ::read(pipe.read.get(), text, sizeof text);
    CHECK(std::string(text, size > 0 ? static_cast<std::size_t>(size) : 0) == "end\n");
  }
}

// ---- what does not start -----------------------------------------------------------------------

struct start_failure {
  std::error_code code;
  std::string sentence;
};

task<start_failure> failure_of(process_launcher& launcher, process_spec spec) {
  start_failure failure;
  try {
    co_await launcher.launch(std::move(spec));
    failure.sentence = "(it started)";
  } catch (const error& thrown) {
    failure.code = thrown.code();
    failure.sentence = thrown.what();
  }
  co_return failure;
}

void make_file(const std::string& path, const std::string& text, int mode) {
  const detail::unique_fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  REQUIRE(::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  ::fchmod(file.get(), static_cast<mode_t>(mode));
}

CO_TEST("process: what does not start is said in a sentence that names the file",
        "[integration][process]") {
  auto executor = co_await asio::this_coro::executor;
  const leftovers remains(executor);
  pidfd_launcher launcher(executor);
  const test::temporary_directory folder;
  make_file(folder / "data", "nothing to execute\n", 0600);
  make_file(folder / "no_interpreter", "#!/no/such/interpreter -x\n", 0700);
  make_file(folder / "no_shebang", "echo hello\n", 0700);
  make_file(folder / "empty", "", 0700);

  struct row {
    std::string program;
    std::string directory;
    errc code;
    strings parts;
  };
  const std::vector<row> rows = {
      {"", "", errc::program_not_found, {"no program is named"}},
      {"/no/such/program", "", errc::program_not_found, {"'/no/such/program'", "No such file"}},
      {"no-such-program", "", errc::program_not_found, {"'no-such-program'", "/usr/bin:/bin"}},
      {folder / "data/x", "", errc::program_not_found, {"data/x'", "Not a directory"}},
      {folder / "data", "", errc::program_not_executable, {"data'", "Permission denied"}},
      {folder.path(), "", errc::program_not_executable, {folder.path(), "Is a directory"}},
      {folder / "no_interpreter",
       "",
       errc::program_not_executable,
       {"no_interpreter'", "'/no/such/interpreter'"}},
      {folder / "no_shebang", "", errc::program_not_executable, {"no_shebang'", "'#!'"}},
      {folder / "empty", "", errc::program_not_executable, {"empty'", "'#!'"}},
      {"/bin/true",
       "/no/such/folder",
       errc::file_access,
       {"'/no/such/folder'", "'/bin/true'", "No such file"}},
      {"/bin/true", folder / "data", errc::file_access, {"data'", "Not a directory"}},
  };
  for (const row& entry : rows) {
    CAPTURE(entry.program);
    process_spec spec = remains.puppet("");
    spec.program = entry.program;
    spec.directory = entry.directory;
    const start_failure failure = co_await failure_of(launcher, spec);
    CHECK(failure.code == entry.code);
    for (const std::string& part : entry.parts) {
      CHECK_THAT(failure.sentence, test::contains_text(part));
    }
    CHECK(std::count(failure.sentence.begin(), failure.sentence.end(), '\n') == 0);
  }
}

CO_TEST("process: a zero byte within an argument is refused", "[integration][process]") {
  auto executor = co_await asio::this_coro::executor;
  const leftovers remains(executor);
  pidfd_launcher launcher(executor);
  process_spec spec = remains.puppet("args");
  spec.arguments.push_back(std::string("a\0b", 3));
  const start_failure failure = co_await failure_of(launcher, spec);
  CHECK(failure.code == errc::invalid_argument);
  CHECK_THAT(failure.sentence, test::contains_text(ELASTIC_PUPPET));
}

CO_TEST("process: a program is looked for in the PATH that it is given", "[integration][process]") {
  auto executor = co_await asio::this_coro::executor;
  const leftovers remains(executor);
  pidfd_launcher launcher(executor);
  const test::temporary_directory folder;
  std::filesystem::create_directories(folder / "first/tool");  // a directory is not a program
  std::filesystem::create_directories(folder / "second");
  std::filesystem::create_directories(folder / "third");
  make_file(folder / "second/tool", "#!/bin/sh\n", 0600);
  make_file(folder / "third/tool", "#!/bin/sh\nexit 5\n", 0700);
  process_spec spec = remains.puppet("");
  spec.program = "tool";

  spec.environment.back() =
      "PATH=" + folder.path() + "/first:" + folder.path() + "/second:" + folder.path() + "/third";
  const exit_status found = co_await run_to_end(launcher, spec);
  CHECK(found.code() == 5);

  // An empty entry and a relative one are meant from where the process will be.
  spec.directory = folder / "third";
  for (const char* path : {"PATH=", "PATH=:/bin", "PATH=/bin:", "PATH=../third"}) {
    CAPTURE(path);
    spec.environment.back() = path;
    const exit_status relative = co_await run_to_end(launcher, spec);
    CHECK(relative.code() == 5);
  }
  spec.directory.clear();
  spec.environment.back() = "PATH=" + folder.path() + "/first:" + folder.path() + "/second";
  const start_failure failure = co_await failure_of(launcher, spec);
  CHECK(failure.code == errc::program_not_executable);
  CHECK_THAT(failure.sentence, test::contains_text("second/tool'"));

  spec = remains.puppet("");
  spec.program = "true";
  spec.environment.pop_back();
  const exit_status by_default = co_await run_to_end(launcher, spec);
  CHECK(by_default.is_success());
}

// ---- the kernel says no ------------------------------------------------------------------------

ELASTIC_RUNS_IN_CHILD int refused() {
  errno = EPERM;
  return -1;
}

struct refusal {
  const char* name;
  std::function<void(detail::syscalls&)> arrange;
  const char* says;
};

CO_TEST("process: every step of a start can fail, and says which it was",
        "[integration][process][sanitize]") {
  auto executor = co_await asio::this_coro::executor;
  const leftovers remains(executor);
  const std::vector<refusal> refusals = {
      {"clone",
       [](auto& calls) {
         calls.clone = [](int (*)(void*), void*, int, void*, int*) {
           errno = EAGAIN;
           return -1;
         };
       },
       "Resource temporarily unavailable (a new process)"},
      {"setsid",
       [](auto& calls) { calls.set_session = []() ELASTIC_RUNS_IN_CHILD { return refused(); }; },
       "Operation not permitted (its session)"},
      {"prctl",
       [](auto& calls) {
         calls.die_with_parent = []() ELASTIC_RUNS_IN_CHILD { return refused(); };
       },
       "(its tie to this process)"},
      {"chdir",
       [](auto& calls) {
         calls.change_directory = [](const char*) ELASTIC_RUNS_IN_CHILD { return refused(); };
       },
       "working directory '/' of program"},
      {"dup",
       [](auto& calls) {
         calls.duplicate = [](int, int) ELASTIC_RUNS_IN_CHILD { return refused(); };
       },
       "(its standard streams)"},
      {"dup3",
       [](auto& calls) {
         calls.duplicate_to = [](int, int) ELASTIC_RUNS_IN_CHILD { return refused(); };
       },
       "(its standard streams)"},
      {"fcntl",
       [](auto& calls) {
         calls.keep_at_exec = [](int) ELASTIC_RUNS_IN_CHILD { return refused(); };
       },
       "(its standard streams)"},
      {"execve",
       [](auto& calls) {
         calls.execute = [](const char*, char* const*, char* const*) ELASTIC_RUNS_IN_CHILD {
           errno = ENOMEM;
           return -1;
         };
       },
       "cannot be started: Cannot allocate memory"},
  };
  for (const refusal& step : refusals) {
    CAPTURE(step.name);
    detail::syscalls calls = detail::real_syscalls;
    step.arrange(calls);
    pidfd_launcher::options options;
    options.parent = executor;
    const auto made = detail::internals::make<pidfd_launcher>(executor, options, calls);
    pidfd_launcher& launcher = *made;
    process_spec spec = remains.puppet("hang");
    spec.directory = "/";
    spec.stderr_fd = 1;  // needs every way of arranging streams
    const start_failure failure = co_await failure_of(launcher, spec);
    const bool is_directory = std::string(step.name) == "chdir";
    CHECK(failure.code == (is_directory ? errc::file_access : errc::start_failed));
    CHECK_THAT(failure.sentence, test::contains_text(step.says));
    CHECK_THAT(failure.sentence, test::contains_text(ELASTIC_PUPPET));
    CHECK_FALSE(has_children());
  }
}

CO_TEST("process: closes descriptors one by one if close_range is refused",
        "[integration][process]") {
  auto executor = co_await asio::this_coro::executor;
  const leftovers remains(executor);
  detail::syscalls calls = detail::real_syscalls;
  calls.close_range = [](unsigned, unsigned) ELASTIC_RUNS_IN_CHILD { return refused(); };
  const auto made =
      detail::internals::make<pidfd_launcher>(executor, pidfd_launcher::options(), calls);
  pidfd_launcher& launcher = *made;
  std::vector<detail::unique_fd> many;
  for (int i = 0; i < 300; ++i) many.emplace_back(::open("/dev/null", O_RDONLY));
  const std::string text = co_await output_of(launcher, remains.puppet("fds"));
  CHECK(text == "fd 0\nfd 1\nfd 2\n");
}

CO_TEST("process: signals reach the whole group on kernels that cannot do it by pidfd",
        "[integration][process]") {
  auto executor = co_await asio::this_coro::executor;
  const leftovers remains(executor);
  detail::syscalls calls = detail::real_syscalls;
  calls.pidfd_send_signal = [](int pidfd, int number, unsigned flags) {
    if (flags == 0) return detail::real::pidfd_send_signal(pidfd, number, flags);
    errno = EINVAL;
    return -1;
  };
  const auto made =
      detail::internals::make<pidfd_launcher>(executor, pidfd_launcher::options(), calls);
  pidfd_launcher& launcher = *made;
  output_pipe pipe;
  process_spec spec = remains.puppet("fork plain line ready hang");
  spec.stdout_fd = pipe.write.get();
  const std::unique_ptr<child> process = co_await launcher.launch(spec);
  char byte;
  CHECK(::read(pipe.read.get(), &byte, 1) == 1);
  CHECK(remains.alive().size() == 2);
  process->signal(SIGTERM);
  const exit_status status = co_await process->wait();
  CHECK(status.signal() == SIGTERM);
  co_await process->end_tree();
  CHECK(remains.alive().empty());
}

CO_TEST("process: waiting goes on when a signal interrupts it", "[integration][process]") {
  auto executor = co_await asio::this_coro::executor;
  const leftovers remains(executor);
  static int interruptions;
  interruptions = 0;
  detail::syscalls calls = detail::real_syscalls;
  calls.waitid = [](idtype_t type, id_t id, siginfo_t* info, int options) {
    if (++interruptions % 2 == 1) {
      errno = EINTR;
      return -1;
    }
    return ::waitid(type, id, info, options);
  };
  const auto made =
      detail::internals::make<pidfd_launcher>(executor, pidfd_launcher::options(), calls);
  pidfd_launcher& launcher = *made;
  const exit_status status = co_await run_to_end(launcher, remains.puppet("exit 9"));
  CHECK(status.code() == 9);
  CHECK(interruptions >= 4);
}

CO_TEST("process: an end whose status the host took is unknown", "[integration][process]") {
  auto executor = co_await asio::this_coro::executor;
  const leftovers remains(executor);
  pidfd_launcher launcher(executor);
  const std::unique_ptr<child> process = co_await launcher.launch(remains.puppet("exit 3"));
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(process->pid()), &info, WEXITED) == 0);
  const exit_status taken = co_await process->wait();
  CHECK(taken == exit_status::unknown());
  co_await process->end_tree();

  struct sigaction ignore {};
  struct sigaction before {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGCHLD, &ignore, &before);
  const exit_status ignored = co_await run_to_end(launcher, remains.puppet("exit 3"));
  ::sigaction(SIGCHLD, &before, nullptr);
  CHECK(ignored == exit_status::unknown());
}

// ---- trees -------------------------------------------------------------------------------------

CO_TEST("process: a stop ends the descendants, in other groups and sessions, too",
        "[integration][process][sanitize]") {
  process_bench bench(co_await asio::this_coro::executor);
  const process_set::process family =
      bench.puppet("fork plain fork group fork setsid fork-thread line ready hang");
  for (std::size_t i = 0; i < 3; ++i) co_await bench.set.start(i, family);
  while (std::count(bench.out->text.begin(), bench.out->text.end(), '\n') < 3) {
    co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
  }
  CHECK(bench.remains.alive().size() == 15);
  co_await bench.set.stop(plan_of(SIGTERM, 30s));
  CHECK(bench.remains.alive().empty());
  for (const process_set::process_end& end : bench.set.take_ends()) {
    CHECK(end.status.signal() == SIGTERM);
  }
}

CO_TEST("process: what a process leaves in its session is ended when its place is cleared",
        "[integration][process]") {
  process_bench bench(co_await asio::this_coro::executor);
  const process_set::process family = bench.puppet("fork plain fork group exit 4");
  co_await bench.set.start(0, family);
  const process_set::process_end end = co_await bench.set.next_end();
  CHECK(end.status.code() == 4);
  CHECK(bench.remains.alive().size() == 2);
  co_await bench.set.clear(0);
  CHECK(bench.remains.alive().empty());
}

CO_TEST("process: clearing a place ends a process that still runs", "[integration][process]") {
  process_bench bench(co_await asio::this_coro::executor);
  const process_set::process worker = bench.puppet("fork plain fork setsid line ready hang");
  co_await bench.set.start(0, worker);
  co_await bench.out->has("ready\n");
  co_await bench.set.clear(0);
  CHECK(bench.remains.alive().empty());
  CHECK(bench.set.running() == 0);
  const process_set::process_end end = co_await bench.set.next_end();
  CHECK(end.status.signal() == SIGKILL);
}

CO_TEST("process: a stopped descendant is ended, too", "[integration][process]") {
  auto executor = co_await asio::this_coro::executor;
  const leftovers remains(executor);
  pidfd_launcher launcher(executor);
  process_spec spec = remains.puppet("-c");
  spec.program = "sh";
  spec.arguments.push_back("(sleep 1000 & kill -STOP $!); exit 2");
  const exit_status status = co_await run_to_end(launcher, spec);
  CHECK(status.code() == 2);
  CHECK(remains.alive().empty());
}

CO_TEST("process: its destructor kills the tree and leaves no zombie",
        "[integration][process][sanitize]") {
  auto executor = co_await asio::this_coro::executor;
  const leftovers remains(executor);
  pidfd_launcher launcher(executor);
  output_pipe pipe;
  process_spec spec = remains.puppet("fork plain fork group fork setsid line ready hang");
  spec.stdout_fd = pipe.write.get();
  {
    const std::unique_ptr<child> process = co_await launcher.launch(spec);
    char byte;
    CHECK(::read(pipe.read.get(), &byte, 1) == 1);
    CHECK(remains.alive().size() == 4);
  }
  // What it has killed ends when the kernel gets to it.
  while (has_children() || !remains.alive().empty()) {
    co_await asio::post(executor, asio::use_awaitable);
  }
}

// Starts three families and waits for an end that does not come. It may be the owner of the set.
task<void> start_and_wait(process_set& set, std::unique_ptr<process_set>, process_spec spec,
                          collected_output& out, bool& ready) {
  process_set::process family;
  family.process = std::move(spec);
  family.out.kind = output_plan::how::copy;
  for (std::size_t i = 0; i < 3; ++i) co_await set.start(i, family);
  while (std::count(out.text.begin(), out.text.end(), '\n') < 3) {
    co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
  }
  ready = true;
  co_await set.next_end();
}

TEST_CASE("process: a context that ends takes its processes with it",
          "[integration][process][sanitize]") {
  asio::io_context outer;
  const leftovers remains(outer.get_executor());
  for (const bool set_goes_first : {true, false}) {
    auto context = std::make_unique<asio::io_context>();
    auto out = std::make_shared<collected_output>(context->get_executor());
    process_set::services services;
    services.launcher = std::make_shared<pidfd_launcher>(context->get_executor());
    services.time = std::make_shared<system_time>();
    services.console_out = out;
    auto set = std::make_unique<process_set>(context->get_executor(), services);
    bool ready = false;
    const process_spec spec = remains.puppet("fork plain fork setsid line ready hang");
    process_set& processes = *set;
    std::unique_ptr<process_set> given_away = set_goes_first ? nullptr : std::move(set);
    asio::co_spawn(*context, start_and_wait(processes, std::move(given_away), spec, *out, ready),
                   [](std::exception_ptr) {});
    const auto limit = std::chrono::steady_clock::now() + test::test_limit;
    while (!ready && context->run_one_until(limit) != 0) {
    }
    REQUIRE(ready);
    CHECK(remains.alive().size() == 9);
    out.reset();
    services = {};
    set.reset();
    context.reset();
    CHECK_FALSE(has_children());
    while (!remains.alive().empty()) std::this_thread::yield();
  }
}

TEST_CASE("process: processes die with an agent that is killed", "[integration][process]") {
  asio::io_context outer;
  const leftovers remains(outer.get_executor());
  output_pipe pipe;
  const process_spec spec = remains.puppet("line ready hang");
  const pid_t agent = ::fork();
  if (agent == 0) {
    // The agent: starts three and stands still.
    asio::io_context context;
    pidfd_launcher::options options;
    options.parent = context.get_executor();
    pidfd_launcher launcher(context.get_executor(), options);
    auto run = [](pidfd_launcher& how, process_spec puppet, int fd) -> task<void> {
      puppet.stdout_fd = fd;
      std::vector<std::unique_ptr<child>> started;
      for (int i = 0; i < 3; ++i) started.push_back(co_await how.launch(puppet));
      co_await started[0]->wait();
    };
    asio::co_spawn(context, run(launcher, spec, pipe.write.get()), [](std::exception_ptr) {});
    context.run();
    ::_exit(1);
  }
  REQUIRE(agent > 0);
  std::string text;
  char bytes[64];
  while (std::count(text.begin(), text.end(), '\n') < 3) {
    const ssize_t size = ::read(pipe.read.get(), bytes, sizeof bytes);
    REQUIRE(size > 0);
    text.append(bytes, static_cast<std::size_t>(size));
  }
  CHECK(remains.alive().size() == 3);
  ::kill(agent, SIGKILL);
  ::waitpid(agent, nullptr, 0);
  // The end of the pipe: all who had it have ended.
  CHECK(pipe.text().empty());
}

// ---- output ------------------------------------------------------------------------------------

CO_TEST("process: a flood is copied to file and console whole and in order",
        "[integration][process][sanitize]") {
  process_bench bench(co_await asio::this_coro::executor);
  const test::temporary_directory folder;
  constexpr int count = test::is_sanitized ? 100'000 : 1'000'000;  // 100 MB
  process_set::process worker = bench.puppet("flood " + std::to_string(count) + " 100");
  worker.out.file = folder / "stdout.log";
  const process_set::process_end end = co_await bench.run(worker);
  CHECK(end.status.is_success());

  std::string file;
  std::string console;
  for (int i = 0; i < count; ++i) {
    std::string line = std::to_string(i) + " ";
    line.append(99 - line.size(), 'x');
    line += '\n';
    file += line;
    console += "[p0]:" + line;
  }
  CHECK((test::file_text(folder / "stdout.log") == file));
  CHECK((bench.out->text == console));
}

CO_TEST("process: an input that is to be empty is, whatever the process was to have",
        "[integration][process]") {
  process_bench bench(co_await asio::this_coro::executor);
  const output_pipe pipe;  // nobody ever writes into it
  process_set::process worker = bench.puppet("");
  worker.process.program = "/bin/sh";
  worker.process.arguments = {"-c", "cat; echo end"};
  worker.process.stdin_fd = pipe.read.get();
  worker.has_empty_input = true;
  const process_set::process_end end = co_await bench.run(worker);
  CHECK(end.status.is_success());
  CHECK(bench.out->text == "[p0]:end\n");
}

CO_TEST("process: lines of several that flood at once are never torn",
        "[integration][process][sanitize]") {
  process_bench bench(co_await asio::this_coro::executor);
  constexpr int count = test::is_sanitized ? 2'000 : 20'000;
  for (std::size_t i = 0; i < 4; ++i) {
    process_set::process worker = bench.puppet("flood " + std::to_string(count) + " 99");
    worker.out.prefix = "[p" + std::to_string(i) + "]:";
    co_await bench.set.start(i, worker);
  }
  for (std::size_t i = 0; i < 4; ++i) {
    const process_set::process_end end = co_await bench.set.next_end();
    co_await bench.set.clear(end.index);
  }
  std::vector<int> next(4, 0);
  std::istringstream lines(bench.out->text);
  for (std::string line; std::getline(lines, line);) {
    REQUIRE(line.size() == 103);
    const auto who = static_cast<std::size_t>(line[2] - '0');
    REQUIRE(std::atoi(line.c_str() + 5) == next.at(who)++);
  }
  CHECK(next == std::vector<int>(4, count));
}

CO_TEST("process: an unfinished last line is shown, and stdout may be closed early",
        "[integration][process]") {
  process_bench bench(co_await asio::this_coro::executor);
  co_await bench.run(bench.puppet("line one print two"));
  CHECK(bench.out->text == "[p0]:one\n[p0]:two\n");
  bench.out->text.clear();
  const process_set::process_end end =
      co_await bench.run(bench.puppet("line one close 1 sleep 20 exit 6"));
  CHECK(bench.out->text == "[p0]:one\n");
  CHECK(end.status.code() == 6);
}

CO_TEST("process: a line of 100 MB without an end is passed on", "[integration][process]") {
  process_bench bench(co_await asio::this_coro::executor);
  constexpr std::size_t size = test::is_sanitized ? 10'000'000 : 100'000'000;
  co_await bench.run(bench.puppet("long " + std::to_string(size)));
  CHECK(bench.out->text.size() == 5 + size + 1);
  CHECK(bench.out->text.find_first_not_of('y', 5) == 5 + size);
  CHECK(bench.out->text.back() == '\n');
}

CO_TEST("process: a descendant that holds the pipe is ended with the tree",
        "[integration][process]") {
  // By this clock the time in which the pipe has to end is never over.
  process_bench bench(co_await asio::this_coro::executor, std::make_shared<test::standing_clock>());
  const process_set::process_end end =
      co_await bench.run(bench.puppet("fork plain+pipe line last exit 1"));
  CHECK(end.status.code() == 1);
  CHECK(bench.out->text == "[p0]:last\n");
}

CO_TEST("process: a daemon that holds the pipe delays the end only for a bounded time",
        "[integration][process][sanitize]") {
  process_bench bench(co_await asio::this_coro::executor);
  const process_set::process worker = bench.puppet("fork daemon+pipe print last exit 1");
  co_await bench.set.start(0, worker);
  co_await bench.set.next_end();
  const time_point begin = bench.time->now();
  co_await bench.set.clear(0);
  CHECK(bench.time->now() - begin >= limits::drain_after_exit);
  CHECK(bench.out->text == "[p0]:last\n");
  CHECK(bench.remains.alive().size() == 1);
  bench.remains.kill_marked();
  while (!bench.remains.alive().empty()) {
    co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
  }
}

CO_TEST("process: the last lines of stderr are kept, from a copy and from a file",
        "[integration][process]") {
  process_bench bench(co_await asio::this_coro::executor);
  const test::temporary_directory folder;
  for (const auto kind : {output_plan::how::copy, output_plan::how::file}) {
    process_set::process worker = bench.puppet("eline one eline two exit 1");
    worker.err.kind = kind;
    worker.err.file = folder / "stderr.log";
    worker.err.keep_tail = true;
    co_await bench.run(worker);
    CHECK(bench.set.tail(0) == strings{"one", "two"});
    CHECK(test::file_text(folder / "stderr.log") == "one\ntwo\n");
  }
}

CO_TEST("process: a log file that cannot be opened leaves nothing started",
        "[integration][process]") {
  process_bench bench(co_await asio::this_coro::executor);
  process_set::process worker = bench.puppet("hang");
  worker.err.kind = output_plan::how::file;
  worker.err.file = "/no/such/folder/stderr.log";
  std::string message;
  try {
    co_await bench.set.start(0, worker);
  } catch (const error& failure) {
    CHECK(failure.code() == errc::file_access);
    message = failure.what();
  }
  CHECK_THAT(message, test::contains_text("'/no/such/folder/stderr.log'"));
  CHECK(bench.set.running() == 0);
}

// Stands still until it is cancelled.
class stuck_output final : public output_sink {
 public:
  explicit stuck_output(asio::any_io_executor executor) : never_(std::move(executor)) {}
  task<void> write(std::string_view) override {
    ++writes;
    co_await never_.wait();
  }
  int writes = 0;

 private:
  event_flag never_;
};

CO_TEST("process: a console that stands still holds the process up, until kill",
        "[integration][process]") {
  auto executor = co_await asio::this_coro::executor;
  process_bench bench(executor);
  const test::temporary_directory folder;
  auto stuck = std::make_shared<stuck_output>(executor);
  process_set::services services = bench.services();
  services.console_out = stuck;
  process_set set(executor, services);
  process_set::process worker = bench.puppet("flood 100000 100");
  worker.out.file = folder / "stdout.log";
  co_await set.start(0, worker);
  // Until the console has taken what it takes, and the process can write no more.
  while (stuck->writes == 0 || detail::read_process(set.pid(0))->state != 'S') {
    co_await asio::post(executor, asio::use_awaitable);
  }
  const auto none = co_await with_deadline(*bench.time, bench.time->now() + 20ms, set.next_end());
  CHECK_FALSE(none);
  CHECK(stuck->writes == 1);
  set.kill();
  co_await set.stop(stop_plan());
  CHECK(set.take_ends().at(0).status.signal() == SIGKILL);
  CHECK(std::filesystem::file_size(folder / "stdout.log") > 4096);
}

// ---- many --------------------------------------------------------------------------------------

// Starts as many processes on one thread, one after another. Most get to exec and come back, which
// is where the memory is shared; the others run, some of them at the same time.
task<void> start_many(int count) {
  auto executor = co_await asio::this_coro::executor;
  const leftovers remains(executor);
  pidfd_launcher launcher(executor);
  constexpr int one_runs_of = test::is_sanitized ? 20 : 4;
  constexpr std::size_t at_once = 8;
  process_spec refused_spec = remains.puppet("");
  refused_spec.program = "/no/such/program";
  std::deque<std::pair<int, std::unique_ptr<child>>> running;
  int refusals = 0;
  int right_codes = 0;
  for (int i = 0; i < count || !running.empty(); ++i) {
    if (i < count && i % one_runs_of != 0) {
      const start_failure failure = co_await failure_of(launcher, refused_spec);
      if (failure.code == errc::program_not_found) ++refusals;
      continue;
    }
    if (i < count) {
      const int code = i / one_runs_of % 2;
      process_spec real = remains.puppet("");
      real.program = code == 0 ? "/bin/true" : "/bin/false";
      std::unique_ptr<child> started = co_await launcher.launch(std::move(real));
      running.emplace_back(code, std::move(started));
      if (running.size() < at_once) continue;
    }
    const auto [code, process] = std::move(running.front());
    running.pop_front();
    const exit_status status = co_await process->wait();
    co_await process->end_tree();
    if (status.code() == code) ++right_codes;
  }
  CHECK(right_codes == count / one_runs_of);
  CHECK(refusals == count - count / one_runs_of);
}

TEST_CASE("process: starts thousands of times", "[integration][process][spawn-many][sanitize]") {
  // On a busy machine this takes longer than a coroutine test may: if it hangs, ctest ends it.
  asio::io_context context(1);
  std::exception_ptr failure;
  asio::co_spawn(context, start_many(test::is_sanitized ? 2'000 : 20'000),
                 [&](std::exception_ptr thrown) { failure = thrown; });
  context.run();
  if (failure) std::rethrow_exception(failure);
}

// Two places of a set of its own, restarted several times, each with a code and a line of its own.
// Result: how many ended otherwise.
task<int> run_own_set(const leftovers& remains, int who, int rounds) {
  auto strand = co_await asio::this_coro::executor;
  auto out = std::make_shared<collected_output>(strand);
  process_set::services services;
  services.launcher = std::make_shared<pidfd_launcher>(strand);
  services.time = std::make_shared<system_time>();
  services.console_out = out;
  process_set set(strand, services);
  std::set<std::string> expected;
  int wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < 2; ++i) {
      const std::string line = fmt::format("{}.{}.{}", who, round, i);
      expected.insert(line);
      process_set::process worker;
      worker.process = remains.puppet(fmt::format("line {} fork plain exit {}", line, who * 2 + i));
      worker.out.kind = output_plan::how::copy;
      co_await set.start(i, worker);
    }
    for (int i = 0; i < 2; ++i) {
      const process_set::process_end end = co_await set.next_end();
      if (end.status.code() != who * 2 + static_cast<int>(end.index)) ++wrong;
      co_await set.clear(end.index);
    }
  }
  process_set::process stubborn;
  stubborn.process = remains.puppet(fmt::format("ignore {} line {}.ready hang", SIGTERM, who));
  stubborn.out.kind = output_plan::how::copy;
  co_await set.start(0, stubborn);
  co_await out->has(".ready\n");
  expected.insert(fmt::format("{}.ready", who));
  co_await set.stop(plan_of(SIGTERM, 10ms));
  if (set.take_ends().at(0).status.signal() != SIGKILL) ++wrong;
  if (lines_of(out->text) != expected) ++wrong;
  co_return wrong;
}

TEST_CASE("process: sets on the strands of a thread pool do not disturb each other",
          "[integration][process][sanitize]") {
  asio::io_context outer;
  const leftovers remains(outer.get_executor());
  constexpr int rounds = test::is_sanitized ? 5 : 20;
  asio::thread_pool pool(4);
  std::vector<std::future<int>> wrong;
  for (int who = 0; who < 8; ++who) {
    wrong.push_back(asio::co_spawn(asio::make_strand(pool), run_own_set(remains, who, rounds),
                                   asio::use_future));
  }
  for (auto& result : wrong) CHECK(result.get() == 0);
  pool.join();
}

// ---- what the kernel does not end ---------------------------------------------------------------

// Result: what the stop of a frozen worker said, or the clearing of one that left such a process.
task<std::string> stop_frozen(const test::freezer& ice, guard_policy policy, bool leaves_child) {
  auto executor = co_await asio::this_coro::executor;
  guarded_launcher::options guarding;
  guarding.policy = policy;
  process_set::services services;
  services.launcher = std::make_shared<guarded_launcher>(executor, guarding);
  services.killed_patience = 200ms;
  const auto out = std::make_shared<collected_output>(executor);
  services.console_out = out;
  process_set set(executor, services);
  process_set::process worker;
  worker.process.program = "/bin/sh";
  worker.process.arguments.push_back("-c");
  worker.process.arguments.push_back(leaves_child ? "sleep 1000 >&- & echo $!; read wait"
                                                  : "echo $$; exec sleep 1000");
  worker.process.environment.push_back("PATH=/usr/bin:/bin");
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  worker.process.stdin_fd = ends[0];
  worker.out.kind = output_plan::how::copy;
  co_await set.start(0, worker);
  ::close(ends[0]);
  co_await out->has("\n");
  ice.freeze(std::stoi(out->text));
  ::close(ends[1]);
  try {
    if (leaves_child) {
      co_await set.next_end();
      co_await set.clear(0);
    } else {
      co_await set.stop(plan_of(SIGTERM, 100ms));
    }
  } catch (const error& failure) {
    CHECK(failure.code() == errc::process_stuck);
    co_return failure.what();
  }
  co_return "";
}

CO_TEST("process: one that even SIGKILL does not end is given up and named",
        "[integration][process]") {
  for (const guard_policy policy : {guard_policy::required, guard_policy::none}) {
    for (const bool leaves_child : {false, true}) {
      CAPTURE(policy == guard_policy::none, leaves_child);
      const test::freezer ice;
      if (!ice.made) {
        co_return test::skip("it takes a freezer cgroup");
      }
      const std::string message = co_await stop_frozen(ice, policy, leaves_child);
      CHECK_THAT(message, test::contains_text("was killed and has not ended: "));
      CHECK_THAT(message, test::contains_text("in uninterruptible sleep"));
    }
  }
}

}  // namespace
}  // namespace elastic
