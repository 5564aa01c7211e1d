// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/base/asio.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/version.hpp>
#include <elastic/process/guarded_launcher.hpp>
#include <elastic/testing/log_recorder.hpp>
#include <elastic/testing/manual_clock.hpp>
#include <program/limits.hpp>
#include <program/slots/run_slot.hpp>
#include <program/slots/slot_order.hpp>
#include <program/slots/slot_socket.hpp>
#include <program/slots/task_slots.hpp>
#include <support/catch.hpp>
#include <support/error_of.hpp>
#include <support/skip.hpp>

#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <exception>
#include <system_error>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace task_slots_tests {

using elastic::task;
using elastic::detail::unique_fd;
using elasticrun::receive_slot_message;
using elasticrun::send_slot_message;
using elasticrun::slot_plan;
using elasticrun::task_slots;
using texts = std::vector<std::string>;

slot_plan plan_of(int count) {
  static int number = 0;
  slot_plan plan;
  plan.step = fmt::format("unit.{}-{}", ::getpid(), ++number);
  plan.count = count;
  return plan;
}

unique_fd open_socket(const slot_plan& plan, bool connects) {
  const auto place = elasticrun::slot_address_of(plan);
  unique_fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const auto* const address = reinterpret_cast<const sockaddr*>(&place.address);
  if (connects) {
    REQUIRE(::connect(socket.get(), address, place.size) == 0);
  } else {
    REQUIRE(::bind(socket.get(), address, place.size) == 0);
  }
  return socket;
}

texts hello(int place, int count) {
  return {"hello", elastic::version_text, std::to_string(place), std::to_string(count)};
}

/// An agent that waits for its slots, in virtual time.
struct meeting {
  explicit meeting(int count) : meeting(plan_of(count)) {}
  explicit meeting(const slot_plan& given)
      : plan(given), slots(context.get_executor(), plan, recorder.log()) {
    clock.heed_world(std::chrono::milliseconds(20));
    auto on_end = [this](const std::exception_ptr& thrown) {
      has_ended = true;
      try {
        if (thrown) std::rethrow_exception(thrown);
      } catch (const elastic::error& failure) {
        code = failure.code();
        what = failure.what();
      }
    };
    elastic::asio::co_spawn(context, slots.meet(clock.share()), on_end);
    // Only until it listens.
    context.poll();
  }

  /// What the agent says to a task that says this.
  texts answer_to(const texts& words, const std::vector<int>& descriptors = {1, 2}) {
    unique_fd socket = open_socket(plan, true);
    CHECK(send_slot_message(socket.get(), words, descriptors) == 0);
    for (int look = 0; look < 3; ++look) context.poll();
    bool ended = false;
    const auto message = receive_slot_message(socket.get(), MSG_DONTWAIT, ended);
    if (!ended) came.push_back(std::move(socket));
    return message ? message->fields : texts();
  }

  elastic::asio::io_context context;
  elastic::testing::manual_clock clock{context};
  elastic::testing::log_recorder recorder;
  slot_plan plan;
  task_slots slots;
  bool has_ended = false;
  std::error_code code;
  std::string what;
  std::vector<unique_fd> came;
};

/// No descriptor can be opened while it exists.
struct no_descriptors {
  no_descriptors() {
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
    const rlimit none{0, before.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  }
  no_descriptors(const no_descriptors&) = delete;
  no_descriptors& operator=(const no_descriptors&) = delete;
  ~no_descriptors() { ::setrlimit(RLIMIT_NOFILE, &before); }

  rlimit before{};
};

TEST_CASE("task slots: the agent has met its slots when each has come", "[program]") {
  meeting agent(3);
  CHECK(agent.answer_to(hello(2, 3)).empty());
  CHECK_FALSE(agent.has_ended);
  CHECK(agent.answer_to(hello(1, 3)).empty());
  CHECK(agent.has_ended);
  CHECK_FALSE(agent.code);
  // Nobody is waited for any more, so the name is free for the next step.
  CHECK_NOTHROW(open_socket(agent.plan, false));
}

TEST_CASE("task slots: who has not come in time is named", "[program]") {
  meeting agent(5);
  agent.answer_to(hello(2, 5));
  agent.clock.run();
  REQUIRE(agent.has_ended);
  CHECK(agent.code == elastic::errc::timed_out);
  CHECK(agent.what ==
        "of the 5 tasks of this node, tasks 1, 3, 4 did not come within 30 s: each must run "
        "elasticrun, with the same options");
  CHECK(agent.clock.elapsed() == std::chrono::seconds(30));
}

TEST_CASE("task slots: what is no slot of this node is refused, and the others are waited for",
          "[program]") {
  struct row {
    texts words;
    std::vector<int> descriptors;
    std::string reason;
  };
  const std::vector<row> rows = {
      {{"hello", "0.0.0", "1", "3"},
       {1, 2},
       fmt::format("the agent has version {}", elastic::version_text)},
      {hello(1, 4), {1, 2}, "the agent expects tasks 1 to 2"},
      {hello(0, 3), {1, 2}, "the agent expects tasks 1 to 2"},
      {hello(3, 3), {1, 2}, "the agent expects tasks 1 to 2"},
      {hello(-1, 3), {1, 2}, "the agent expects tasks 1 to 2"},
      {hello(2, 3), {1, 2}, fmt::format("process {} has that place already", ::getpid())},
      {hello(1, 3), {1}, "it does not speak as a slot does"},
      {{"start"}, {1, 2}, "it does not speak as a slot does"},
      {{"GET / HTTP/1.1"}, {}, "it does not speak as a slot does"},
  };
  meeting agent(3);
  CHECK(agent.answer_to(hello(2, 3)).empty());
  for (const row& entry : rows) {
    INFO(entry.reason);
    CHECK(agent.answer_to(entry.words, entry.descriptors) == texts{"refuse", entry.reason});
    CHECK(agent.recorder.has(fmt::format("is refused as a slot: {}", entry.reason)));
    CHECK_FALSE(agent.has_ended);
  }
  CHECK(agent.answer_to(hello(1, 3)).empty());
  CHECK(agent.has_ended);
}

TEST_CASE("task slots: a task that says nothing keeps nobody waiting", "[program]") {
  meeting agent(2);
  std::vector<unique_fd> silent;
  for (int task = 0; task < 20; ++task) {
    silent.push_back(open_socket(agent.plan, true));
    agent.context.poll();
  }
  CHECK(agent.answer_to(hello(1, 2)).empty());
  CHECK(agent.has_ended);
}

TEST_CASE("task slots: a task that cannot be accepted is tried again after a pause", "[program]") {
  meeting agent(2);
  const unique_fd socket = open_socket(agent.plan, true);
  REQUIRE(send_slot_message(socket.get(), hello(1, 2), {1, 2}) == 0);
  const bool is_lasting = GENERATE(false, true);
  {
    const no_descriptors full;
    constexpr int many = 1000;
    int steps = 0;
    while (steps < many && agent.context.poll_one() > 0) ++steps;
    REQUIRE(steps < many);
    agent.clock.heed_world(std::chrono::milliseconds(0));
    if (is_lasting) agent.clock.run();
  }
  CHECK(agent.has_ended == is_lasting);
  if (is_lasting) {
    CHECK(agent.code == elastic::errc::timed_out);
  } else {
    agent.clock.run_for(elasticrun::limits::slot_retry);
    CHECK(agent.has_ended);
    CHECK_FALSE(agent.code);
  }
}

TEST_CASE("task slots: why there can be no socket is said", "[program]") {
  elastic::asio::io_context context;
  elastic::testing::manual_clock clock(context);
  task_slots slots(context.get_executor(), plan_of(2), elastic::logger());
  const no_descriptors full;
  CHECK_THROWS_WITH(clock.run(slots.meet(clock.share())),
                    elastic::test::contains_text(elastic::errno_text(EMFILE)));
}

TEST_CASE("task slots: a name that stays taken is reported with its holder", "[program]") {
  const slot_plan plan = plan_of(2);
  const unique_fd holder = open_socket(plan, false);
  const bool listens = GENERATE(false, true);
  if (listens) REQUIRE(::listen(holder.get(), 8) == 0);
  meeting agent(plan);
  agent.clock.heed_world(std::chrono::milliseconds(0));
  agent.clock.run();
  CHECK(agent.code == elastic::errc::address_in_use);
  CHECK(agent.what ==
        fmt::format("the tasks of this node cannot meet: {} holds the socket {}",
                    listens ? fmt::format("process {} of user {}", ::getpid(), ::geteuid())
                            : "a process that does not listen",
                    elasticrun::slot_address_of(plan).text));
}

TEST_CASE("task slots: a name that becomes free is taken", "[program]") {
  const slot_plan plan = plan_of(2);
  unique_fd holder = open_socket(plan, false);
  meeting agent(plan);
  CHECK_FALSE(agent.has_ended);
  holder.reset();
  agent.clock.run_for(elasticrun::limits::slot_retry);
  CHECK(agent.answer_to(hello(1, 2)).empty());
  CHECK(agent.has_ended);
}

/// Does something as another user, in a process of its own, until the object is destroyed.
class other_user {
 public:
  static constexpr uid_t uid = 65'534;

  template <class Act>
  explicit other_user(const Act& act) {
    int done[2];
    REQUIRE(::pipe(done) == 0);
    pid = ::fork();
    if (pid == 0) {
      const bool succeeds = ::setresuid(uid, uid, uid) == 0;
      const auto held = act();
      static_cast<void>(::write(done[1], succeeds ? "y" : "n", 1));
      for (;;) ::pause();
    }
    char answer = 'n';
    CHECK(::read(done[0], &answer, 1) == 1);
    CHECK(answer == 'y');
    ::close(done[0]);
    ::close(done[1]);
  }
  ~other_user() {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }

  pid_t pid = 0;
};

TEST_CASE("task slots: another user who holds the name is named at once", "[program]") {
  if (::geteuid() != 0) return elastic::test::skip("it takes two users");
  slot_plan plan = plan_of(2);
  const auto place = elasticrun::slot_address_of(plan);
  const other_user holder([&] {
    unique_fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&place.address), place.size);
    ::listen(socket.get(), 8);
    return socket;
  });
  const std::string who = fmt::format("process {} of user {}", holder.pid, other_user::uid);
  meeting agent(plan);
  CHECK(agent.code == elastic::errc::address_in_use);
  CHECK(agent.what ==
        fmt::format("the tasks of this node cannot meet: {} holds the socket {}", who, place.text));
  CHECK(agent.clock.elapsed() == elastic::duration::zero());
  plan.place = 1;
  CHECK_THROWS_WITH(elasticrun::run_slot(plan),
                    fmt::format("{} holds the socket {} and is not this job's agent: this task "
                                "runs as user 0",
                                who, place.text));
}

TEST_CASE("task slots: another user is refused, and logged once", "[program]") {
  if (::geteuid() != 0) return elastic::test::skip("it takes two users");
  meeting agent(2);
  const auto place = elasticrun::slot_address_of(agent.plan);
  const other_user stranger([&] {
    std::vector<unique_fd> sockets;
    for (int count = 0; count < 3; ++count) {
      sockets.emplace_back(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
      const auto* const address = reinterpret_cast<const sockaddr*>(&place.address);
      if (::connect(sockets.back().get(), address, place.size) != 0) ::_exit(1);
      send_slot_message(sockets.back().get(), hello(1, 2), {1, 2});
    }
    return sockets;
  });
  for (int look = 0; look < 5; ++look) agent.context.poll();
  CHECK_FALSE(agent.has_ended);
  const std::string line =
      fmt::format("process {} of user {} is refused at the socket {}: it is for tasks of user 0",
                  stranger.pid, other_user::uid, place.text);
  CHECK(agent.recorder.count(line) == 1);
  CHECK(agent.answer_to(hello(1, 2)).empty());
  CHECK(agent.has_ended);
}

}  // namespace task_slots_tests
