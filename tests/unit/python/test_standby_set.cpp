// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// A set of standbys whose processes the test plays: it holds the other ends of their sockets.

#include <elastic/python/detail/standby_message.hpp>
#include <elastic/python/standby_set.hpp>
#include <elastic/base/asio.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/limits.hpp>
#include <support/catch.hpp>
#include <support/fake_launcher.hpp>
#include <support/log_recorder.hpp>
#include <support/manual_time.hpp>

#include <fcntl.h>
#include <sys/socket.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <exception>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace elastic {
namespace {

namespace standby_set_test {

using namespace std::chrono_literals;
using namespace std::string_literals;
using detail::unique_fd;

std::string ready_of(pid_t pid, const std::vector<std::string>& read_variables = {}) {
  detail::standby_message message;
  message.pid = pid;
  message.variables = read_variables;
  return detail::bytes_of(message);
}

process_spec worker(const std::string& port, int local_rank = 0) {
  process_spec spec;
  spec.program = "python3";
  spec.arguments = {"-u", "train.py", "x"};
  spec.environment = {"A=1", "LOCAL_RANK=" + std::to_string(local_rank), "MASTER_PORT=" + port};
  spec.stdout_fd = 1;
  return spec;
}

class stage {
 public:
  explicit stage(std::vector<std::string> modules = {"torch"}, std::size_t count = 0,
                 bool replaces_processes = false)
      : launcher(std::make_shared<test::fake_launcher>()),
        set(make(std::move(modules), count, replaces_processes)) {
    launcher->on_start = [this](test::fake_process& process) {
      const bool is_standby = process.variable("ELASTIC_STANDBY") != "<not set>";
      sockets.emplace_back(is_standby ? ::fcntl(process.spec.stdin_fd, F_DUPFD_CLOEXEC, 3) : -1);
    };
  }
  ~stage() {
    cancel.emit(asio::cancellation_type::all);
    pass();
    asio::co_spawn(context, set.stop(), asio::detached);
    pass();
    CHECK(set.ready() == 0);
  }

  /// Lets happen what is due, and so much time go by.
  void pass(duration span = 0s) { time.run_for(span); }

  void launch(const std::string& port, int local_rank = 0) {
    launch(worker(port, local_rank));
  }
  void launch(process_spec spec) {
    child.reset();
    failure = nullptr;
    asio::co_spawn(context, set.launch(std::move(spec)),
                   asio::bind_cancellation_slot(cancel_launch.slot(),
                                                [this](std::exception_ptr thrown,
                                                       std::unique_ptr<elastic::child> new_child) {
                                                  failure = thrown;
                                                  child = std::move(new_child);
                                                }));
    pass();
  }
  void maintain(bool may_restart = true) {
    asio::co_spawn(context, set.maintain(may_restart),
                   asio::bind_cancellation_slot(cancel.slot(), asio::detached));
    pass();
  }

  /// What process `index`, a standby, says.
  void say(std::size_t index, const std::string& bytes) {
    CHECK(::send(sockets.at(index).get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(bytes.size()));
    pass();
  }
  void hang_up(std::size_t index) {
    sockets.at(index).reset();
    launcher->started.at(index)->exit(0);
    pass();
  }

  /// What it was told; with how many descriptors.
  std::pair<std::string, std::size_t> hear(std::size_t index) {
    std::string bytes(1000, '\0');
    alignas(cmsghdr) unsigned char control[256] = {};
    iovec part{bytes.data(), bytes.size()};
    msghdr packet{};
    packet.msg_iov = &part;
    packet.msg_iovlen = 1;
    packet.msg_control = control;
    packet.msg_controllen = sizeof control;
    const auto size = ::recvmsg(sockets.at(index).get(), &packet, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (size < 0) return {};
    bytes.resize(static_cast<std::size_t>(size));
    std::size_t count = 0;
    if (const cmsghdr* head = CMSG_FIRSTHDR(&packet)) {
      count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      std::vector<int> descriptors(count);
      std::memcpy(descriptors.data(), CMSG_DATA(head), count * sizeof(int));
      for (const int descriptor : descriptors) unique_fd(descriptor).reset();
    }
    return {bytes, count};
  }

  /// A worker runs as process 0, and a standby waits as process 2; 1 was the probe.
  void make_standby() {
    launch("1");
    maintain();
    pass(10s);
    say(1, ready_of(1001));
    REQUIRE(launcher->started.size() == 3);
    say(2, ready_of(1002));
    REQUIRE(set.ready() == 1);
    launcher->started[0]->exit(1);
    cancel.emit(asio::cancellation_type::all);
    pass();
    set.begin_attempt();
  }

  asio::io_context context;
  test::manual_time time{context};
  std::shared_ptr<test::log_recorder> log = std::make_shared<test::log_recorder>();
  std::shared_ptr<test::fake_launcher> launcher;
  /// The other ends, by process; none of those that are not standbys.
  std::vector<unique_fd> sockets;
  std::unique_ptr<elastic::child> child;
  std::exception_ptr failure;
  asio::cancellation_signal cancel;
  asio::cancellation_signal cancel_launch;
  /// What processes can still take.
  std::optional<std::uint64_t> available;
  /// What each process leaves that has ended.
  std::uint64_t left_by_each = 0;
  /// The processor time that the first process and all others have used.
  duration worker_time = 4s;
  duration standby_time = 0s;
  standby_set set;

 private:
  standby_set make(std::vector<std::string> modules, std::size_t count, bool replaces_processes) {
    warm_standby terms;
    terms.modules = std::move(modules);
    terms.count = count;
    standby_set::services services;
    services.replaces_processes = replaces_processes;
    services.processor_time_of = [this](pid_t pid) {
      return pid == 1000 ? worker_time : standby_time;
    };
    services.launcher = launcher;
    services.time = std::shared_ptr<time_source>(std::shared_ptr<void>(), &time);
    services.log = log->log();
    services.available_memory = [this] {
      std::optional<std::uint64_t> now = available;
      for (const auto& process : launcher->started) {
        if (now && process->tree_ended) *now += left_by_each;
      }
      return now;
    };
    services.memory_of = [](pid_t) { return std::uint64_t{100} << 20; };
    return standby_set(context.get_executor(), terms, services);
  }
};

TEST_CASE("standby_set: the second start is that of the standby", "[standby]") {
  stage job;
  job.make_standby();
  test::fake_process& probe = *job.launcher->started[1];
  CHECK(probe.spec.arguments == std::vector<std::string>{"-u", "-c", "pass"});
  CHECK(probe.variable("ELASTIC_STANDBY").ends_with(":0:0:code::"));
  CHECK(probe.tree_ended);
  test::fake_process& standby = *job.launcher->started[2];
  CHECK(standby.spec.arguments == worker("1").arguments);
  CHECK(standby.variable("ELASTIC_STANDBY").ends_with(":0:0:script:torch:train.py"));
  CHECK(standby.variable("MASTER_PORT") == "<not set>");
  CHECK(job.hear(2).first.empty());
  job.launch("2");
  CHECK_FALSE(job.child);
  CHECK(job.hear(2) == std::pair("prepare\0+MASTER_PORT=2"s, std::size_t{3}));
  job.say(2, "prepared");
  REQUIRE(job.child);
  CHECK(job.child->pid() == 1002);
  CHECK(job.hear(2) == std::pair("go"s, std::size_t{0}));
  CHECK(job.launcher->started.size() == 3);
  CHECK(standby.running());
  CHECK(job.set.ready() == 0);
}

TEST_CASE("standby_set: whatever a standby does instead leads to a cold start", "[standby]") {
  stage job;
  job.make_standby();
  std::string reason;
  SECTION("it refuses") {
    job.launch("2");
    job.say(2, "refused\0because"s);
    reason = "because";
  }
  SECTION("it says something else") {
    job.launch("2");
    job.say(2, GENERATE(ready_of(1002), "refused"s, "x"s, std::string(70'000, 'x')));
  }
  SECTION("it says too much") {
    job.launch("2");
    CHECK(::send(job.sockets[2].get(), "prepared", 8, 0) == 8);
    job.say(2, "prepared");
  }
  SECTION("it had said something before") {
    job.say(2, "prepared");
    job.launch("2");
    reason = "its standby has ended";
  }
  SECTION("it ended before") {
    job.hang_up(2);
    job.launch("2");
    reason = "its standby has ended";
  }
  SECTION("it ends meanwhile") {
    job.launch("2");
    job.hang_up(2);
  }
  SECTION("it ends meanwhile, and what it has forked keeps its socket") {
    job.launch("2");
    job.launcher->started[2]->exit(0);
    job.pass();
  }
  SECTION("it says nothing") {
    job.launch("2");
    job.pass(limits::standby_reply - 1ms);
    CHECK_FALSE(job.child);
    job.pass(1ms);
  }
  REQUIRE(job.child);
  CHECK(job.child->pid() == 1003);
  CHECK_FALSE(job.launcher->started[2]->running());
  CHECK(job.log->has("local rank 0 starts cold, because " + reason));
  CHECK(job.launcher->started[3]->variable("ELASTIC_STANDBY") == "<not set>");
  CHECK(job.hear(2).first != "go");
}

TEST_CASE("standby_set: a launch that is cancelled starts nothing", "[standby]") {
  stage job;
  job.make_standby();
  job.launch("2");
  job.cancel_launch.emit(asio::cancellation_type::all);
  job.pass();
  CHECK(job.failure);
  CHECK_FALSE(job.child);
  CHECK_FALSE(job.launcher->started[2]->running());
  CHECK(job.launcher->started.size() == 3);
}

TEST_CASE("standby_set: another program, directory or variable starts cold", "[standby]") {
  stage job;
  job.make_standby();
  process_spec other_spec = worker("2");
  other_spec.environment[0] = "A=2";
  asio::co_spawn(job.context, job.set.launch(other_spec),
                 [&](const std::exception_ptr&, std::unique_ptr<child> new_child) {
                   job.child = std::move(new_child);
                 });
  job.pass();
  REQUIRE(job.child);
  CHECK(job.child->pid() == 1003);
  CHECK(job.set.ready() == 1);
  // It is of no use any more.
  job.maintain();
  CHECK(job.set.ready() == 0);
  CHECK(job.launcher->started[2]->tree_ended);
}

TEST_CASE("standby_set: a probe that answers wrongly is the last", "[standby]") {
  stage job;
  job.launch("1");
  job.maintain();
  job.pass(10s);
  SECTION("it is another process") { job.say(1, ready_of(7)); }
  SECTION("it says something else") { job.say(1, GENERATE("prepared"s, "refused\0x"s)); }
  job.pass(1h);
  CHECK(job.launcher->started.size() == 2);
  CHECK(job.launcher->started[1]->tree_ended);
  CHECK(job.log->has("no more standbys are made"));
}

TEST_CASE("standby_set: a probe that does not answer is tried twice again", "[standby]") {
  stage job;
  job.launch("1");
  job.maintain();
  const bool hangs_up = GENERATE(true, false);
  const std::size_t answering_index = GENERATE(2, 3, 4);
  for (std::size_t index = 1; index < answering_index; ++index) {
    job.pass(10s);
    REQUIRE(job.launcher->started.size() == index + 1);
    if (hangs_up) {
      job.hang_up(index);
    } else {
      job.pass(limits::standby_probe);
    }
    CHECK(job.launcher->started[index]->tree_ended);
  }
  const bool is_off = job.log->has("no more standbys are made");
  CHECK(is_off == (answering_index == 4));
  if (is_off) return;
  job.pass(10s);
  job.say(answering_index, ready_of(static_cast<pid_t>(1000 + answering_index)));
  CHECK(job.launcher->started.size() == answering_index + 2);
}

TEST_CASE("standby_set: a probe that is killed is said to be", "[standby]") {
  stage job;
  job.launch("1");
  job.maintain();
  job.pass(10s);
  job.sockets[1].reset();
  job.launcher->started[1]->end(exit_status::signalled(SIGKILL));
  job.pass();
  CHECK(job.log->has("a standby could not be made: the probe of 'python3' ended by SIGKILL"));
}

/// Answers the next probe, and returns the index of the standby that is then made.
std::size_t begin_standby(stage& job) {
  job.pass(10s);
  const std::size_t probe = job.launcher->started.size() - 1;
  job.say(probe, ready_of(static_cast<pid_t>(1000 + probe)));
  REQUIRE(job.launcher->started.size() == probe + 2);
  return probe + 1;
}

void end_standby(stage& job, std::size_t index, exit_status how) {
  job.sockets[index].reset();
  job.launcher->started[index]->end(how);
  job.pass();
}

const std::string no_more_runs = "standbys do not run the script up to survive.prepare(): ";

TEST_CASE("standby_set: one that is killed before survive.prepare() is made again", "[standby]") {
  stage job;
  job.set.run_scripts();
  job.launch("1");
  job.maintain();
  const int kills = GENERATE(1, 2, 3);
  for (int kill = 0; kill < kills; ++kill) {
    end_standby(job, begin_standby(job), exit_status::signalled(SIGKILL));
  }
  CHECK(job.log->has(no_more_runs + "it did not come so far: it ended by SIGKILL") == (kills == 3));
  // Each one that comes so far begins the count anew.
  if (kills == 3) return;
  const std::size_t index = begin_standby(job);
  job.say(index, ready_of(static_cast<pid_t>(1000 + index)));
  CHECK(job.set.ready() == 1);
  end_standby(job, index, exit_status::signalled(SIGKILL));
  end_standby(job, begin_standby(job), exit_status::signalled(SIGKILL));
  CHECK_FALSE(job.log->has(no_more_runs));
}

TEST_CASE("standby_set: a script that ends before survive.prepare() does so again", "[standby]") {
  stage job;
  job.set.run_scripts();
  job.launch("1");
  job.maintain();
  end_standby(job, begin_standby(job), exit_status::exited(3));
  CHECK(job.log->has(no_more_runs + "it did not come so far: it ended by exit code 3"));
}

TEST_CASE("standby_set: one that only imports serves until one has run the script", "[standby]") {
  stage job;
  job.launch("1");
  job.maintain();
  const std::size_t importing = begin_standby(job);
  job.say(importing, ready_of(1002));
  job.set.run_scripts();
  const std::size_t running = begin_standby(job);
  CHECK(job.set.ready() == 1);
  CHECK(job.launcher->started[importing]->running());
  SECTION("that takes its place") {
    job.say(running, ready_of(1004));
    CHECK(job.set.ready() == 1);
    CHECK(job.launcher->started[importing]->tree_ended);
    job.pass(1h);
    CHECK(job.launcher->started.size() == running + 1);
  }
  SECTION("a process that starts before that gets it") {
    job.launcher->started[0]->exit(1);
    job.cancel.emit(asio::cancellation_type::all);
    job.pass();
    job.set.begin_attempt();
    job.launch("2");
    CHECK(job.hear(importing).first == "prepare\0+MASTER_PORT=2"s);
    job.say(importing, "prepared");
    REQUIRE(job.child);
    CHECK(job.child->pid() == 1002);
  }
  SECTION("if none comes so far, it stays") {
    end_standby(job, running, exit_status::exited(3));
    CHECK(job.log->has(no_more_runs));
    job.pass(1h);
    CHECK(job.set.ready() == 1);
    CHECK(job.launcher->started.size() == running + 1);
  }
}

TEST_CASE("standby_set: one that ends while it waits is replaced", "[standby]") {
  stage job;
  std::vector<std::string> end_texts;
  job.set.on_end([&](const exit_status& end) { end_texts.push_back(end.text()); });
  job.launch("1");
  job.maintain();
  job.pass(10s);
  job.say(1, ready_of(1001));
  job.say(2, ready_of(1002));
  REQUIRE(job.set.ready() == 1);
  SECTION("it ends") {
    job.sockets[2].reset();
    job.launcher->started[2]->end(exit_status::signalled(SIGKILL));
    job.pass();
    CHECK(end_texts == std::vector<std::string>{"SIGKILL"});
  }
  SECTION("it ends, and what it has forked keeps its socket") {
    job.launcher->started[2]->end(exit_status::signalled(SIGKILL));
    job.pass();
    CHECK(end_texts == std::vector<std::string>{"SIGKILL"});
  }
  SECTION("it says something") {
    job.say(2, "prepared");
    job.pass(limits::standby_reply);
    CHECK(end_texts.empty());
  }
  CHECK(job.set.ready() == 0);
  CHECK(job.launcher->started[2]->tree_ended);
  CHECK(job.log->has("the standby of local rank 0, process 1002, is lost"));
  job.pass(10s);
  job.say(3, ready_of(1003));
  job.say(4, ready_of(1004));
  CHECK(job.set.ready() == 1);
}

TEST_CASE("standby_set: a module that cannot be imported is left out from then on", "[standby]") {
  stage job({"torch", "bad"});
  job.launch("1");
  job.maintain();
  job.pass(10s);
  job.say(1, ready_of(1001));
  job.say(2, "dropped\0bad\0its import failed"s);
  REQUIRE(job.launcher->started.size() == 4);
  CHECK(job.launcher->started[2]->tree_ended);
  CHECK(job.log->has("standbys do not import bad: its import failed"));
  job.say(3, ready_of(1003));
  REQUIRE(job.launcher->started.size() == 5);
  CHECK(job.launcher->started[4]->variable("ELASTIC_STANDBY").ends_with(":torch:train.py"));
}

/// Notes imports in the record of a process.
void record(const test::fake_process& process, const std::string& text) {
  const std::string path = process.variable("ELASTIC_IMPORTS");
  std::ofstream(path.substr(path.find("/proc/")), std::ios::app) << text;
}

TEST_CASE("standby_set: one is made anew for what its worker imported since", "[standby]") {
  stage job{std::vector<std::string>()};
  job.launch("1");
  const test::fake_process& worker = *job.launcher->started[0];
  CHECK(worker.variable("MASTER_PORT") == "1");
  CHECK(worker.variable("ELASTIC_STANDBY") == "<not set>");
  record(worker, "a\n");
  job.maintain();
  job.pass(10s);
  job.say(1, ready_of(1001));
  CHECK(
      job.launcher->started[2]->variable("ELASTIC_STANDBY").ends_with(":2:0:script:auto:train.py"));
  job.say(2, ready_of(1002));
  job.pass(10s);
  CHECK(job.launcher->started.size() == 3);
  record(worker, "a.b\n");
  job.pass(20s);
  job.say(3, ready_of(1003));
  CHECK(
      job.launcher->started[4]->variable("ELASTIC_STANDBY").ends_with(":6:0:script:auto:train.py"));
  CHECK(job.launcher->started[2]->running());
  SECTION("it takes the place of the other one") {
    job.say(4, ready_of(1004));
    CHECK(job.set.ready() == 1);
    CHECK(job.launcher->started[2]->tree_ended);
    CHECK(job.launcher->started[4]->running());
    CHECK_FALSE(job.log->has("is lost"));
    job.pass(1h);
    CHECK(job.launcher->started.size() == 5);
  }
  SECTION("if it refuses, none imports what workers imported later") {
    job.say(4, "refused\0x"s);
    CHECK(job.set.ready() == 1);
    CHECK(job.launcher->started[2]->running());
    CHECK(job.log->has("standbys no longer import what workers imported later: x"));
    job.pass(1h);
    CHECK(job.launcher->started.size() == 5);
    CHECK_FALSE(job.log->has("no more standbys are made"));
  }
}

TEST_CASE("standby_set: what runs no hooks, or has named modules, notes nothing", "[standby]") {
  const bool is_named = GENERATE(true, false);
  stage job(is_named ? std::vector<std::string>{"torch"} : std::vector<std::string>{});
  process_spec spec = worker("1");
  if (!is_named) spec.arguments[0] = GENERATE("-I", "-uE", "-S");
  asio::co_spawn(job.context, job.set.launch(spec), [](auto, auto) {});
  job.pass();
  CHECK(job.launcher->started.at(0)->variable("ELASTIC_IMPORTS") == "<not set>");
  CHECK(job.launcher->started.at(0)->variable("PYTHONPATH") == "<not set>");
}

TEST_CASE("standby_set: three that end before they are ready are enough", "[standby]") {
  stage job;
  job.launch("1");
  job.maintain();
  for (std::size_t index = 1; index < 7; index += 2) {
    job.pass(10s);
    job.say(index, ready_of(static_cast<pid_t>(1000 + index)));
    REQUIRE(job.launcher->started.size() == index + 2);
    job.hang_up(index + 1);
  }
  job.pass(1h);
  CHECK(job.launcher->started.size() == 7);
  CHECK(job.log->has("3 of them ended in a row before they were ready, the last: "
                     "it ended before it answered: exit code 0"));
}

TEST_CASE("standby_set: one can wait until all have a standby, or none is made", "[standby]") {
  stage job;
  job.launch("1");
  bool is_settled = false;
  const auto wait = [&] {
    is_settled = false;
    asio::co_spawn(
        job.context, job.set.until_ready(),
        asio::bind_cancellation_slot(job.cancel_launch.slot(),
                                     [&](const std::exception_ptr&) { is_settled = true; }));
    job.pass();
  };
  wait();
  CHECK_FALSE(is_settled);
  job.maintain();
  CHECK(is_settled);
  job.pass(10s);
  wait();
  job.say(1, ready_of(1001));
  CHECK_FALSE(is_settled);
  SECTION("it is ready") { job.say(2, ready_of(1002)); }
  SECTION("it refuses") { job.say(2, "refused\0x"s); }
  CHECK(is_settled);
  wait();
  CHECK(is_settled);
}

TEST_CASE("standby_set: workers that are soon stopped get theirs without a delay", "[standby]") {
  stage job;
  job.launch("1");
  job.maintain();
  bool is_settled = false;
  CHECK(job.launcher->started.size() == 1);
  CHECK(job.set.missing() == 1);
  job.set.hurry();
  asio::co_spawn(
      job.context, job.set.until_ready(),
      asio::bind_cancellation_slot(job.cancel_launch.slot(),
                                   [&](const std::exception_ptr&) { is_settled = true; }));
  job.pass();
  REQUIRE(job.launcher->started.size() == 2);
  job.say(1, ready_of(1001));
  CHECK_FALSE(is_settled);
  job.say(2, ready_of(1002));
  CHECK(is_settled);
  CHECK(job.set.missing() == 0);
}

TEST_CASE("standby_set: nor is there a delay if that is known before standbys are made",
          "[standby]") {
  stage job;
  job.set.begin_attempt();
  job.launch("1");
  job.set.hurry();
  job.maintain();
  job.pass();
  CHECK(job.launcher->started.size() == 2);
}

TEST_CASE("standby_set: what is expected has standbys before it is launched", "[standby]") {
  stage job;
  process_spec second_spec = worker("1");
  second_spec.environment[1] = "LOCAL_RANK=1";
  std::vector<process_spec> specs{worker("1"), second_spec};
  specs[0].environment.emplace_back("RANK=0");
  job.set.announce(specs);
  asio::co_spawn(job.context, job.set.prestart(),
                 asio::bind_cancellation_slot(job.cancel.slot(), asio::detached));
  job.pass();
  // At once: a probe of each.
  REQUIRE(job.launcher->started.size() == 2);
  job.say(0, ready_of(1000));
  job.say(1, ready_of(1001));
  REQUIRE(job.launcher->started.size() == 4);
  CHECK(job.launcher->started[2]->variable("RANK") == "<not set>");
  // Nobody is disturbed.
  CHECK(job.launcher->started[2]->variable("ELASTIC_STANDBY").find(":0:0:0:script:") !=
        std::string::npos);
  SECTION("both leave out the same module") {
    job.say(2, "dropped\0torch\0x"s);
    job.say(3, "dropped\0torch\0x"s);
    CHECK_FALSE(job.log->has("no more standbys are made"));
    CHECK(job.launcher->started.size() == 6);
  }
  SECTION("they are used at the first start") {
    job.say(2, ready_of(1002));
    job.say(3, ready_of(1003));
    REQUIRE(job.set.ready() == 2);
    job.cancel.emit(asio::cancellation_type::all);
    job.pass();
    job.set.begin_attempt();
    job.launch("2");
    CHECK(job.hear(2).first == "prepare\0+MASTER_PORT=2"s);
    job.say(2, "prepared");
    REQUIRE(job.child);
    CHECK(job.child->pid() == 1002);
    CHECK(job.set.starts().text() == "1 warm");
  }
}

TEST_CASE("standby_set: those that wait are told when they will soon be needed", "[standby]") {
  stage job;
  job.make_standby();
  job.set.check();
  CHECK(job.hear(2) == std::pair("check"s, std::size_t{0}));
  job.launch("2");
  CHECK(job.hear(2).first == "prepare\0+MASTER_PORT=2"s);
  job.say(2, "prepared");
  CHECK(job.child);
}

TEST_CASE("standby_set: it says how its processes were started", "[standby]") {
  stage job;
  job.launch("1");
  CHECK(job.set.starts().text() == "1 cold, because it is the first start");
  job.set.begin_attempt();
  CHECK(job.set.starts().text().empty());
  job.launch("2");
  CHECK(job.set.starts().text() == "1 cold, because no standby was ready");
}

TEST_CASE("standby_set: if memory is short standbys end, and are made when there is some",
          "[standby]") {
  stage job;
  constexpr std::uint64_t mib = 1 << 20;
  job.available = 199 * mib;
  job.launch("1");
  job.maintain();
  job.pass(100s);
  CHECK(job.launcher->started.size() == 1);
  job.available = 200 * mib;
  job.pass(10s);
  job.say(1, ready_of(1001));
  job.say(2, ready_of(1002));
  job.available = 100 * mib;
  job.pass(100s);
  CHECK(job.set.ready() == 1);
  job.available = 99 * mib;
  job.pass(10s);
  CHECK(job.set.ready() == 0);
  CHECK(job.launcher->started[2]->tree_ended);
  CHECK(
      job.log->has("standbys end, so that a restart may take longer: memory is short: 99 MiB are "
                   "available, and a standby takes 100 MiB"));
  job.pass(100s);
  CHECK(job.launcher->started.size() == 3);
  job.available = 300 * mib;
  job.pass(10s);
  CHECK(job.launcher->started.size() == 4);
}

TEST_CASE("standby_set: none is made if nothing can start again", "[standby]") {
  stage job;
  job.launch("1");
  job.maintain(false);
  job.pass(1h);
  CHECK(job.launcher->started.size() == 1);
}

// ---- pools --------------------------------------------------------------------------------------

/// Four processes that run, as 0 to 3.
void launch_four(stage& job, const std::string& port) {
  for (int local_rank = 0; local_rank < 4; ++local_rank) job.launch(port, local_rank);
}

/// Makes the standbys of these processes, one after the other, until no more are begun.
/// Result: their indices
std::vector<std::size_t> make_standbys(stage& job,
                                       const std::vector<std::string>& read_variables = {}) {
  std::vector<std::size_t> made;
  job.pass(10s);
  for (std::size_t probe = 4; probe < job.launcher->started.size(); probe += 2) {
    job.say(probe, ready_of(static_cast<pid_t>(1000 + probe)));
    REQUIRE(job.launcher->started.size() == probe + 2);
    job.say(probe + 1, ready_of(static_cast<pid_t>(1001 + probe), read_variables));
    made.push_back(probe + 1);
  }
  return made;
}

void end_attempt(stage& job) {
  job.cancel.emit(asio::cancellation_type::all);
  job.pass();
}

TEST_CASE("standby_set: there are as many as the terms say", "[standby]") {
  struct row {
    std::size_t count;
    bool replaces_processes;
    std::vector<std::string> read_variables;
    std::size_t expected_count;
  };
  const row table[] = {
      {0, false, {}, 4},
      {0, true, {}, 1},
      {0, true, {"HOME", "PATH"}, 1},
      // Of those that serve only one process, each needs its own.
      {0, true, {"LOCAL_RANK"}, 4},
      {0, true, {"RANK"}, 4},
      {2, false, {}, 2},
      {2, true, {}, 2},
      {2, true, {"LOCAL_RANK"}, 2},
      {9, false, {}, 4},
      {9, false, {"LOCAL_RANK"}, 4},
  };
  for (const row& entry : table) {
    CAPTURE(entry.count, entry.replaces_processes, entry.read_variables);
    stage job({"torch"}, entry.count, entry.replaces_processes);
    launch_four(job, "1");
    job.maintain();
    CHECK(job.set.missing() > 0);
    make_standbys(job, entry.read_variables);
    CHECK(job.set.ready() == entry.expected_count);
    CHECK(job.set.missing() == 0);
    const bool is_bound = !entry.read_variables.empty() && entry.read_variables[0] != "HOME";
    CHECK(job.log->has("any local rank has a standby: process 1005") != is_bound);
    CHECK(job.log->has("each standby serves only one local rank") == is_bound);
  }
}

TEST_CASE("standby_set: one serves any process of its pool", "[standby]") {
  stage job({"torch"}, 1);
  launch_four(job, "1");
  job.maintain();
  REQUIRE(make_standbys(job) == std::vector<std::size_t>{5});
  CHECK(job.launcher->started[5]->variable("LOCAL_RANK") == "0");
  end_attempt(job);
  job.set.begin_replacement();
  job.launch("2", 3);
  CHECK(job.hear(5).first == "prepare\0+LOCAL_RANK=3\0+MASTER_PORT=2"s);
  job.say(5, "prepared");
  REQUIRE(job.child);
  CHECK(job.child->pid() == 1005);
  CHECK(job.log->has("local rank 3 starts warm: process 1005"));
  // Another that died at the same time has none.
  job.launch("2", 1);
  REQUIRE(job.child);
  CHECK(job.set.starts().text() == "1 warm; 1 cold, because no standby was ready");
}

TEST_CASE("standby_set: one that has read a rank serves only that", "[standby]") {
  stage job({"torch"}, 1);
  launch_four(job, "1");
  job.maintain();
  REQUIRE(make_standbys(job, {"LOCAL_RANK"}).size() == 1);
  end_attempt(job);
  job.set.begin_replacement();
  job.launch("2", 3);
  REQUIRE(job.child);
  CHECK(job.child->pid() == 1006);
  CHECK(job.set.ready() == 1);
  job.launch("2", 0);
  job.say(5, "prepared");
  REQUIRE(job.child);
  CHECK(job.child->pid() == 1005);
}

TEST_CASE("standby_set: one that ends at its start is followed by the next", "[standby]") {
  stage job;
  launch_four(job, "1");
  job.maintain();
  REQUIRE(make_standbys(job) == std::vector<std::size_t>{5, 7, 9, 11});
  end_attempt(job);
  job.set.begin_replacement();
  SECTION("it ended before") { job.hang_up(5); }
  job.launch("2", 2);
  if (!job.sockets[5]) {
    CHECK(job.hear(7).first.starts_with("prepare"));
  } else {
    job.hang_up(5);
  }
  job.say(7, "prepared");
  REQUIRE(job.child);
  CHECK(job.child->pid() == 1007);
  CHECK(job.set.ready() == 2);
}

TEST_CASE("standby_set: one that refuses is not followed by others, which would, too",
          "[standby]") {
  stage job;
  launch_four(job, "1");
  job.maintain();
  make_standbys(job);
  end_attempt(job);
  job.set.begin_replacement();
  job.launch("2", 2);
  job.say(5, "refused\0what it imported was changed since"s);
  REQUIRE(job.child);
  CHECK(job.log->has("local rank 2 starts cold, because what it imported was changed since"));
  CHECK(job.set.ready() == 3);
}

TEST_CASE("standby_set: variables that differ between processes are set at the start",
          "[standby]") {
  stage job({"torch"}, 1);
  const auto spec_of = [](int local_rank, const char* name) {
    process_spec spec = worker("1", local_rank);
    spec.environment.push_back(std::string(name) + "=" + std::to_string(local_rank));
    spec.processors.add(local_rank);
    return spec;
  };
  SECTION("they are no library's") {
    for (int local_rank = 0; local_rank < 4; ++local_rank) {
      job.launch(spec_of(local_rank, "DEVICE"));
    }
    job.maintain();
    SECTION("and nothing has read them") {
      REQUIRE(make_standbys(job).size() == 1);
      end_attempt(job);
      job.set.begin_replacement();
      job.launch(spec_of(2, "DEVICE"));
      CHECK(job.hear(5).first ==
            "prepare\0+DEVICE=2\0+LOCAL_RANK=2\0+MASTER_PORT=1\0@2"s);
      job.say(5, "prepared");
      CHECK(job.child);
    }
    SECTION("but an import has read them") {
      REQUIRE(make_standbys(job, {"DEVICE"}).size() == 1);
      end_attempt(job);
      job.set.begin_replacement();
      job.launch(spec_of(2, "DEVICE"));
      CHECK(job.child);
    }
  }
  SECTION("libraries read them") {
    for (int local_rank = 0; local_rank < 4; ++local_rank) {
      job.launch(spec_of(local_rank, "OMP_PLACES"));
    }
    CHECK(job.log->has("each standby serves only one local rank: the workers differ in"));
    job.maintain();
    REQUIRE(make_standbys(job).size() == 1);
    CHECK(job.log->has("local rank 0 has a standby: process 1005"));
    end_attempt(job);
    job.set.begin_replacement();
    job.launch(spec_of(2, "OMP_PLACES"));
    CHECK(job.child);
  }
}

TEST_CASE("standby_set: before processes start, each gets a standby, whatever the terms say",
          "[standby]") {
  stage job({"torch"}, 1, true);
  std::vector<process_spec> specs;
  for (int local_rank = 0; local_rank < 4; ++local_rank) specs.push_back(worker("1", local_rank));
  job.set.announce(specs);
  asio::co_spawn(job.context, job.set.prestart(),
                 asio::bind_cancellation_slot(job.cancel.slot(), asio::detached));
  job.pass();
  CHECK(job.launcher->started.size() == 4);
}

TEST_CASE("standby_set: those that are made beside processes stand back, but for the first",
          "[standby]") {
  const bool replaces_processes = GENERATE(false, true);
  stage job({"torch"}, 2, replaces_processes);
  launch_four(job, "1");
  job.maintain();
  REQUIRE(make_standbys(job) == std::vector<std::size_t>{5, 7});
  const auto stands_back = [&](std::size_t index) {
    return job.launcher->started[index]->variable("ELASTIC_STANDBY").find(":0:1:0:0:script:") !=
           std::string::npos;
  };
  CHECK(stands_back(5) != replaces_processes);
  CHECK(stands_back(7));
}

TEST_CASE("standby_set: the first step of all ends the delay", "[standby]") {
  stage job;
  job.launch("1");
  job.maintain();
  job.pass(1s);
  CHECK(job.launcher->started.size() == 1);
  job.set.mark_stepped();
  job.pass();
  CHECK(job.launcher->started.size() == 2);
}

/// A worker has done its first step, and its standby, process 2, is in the making.
void begin_making(stage& job) {
  job.launch("1");
  job.maintain();
  job.set.mark_stepped();
  job.pass();
  job.say(1, ready_of(1001));
  REQUIRE(job.launcher->started.size() == 3);
  end_attempt(job);
  CHECK(job.launcher->started[2]->running());
  job.set.begin_attempt();
}

TEST_CASE("standby_set: one that has done more than half of its imports is waited for",
          "[standby]") {
  stage job;
  begin_making(job);
  job.standby_time = 2001ms;
  job.launch("2");
  CHECK_FALSE(job.child);
  CHECK(job.log->has("local rank 0 waits for a standby in the making: process 1002"));
  SECTION("it becomes ready") {
    job.pass(3s);
    job.say(2, ready_of(1002));
    job.say(2, "prepared");
    REQUIRE(job.child);
    CHECK(job.child->pid() == 1002);
  }
  SECTION("it takes twice as long as all the imports") {
    job.pass(8s - 1ms);
    CHECK_FALSE(job.child);
    job.pass(1ms);
    REQUIRE(job.child);
    CHECK(job.child->pid() == 1003);
    CHECK(job.log->has("local rank 0 starts cold, because its standby was not ready in time"));
    CHECK_FALSE(job.launcher->started[2]->running());
  }
  SECTION("it ends") {
    job.hang_up(2);
    REQUIRE(job.child);
    CHECK(job.child->pid() == 1003);
  }
  SECTION("the start is cancelled") {
    job.cancel_launch.emit(asio::cancellation_type::all);
    job.pass();
    CHECK(job.failure);
    CHECK_FALSE(job.launcher->started[2]->running());
  }
}

TEST_CASE("standby_set: one that has done less is finished beside the next attempt", "[standby]") {
  stage job;
  begin_making(job);
  job.standby_time = 2s;
  job.launch("2");
  REQUIRE(job.child);
  CHECK(job.child->pid() == 1003);
  job.maintain();
  job.say(2, ready_of(1002));
  CHECK(job.set.ready() == 1);
  CHECK(job.launcher->started.size() == 4);
}

TEST_CASE("standby_set: what was begun while no process ran does not go on beside one",
          "[standby]") {
  stage job;
  job.set.announce({worker("1")});
  asio::co_spawn(job.context, job.set.prestart(),
                 asio::bind_cancellation_slot(job.cancel.slot(), asio::detached));
  job.pass();
  job.say(0, ready_of(1000));
  REQUIRE(job.launcher->started.size() == 2);
  end_attempt(job);
  job.set.begin_attempt();
  job.launch("1");
  REQUIRE(job.child);
  job.maintain();
  CHECK_FALSE(job.launcher->started[1]->running());
}

TEST_CASE("standby_set: none is finished if nothing can start again", "[standby]") {
  stage job;
  begin_making(job);
  job.launch("2");
  job.maintain(false);
  CHECK_FALSE(job.launcher->started[2]->running());
}

TEST_CASE("standby_set: while memory is short they end one by one", "[standby]") {
  stage job;
  constexpr std::uint64_t mib = 1 << 20;
  job.available = 1000 * mib;
  launch_four(job, "1");
  job.maintain();
  REQUIRE(make_standbys(job).size() == 4);
  // The probes have left 40 MiB.
  job.left_by_each = 10 * mib;
  job.available = 45 * mib;
  job.pass(10s);
  CHECK(job.set.ready() == 2);
}

TEST_CASE("standby_set: it tells how many there are", "[standby]") {
  stage job;
  std::vector<std::string> stories;
  job.set.on_change([&](const standby_set::counts& now) {
    stories.push_back(std::to_string(now.ready) + " ready, " + std::to_string(now.making) +
                      " making, " + std::to_string(now.bytes >> 20) + " MiB");
  });
  job.make_standby();
  job.launch("2");
  job.say(2, "prepared");
  REQUIRE(job.child);
  job.maintain();
  const std::vector<std::string> expected_stories{
      "0 ready, 1 making, 0 MiB", "1 ready, 0 making, 100 MiB", "0 ready, 0 making, 0 MiB"};
  CHECK(stories == expected_stories);
}

TEST_CASE("standby_set: what was being made goes on until the set stops", "[standby]") {
  stage job;
  job.launch("1");
  job.maintain();
  job.pass(10s);
  const bool is_probed = GENERATE(false, true);
  if (is_probed) job.say(1, ready_of(1001));
  job.cancel.emit(asio::cancellation_type::all);
  job.pass();
  // A probe is soon done anew.
  CHECK(job.launcher->started.back()->running() == is_probed);
  asio::co_spawn(job.context, job.set.stop(), asio::detached);
  job.pass();
  CHECK_FALSE(job.launcher->started.back()->running());
}

}  // namespace standby_set_test

}  // namespace
}  // namespace elastic
