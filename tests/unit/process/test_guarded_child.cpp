// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/process/detail/guarded_child.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/when_all.hpp>
#include <elastic/process/guarded_launcher.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>
#include <support/log_recorder.hpp>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace guarded_child_tests {

using elastic::exit_status;
using elastic::task;
using elastic::detail::guard_message;
using elastic::detail::guard_news;
using elastic::detail::guard_stage;
using elastic::detail::guarded_child;
using elastic::detail::spawn_request;
using elastic::detail::spawn_result;
using elastic::detail::spawn_stage;
using elastic::detail::unique_fd;

elastic::detail::syscalls without_processes() {
  elastic::detail::syscalls calls = elastic::detail::real_syscalls;
  calls.pidfd_send_signal = [](int, int, unsigned) {
    errno = ESRCH;
    return -1;
  };
  calls.waitid = [](idtype_t, id_t, siginfo_t*, int) { return 0; };
  return calls;
}

/// A guarded child whose guard is the test.
class guard_stage_of {
 public:
  guard_stage_of() {
    int sockets[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0);
    guard_ = unique_fd(sockets[1]);
    const int pidfd = ::eventfd(0, EFD_CLOEXEC);
    worker_end_ = unique_fd(::dup(pidfd));
    worker = std::make_unique<guarded_child>(
        context.get_executor(), 4711, unique_fd(pidfd),
        asio::posix::stream_descriptor(context, sockets[0]),
        asio::posix::stream_descriptor(context, ::eventfd(1, EFD_CLOEXEC)), elastic::logger(),
        calls());
  }

  void tell(guard_news news, int value) {
    const guard_message message{news, value, guard_stage::execute, 0, {}};
    REQUIRE(::send(guard_.get(), &message, sizeof message, 0) == sizeof message);
  }

  /// The kernel says that the worker has ended; the guard does not.
  void end_worker() { REQUIRE(::eventfd_write(worker_end_.get(), 1) == 0); }

  void wait_for_end() {
    asio::co_spawn(context, note_end(), [](std::exception_ptr) {});
  }

  void end_tree() {
    asio::co_spawn(context, worker->end_tree(),
                   [this](std::exception_ptr failure) { is_tree_gone = !failure; });
  }

  asio::io_context context;
  std::unique_ptr<guarded_child> worker;
  std::optional<exit_status> status;
  bool is_tree_gone = false;

 private:
  static const elastic::detail::syscalls& calls() {
    static const elastic::detail::syscalls table = without_processes();
    return table;
  }

  task<void> note_end() { status = co_await worker->wait(); }

  unique_fd guard_;
  unique_fd worker_end_;
};

TEST_CASE("guarded child: a signal that reads the end first does not keep it from its waiter",
          "[process]") {
  guard_stage_of stage;
  stage.wait_for_end();
  stage.context.poll();
  REQUIRE_FALSE(stage.status);
  stage.tell(guard_news::ended, 7 << 8);
  CHECK_FALSE(stage.worker->signal(15));
  stage.context.poll();
  REQUIRE(stage.status);
  CHECK(*stage.status == exit_status::exited(7));
}

TEST_CASE("guarded child: an answer that comes while this process is kept waiting counts",
          "[process]") {
  guard_stage_of stage;
  stage.wait_for_end();
  stage.context.poll();
  stage.end_worker();
  stage.context.poll();
  stage.context.run_one();  // until the silence has lasted too long
  REQUIRE_FALSE(stage.status);
  stage.tell(guard_news::ended, 0);
  stage.context.poll();
  REQUIRE(stage.status);
  CHECK(stage.status->is_success());
}

TEST_CASE("guarded child: a signal that reads the end of the tree does not keep it from its waiter",
          "[process]") {
  guard_stage_of stage;
  stage.wait_for_end();
  stage.end_tree();
  stage.context.poll();
  stage.tell(guard_news::ended, 0);
  stage.tell(guard_news::empty, 0);
  CHECK_FALSE(stage.worker->signal(15));
  stage.context.poll();
  REQUIRE(stage.status);
  CHECK(stage.status->is_success());
  CHECK(stage.is_tree_gone);
}

TEST_CASE("guarded child: what is not an end leaves its waiter waiting", "[process]") {
  guard_stage_of stage;
  stage.wait_for_end();
  stage.context.poll();
  stage.tell(guard_news::stuck, 4712);
  CHECK_FALSE(stage.worker->signal(15));
  stage.context.poll();
  CHECK_FALSE(stage.status);
  stage.tell(guard_news::ended, 9);
  stage.context.poll();
  REQUIRE(stage.status);
  CHECK(*stage.status == exit_status::signalled(9));
}

TEST_CASE("guarded child: a guard that does not tell of the end is given up", "[process]") {
  guard_stage_of stage;
  stage.wait_for_end();
  stage.end_worker();
  stage.context.run_for(elastic::limits::guard_silence / 2);
  CHECK_FALSE(stage.status);
  stage.context.run_for(elastic::limits::guard_silence * elastic::limits::guard_silences);
  REQUIRE(stage.status);
  CHECK(*stage.status == exit_status::guard_lost());
}

TEST_CASE("guarded child: a guard that tells of the end late is heard", "[process]") {
  guard_stage_of stage;
  stage.wait_for_end();
  stage.end_worker();
  stage.context.run_for(elastic::limits::guard_silence / 2);
  stage.tell(guard_news::ended, 3 << 8);
  stage.context.run_for(elastic::limits::guard_silence * elastic::limits::guard_silences);
  REQUIRE(stage.status);
  CHECK(*stage.status == exit_status::exited(3));
}

CO_TEST("guarded launcher: a start that hangs can be cancelled", "[process]") {
  const auto executor = co_await asio::this_coro::executor;
  const auto records = std::make_shared<elastic::test::log_recorder>();
  // It never tells whether its worker runs, since nobody reads what it writes.
  elastic::guarded_launcher::options options;
  options.guard_file = "/usr/bin/yes";
  options.log = records->log();
  int output[2];
  REQUIRE(::pipe2(output, O_CLOEXEC) == 0);
  const unique_fd read_end(output[0]);
  const unique_fd write_end(output[1]);
  elastic::guarded_launcher launcher(executor, options);
  elastic::process_spec spec;
  spec.program = "/bin/true";
  spec.stdout_fd = write_end.get();
  asio::cancellation_signal cancel;
  std::exception_ptr failure;
  bool has_ended = false;
  const auto launch = [](elastic::guarded_launcher& guard_launcher,
                         elastic::process_spec worker_spec) -> task<void> {
    co_await guard_launcher.launch(worker_spec);
  };
  asio::co_spawn(executor, launch(launcher, spec),
                 asio::bind_cancellation_slot(cancel.slot(), [&](std::exception_ptr thrown) {
                   failure = thrown;
                   has_ended = true;
                 }));
  co_await asio::post(executor, asio::use_awaitable);
  cancel.emit(asio::cancellation_type::terminal);
  while (!has_ended) co_await asio::post(executor, asio::use_awaitable);
  REQUIRE(failure);
  CHECK_THROWS_AS(std::rethrow_exception(failure), elastic::detail::asio_system_error);
  CHECK(records->has("'/bin/true' hangs in the kernel"));
}

/// Another process, which must not execute the first file that it gets, and whose guards are only
/// their greeting. No start hears of that before all of them have asked.
class forbidding_spawner final : public elastic::guard_spawner {
 public:
  explicit forbidding_spawner(std::size_t starts) : starts_(starts) {}

  /// How often a file was tried, by its name.
  std::map<std::string, std::size_t> tries;

 private:
  task<std::optional<spawn_result>> spawn(spawn_request request) override {
    const auto executor = co_await asio::this_coro::executor;
    const std::string name = request.path;
    const ino_t file = number_of(request.program);
    if (asked_++ == 0) forbidden_ = file;
    ++tries[name];
    while (asked_ < starts_) co_await asio::post(executor, asio::use_awaitable);
    CHECK(request.path == name);
    CHECK(number_of(request.program) == file);
    spawn_result result;
    if (file == forbidden_) {
      result.failure = EACCES;
      result.stage = spawn_stage::execute;
    } else {
      const guard_message greeting{guard_news::started, 4711, guard_stage::execute, 0, {}};
      CHECK(::send(request.passed[0], &greeting, sizeof greeting, 0) == sizeof greeting);
      result.pidfd = ::eventfd(1, EFD_CLOEXEC);
    }
    co_return result;
  }

  static ino_t number_of(int file) {
    struct stat found{};
    CHECK(::fstat(file, &found) == 0);
    return found.st_ino;
  }

  std::size_t starts_;
  std::size_t asked_ = 0;
  ino_t forbidden_ = 0;
};

CO_TEST("guarded launcher: starts that fail together with one file try the next one", "[process]") {
  constexpr std::size_t starts = 6;
  const auto spawner = std::make_shared<forbidding_spawner>(starts);
  elastic::guarded_launcher::options options;
  options.spawner = spawner;
  elastic::guarded_launcher launcher(co_await asio::this_coro::executor, options);
  elastic::process_spec spec;
  spec.program = "/bin/true";
  std::size_t started = 0;
  const auto launch = [&]() -> task<void> {
    const std::unique_ptr<elastic::child> worker = co_await launcher.launch(spec);
    started += worker ? 1 : 0;
  };
  std::vector<task<void>> launches;
  for (std::size_t count = 0; count < starts; ++count) launches.push_back(launch());
  co_await elastic::when_all(std::move(launches));
  CHECK(started == starts);
  REQUIRE(spawner->tries.size() == 2);
  for (const auto& [name, tries] : spawner->tries) CHECK(tries == starts);
}

TEST_CASE("guarded launcher: a start that its context drops leaves no process", "[process]") {
  elastic::process_spec spec;
  spec.program = "/bin/sleep";
  spec.arguments = {"100"};
  for (int handlers = 0; handlers < 8; ++handlers) {
    CAPTURE(handlers);
    auto context = std::make_unique<asio::io_context>();
    elastic::guarded_launcher launcher(context->get_executor());
    asio::co_spawn(*context, launcher.launch(spec),
                   [](std::exception_ptr, std::unique_ptr<elastic::child>) {});
    for (int count = 0; count < handlers; ++count) {
      context->run_one_for(std::chrono::milliseconds(20));
    }
    context.reset();
    CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
  }
}

}  // namespace guarded_child_tests
