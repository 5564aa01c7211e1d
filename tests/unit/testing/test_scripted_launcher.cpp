// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Processes that are objects of a test.

#include <elastic/process/child.hpp>
#include <elastic/testing/scripted_launcher.hpp>
#include <support/asio.hpp>
#include <support/catch.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <csignal>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace scripted_launcher_tests {

using namespace std::chrono_literals;
using elastic::child;
using elastic::exit_status;
using elastic::process_spec;
using elastic::task;
using elastic::testing::scripted_launcher;
using process = scripted_launcher::process;

/// A process of this launcher.
task<std::unique_ptr<child>> start(scripted_launcher& launcher) {
  process_spec spec;
  spec.program = "/usr/bin/trainer";
  spec.environment = {"LOCAL_RANK=3"};
  return launcher.launch(std::move(spec));
}

TIME_TEST("scripted launcher: a process runs until the test ends it", "[testing]") {
  scripted_launcher launcher;
  task<std::unique_ptr<child>> starting = start(launcher);
  const std::unique_ptr<child> held = co_await std::move(starting);
  CHECK(launcher.running() == 1);
  CHECK(launcher.started.at(0)->spec.program == "/usr/bin/trainer");
  CHECK(launcher.started.at(0)->local_rank() == 3);
  CHECK(launcher.started.at(0)->variable("RANK") == "<not set>");
  launcher.started.at(0)->exit(5);
  launcher.started.at(0)->exit(6);
  const exit_status end = co_await held->wait();
  CHECK(end == exit_status::exited(5));
  CHECK_FALSE(launcher.all_gone());
  co_await held->end_tree();
  CHECK(launcher.all_gone());
  CHECK(*launcher.notes == std::vector<std::string>{"start 0", "end 0: exit code 5", "gone 0"});
}

TIME_TEST("scripted launcher: a process reacts to a signal as it was told to", "[testing]") {
  scripted_launcher launcher;
  exit_status expected = exit_status::signalled(SIGTERM);
  SECTION("it dies of it") {}
  SECTION("it exits") {
    launcher.on_start = [](process& started) { started.on_signal = process::exit_with(7); };
    expected = exit_status::exited(7);
  }
  SECTION("it exits later") {
    launcher.on_start = [&time](process& started) {
      started.on_signal = process::exit_after(time, 20s);
    };
    expected = exit_status::exited(0);
  }
  task<std::unique_ptr<child>> starting = start(launcher);
  const std::unique_ptr<child> held = co_await std::move(starting);
  CHECK(held->signal(SIGTERM));
  const exit_status end = co_await held->wait();
  CHECK(end == expected);
  CHECK_FALSE(held->signal(SIGTERM));
  CHECK(launcher.started[0]->signals == std::vector<int>{SIGTERM});
}

TIME_TEST("scripted launcher: a signal that is ignored is seen, SIGKILL ends", "[testing]") {
  scripted_launcher launcher;
  launcher.on_start = [](process& started) { started.on_signal = process::ignore(SIGTERM); };
  task<std::unique_ptr<child>> starting = start(launcher);
  const std::unique_ptr<child> held = co_await std::move(starting);
  held->signal(SIGTERM);
  CHECK(launcher.running() == 1);
  held->signal(SIGCONT);
  CHECK(launcher.started[0]->continued);
  held->signal(SIGKILL);
  const exit_status end = co_await held->wait();
  CHECK(end == exit_status::signalled(SIGKILL));
  CHECK(launcher.started[0]->signals == std::vector<int>{SIGTERM, SIGKILL});
}

TIME_TEST("scripted launcher: who lets go of a process kills it", "[testing]") {
  scripted_launcher launcher;
  {
    task<std::unique_ptr<child>> starting = start(launcher);
    const std::unique_ptr<child> held = co_await std::move(starting);
  }
  CHECK(launcher.running() == 0);
}

TIME_TEST("scripted launcher: a start fails, or waits, as the test says", "[testing]") {
  scripted_launcher launcher;
  launcher.let_go();
  launcher.hold_at = 0;
  bool has_started = false;
  bool has_failed = false;
  const auto begin = [&] {
    asio::co_spawn(time.context(), start(launcher),
                   [&](std::exception_ptr failure, std::unique_ptr<child>) {
                     has_started = failure == nullptr;
                     has_failed = failure != nullptr;
                   });
  };
  begin();
  co_await time.sleep_until(time.now() + 1h);
  CHECK(launcher.holding == 1);
  CHECK_FALSE(has_started);
  launcher.let_go();
  co_await time.sleep_until(time.now() + 1s);
  CHECK(has_started);
  CHECK(launcher.holding == 0);
  launcher.on_start = [](process&) { throw std::runtime_error("no room"); };
  begin();
  co_await time.sleep_until(time.now() + 1s);
  CHECK(has_failed);
  CHECK(launcher.started.size() == 1);
}

}  // namespace scripted_launcher_tests
