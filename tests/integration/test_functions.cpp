// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Functions as workers: this program starts itself again, or forks itself, and runs the functions
// below in the new processes. Each test leaves no process, no descriptor and no file.

#include <elastic/agent/agent_part.hpp>
#include <elastic/agent/failure_report.hpp>
#include <elastic/agent/local_agent.hpp>
#include <elastic/base/asio.hpp>
#include <elastic/cli/io_choice.hpp>
#include <elastic/contract/error_file.hpp>
#include <elastic/contract/function_call.hpp>
#include <elastic/functions.hpp>
#include <elastic/launch/launcher.hpp>
#include <elastic/nodes/detail/rendezvous_message.hpp>
#include <elastic/process/detail/fork_launcher.hpp>
#include <elastic/process/detail/limit_reached.hpp>
#include <elastic/torch/detail/pickle_format.hpp>
#include <elastic/worker/worker_context.hpp>
#include <elastic/worker/worker_store.hpp>
#include <support/catch.hpp>
#include <support/leftovers.hpp>
#include <support/log_recorder.hpp>
#include <support/reserved_port.hpp>
#include <support/run_program.hpp>
#include <support/sanitized.hpp>
#include <support/skip.hpp>
#include <support/thread_count.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
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

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace elastic {
namespace {

namespace functions_test {

using namespace std::chrono_literals;
using test::file_text;
using test::leftovers;
using test::log_recorder;
using test::temporary_directory;

// ---- the functions ------------------------------------------------------------------------------

struct report {
  std::string path;
  std::map<std::string, double> losses;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(report, path, losses)

int rank() { return this_worker().rank; }

const entrypoint square("square", [] { return rank() * rank(); });

const entrypoint describe("describe", [](int epochs, const std::string& path, report last,
                                         std::vector<bool> flags) {
  last.path += path;
  for (int epoch = 0; epoch < epochs; ++epoch) last.losses[fmt::format("{}", epoch)] = 0.5 * epoch;
  last.losses["flags"] = static_cast<double>(flags.size());
  return last;
});

const entrypoint nothing("nothing", [] {});

// Meets the other workers of the job, by the executor of a context of its own.
const entrypoint sum_of_ranks("sum of ranks", []() -> task<int> {
  const worker_context me = this_worker();
  const auto shared = co_await connect_worker_store(me);
  const std::string own = std::to_string(me.rank);
  co_await shared->set("rank" + own, own);
  int sum = 0;
  for (int peer = 0; peer < me.world_size; ++peer) {
    const std::string key = "rank" + std::to_string(peer);
    const std::string value = co_await shared->get(key);
    sum += std::stoi(value);
  }
  co_return sum;
});

const entrypoint fails_by("fails by", [](std::string how) {
  if (rank() != 1) return how;
  if (how == "exception") throw std::out_of_range("no such column");
  if (how == "cause") {
    try {
      throw std::runtime_error("disk full");
    } catch (...) {
      std::throw_with_nested(std::logic_error("no checkpoint"));
    }
  }
  if (how == "number") throw 3;
  if (how == "exit 0") std::exit(0);
  if (how == "exit 3") std::exit(3);
  if (how == "abort") std::abort();
  return how;
});

const entrypoint second_time("second time", [] {
  const worker_context me = this_worker();
  if (me.restart_count == 0 && me.rank == 0) throw std::runtime_error("the first time");
  return me.restart_count;
});

const entrypoint text_of("text of", [](int bytes) { return std::string(bytes, 'x'); });

const entrypoint lost("lost", [](int levels) {
  nlohmann::json value = std::nan("");
  for (int level = 0; level < levels; ++level) value = nlohmann::json::array({value});
  return value;
});

// What a hostile worker may do to the file that it shares with its agent.
const entrypoint scribble("scribble", [](std::string how) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code failure;
    const auto target = std::filesystem::read_symlink(entry.path(), failure).string();
    if (target.find("elastic-call") == std::string::npos) continue;
    const int file = std::stoi(entry.path().filename());
    const std::uint64_t kind = how == "kind" ? 99 : 1;
    const std::uint64_t size = how == "size" ? ~std::uint64_t{0} : 5;
    ::pwrite(file, &kind, 8, 16);
    ::pwrite(file, &size, 8, 24);
    ::pwrite(file, "]]]]]", 5, 32 + 8);
    std::fflush(nullptr);
    ::_exit(0);
  }
});

const entrypoint surroundings_of("surroundings", [] {
  char letter = 0;
  const ssize_t count = ::read(0, &letter, 1);
  std::map<std::string, std::string> found;
  found["stdin"] = std::to_string(count);
  found["asked"] = std::getenv(entrypoint_variable) ? "yes" : "no";
  found["is worker"] = is_worker() ? "yes" : "no";
  found["session"] = ::getsid(0) == ::getpid() ? "own" : "another's";
  return found;
});

const entrypoint waits("waits", [] {
  std::puts("ready");
  std::fflush(stdout);
  for (;;) ::pause();
});

const entrypoint twin_a("twin", [] {});
const entrypoint twin_b("twin", [] {});

/// Calls somebody when so many workers have said that they are ready.
class ready_counter final : public output_sink {
 public:
  explicit ready_counter(int workers) : missing_(workers) {}
  std::function<void()> on_ready = [] {};
  task<void> write(std::string_view bytes) override {
    for (auto at = bytes.find("ready"); at != bytes.npos; at = bytes.find("ready", at + 1)) {
      if (--missing_ == 0) on_ready();
    }
    co_return;
  }

 private:
  int missing_;
};

/// Calls somebody when the agent knows that its workers run.
class starter final : public agent_part {
 public:
  std::function<void()> on_start = [] {};
  void started(const started_workers&) override { on_start(); }
};

// ---- a job of them ------------------------------------------------------------------------------

/// One job on a context of its own.
class job {
 public:
  explicit job(int size = 3) {
    config.workers.nproc_per_node = size;
    config.standalone = true;
    config.workers.log_dir = folder.path();
    config.workers.environment[remains.name] = remains.value;
    config.workers.environment["OMP_NUM_THREADS"] = "1";
    config.workers.redirects = stream_selection(std_streams::both);
    const char* io = std::getenv("ELASTIC_IO");
    config.rendezvous.use_ring = io == nullptr || std::string_view(io) != "epoll";
    services.log = log->log();
  }

  launch_config config;
  agent_services services;
  temporary_directory folder;
  leftovers remains;
  std::shared_ptr<log_recorder> log = std::make_shared<log_recorder>();

  /// Runs a function to the end of the job, and checks what is left. Errors: those of the run.
  template <class Signature, class... Arguments>
  run_result run(const entrypoint<Signature>& function, Arguments... arguments) {
    return run([&](const launch_config& with, const agent_services& by) {
      return launch(with, by, function, arguments...);
    });
  }
  run_result run(const function_call& call) {
    config.workers.function = call;
    return run(
        [](const launch_config& with, const agent_services& by) { return launch(with, by); });
  }

  void check_nothing_left() {
    CHECK(remains.processes().empty());
    CHECK_FALSE(leftovers::has_children());
  }

 private:
  template <class Start>
    requires std::is_invocable_v<Start, const launch_config&, const agent_services&>
  run_result run(Start start) {
    run_result result;
    std::exception_ptr failure;
    {
      asio::io_context context(1);
      bool ended = false;
      asio::co_spawn(context, start(config, services),
                     [&](std::exception_ptr thrown, run_result how) {
                       ended = true;
                       failure = thrown;
                       result = std::move(how);
                     });
      context.run_for(300s);
      if (!ended) FAIL("the job did not end in time; its log:\n" << log->text());
      check_nothing_left();
    }
    CHECK(remains.descriptors() == 0);
    if (failure) std::rethrow_exception(failure);
    return result;
  }
};

std::map<int, std::string> ranks(std::vector<nlohmann::json> values) {
  std::map<int, std::string> dumps;
  for (std::size_t rank = 0; rank < values.size(); ++rank) {
    dumps[static_cast<int>(rank)] = values[rank].dump();
  }
  return dumps;
}

std::string refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const error& failure) {
    CHECK(failure.code() == errc::invalid_argument);
    return failure.what();
  }
  return "not refused";
}

/// The worker that failed by itself.
const run_result::failure& culprit(const run_result& result) {
  for (const run_result::failure& failure : result.failures) {
    if (!failure.stopped_by_agent) return failure;
  }
  FAIL("no worker failed by itself: " << result.reason);
  return result.failures.front();
}

// ThreadSanitizer has a thread of its own in every process.
constexpr bool can_fork = !test::has_thread_sanitizer;

std::vector<launch_config::start_method> methods() {
  if (!can_fork) return {launch_config::start_method::spawn};
  return {launch_config::start_method::spawn, launch_config::start_method::fork};
}

// ---- values -------------------------------------------------------------------------------------

TEST_CASE("functions: what each worker returns comes home by its rank",
          "[integration][functions][sanitize]") {
  for (const launch_config::start_method method : methods()) {
    job test_job;
    test_job.config.start = method;
    const run_result result = test_job.run(square);
    CHECK(result.state == worker_state::succeeded);
    CHECK(result.return_values == ranks({0, 1, 4}));
    CHECK(result.value_of<int>(2) == 4);
    CHECK(refusal([&] { result.value_of<int>(3); }) ==
          "there is no return value of rank 3: there are 3 of this node, of ranks 0 to 2");
    CHECK(refusal([&] { result.value_of<std::string>(1); }) ==
          "the return value of rank 1 does not fit: type must be string, but is number");
  }
}

TEST_CASE("functions: arguments and results are of any type that converts to JSON",
          "[integration][functions][sanitize]") {
  for (const launch_config::start_method method : methods()) {
    job test_job(2);
    test_job.config.start = method;
    const report before{"/data/", {{"old", 1.0 / 3}}};
    const run_result result =
        test_job.run(describe, 2, "a \"path\"\nü", before, std::vector<bool>{true, false});
    REQUIRE(result.state == worker_state::succeeded);
    const auto after = result.value_of<report>(1);
    CHECK(after.path == "/data/a \"path\"\nü");
    CHECK(after.losses ==
          std::map<std::string, double>{{"old", 1.0 / 3}, {"0", 0}, {"1", 0.5}, {"flags", 2}});
  }
}

TEST_CASE("functions: one that returns nothing has null for it",
          "[integration][functions][sanitize]") {
  job test_job(2);
  CHECK(test_job.run(nothing).return_values == ranks({nullptr, nullptr}));
}

TEST_CASE("functions: a task is run to its end, and may meet the other workers",
          "[integration][functions][sanitize]") {
  for (const launch_config::start_method method : methods()) {
    job test_job;
    test_job.config.start = method;
    CHECK(test_job.run(sum_of_ranks).return_values == ranks({3, 3, 3}));
  }
}

TEST_CASE("functions: values need no directory, and a guard or none",
          "[integration][functions][sanitize]") {
  for (const guard_policy policy : {guard_policy::required, guard_policy::none}) {
    job test_job;
    test_job.config.workers.log_dir = "/dev/null";
    test_job.config.guard = policy;
    const run_result result = test_job.run(square);
    CHECK(result.return_values == ranks({0, 1, 4}));
    CHECK(result.log_directory.empty());
  }
}

TEST_CASE("functions: the values are those of the attempt that succeeded",
          "[integration][functions][sanitize]") {
  for (const launch_config::start_method method : methods()) {
    job test_job;
    test_job.config.start = method;
    test_job.config.workers.max_restarts = 2;
    const run_result result = test_job.run(second_time);
    CHECK(result.state == worker_state::succeeded);
    CHECK(result.restarts == 1);
    CHECK(result.return_values == ranks({1, 1, 1}));
  }
}

TEST_CASE("functions: a worker is in its own surroundings", "[integration][functions][sanitize]") {
  for (const launch_config::start_method method : methods()) {
    job test_job(1);
    test_job.config.start = method;
    using texts = std::map<std::string, std::string>;
    CHECK(test_job.run(surroundings_of).value_of<texts>(0) ==
          texts{{"stdin", "0"}, {"asked", "no"}, {"is worker", "yes"}, {"session", "own"}});
  }
}

// ---- failures -----------------------------------------------------------------------------------

TEST_CASE("functions: an exception is the worker's error file, with its type and message",
          "[integration][functions][sanitize]") {
  for (const launch_config::start_method method : methods()) {
    for (const bool with_files : {true, false}) {
      job test_job;
      test_job.config.start = method;
      if (!with_files) test_job.config.workers.log_dir = "/dev/null";
      const run_result result = test_job.run(fails_by, "exception");
      CHECK(result.state == worker_state::failed);
      CHECK(result.return_values.empty());
      const run_result::failure& failed = culprit(result);
      CHECK(failed.rank == 1);
      CHECK(failed.status == exit_status::exited(1));
      REQUIRE(failed.error);
      CHECK(failed.error->message == "std::out_of_range: no such column");
      CHECK(failed.error->timestamp > 0);
      CHECK(failed.error_file.empty() == !with_files);
      const std::string text = failure_report("fails_by", result.failures);
      CHECK(text.find("std::out_of_range: no such column") != std::string::npos);
      CHECK(refusal([&] { result.value_of<int>(0); }) ==
            "there is no return value of rank 0: there are 0 of this node, since no function ran "
            "or the job did not succeed");
    }
  }
}

TEST_CASE("functions: causes and exceptions that are none of std's are told, too",
          "[integration][functions][sanitize]") {
  job nested;
  const run_result first = nested.run(fails_by, "cause");
  REQUIRE(culprit(first).error);
  CHECK(culprit(first).error->message == "std::logic_error: no checkpoint");
  CHECK(culprit(first).error->callstack ==
        "std::logic_error: no checkpoint\ncaused by std::runtime_error: disk full");
  job number;
  const run_result second = number.run(fails_by, "number");
  REQUIRE(culprit(second).error);
  CHECK(culprit(second).error->message == "int");
}

TEST_CASE("functions: one that ends its process by itself ended as it said",
          "[integration][functions][sanitize]") {
  for (const launch_config::start_method method : methods()) {
    job exits;
    exits.config.start = method;
    CHECK(culprit(exits.run(fails_by, "exit 3")).status == exit_status::exited(3));
    job aborts;
    aborts.config.start = method;
    CHECK(culprit(aborts.run(fails_by, "abort")).status.signal() == SIGABRT);
    job leaves;
    leaves.config.start = method;
    const run_result result = leaves.run(fails_by, "exit 0");
    CHECK(result.state == worker_state::succeeded);
    CHECK(result.return_values == std::map<int, std::string>{{0, "\"exit 0\""}, {2, "\"exit 0\""}});
    CHECK(leaves.log->text().find("rank 1 ended with success, but there is no return value: it "
                                  "ended before its function returned") != std::string::npos);
  }
}

TEST_CASE("functions: a value over the bound fails its worker by name",
          "[integration][functions][sanitize]") {
  const int most = static_cast<int>(limits::return_value_bytes) - 2;  // its quotes
  job fits(1);
  CHECK(fits.run(text_of, most).value_of<std::string>(0) == std::string(most, 'x'));
  job is_over(1);
  const run_result result = is_over.run(text_of, most + 1);
  CHECK(result.state == worker_state::failed);
  REQUIRE(culprit(result).error);
  CHECK(culprit(result).error->message ==
        "elastic::error: the return value of function 'text of' is 1048577 bytes of JSON, 1048576 "
        "are allowed");
}

TEST_CASE("functions: a value that JSON cannot represent fails its worker by name",
          "[integration][functions][sanitize]") {
  job no_number(1);
  CHECK(culprit(no_number.run(lost, 0)).error->message ==
        "elastic::error: the return value of function 'lost' holds a number that is not finite, "
        "which JSON cannot represent");
  job deep(1);
  CHECK(culprit(deep.run(lost, 65)).error->message ==
        "elastic::error: the return value of function 'lost' is nested more than 64 levels deep");
}

TEST_CASE("functions: what a worker scribbles is not a value, and hurts nobody",
          "[integration][functions][sanitize]") {
  for (const std::string how : {"kind", "size", "text"}) {
    job test_job(2);
    const run_result result = test_job.run(scribble, how);
    CHECK(result.state == worker_state::succeeded);
    CHECK(result.return_values.empty());
    CHECK(test_job.log->text().find(
              "rank 1 ended with success, but there is no return value: it ") != std::string::npos);
  }
}

TEST_CASE("functions: a program that has none just runs", "[integration][functions][sanitize]") {
  job test_job(2);
  test_job.config.workers.program = "/bin/true";
  const function_call call{"train", "[]"};
  const run_result result = test_job.run(call);
  CHECK(result.state == worker_state::succeeded);
  CHECK(result.return_values.empty());
}

// ---- stopped ------------------------------------------------------------------------------------

TEST_CASE("functions: workers that run one are stopped as all are",
          "[integration][functions][sanitize]") {
  for (const launch_config::start_method method : methods()) {
    job test_job(2);
    test_job.config.start = method;
    test_job.config.workers.redirects = {};
    test_job.config.workers.tee = stream_selection(std_streams::out);
    test_job.config.workers.function = waits.call();
    const auto ready = std::make_shared<ready_counter>(2);
    test_job.services.console_out = ready;
    const auto observer = std::make_shared<starter>();
    add_part(test_job.services, "observer", observer);
    run_result result;
    {
      const auto agent = make_agent(test_job.config, test_job.services);
      // An agent that does not know yet that its workers run kills them.
      int missing = 2;
      const auto stop = [&] {
        if (--missing == 0) agent->stop({});
      };
      ready->on_ready = stop;
      observer->on_start = stop;
      asio::io_context context(1);
      asio::co_spawn(context, agent->run(), [&](std::exception_ptr thrown, run_result how) {
        CHECK_FALSE(thrown);
        result = std::move(how);
      });
      context.run_for(300s);
      CHECK(context.stopped());
      test_job.check_nothing_left();
    }
    CHECK(test_job.remains.descriptors() == 0);
    CHECK(result.state == worker_state::stopped);
    CHECK(result.return_values.empty());
    REQUIRE(result.failures.size() == 2);
    CHECK(result.failures[0].status == exit_status::signalled(SIGTERM));
  }
}

// ---- copies of this process ---------------------------------------------------------------------

TEST_CASE("functions: a copy has the memory of its moment, and none of the descriptors",
          "[integration][functions][sanitize][fork]") {
  if (!can_fork) return test::skip("ThreadSanitizer has a thread of its own");
  std::vector<int> data(100'000, 7);
  const entrypoint with_captures("with captures", [&data] {
    int total = 0;
    for (const int value : data) total += value;
    data.clear();  // its own
    int descriptors = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      if (std::stoi(entry.path().filename()) > 2) ++descriptors;
    }
    return std::vector<int>{total, descriptors};
  });
  job test_job(2);
  test_job.config.start = launch_config::start_method::fork;
  const run_result result = test_job.run(with_captures);
  // The directory that it reads, and what it answers by.
  CHECK(result.return_values == ranks({{700'000, 2}, {700'000, 2}}));
  CHECK(data.size() == 100'000);
}

TEST_CASE("functions: the end of a copy ends nothing of this process",
          "[integration][functions][sanitize][fork]") {
  if (!can_fork) return test::skip("ThreadSanitizer has a thread of its own");
  static std::string note;
  static pid_t owner;
  owner = ::getpid();
  std::atexit([] {
    if (::getpid() != owner) std::ofstream(note).close();
  });
  struct noted {
    std::string path;
    ~noted() { std::ofstream(path).close(); }
  };
  for (const bool by_exit : {true, false}) {
    const temporary_directory folder;
    note = folder / "exit function";
    const std::string written = folder / "written";
    std::FILE* const file = std::fopen(written.c_str(), "w");
    REQUIRE(file != nullptr);
    std::fputs("once", file);
    const auto kept = std::make_unique<noted>();
    kept->path = folder / "destructor";
    job test_job(1);
    test_job.config.start = launch_config::start_method::fork;
    const entrypoint ends("ends", [by_exit] {
      std::puts("and this");
      if (by_exit) std::exit(0);
    });
    const run_result result = test_job.run(ends);
    CHECK(result.state == worker_state::succeeded);
    std::fclose(file);
    CHECK(file_text(written) == "once");
    CHECK_FALSE(std::filesystem::exists(note));
    CHECK_FALSE(std::filesystem::exists(kept->path));
    const std::string shown = file_text(result.log_directory + "/attempt_0/0/stdout.log");
    CHECK(shown == "and this\n");
  }
}

TEST_CASE("functions: a process of several threads is not copied",
          "[integration][functions][sanitize][fork]") {
  if (!can_fork) return test::skip("ThreadSanitizer has a thread of its own");
  asio::io_context elsewhere;
  auto work = asio::make_work_guard(elsewhere);
  std::thread other([&] { elsewhere.run(); });
  job test_job(1);
  test_job.config.start = launch_config::start_method::fork;
  std::string message;
  try {
    test_job.run(square);
  } catch (const error& failure) {
    CHECK(failure.code() == errc::start_failed);
    message = failure.what();
  }
  work.reset();
  other.join();
  // The kernel may count it for a moment longer.
  REQUIRE(test::threads_become(1));
  CHECK(message ==
        "a worker can be forked only where this process has one thread, it has 2: start it "
        "by start_method::spawn");
  CHECK(test_job.run(square).return_values == ranks({0}));
}

TEST_CASE("functions: copies die with the process that made them",
          "[integration][functions][sanitize][fork]") {
  if (!can_fork) return test::skip("ThreadSanitizer has a thread of its own");
  job test_job(2);
  test_job.config.start = launch_config::start_method::fork;
  test_job.config.workers.log_dir = "/dev/null";
  test_job.config.workers.redirects = {};
  test_job.config.workers.tee = stream_selection(std_streams::out);
  test_job.config.workers.function = waits.call();
  const pid_t host = ::fork();
  REQUIRE(host >= 0);
  if (host == 0) {
    const auto ready = std::make_shared<ready_counter>(2);
    ready->on_ready = [] { ::raise(SIGKILL); };
    test_job.services.console_out = ready;
    asio::io_context context(1);
    const auto agent = make_agent(test_job.config, test_job.services);
    asio::co_spawn(context, agent->run(), [](std::exception_ptr, run_result) {});
    context.run_for(300s);
    ::_exit(1);
  }
  int status = 0;
  REQUIRE(::waitpid(host, &status, 0) == host);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGKILL);
  CHECK(test_job.remains.processes_become(0));
}

TEST_CASE("functions: a copy that cannot be made is an error, and nothing is left of it",
          "[integration][functions][sanitize][fork]") {
  if (!can_fork) return test::skip("ThreadSanitizer has a thread of its own");
  const leftovers remains;
  const auto outcome_of = [&](process_spec spec, const detail::syscalls& calls) {
    asio::io_context context(1);
    std::string sentence = "started";
    spec.program = "me";
    detail::fork_launcher launcher([] { return 0; }, {}, calls);
    asio::co_spawn(context, launcher.launch(spec),
                   [&](std::exception_ptr thrown, std::unique_ptr<child>) {
                     try {
                       if (thrown) std::rethrow_exception(thrown);
                     } catch (const error& failure) {
                       sentence = failure.what();
                     }
                   });
    context.run();
    CHECK_FALSE(leftovers::has_children());
    return sentence;
  };
  process_spec elsewhere;
  elsewhere.directory = "/nonexistent";
  CHECK(outcome_of(elsewhere, detail::real_syscalls) ==
        "working directory '/nonexistent' of program "
        "'me' cannot be entered: No such file or "
        "directory");
  detail::syscalls no_session = detail::real_syscalls;
  no_session.set_session = [] {
    errno = EPERM;
    return -1;
  };
  CHECK(outcome_of({}, no_session) ==
        "program 'me' cannot be started: Operation not permitted (its session)");
  detail::syscalls no_pidfd = detail::real_syscalls;
  no_pidfd.pidfd_open = [](pid_t) {
    errno = EMFILE;
    return -1;
  };
  CHECK(outcome_of({}, no_pidfd) ==
        "program 'me' cannot be started: Too many open files (a new process)" +
            detail::limit_reached(EMFILE));
  detail::syscalls no_streams = detail::real_syscalls;
  no_streams.duplicate_to = [](int, int) {
    errno = EBADF;
    return -1;
  };
  process_spec redirected;
  redirected.stdin_fd = 0;
  redirected.stdout_fd = 2;
  CHECK(outcome_of(redirected, no_streams) ==
        "program 'me' cannot be started: Bad file descriptor (its standard streams)");
  CHECK(remains.descriptors() == 0);
}

// ---- refused before anything is started ---------------------------------------------------------

TEST_CASE("functions: a call that cannot work is refused before a process is started",
          "[integration][functions][sanitize]") {
  const auto refused = [](const function_call& call, std::function<void(job&)> change = {}) {
    job test_job(1);
    if (change) change(test_job);
    return refusal([&] { test_job.run(call); });
  };
  CHECK(refused({"squares", "[]"})
            .find("no function of this program is registered as 'squares'; "
                  "registered: 'square', 'describe', ") == 0);
  CHECK(refused({"twin", "[]"}) == "two functions of this program are registered as 'twin'");
  CHECK(refused({"square", "3"}) == "the arguments of function 'square' are not a JSON array");
  CHECK(refused({"square", "[3]"}) == "function 'square' takes 0 arguments, 1 were given");
  CHECK(refused({"text of", "[]"}) == "function 'text of' takes 1 arguments, 0 were given");
  CHECK(refused({"text of", R"(["3"])"}) ==
        "argument 1 of function 'text of' does not fit: type must be number, but is string");
  CHECK(refused({"fails by", "[\"\xff\"]"})
            .find("the list of arguments of function 'fails by' "
                  "cannot be understood: ") == 0);
  CHECK(refused({"square", "[]"},
                [](job& test_job) {
                  test_job.config.start = launch_config::start_method::fork;
                  test_job.config.guard = guard_policy::required;
                }) ==
        "guard_policy::required excludes start_method::fork: forked workers have "
        "no guard");
  CHECK(refused({"square", "[]"},
                [](job& test_job) {
                  test_job.config.start = launch_config::start_method::fork;
                  test_job.config.workers.program = "/bin/true";
                }) ==
        "start_method::fork runs a function of this program: '/bin/true' cannot be named as "
        "another one");
  job none;
  none.config.start = launch_config::start_method::fork;
  none.config.workers.program = "/bin/true";
  CHECK(refusal([&] { make_agent(none.config); }) ==
        "start_method::fork runs a function: launch_config::workers.function is empty");
}

TEST_CASE("functions: a worker checks what it is given, too",
          "[integration][functions][sanitize]") {
  job test_job(1);
  test_job.config.workers.program = std::filesystem::read_symlink("/proc/self/exe");
  const function_call call{"squares", "[]"};
  const run_result result = test_job.run(call);
  REQUIRE(culprit(result).error);
  CHECK(culprit(result).error->message.find("elastic::error: no function of this program is "
                                            "registered as 'squares'") == 0);
}

TEST_CASE("functions: a program that is started with a function's name alone says what is wrong",
          "[integration][functions][sanitize]") {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const auto ended = test::run_program({self, "--list-tests"}, {{entrypoint_variable, "square"}});
  CHECK(ended.code == 1);
  CHECK(ended.err ==
        "elastic::error: standard input does not hold a function's arguments: only an "
        "agent starts a worker that runs a function\n");
}

TEST_CASE("functions: a program whose main does not ask never starts itself again",
          "[integration][functions][sanitize]") {
  const auto ended = test::run_program({ELASTIC_FORGETFUL});
  CHECK(ended.code == 3);
  CHECK(ended.out ==
        "the workers are this program again, whose main must begin with 'if (const "
        "auto code = elastic::run_entrypoint()) return *code;'\n");
}

// ---- several nodes ------------------------------------------------------------------------------

TEST_CASE("functions: each node has the values of its own workers, by rank in the job",
          "[integration][functions][sanitize]") {
  for (const launch_config::start_method method : methods()) {
    job test_job(2);
    test_job.config.start = method;
    test_job.config.standalone = false;
    test_job.config.rendezvous.backend = "c10d";
    test_job.config.rendezvous.endpoint =
        fmt::format("127.0.0.1:{}", elastic::test::reserved_port());
    test_job.config.rendezvous.run_id = "two nodes";
    test_job.config.rendezvous.min_nodes = test_job.config.rendezvous.max_nodes = 2;
    std::map<int, std::string> values;
    std::vector<std::size_t> counts;
    {
      asio::io_context context(1);
      for (int node = 0; node < 2; ++node) {
        asio::co_spawn(context, launch(test_job.config, test_job.services, square),
                       [&](std::exception_ptr thrown, run_result result) {
                         if (thrown) std::rethrow_exception(thrown);
                         counts.push_back(result.return_values.size());
                         values.merge(result.return_values);
                       });
      }
      context.run_for(300s);
      CHECK(context.stopped());
      test_job.check_nothing_left();
    }
    CHECK(counts == std::vector<std::size_t>{2, 2});
    CHECK(values == ranks({0, 1, 4, 9}));
  }
}

}  // namespace functions_test
}  // namespace
}  // namespace elastic
