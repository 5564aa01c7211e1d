// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// What an agent learns about real Python workers without their help and without cost to them.

#include <elastic/diagnosis/detail/inspected_workers.hpp>
#include <elastic/diagnosis/detail/process_facts.hpp>

#include <elastic/base/limits.hpp>
#include <elastic/base/when_all.hpp>
#include <elastic/process/pidfd_launcher.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>
#include <support/raw_client.hpp>
#include <support/run_program.hpp>
#include <support/text.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace elastic {
namespace {

using detail::process_state;

namespace inspection_test {

using namespace std::chrono_literals;
using detail::inspected_workers;
using detail::worker_inspection;
using test::has_text;

const std::string script = ELASTIC_SOURCE_DIR "/tests/integration/python/inspected_worker.py";

bool is_in(const worker_inspection& found, process_state state) {
  return found.facts && found.facts->threads.at(0).state == state;
}

/// One worker of the given interpreter, started by inspected_workers.
class stage {
 public:
  explicit stage(std::string python) : python_(std::move(python)) {}

  task<void> start(std::string mode) { return start(std::move(mode), std::vector<std::string>()); }

  task<void> start(std::string mode, std::vector<std::string> environment) {
    const auto time = std::make_shared<system_time>();
    auto launcher = std::make_shared<pidfd_launcher>(co_await asio::this_coro::executor);
    workers_ = std::make_unique<inspected_workers>(launcher, time);
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    out_ = detail::unique_fd(ends[0]);
    const detail::unique_fd theirs(ends[1]);
    process_spec spec;
    spec.program = python_;
    for (const std::string& word : {std::string("-u"), script, mode}) {
      spec.arguments.push_back(word);
    }
    for (const char* const entry : {"LOCAL_RANK=0", "RANK=3"}) spec.environment.push_back(entry);
    for (std::string& entry : environment) spec.environment.push_back(std::move(entry));
    spec.stdout_fd = theirs.get();
    workers_->begin_attempt();
    process_ = co_await workers_->launch(spec);
  }

  /// Reads what it writes to stdout until that has the word.
  std::string await_out(const std::string& word) {
    char bytes[4096];
    while (!has_text(said_, word)) {
      const ssize_t size = ::read(out_.get(), bytes, sizeof bytes);
      if (size <= 0) FAIL("it ended, having written: " << said_);
      said_.append(bytes, static_cast<std::size_t>(size));
    }
    return said_;
  }

  /// Waits until its main thread is in the state. A signal takes effect later than it is sent.
  void await_state(process_state state) {
    const pid_t pid = process_->pid();
    CHECK(test::comes_true([&] {
      const auto facts = detail::read_process_facts(pid, 1);
      return facts && facts->threads.at(0).state == state;
    }));
  }

  task<worker_inspection> inspect(duration within = limits::inspection_time) {
    agent_part::attempt_worker worker;
    worker.rank = 3;
    worker.pid = process_->pid();
    std::vector<agent_part::attempt_worker> workers;
    workers.push_back(worker);
    system_time time;
    task<std::vector<worker_inspection>> inspecting =
        workers_->inspect(std::move(workers), time.now() + within);
    const std::vector<worker_inspection> found = co_await std::move(inspecting);
    CHECK(found.size() == 1);
    co_return found.at(0);
  }

  /// Inspects it until that shows what is sought: the worker comes to it by itself, and on a busy
  /// machine it may not answer in time.
  template <class Condition>
  task<worker_inspection> find(Condition is_sought, duration within = limits::inspection_time) {
    const auto limit = std::chrono::steady_clock::now() + 120s;
    for (;;) {
      worker_inspection found = co_await inspect(within);
      if (is_sought(found)) co_return found;
      INFO(found.stacks << found.recorders.size());
      REQUIRE(std::chrono::steady_clock::now() < limit);
    }
  }

  task<exit_status> end(int number = SIGKILL) {
    process_->signal(number);
    return process_->wait();
  }

  child& process() { return *process_; }
  std::string path(const std::string& name) const { return folder_ / name; }

 private:
  test::temporary_directory folder_;
  std::string python_;
  std::unique_ptr<inspected_workers> workers_;
  std::unique_ptr<child> process_;
  detail::unique_fd out_;
  std::string said_;
};

/// For what imports PyTorch: on a busy machine that alone takes longer than a CO_TEST may.
void run_to_its_end(task<void> body) {
  asio::io_context context;
  std::exception_ptr failure;
  asio::co_spawn(context, std::move(body), [&](std::exception_ptr thrown) { failure = thrown; });
  context.run();
  if (failure) std::rethrow_exception(failure);
}

CO_TEST("inspection: a Python of any age shows its stack while it sleeps", "[integration]") {
  const std::string python = test::torch_python();
  if (python.empty()) co_return;
  stage job(python);
  co_await job.start("sleep");
  job.await_out("ready");
  // Its script wakes for each look, and then sleeps again.
  const worker_inspection found = co_await job.find([](const worker_inspection& look) {
    return is_in(look, process_state::sleeping) && has_text(look.stacks, "in sleep_in_loader");
  });
  CHECK(found.is_hooked);
  CHECK_FALSE(found.is_silent);
  CHECK(found.recorders.empty());
  REQUIRE(found.facts);
  CHECK(found.facts->threads.size() == 1);
  // Again: an inspection leaves nothing behind.
  co_await job.find([&](const worker_inspection& look) { return look.stacks == found.stacks; });
  co_await job.end();
}

CO_TEST("inspection: a loop that ends never shows its stack", "[integration]") {
  const std::string python = test::torch_python();
  if (python.empty()) co_return;
  stage job(python);
  co_await job.start("spin");
  job.await_out("ready");
  co_await job.find([](const worker_inspection& look) {
    return is_in(look, process_state::running) && has_text(look.stacks, "in spin_forever");
  });
  co_await job.end();
}

CO_TEST("inspection: a worker that computes outlives many looks", "[integration]") {
  const std::string python = test::torch_213_python();
  if (python.empty()) co_return;
  const auto [mode, function] = GENERATE(table<std::string, std::string>(
      {{"calls", "in call_forever"}, {"threads", "in descend"}}));
  CAPTURE(mode);
  stage job(python);
  co_await job.start(mode);
  job.await_out("ready");
  bool is_seen = false;
  for (int look = 0; look < 300; ++look) {
    const worker_inspection found = co_await job.inspect();
    REQUIRE(found.facts);  // It lives.
    is_seen = is_seen || has_text(found.stacks, function);
  }
  CHECK(is_seen);
  co_await job.end();
}

task<void> open_recorder() {
  const std::string python = test::torch_213_python();
  if (python.empty()) co_return;
  stage job(python);
  co_await job.start("torch");
  job.await_out("ready");
  // There is no process group yet, and so no entry.
  co_await job.find([](const worker_inspection& look) {
    return has_text(look.stacks, "in sleep_with_torch") &&
           look.recorders.size() == 1 && has_text(look.recorders[0], "\"pg_status\":{}");
  });
  co_await job.end();
}

TEST_CASE("inspection: PyTorch 2.13 has its recorder opened by the hook", "[integration]") {
  run_to_its_end(open_recorder());
}

task<void> fail_worker() {
  const std::string python = test::torch_213_python();
  if (python.empty()) co_return;
  worker_inspection found;
  // On a busy machine the recorder may take longer to answer than a worker waits as it ends.
  constexpr int attempts = 5;
  for (int attempt = 0; attempt < attempts && found.recorders.empty(); ++attempt) {
    stage job(python);
    co_await job.start("fail");
    const exit_status status = co_await job.process().wait();
    CHECK_FALSE(status.is_success());
    found = co_await job.inspect();
    CHECK_FALSE(found.facts);
  }
  REQUIRE(found.recorders.size() == 1);
  CHECK(has_text(found.recorders[0], "\"pg_status\":{}"));
}

TEST_CASE("inspection: a worker that an exception ends leaves its recorder", "[integration]") {
  run_to_its_end(fail_worker());
}

task<void> stop_worker() {
  const std::string python = test::torch_213_python();
  if (python.empty()) co_return;
  stage job(python);
  co_await job.start("torch");
  job.await_out("ready");
  job.process().signal(SIGSTOP);
  job.await_state(process_state::stopped);
  const worker_inspection found = co_await job.inspect(200ms);
  CHECK(found.is_silent);
  CHECK(found.stacks.empty());
  REQUIRE(found.facts);
  CHECK(found.facts->threads.at(0).state == process_state::stopped);
  co_await job.end();
}

TEST_CASE("inspection: a stopped worker is silent, and nothing waits for it", "[integration]") {
  run_to_its_end(stop_worker());
}

task<void> ask_while_it_ends() {
  const std::string python = test::torch_213_python();
  if (python.empty()) co_return;
  stage job(python);
  co_await job.start("end");
  job.await_out("ready");
  std::optional<exit_status> status;
  bool has_ended = false;
  task<void> waiting = [](stage& its, std::optional<exit_status>& end, bool& ended) -> task<void> {
    end = co_await its.process().wait();
    ended = true;
  }(job, status, has_ended);
  task<void> asking = [](stage& its, const bool& ended) -> task<void> {
    while (!ended) co_await its.inspect();
  }(job, has_ended);
  std::vector<task<void>> both;
  both.push_back(std::move(waiting));
  both.push_back(std::move(asking));
  co_await when_all(std::move(both));
  CHECK(status->is_success());
}

TEST_CASE("inspection: a worker that is asked while it ends, ends as if nobody asked",
          "[integration]") {
  run_to_its_end(ask_while_it_ends());
}

task<void> import_pytorch() {
  const std::string python = test::torch_213_python();
  if (python.empty()) co_return;
  // Of several one ends before its recorder's server accepts.
  stage jobs[] = {stage(python), stage(python), stage(python), stage(python)};
  for (stage& job : jobs) co_await job.start("import");
  for (stage& job : jobs) {
    const exit_status status = co_await job.process().wait();
    CHECK(status.is_success());
  }
}

TEST_CASE("inspection: a worker that only imports PyTorch ends", "[integration]") {
  run_to_its_end(import_pytorch());
}

CO_TEST("inspection: children of a worker have nothing of it", "[integration]") {
  const std::string python = test::torch_python();
  if (python.empty()) co_return;
  stage job(python);
  co_await job.start("children");
  const std::string said = job.await_out("done");
  CHECK(has_text(said, "fork []"));
  CHECK(has_text(said, "exec [] []"));
  const exit_status status = co_await job.process().wait();
  CHECK(status.is_success());
}

CO_TEST("inspection: a worker that executes another program gets no signal", "[integration]") {
  const std::string python = test::torch_python();
  if (python.empty()) co_return;
  stage job(python);
  co_await job.start("exec");
  job.await_out("ready");
  const std::string name = fmt::format("/proc/{}/comm", job.process().pid());
  CHECK(test::comes_true([&] { return test::file_text(name) == "sleep\n"; }));
  const worker_inspection found = co_await job.inspect();
  CHECK(found.stacks.empty());
  CHECK_FALSE(found.is_silent);
  REQUIRE(found.facts);
  co_await job.end();
}

CO_TEST("inspection: a user's sitecustomize runs as before", "[integration]") {
  const std::string python = test::torch_python();
  if (python.empty()) co_return;
  stage job(python);
  std::filesystem::create_directory(job.path("own"));
  std::ofstream(job.path("own/sitecustomize.py"))
      << "import os, sys\nprint('own', os.environ['PYTHONPATH'] in sys.path, flush=True)\n";
  std::vector<std::string> environment;
  environment.push_back("PYTHONPATH=" + job.path("own"));
  co_await job.start("sleep", std::move(environment));
  CHECK(has_text(job.await_out("ready"), "own True"));
  co_await job.end();
}

CO_TEST("inspection: a server that is none of PyTorch's costs a bounded time", "[integration]") {
  const std::string python = test::torch_python();
  if (python.empty()) co_return;
  const std::string mode = GENERATE("endless", "never", "nonsense");
  CAPTURE(mode);
  stage job(python);
  co_await job.start(mode);
  job.await_out("ready");
  const worker_inspection found = co_await job.find(
      [&](const worker_inspection& look) {
        // Python itself still shows where it is.
        return has_text(look.stacks, "in serve") && look.is_silent == (mode == "never");
      },
      400ms);
  CHECK(found.recorders.empty());
  co_await job.end();
}

}  // namespace inspection_test

}  // namespace
}  // namespace elastic
