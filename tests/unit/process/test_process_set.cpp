// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/base/as_error_code.hpp>
#include <elastic/base/asio.hpp>
#include <elastic/base/detail/concurrent_run.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/error.hpp>
#include <elastic/launch/launcher.hpp>
#include <elastic/nodes/detail/rendezvous_message.hpp>
#include <elastic/process/detail/file_tail.hpp>
#include <elastic/process/process_set.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>
#include <support/error_of.hpp>
#include <support/log_recorder.hpp>
#include <support/manual_time.hpp>
#include <support/run_program.hpp>
#include <support/thread_count.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace elastic {
namespace {

using namespace std::chrono_literals;
using test::manual_time;

TEST_CASE("process_set: the tail of a file that is none is empty, and is not waited for",
          "[process]") {
  const test::temporary_directory folder;
  const std::string fifo = folder / "stderr.log";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  CHECK(detail::read_file_tail(fifo).empty());
  CHECK(detail::read_file_tail(folder / "missing").empty());
  CHECK(detail::read_file_tail(folder.path()).empty());
}

// The behaviour of a process of these tests, and what was done to it.
struct set_act {
  explicit set_act(asio::any_io_executor executor)
      : end_event(executor), tree_gone_event(executor) {}

  void end(exit_status how) {
    status = how;
    end_event.set();
  }

  std::optional<exit_status> status;
  event_flag end_event;
  event_flag tree_gone_event;
  std::vector<int> signals;
  // Those of them that were for the process alone, and those for what it has started.
  std::vector<int> alone;
  std::vector<int> others;
  // Ends by a signal that it does not ignore.
  std::vector<int> ignored_signals;
  bool tree_stays = false;
  bool tree_fails = false;
  bool wait_fails = false;
  int tree_ends = 0;
  bool is_destroyed = false;
};

class set_child final : public child {
 public:
  set_child(std::shared_ptr<set_act> act, pid_t pid) : act_(std::move(act)), pid_(pid) {}
  ~set_child() override { act_->is_destroyed = true; }

  pid_t pid() const noexcept override { return pid_; }

  bool signal(int number) noexcept override {
    const bool runs = !act_->status;
    act_->signals.push_back(number);
    const auto& ignored_signals = act_->ignored_signals;
    const bool is_harmless = number == SIGCONT || number == SIGUSR1 ||
                             std::count(ignored_signals.begin(), ignored_signals.end(), number) > 0;
    if (!is_harmless && runs) act_->end(exit_status::signalled(number));
    return runs;
  }

  bool signal_process(int number) noexcept override {
    act_->alone.push_back(number);
    return signal(number);
  }

  void signal_others(int number) noexcept override { act_->others.push_back(number); }

  task<exit_status> wait() override {
    if (act_->wait_fails) throw std::runtime_error("no way to wait");
    co_await act_->end_event.wait();
    co_return *act_->status;
  }

  task<void> end_tree() override {
    ++act_->tree_ends;
    if (act_->tree_fails) throw std::runtime_error("the tree stands");
    signal(SIGKILL);
    if (act_->tree_stays) co_await act_->tree_gone_event.wait();
  }

 private:
  std::shared_ptr<set_act> act_;
  pid_t pid_;
};

class set_launcher final : public process_launcher {
 public:
  explicit set_launcher(asio::any_io_executor executor) : executor_(std::move(executor)) {}

  task<std::unique_ptr<child>> launch(process_spec spec) override {
    if (spec.program == "missing") throw error(errc::program_not_found, "no program 'missing'");
    auto act = std::make_shared<set_act>(executor_);
    if (prepare) prepare(*act);
    acts.push_back(act);
    co_return std::make_unique<set_child>(act, 1000 + static_cast<pid_t>(acts.size()));
  }

  std::vector<std::shared_ptr<set_act>> acts;
  std::function<void(set_act&)> prepare;

 private:
  asio::any_io_executor executor_;
};

struct set_world {
  explicit set_world(manual_time& clock, process_set::services parts = {})
      : launcher(std::make_shared<set_launcher>(clock.context().get_executor())),
        set(clock.context().get_executor(), services(clock, std::move(parts))) {}

  process_set::services services(manual_time& clock, process_set::services parts) const {
    parts.launcher = launcher;
    // Not owned: the clock outlives the world.
    parts.time = std::shared_ptr<time_source>(std::shared_ptr<void>(), &clock);
    return parts;
  }
  set_act& act(std::size_t number) { return *launcher->acts.at(number); }

  std::shared_ptr<set_launcher> launcher;
  process_set set;
};

task<void> start_several(process_set& set, std::size_t count) {
  const process_set::process worker;
  for (std::size_t i = 0; i < count; ++i) co_await set.start(i, worker);
}

stop_plan set_plan(int signal, duration grace) {
  stop_plan plan;
  plan.signal = signal;
  plan.grace = grace;
  return plan;
}

// With g++ 12 only: see named.
template <class Set>
concept takes_a_temporary = requires(Set& set) { set.start(0, process_set::process{}); };
static_assert(takes_a_temporary<process_set> ==
              std::is_same_v<named<process_set::process>, const process_set::process&>);

TIME_TEST("process_set: tells the ends in the order of time", "[process]") {
  set_world world(time);
  co_await start_several(world.set, 3);
  CHECK(world.set.running() == 3);
  CHECK(world.set.pid(1) == 1002);
  world.act(2).end(exit_status::exited(0));
  const process_set::process_end first_end = co_await world.set.next_end();
  CHECK(first_end.index == 2);
  CHECK(first_end.pid == 1003);
  CHECK(first_end.status.is_success());
  CHECK(first_end.time == time.now());
  CHECK(first_end.wall == time.wall_now());
  CHECK(world.set.running() == 2);

  co_await time.sleep_until(time.now() + 1s);
  world.act(0).end(exit_status::exited(3));
  co_await time.sleep_until(time.now() + 1s);
  world.act(1).end(exit_status::signalled(SIGSEGV));
  co_await time.sleep_until(time.now() + 1s);
  const process_set::process_end second_end = co_await world.set.next_end();
  const process_set::process_end third_end = co_await world.set.next_end();
  CHECK(second_end.index == 0);
  CHECK(second_end.status.code() == 3);
  CHECK(third_end.index == 1);
  CHECK(third_end.time == second_end.time + 1s);
  CHECK(world.set.running() == 0);
  co_await world.set.stop(stop_plan());
}

TIME_TEST("process_set: a cancelled wait for an end loses none", "[process]") {
  set_world world(time);
  co_await start_several(world.set, 1);
  const auto early_end = co_await with_deadline(time, time.now() + 5s, world.set.next_end());
  CHECK_FALSE(early_end);
  world.act(0).end(exit_status::exited(1));
  const auto end = co_await with_deadline(time, time.now() + 5s, world.set.next_end());
  REQUIRE(end);
  CHECK(end->status.code() == 1);
  co_await world.set.stop(stop_plan());
}

TIME_TEST("process_set: all that takes time takes a completion token", "[process]") {
  set_world world(time);
  std::vector<std::string> done;
  const auto note = [&](std::string what) {
    return [&done, what = std::move(what)](std::exception_ptr failure) {
      done.push_back(what + (failure ? " fails" : ""));
    };
  };
  const process_set::process worker;
  world.set.async_start(0, worker, note("start"));
  world.set.async_start(1, worker, note("start"));
  co_await time.sleep_until(time.now() + 1s);
  world.set.async_next_end([&](std::exception_ptr, process_set::process_end end) {
    done.push_back("end of " + std::to_string(end.index));
  });
  world.act(1).end(exit_status::exited(0));
  co_await time.sleep_until(time.now() + 1s);
  world.set.async_clear(1, note("clear"));
  world.set.async_start(0, worker, as_error_code([&](std::error_code code) {
                          done.push_back(code == errc::invalid_argument ? "refused" : "?");
                        }));
  co_await time.sleep_until(time.now() + 1s);
  world.set.async_stop(set_plan(SIGTERM, 1h), note("stop"));
  co_await time.sleep_until(time.now() + 1s);
  std::sort(done.begin() + 3, done.begin() + 5);
  CHECK(done == std::vector<std::string>{"start", "start", "end of 1", "clear", "refused", "stop"});
}

TIME_TEST("process_set: a cancelled token ends the wait for an end, and loses none", "[process]") {
  set_world world(time);
  co_await start_several(world.set, 1);
  asio::cancellation_signal cancel;
  bool is_aborted = false;
  auto handler = [&](std::exception_ptr failure, const process_set::process_end&) {
    try {
      if (failure) std::rethrow_exception(failure);
    } catch (const detail::asio_system_error& thrown) {
      is_aborted = thrown.code() == asio::error::operation_aborted;
    }
  };
  world.set.async_next_end(asio::bind_cancellation_slot(cancel.slot(), std::move(handler)));
  co_await time.sleep_until(time.now() + 1s);
  cancel.emit(asio::cancellation_type::partial);
  co_await time.sleep_until(time.now() + 1s);
  CHECK(is_aborted);
  world.act(0).end(exit_status::exited(1));
  const process_set::process_end end = co_await world.set.next_end();
  CHECK(end.status.code() == 1);
  co_await world.set.stop(stop_plan());
}

TIME_TEST("process_set: a signal goes to those that run, or to one of them", "[process]") {
  set_world world(time);
  co_await start_several(world.set, 3);
  world.act(1).end(exit_status::exited(0));
  co_await world.set.next_end();
  world.set.signal(SIGUSR1);
  world.set.signal(2, SIGUSR1);
  world.set.signal(1, SIGUSR1);
  world.set.signal(7, SIGUSR1);
  CHECK(world.act(0).signals == std::vector<int>{SIGUSR1});
  CHECK(world.act(1).signals.empty());
  CHECK(world.act(2).signals == std::vector<int>{SIGUSR1, SIGUSR1});
  co_await world.set.stop(set_plan(SIGKILL, 0s));
}

TIME_TEST("process_set: a stop that was begun goes on without asking twice", "[process]") {
  for (const bool same_plan : {true, false}) {
    set_world world(time);
    co_await start_several(world.set, 2);
    world.act(0).ignored_signals = {SIGTERM};
    world.act(1).ignored_signals = {SIGTERM};
    const time_point begin_time = time.now();
    world.set.begin_stop(set_plan(SIGTERM, 30s));
    const std::vector<int> first_signals{SIGTERM, SIGCONT};
    CHECK(world.act(0).signals == first_signals);
    CHECK(world.act(1).signals == first_signals);
    co_await time.sleep_until(time.now() + 10s);
    const elastic::stop_plan next_plan = set_plan(same_plan ? SIGTERM : SIGINT, 30s);
    co_await world.set.stop(next_plan);
    // The grace counts from the first request; another plan is another request.
    CHECK(world.act(0).signals[2] == (same_plan ? SIGKILL : SIGINT));
    CHECK(time.now() - begin_time == (same_plan ? 30s : 10s));
  }
}

TIME_TEST("process_set: an end can be heard of in the moment that it is seen", "[process]") {
  process_set::services services;
  std::vector<std::size_t> ended_indices;
  std::vector<bool> stop_flags;
  services.on_end = [&](const process_set::process_end& end) {
    ended_indices.push_back(end.index);
    stop_flags.push_back(end.was_stopped);
  };
  set_world world(time, services);
  co_await start_several(world.set, 3);
  world.act(1).end(exit_status::exited(0));
  co_await time.sleep_until(time.now() + 1s);
  CHECK(ended_indices == std::vector<std::size_t>{1});
  // Not before its starter can know of it, however early it ends.
  world.launcher->prepare = [](set_act& act) { act.end(exit_status::exited(1)); };
  const process_set::process brief_worker;
  co_await world.set.start(3, brief_worker);
  CHECK(ended_indices.size() == 1);
  co_await time.sleep_until(time.now() + 1s);
  CHECK(ended_indices == std::vector<std::size_t>{1, 3});
  co_await world.set.stop(set_plan(SIGTERM, 30s));
  CHECK(ended_indices.size() == 4);
  CHECK(stop_flags == std::vector<bool>{false, false, true, true});
  CHECK(world.set.take_ends().empty());
}

TIME_TEST("process_set: stop asks all at once and clears their trees", "[process]") {
  set_world world(time);
  co_await start_several(world.set, 3);
  co_await world.set.stop(set_plan(SIGINT, 30s));
  CHECK(time.elapsed() == 0s);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(world.act(i).signals.front() == SIGINT);
    CHECK(world.act(i).tree_ends == 1);
    CHECK(world.act(i).is_destroyed);
  }
  const std::vector<process_set::process_end> ends = world.set.take_ends();
  REQUIRE(ends.size() == 3);
  for (const process_set::process_end& end : ends) CHECK(end.status.signal() == SIGINT);
  CHECK(world.set.take_ends().empty());
}

TIME_TEST("process_set: a stopped process is told to go on, so that it can end", "[process]") {
  set_world world(time);
  world.launcher->prepare = [](set_act& act) { act.ignored_signals = {SIGTERM}; };
  co_await start_several(world.set, 1);
  co_await world.set.stop(set_plan(SIGTERM, 1s));
  CHECK(world.act(0).signals[0] == SIGTERM);
  CHECK(world.act(0).signals[1] == SIGCONT);
}

TIME_TEST("process_set: who ignores the question is killed when the grace is over", "[process]") {
  set_world world(time);
  world.launcher->prepare = [](set_act& act) { act.ignored_signals = {SIGTERM}; };
  co_await start_several(world.set, 2);
  co_await world.set.stop(set_plan(SIGTERM, 30s));
  CHECK(time.elapsed() == 30s);
  for (const process_set::process_end& end : world.set.take_ends()) {
    CHECK(end.status.signal() == SIGKILL);
  }
}

task<void> kill_later(manual_time& time, process_set& set, duration delay) {
  co_await time.sleep_until(time.now() + delay);
  set.kill();
}

TIME_TEST("process_set: kill makes a stop under way end at once", "[process]") {
  set_world world(time);
  world.launcher->prepare = [](set_act& act) { act.ignored_signals = {SIGTERM}; };
  co_await start_several(world.set, 2);
  bool has_killed = false;
  auto note_kill = [&](std::exception_ptr) { has_killed = true; };
  asio::co_spawn(time.context(), kill_later(time, world.set, 3s), note_kill);
  co_await world.set.stop(set_plan(SIGTERM, 30s));
  CHECK(has_killed);
  CHECK(time.elapsed() == 3s);
  CHECK(world.set.running() == 0);
}

std::string dump_of(const process_set& set) {
  std::ostringstream out;
  set.dump(out);
  return out.str();
}

TIME_TEST("process_set: a dump has what each slot does, and since when", "[process]") {
  set_world world(time);
  std::string while_starting;
  world.launcher->prepare = [&](set_act& act) {
    act.ignored_signals = {SIGTERM};
    while_starting = dump_of(world.set);
  };
  co_await start_several(world.set, 2);
  CHECK(while_starting ==
        "process_set: 1 running, 1 being started\n"
        "  slot 1: is being started for 0.0 s\n"
        "  slot 0: process 1001 runs for 0.0 s\n");
  co_await time.sleep_until(time.now() + 12s);
  CHECK(dump_of(world.set) ==
        "process_set: 2 running, 0 being started\n"
        "  slot 0: process 1001 runs for 12.0 s\n"
        "  slot 1: process 1002 runs for 12.0 s\n");
  world.act(1).end(exit_status::exited(0));
  co_await time.sleep_until(time.now() + 1s);
  world.set.begin_stop(set_plan(SIGTERM, 30s));
  co_await time.sleep_until(time.now() + 4s);
  CHECK(dump_of(world.set) ==
        "process_set: 1 running, 0 being started\n"
        "  slot 0: process 1001 runs for 17.0 s; SIGTERM was sent 4.0 s ago\n"
        "  slot 1: process 1002 has ended, and waits to be cleared for 5.0 s\n");
  co_await world.set.stop(set_plan(SIGTERM, 30s));
  CHECK(dump_of(world.set) == "process_set: 0 running, 0 being started\n");
}

TIME_TEST("process_set: a dump has what the clearing of a slot waits for", "[process]") {
  set_world world(time);
  world.launcher->prepare = [](set_act& act) { act.tree_stays = true; };
  co_await start_several(world.set, 1);
  world.act(0).end(exit_status::exited(0));
  co_await world.set.next_end();
  const bool is_cleared = co_await with_deadline(time, time.now() + 3s, world.set.clear(0));
  CHECK_FALSE(is_cleared);
  CHECK(dump_of(world.set) ==
        "process_set: 0 running, 0 being started\n"
        "  slot 0: process 1001 has ended; waits for what it left behind for 3.0 s\n");
  world.act(0).tree_gone_event.set();
  co_await world.set.clear(0);
  CHECK(dump_of(world.set) == "process_set: 0 running, 0 being started\n");
}

TIME_TEST("process_set: a place is free for the next process when it is cleared", "[process]") {
  set_world world(time);
  co_await start_several(world.set, 2);
  world.act(0).end(exit_status::exited(1));
  const process_set::process_end end = co_await world.set.next_end();
  co_await world.set.clear(end.index);
  CHECK(world.act(0).tree_ends == 1);
  CHECK(world.act(0).is_destroyed);
  co_await world.set.clear(end.index);
  co_await world.set.clear(99);
  CHECK(world.act(0).tree_ends == 1);
  const process_set::process worker;
  co_await world.set.start(end.index, worker);
  CHECK(world.set.pid(0) == 1003);
  CHECK(world.set.running() == 2);
  co_await world.set.stop(stop_plan());
  CHECK(world.set.take_ends().size() == 2);
}

TIME_TEST("process_set: clearing a place whose process runs ends it", "[process]") {
  set_world world(time);
  co_await start_several(world.set, 1);
  co_await world.set.clear(0);
  CHECK(world.set.running() == 0);
  const process_set::process_end end = co_await world.set.next_end();
  CHECK(end.status.signal() == SIGKILL);
}

TIME_TEST("process_set: a clearing whose waiter is cancelled goes on", "[process]") {
  set_world world(time);
  world.launcher->prepare = [](set_act& act) { act.tree_stays = true; };
  co_await start_several(world.set, 1);
  const bool is_cleared = co_await with_deadline(time, time.now() + 1s, world.set.clear(0));
  CHECK_FALSE(is_cleared);
  CHECK_FALSE(world.act(0).is_destroyed);
  world.act(0).tree_gone_event.set();
  co_await world.set.clear(0);
  CHECK(world.act(0).is_destroyed);
  CHECK(world.act(0).tree_ends == 1);
}

TIME_TEST("process_set: a stop asks processes alone, and what they have started at half-time",
          "[process]") {
  set_world world(time);
  world.launcher->prepare = [](set_act& act) { act.ignored_signals = {SIGTERM}; };
  co_await start_several(world.set, 1);
  const stop_plan plan = set_plan(SIGTERM, 30s);
  bool is_stopped = co_await with_deadline(time, time.now() + 14s, world.set.stop(plan));
  CHECK_FALSE(is_stopped);
  CHECK(world.act(0).alone == std::vector<int>{SIGTERM});
  CHECK(world.act(0).others.empty());
  world.set.begin_stop(plan);
  is_stopped = co_await with_deadline(time, time.now() + 16s, world.set.stop(plan));
  CHECK_FALSE(is_stopped);
  CHECK(world.act(0).others == std::vector<int>{SIGTERM, SIGCONT});
  co_await world.set.stop(set_plan(SIGKILL, 0s));
  CHECK(world.act(0).alone == std::vector<int>{SIGTERM, SIGTERM});
}

TIME_TEST("process_set: a stop with the scope group asks all at once", "[process]") {
  set_world world(time);
  world.launcher->prepare = [](set_act& act) { act.ignored_signals = {SIGTERM}; };
  co_await start_several(world.set, 1);
  stop_plan plan = set_plan(SIGTERM, 30s);
  plan.scope = signal_scope::group;
  co_await world.set.stop(plan);
  CHECK(time.elapsed() == 30s);
  CHECK(world.act(0).signals.front() == SIGTERM);
  CHECK(world.act(0).alone.empty());
  CHECK(world.act(0).others.empty());
}

TIME_TEST("process_set: a cancelled stop can be called again", "[process]") {
  set_world world(time);
  world.launcher->prepare = [](set_act& act) { act.ignored_signals = {SIGTERM}; };
  co_await start_several(world.set, 2);
  const stop_plan plan = set_plan(SIGTERM, 30s);
  const bool is_stopped = co_await with_deadline(time, time.now() + 1s, world.set.stop(plan));
  CHECK_FALSE(is_stopped);
  CHECK(world.set.running() == 2);
  co_await world.set.stop(set_plan(SIGTERM, 5s));
  CHECK(time.elapsed() == 6s);
  CHECK(world.set.running() == 0);
}

TIME_TEST("process_set: what the launcher throws comes home and leaves the place free",
          "[process]") {
  set_world world(time);
  process_set::process worker;
  worker.process.program = "missing";
  std::string message;
  try {
    co_await world.set.start(0, worker);
  } catch (const error& failure) {
    message = failure.what();
    CHECK(failure.code() == errc::program_not_found);
  }
  CHECK(message == "no program 'missing'");
  CHECK(world.set.running() == 0);
  worker.process.program = "there";
  co_await world.set.start(0, worker);
  co_await world.set.stop(stop_plan());
}

TIME_TEST("process_set: a process that cannot be awaited has an unknown end", "[process]") {
  set_world world(time);
  world.launcher->prepare = [](set_act& act) { act.wait_fails = true; };
  co_await start_several(world.set, 1);
  const process_set::process_end end = co_await world.set.next_end();
  CHECK(end.status == exit_status::unknown());
  co_await world.set.stop(stop_plan());
}

TIME_TEST("process_set: a tree that cannot be ended is an error, after all the others are",
          "[process]") {
  set_world world(time);
  co_await start_several(world.set, 3);
  world.act(1).tree_fails = true;
  std::string message;
  try {
    co_await world.set.stop(stop_plan());
  } catch (const std::runtime_error& failure) {
    message = failure.what();
  }
  CHECK(message == "the tree stands");
  for (std::size_t i = 0; i < 3; ++i) CHECK(world.act(i).is_destroyed);
  co_await world.set.clear(1);
}

TIME_TEST("process_set: its destructor kills and leaves nothing behind", "[process]") {
  std::shared_ptr<set_launcher> launcher;
  {
    set_world world(time);
    launcher = world.launcher;
    co_await start_several(world.set, 2);
    launcher->acts[1]->end(exit_status::exited(0));
    co_await world.set.next_end();
  }
  CHECK(launcher->acts[0]->signals.front() == SIGKILL);
  CHECK(launcher->acts[1]->signals.empty());
  co_await time.sleep_until(time.now() + 1s);
  CHECK(launcher->acts[0]->is_destroyed);
  CHECK(launcher->acts[1]->is_destroyed);
}

TIME_TEST("process_set: its destructor does not wait for a clearing under way", "[process]") {
  std::shared_ptr<set_launcher> launcher;
  {
    set_world world(time);
    launcher = world.launcher;
    launcher->prepare = [](set_act& act) { act.tree_stays = true; };
    co_await start_several(world.set, 1);
    const bool is_cleared = co_await with_deadline(time, time.now() + 1s, world.set.clear(0));
    CHECK_FALSE(is_cleared);
  }
  co_await time.sleep_until(time.now() + 1s);
  CHECK(launcher->acts[0]->is_destroyed);
}

// ---- what does not end --------------------------------------------------------------------------

detail::proc_snapshot sight_of(char state, std::uint64_t resident) {
  detail::proc_snapshot sight;
  sight.state = state;
  sight.waits_in = "nfs_wait";
  sight.resident = resident;
  return sight;
}

// What a wait ends with; empty if it succeeds.
task<std::string> failure_of(task<void> work) {
  try {
    co_await std::move(work);
  } catch (const error& failure) {
    CHECK(failure.code() == errc::process_stuck);
    co_return failure.what();
  }
  co_return "";
}

TEST_CASE("process sight: only one in which nothing goes on is stuck", "[process]") {
  const detail::proc_snapshot sleep_sight = sight_of('D', 4096);
  CHECK(detail::is_stuck(sleep_sight, sleep_sight));
  CHECK_FALSE(detail::is_stuck(sleep_sight, sight_of('D', 2048)));
  CHECK_FALSE(detail::is_stuck(sight_of('R', 0), sight_of('R', 0)));
  detail::proc_snapshot dump_sight = sleep_sight;
  dump_sight.dumps_core = true;
  CHECK_FALSE(detail::is_stuck(dump_sight, dump_sight));
  CHECK(sleep_sight.text() == "in uninterruptible sleep (nfs_wait)");
  CHECK(dump_sight.text() == "writing its core");
  CHECK(sight_of('R', 4096).text() == "in state R (nfs_wait), with 4 MB of memory left");
}

TIME_TEST("process_set: one that was killed and is stuck in the kernel is given up, and named",
          "[process]") {
  process_set::services parts;
  parts.killed_patience = 20s;
  detail::internals::of(parts).look = [](pid_t pid) -> std::optional<detail::proc_snapshot> {
    if (pid != 1001) return std::nullopt;
    return sight_of('D', 1);
  };
  set_world world(time, parts);
  world.launcher->prepare = [](set_act& act) { act.ignored_signals = {SIGTERM, SIGKILL}; };
  co_await start_several(world.set, 1);
  world.launcher->prepare = nullptr;
  const process_set::process worker;
  co_await world.set.start(1, worker);
  const std::string message = co_await failure_of(world.set.stop(set_plan(SIGTERM, 5s)));
  CHECK(message ==
        "process 1001 was killed and has not ended: it is in uninterruptible sleep "
        "(nfs_wait)");
  CHECK(time.elapsed() == 45s);
  CHECK(world.set.running() == 0);
  // Its place can be used again, and there is nothing left to stop.
  const std::string second_message = co_await failure_of(world.set.stop(set_plan(SIGTERM, 5s)));
  CHECK(second_message.empty());
  co_await world.set.start(0, worker);
  co_await world.set.stop(set_plan(SIGKILL, 0s));
}

TIME_TEST("process_set: one that gives back its memory is waited for", "[process]") {
  process_set::services parts;
  parts.killed_patience = 20s;
  std::uint64_t resident = 10;
  std::shared_ptr<set_act> act;
  detail::internals::of(parts).look = [&](pid_t) {
    if (resident == 0) act->end(exit_status::signalled(SIGKILL));
    return std::optional(sight_of('D', resident--));
  };
  set_world world(time, parts);
  world.launcher->prepare = [](set_act& new_act) { new_act.ignored_signals = {SIGKILL}; };
  co_await start_several(world.set, 1);
  act = world.launcher->acts[0];
  const std::string message = co_await failure_of(world.set.stop(set_plan(SIGKILL, 0s)));
  CHECK(message.empty());
  CHECK(time.elapsed() == 220s);
}

TIME_TEST("process_set: a tree that is stuck is given up, too", "[process]") {
  process_set::services parts;
  parts.killed_patience = 20s;
  detail::internals::of(parts).look = [](pid_t) { return std::optional(sight_of('D', 1)); };
  set_world world(time, parts);
  world.launcher->prepare = [](set_act& act) { act.tree_stays = true; };
  co_await start_several(world.set, 1);
  const std::string message = co_await failure_of(world.set.clear(0));
  CHECK(message ==
        "what worker 1001 left behind was killed and has not ended: process 1001 is in "
        "uninterruptible sleep (nfs_wait)");
  CHECK(time.elapsed() == 40s);
}

// ---- a file system that does not answer ---------------------------------------------------------

/// A name in a directory that behaves like a file that cannot be opened, or takes nothing.
class hanging_file {
 public:
  hanging_file() : path(folder_ / "stdout.log") { REQUIRE(::mkfifo(path.c_str(), 0600) == 0); }

  /// From now on it can be opened; it takes nothing if `is_full`.
  void open(bool is_full) {
    fifo_ = detail::unique_fd(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
    const std::string block(4096, 'x');
    while (is_full && ::write(fifo_.get(), block.data(), block.size()) > 0) {
    }
  }

  /// Now it answers.
  void release() {
    std::array<char, 4096> bytes;
    while (::read(fifo_.get(), bytes.data(), bytes.size()) > 0) {
    }
  }

 private:
  test::temporary_directory folder_;
  detail::unique_fd fifo_;

 public:
  const std::string path;
};

// With these, every file is one that may hang.
process_set::services hanging_services(std::shared_ptr<process_launcher> launcher) {
  process_set::services services;
  services.launcher = std::move(launcher);
  detail::internals::of(services).may_hang = [](const std::string&) { return true; };
  return services;
}

CO_TEST("process_set: a start whose log file hangs can be cancelled, and holds up no other",
        "[process]") {
  const auto executor = co_await asio::this_coro::executor;
  const std::ptrdiff_t thread_count = test::threads_at_first();
  hanging_file file;
  process_set set(executor, hanging_services(std::make_shared<set_launcher>(executor)));
  process_set::process hanging_worker;
  hanging_worker.out.kind = output_plan::how::file;
  hanging_worker.out.file = file.path;
  asio::cancellation_signal cancel;
  std::exception_ptr failure;
  bool has_ended = false;
  asio::co_spawn(executor, set.start(0, hanging_worker),
                 asio::bind_cancellation_slot(cancel.slot(), [&](std::exception_ptr thrown) {
                   failure = thrown;
                   has_ended = true;
                 }));
  const process_set::process other_worker;
  co_await set.start(1, other_worker);
  CHECK(set.running() == 1);
  CHECK_FALSE(has_ended);
  cancel.emit(asio::cancellation_type::terminal);
  while (!has_ended) co_await asio::post(executor, asio::use_awaitable);
  CHECK(failure);
  // Its slot is free.
  co_await set.start(0, other_worker);
  CHECK(set.running() == 2);
  co_await set.stop(set_plan(SIGKILL, 0s));
  // Else the thread would be left behind.
  file.open(false);
  CHECK(test::threads_become(thread_count));
}

TIME_TEST("process_set: a slot with a process takes no other one", "[process]") {
  set_world world(time);
  co_await start_several(world.set, 1);
  const process_set::process worker;
  const std::string refusal = co_await test::what_of(world.set.start(0, worker));
  CHECK(refusal == "process_set::start: slot 0 has process 1001; clear it first");
  CHECK(world.set.running() == 1);
  co_await world.set.clear(0);
  co_await world.set.start(0, worker);
  CHECK(world.set.pid(0) == 1002);
  world.set.kill();
  co_await world.set.stop(set_plan(SIGKILL, 0s));
}

/// Starts nothing before it is told to.
class holding_launcher final : public process_launcher {
 public:
  explicit holding_launcher(asio::any_io_executor executor) : go_on(executor), inner(executor) {}

  task<std::unique_ptr<child>> launch(process_spec spec) override {
    co_await go_on.wait();
    co_return co_await inner.launch(std::move(spec));
  }

  event_flag go_on;
  set_launcher inner;
};

CO_TEST("process_set: a slot whose process is being started takes no other one", "[process]") {
  const auto executor = co_await asio::this_coro::executor;
  const auto launcher = std::make_shared<holding_launcher>(executor);
  process_set::services services;
  services.launcher = launcher;
  process_set set(executor, services);
  const process_set::process worker;
  bool has_started = false;
  auto note = [&](std::exception_ptr failure) { has_started = !failure; };
  asio::co_spawn(executor, set.start(0, worker), note);
  while (set.starting() == 0) co_await asio::post(executor, asio::use_awaitable);
  const std::string refusal = co_await test::what_of(set.start(0, worker));
  CHECK(refusal ==
        "process_set::start: slot 0 has a process that is being started; clear it first");
  launcher->go_on.set();
  while (!has_started) co_await asio::post(executor, asio::use_awaitable);
  CHECK(set.running() == 1);
  co_await set.stop(set_plan(SIGKILL, 0s));
}

/// As a user's launcher might.
class empty_launcher final : public process_launcher {
  task<std::unique_ptr<child>> launch(process_spec) override { co_return nullptr; }
};

CO_TEST("process_set: a launcher that returns no process fails the start", "[process]") {
  const auto executor = co_await asio::this_coro::executor;
  process_set::services services;
  services.launcher = std::make_shared<empty_launcher>();
  process_set set(executor, services);
  const process_set::process worker;
  const auto failure = co_await test::error_of(set.start(0, worker));
  CHECK(failure == errc::start_failed);
  CHECK(set.running() == 0);
}

task<void> await_member(process_set& set, std::string member) {
  if (member == "next_end") {
    co_await set.next_end();
  } else if (member == "stop") {
    co_await set.stop(set_plan(SIGTERM, 1h));
  } else {
    co_await set.clear(0);
  }
}

TIME_TEST("process_set: its end ends what is awaited of it", "[process]") {
  for (const std::string member : {"next_end", "stop", "clear"}) {
    CAPTURE(member);
    auto world = std::make_unique<set_world>(time);
    world->launcher->prepare = [](set_act& act) { act.ignored_signals = {SIGTERM}; };
    co_await start_several(world->set, 1);
    world->act(0).tree_stays = true;
    std::exception_ptr failure;
    bool has_ended = false;
    auto note = [&](std::exception_ptr thrown) {
      has_ended = true;
      failure = thrown;
    };
    asio::co_spawn(time.context(), await_member(world->set, member), note);
    co_await time.sleep_until(time.now());
    REQUIRE_FALSE(has_ended);
    world.reset();
    co_await time.sleep_until(time.now());
    CHECK(has_ended);
    REQUIRE(failure);
    CHECK(detail::is_cancellation(failure));
  }
}

/// Processes that write a line to their stdout, and end when they are told to.
class writing_launcher final : public process_launcher {
 public:
  explicit writing_launcher(asio::any_io_executor executor) : executor_(std::move(executor)) {}

  task<std::unique_ptr<child>> launch(process_spec spec) override {
    constexpr std::string_view line = "one\n";
    REQUIRE(::write(spec.stdout_fd, line.data(), line.size()) == 4);
    co_return std::make_unique<set_child>(std::make_shared<set_act>(executor_), 1000);
  }

 private:
  asio::any_io_executor executor_;
};

// Time that passes at once.
class hasty_time final : public time_source {
 public:
  time_point now() const override { return now_; }
  wall_time wall_now() const override { return {}; }
  task<void> sleep_until(time_point deadline) override {
    const auto executor = co_await asio::this_coro::executor;
    // What can go on does so first.
    for (int i = 0; i < 50; ++i) co_await asio::post(executor, asio::use_awaitable);
    now_ = std::max(now_, deadline);
  }

 private:
  time_point now_{};
};

// Cannot say the time of day at first.
class broken_clock final : public time_source {
 public:
  time_point now() const override { return system_.now(); }
  wall_time wall_now() const override {
    if (!std::exchange(has_failed_, true)) throw std::runtime_error("the clock is broken");
    return system_.wall_now();
  }
  task<void> sleep_until(time_point deadline) override { return system_.sleep_until(deadline); }

 private:
  system_time system_;
  mutable bool has_failed_ = false;
};

class silent_console final : public output_sink {
  task<void> write(std::string_view) override { co_return; }
};

CO_TEST("process_set: that output cannot be copied any more is logged", "[process]") {
  const auto executor = co_await asio::this_coro::executor;
  const auto records = std::make_shared<test::log_recorder>();
  process_set::services services;
  services.launcher = std::make_shared<writing_launcher>(executor);
  services.log = records->log();
  services.time = std::make_shared<broken_clock>();
  services.console_out = std::make_shared<silent_console>();
  process_set set(executor, services);
  process_set::process worker;
  worker.out.kind = output_plan::how::copy;
  worker.out.prefix.add_time();
  co_await set.start(0, worker);
  set.kill();
  co_await set.stop(set_plan(SIGKILL, 0s));
  CHECK(records->has("the output of process 1000 is no longer read: the clock is broken",
                     log_level::warning));
}

CO_TEST("process_set: a log file that hangs is given up when nobody waits for the output",
        "[process]") {
  const auto executor = co_await asio::this_coro::executor;
  const std::ptrdiff_t thread_count = test::threads_at_first();
  hanging_file file;
  file.open(true);
  const auto records = std::make_shared<test::log_recorder>();
  process_set::services services = hanging_services(std::make_shared<writing_launcher>(executor));
  services.log = records->log();
  services.time = std::make_shared<hasty_time>();
  process_set set(executor, services);
  process_set::process hanging_worker;
  hanging_worker.out.kind = output_plan::how::copy;
  hanging_worker.out.file = file.path;
  co_await set.start(0, hanging_worker);
  set.kill();
  co_await set.stop(set_plan(SIGKILL, 0s));
  CHECK(set.running() == 0);
  CHECK(records->has(file.path, log_level::error));
  file.release();
  CHECK(test::threads_become(thread_count));
}

}  // namespace
}  // namespace elastic
