// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Jobs in which one system call fails: each call of the seam, with each error that it may return,
// at its first and at its last use. However the job ends, nothing of it is left, and it succeeds
// only if its workers did.

#include <elastic/agent/local_agent.hpp>
#include <elastic/base/detail/internals.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/error.hpp>
#include <elastic/launch/launcher.hpp>
#include <elastic/process/detail/syscalls.hpp>
#include <elastic/process/guarded_launcher.hpp>
#include <elastic/process/pidfd_launcher.hpp>
#include <support/catch.hpp>
#include <support/leftovers.hpp>
#include <support/log_recorder.hpp>
#include <support/run_program.hpp>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <exception>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace elastic {
namespace {

namespace failing_calls_test {

using namespace std::chrono_literals;
using detail::syscalls;

/// How often a call was made, and which of these is to fail.
struct failing_call {
  int made = 0;
  int fails_at = 0;
  int error = 0;
};

// Written between clone and exec, too, in the memory of this process. One job at a time.
failing_call calls_of[32];

/// A function of the table that fails once.
template <int Index, auto Member, class Result, class... Arguments>
ELASTIC_RUNS_IN_CHILD Result count_or_fail(Arguments... arguments) {
  failing_call& call = calls_of[Index];
  if (++call.made != call.fails_at) return (detail::real_syscalls.*Member)(arguments...);
  errno = call.error;
  return -1;
}

/// One row of the matrix.
struct seam_call {
  const char* name;
  std::vector<int> errors;
};

template <int Index, auto Member, class Result, class... Arguments>
void replace(syscalls& table, Result (*)(Arguments...)) {
  table.*Member = count_or_fail<Index, Member, Result, Arguments...>;
}

template <int Index, auto Member>
void replace(syscalls& table) {
  replace<Index, Member>(table, detail::real_syscalls.*Member);
}

const std::vector<seam_call>& seam_calls() {
  static const std::vector<seam_call> rows = {
      {"clone", {EAGAIN, ENOMEM, EPERM, ENOSYS}},
      {"waitid", {EINTR}},
      {"pidfd_open", {EMFILE, ENFILE, ENOMEM, ENOSYS, EPERM}},
      {"pidfd_send_signal", {ESRCH, EPERM, ENOSYS, EINVAL}},
      {"kill", {ESRCH, EPERM}},
      {"set_session", {EPERM}},
      {"die_with_parent", {EINVAL, EPERM}},
      {"change_directory", {ENOENT, EACCES, ESTALE}},
      {"duplicate", {EMFILE, EINVAL}},
      {"duplicate_to", {EBUSY, EMFILE, EINTR}},
      {"keep_at_exec", {EBADF}},
      {"close_range", {ENOSYS, EPERM, EINVAL}},
      {"execute", {ENOENT, EACCES, ETXTBSY, ENOMEM, E2BIG, EIO}},
      {"execute_open", {ENOENT, EACCES, ENOMEM, E2BIG}},
  };
  return rows;
}

const syscalls& counting_calls() {
  static const syscalls table = [] {
    syscalls replaced = detail::real_syscalls;
    replace<0, &syscalls::clone>(replaced);
    replace<1, &syscalls::waitid>(replaced);
    replace<2, &syscalls::pidfd_open>(replaced);
    replace<3, &syscalls::pidfd_send_signal>(replaced);
    replace<4, &syscalls::kill>(replaced);
    replace<5, &syscalls::set_session>(replaced);
    replace<6, &syscalls::die_with_parent>(replaced);
    replace<7, &syscalls::change_directory>(replaced);
    replace<8, &syscalls::duplicate>(replaced);
    replace<9, &syscalls::duplicate_to>(replaced);
    replace<10, &syscalls::keep_at_exec>(replaced);
    replace<11, &syscalls::close_range>(replaced);
    replace<12, &syscalls::execute>(replaced);
    replace<13, &syscalls::execute_open>(replaced);
    return replaced;
  }();
  return table;
}

enum class way { plain, guarded };

/// A job of two workers, of which one fails at first while the other has to be stopped. Then both
/// leave a file.
struct job {
  explicit job(way how) : way_of_start(how) {
    config.workers.program = "/bin/sh";
    config.workers.arguments = {
        "-c",
        fmt::format("if [ $TORCHELASTIC_RESTART_COUNT = 0 ]; then [ $RANK = 0 ] && exit 1; exec "
                    "sleep 1000; fi; : > {}/done.$RANK",
                    folder.path())};
    config.workers.nproc_per_node = 2;
    config.workers.max_restarts = 1;
    config.workers.directory = folder.path();
    config.workers.log_dir = "/dev/null";
    config.workers.shutdown_timeout = 100ms;
    config.workers.environment[remains.name] = remains.value;
    config.standalone = true;
  }

  /// Result: whether it succeeded. What it threw or said goes to `outcome`.
  bool run() {
    asio::io_context context(1);
    agent_services services;
    services.log = log->log();
    if (way_of_start == way::plain) {
      pidfd_launcher::options options;
      options.parent = context.get_executor();
      services.launcher = detail::internals::make<pidfd_launcher>(context.get_executor(), options,
                                                           counting_calls());
    } else {
      guarded_launcher::options options;
      options.policy = guard_policy::best_effort;
      options.unguarded.parent = context.get_executor();
      options.log = services.log;
      services.launcher =
          detail::internals::make<guarded_launcher>(context.get_executor(), options,
                                                    counting_calls());
    }
    bool has_ended = false;
    bool has_succeeded = false;
    const auto agent = make_agent(config, services);
    asio::co_spawn(context, agent->run(), [&](std::exception_ptr thrown, run_result result) {
      has_ended = true;
      try {
        if (thrown) std::rethrow_exception(thrown);
        has_succeeded = result.state == worker_state::succeeded;
        outcome = result.reason;
      } catch (const error& failure) {
        outcome = failure.what();
      }
    });
    context.run_for(300s);
    if (!has_ended) FAIL("the job did not end in time; its log:\n" << log->text());
    CHECK(context.stopped());
    return has_succeeded;
  }

  bool is_done() const {
    return std::filesystem::exists(folder / "done.0") && std::filesystem::exists(folder / "done.1");
  }

  way way_of_start;
  test::temporary_directory folder;
  test::leftovers remains;
  launch_config config;
  std::shared_ptr<test::log_recorder> log = std::make_shared<test::log_recorder>();
  std::string outcome;
};

/// Runs a job in which the call fails, and checks its end. Result: how often the call was made.
int check(way how, std::size_t index, int fails_at, int error) {
  for (failing_call& call : calls_of) call = {};
  calls_of[index].fails_at = fails_at;
  calls_of[index].error = error;
  job current(how);
  const bool has_succeeded = current.run();
  const int made = calls_of[index].made;
  INFO(fmt::format("{} {}, call {} of {} fails by {}: {}; its log:\n{}",
                   how == way::plain ? "plain" : "guarded", seam_calls()[index].name, fails_at,
                   made, errno_text(error), current.outcome, current.log->text()));
  // What it leaves: files if and only if it succeeded, and nothing else.
  CHECK((!has_succeeded || current.is_done()));
  CHECK_FALSE(current.outcome.empty());
  CHECK(current.remains.processes_become(0));
  CHECK_FALSE(test::leftovers::has_children());
  CHECK(current.remains.descriptors() == 0);
  return made;
}

}  // namespace failing_calls_test

namespace t = failing_calls_test;

TEST_CASE("failing calls: a job in which one fails ends, and leaves nothing", "[agent]") {
  for (const t::way how : {t::way::plain, t::way::guarded}) {
    t::job plain(how);
    for (t::failing_call& call : t::calls_of) call = {};
    REQUIRE(plain.run());
    REQUIRE(plain.is_done());
    int made[std::size(t::calls_of)];
    for (std::size_t i = 0; i < std::size(made); ++i) made[i] = t::calls_of[i].made;
    for (std::size_t index = 0; index < t::seam_calls().size(); ++index) {
      for (const int error : t::seam_calls()[index].errors) {
        if (made[index] > 0) t::check(how, index, 1, error);
        if (made[index] > 1) t::check(how, index, made[index], error);
      }
    }
  }
}

}  // namespace
}  // namespace elastic
