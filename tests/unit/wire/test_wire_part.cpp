// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Agents whose workers have wire-ups, among fakes: what the nodes tell each other, what the workers
// get, and the conversation in PMI-1.

#include <elastic/agent/agent_services.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/error.hpp>
#include <elastic/wire/add_wire.hpp>
#include <support/agent_stage.hpp>
#include <support/catch.hpp>
#include <support/manual_time.hpp>
#include <support/text.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace elastic {
namespace {

namespace wire_part_test {

using namespace std::chrono_literals;
using test::agent_stage;
using test::has_text;

/// Keeps what each process is started with, as the process would.
class keeping_launcher final : public process_launcher {
 public:
  explicit keeping_launcher(std::shared_ptr<process_launcher> next) : next_(std::move(next)) {}

  task<std::unique_ptr<child>> launch(process_spec spec) override {
    detail::unique_fd copy;
    if (spec.passed_fd >= 0) {
      copy = detail::unique_fd(::fcntl(spec.passed_fd, F_DUPFD_CLOEXEC, 0));
    }
    sockets.push_back(std::move(copy));
    return next_->launch(std::move(spec));
  }

  std::vector<detail::unique_fd> sockets;

 private:
  std::shared_ptr<process_launcher> next_;
};

/// Has the workers started by it.
class keeping_part final : public agent_part {
 public:
  explicit keeping_part(std::shared_ptr<process_launcher> launcher)
      : launcher_(std::move(launcher)) {}
  std::shared_ptr<process_launcher> wrap(std::shared_ptr<process_launcher>) override {
    return launcher_;
  }

 private:
  std::shared_ptr<process_launcher> launcher_;
};

/// A node of a job whose workers have wire-ups.
struct wired_stage : agent_stage {
  wired_stage(test::manual_time& clock, const char* names, int workers_here) : agent_stage(clock) {
    workers.nproc_per_node = workers_here;
    agent_services services;
    add_part(services, "keeper", std::make_shared<keeping_part>(kept));
    wire_terms terms;
    terms.kinds = parse_wire_ups(names);
    terms.address = "10.0.0.1";
    add_wire(services, terms);
    parts = services.parts;
  }

  /// What a worker reads from its socket; empty: its end.
  task<std::string> read(std::size_t worker) {
    pollfd readable{kept->sockets.at(worker).get(), POLLIN, 0};
    constexpr int most = 1'000'000;
    for (int looks = 0; ::poll(&readable, 1, 0) == 0; ++looks) {
      if (looks == most) throw std::runtime_error("the worker is not answered");
      co_await quiet();
    }
    char bytes[4096];
    const ssize_t size = ::recv(readable.fd, bytes, sizeof bytes, 0);
    co_return std::string(bytes, size > 0 ? static_cast<std::size_t>(size) : 0);
  }
  void write(std::size_t worker, const std::string& line) {
    ::send(kept->sockets.at(worker).get(), line.data(), line.size(), MSG_NOSIGNAL);
  }
  task<std::string> ask(std::size_t worker, std::string line) {
    write(worker, line + "\n");
    return read(worker);
  }

  std::shared_ptr<keeping_launcher> kept = std::make_shared<keeping_launcher>(launcher);
};

/// Two nodes that meet.
void join(agent_stage& first, agent_stage& second) {
  second.rendezvous->agents = first.rendezvous->agents;
  for (agent_stage* const node : {&first, &second}) node->rendezvous->group_world_size = 2;
  second.rendezvous->group_rank = 1;
}

nlohmann::json config_of(agent_stage& node, std::size_t worker) {
  return nlohmann::json::parse(node.worker(worker).variable("TF_CONFIG"));
}

TIME_TEST("wire part: the workers of all nodes are told of each other", "[wire]") {
  wired_stage first(time, "jax,tf", 2);
  wired_stage second(time, "jax,tf", 1);
  join(first, second);
  first.start();
  co_await first.quiet();
  CHECK(first.launcher->started.empty());
  second.start();
  co_await second.quiet();
  REQUIRE(first.launcher->started.size() == 2);
  REQUIRE(second.launcher->started.size() == 1);
  const nlohmann::json config = config_of(first, 0);
  CHECK(config["task"]["index"] == 0);
  CHECK(config_of(first, 1)["task"]["index"] == 1);
  CHECK(config_of(second, 0)["task"]["index"] == 2);
  CHECK(config_of(second, 0)["cluster"] == config["cluster"]);
  CHECK(std::set<std::string>(config["cluster"]["worker"].begin(),
                              config["cluster"]["worker"].end())
            .size() == 3);
  const std::string coordinator = first.worker(0).variable("JAX_COORDINATOR_ADDRESS");
  CHECK(coordinator.starts_with("10.0.0.1:"));
  CHECK(second.worker(0).variable("JAX_COORDINATOR_ADDRESS") == coordinator);
  CHECK(second.worker(0).variable("OMPI_COMM_WORLD_RANK") == "2");
  CHECK(second.worker(0).variable("OMPI_COMM_WORLD_SIZE") == "3");
  CHECK(second.worker(0).variable("OMPI_COMM_WORLD_LOCAL_RANK") == "0");
  first.agent().stop({});
  second.agent().stop({});
  co_await first.end();
  co_await second.end();
}

TIME_TEST("wire part: a round that ends while nodes tell is left", "[wire]") {
  wired_stage stage(time, "tf", 2);
  agent_stage silent(time);
  join(stage, silent);
  stage.start();
  silent.start();
  co_await stage.quiet();
  CHECK(stage.launcher->started.empty());
  stage.rendezvous->group_world_size = 1;
  stage.rendezvous->change();
  co_await stage.quiet();
  REQUIRE(stage.launcher->started.size() == 2);
  const nlohmann::json workers = config_of(stage, 1)["cluster"]["worker"];
  CHECK(workers.size() == 2);
  // No other node needs the address of this one.
  CHECK(workers[0].get<std::string>().starts_with("127.0.0.1:"));
  stage.agent().stop({});
  silent.agent().stop({});
  co_await stage.end();
  co_await silent.end();
}

TIME_TEST("wire part: a node that sends nothing is an error", "[wire]") {
  wired_stage stage(time, "tf", 1);
  agent_stage silent(time);
  join(stage, silent);
  stage.start();
  silent.start();
  co_await stage.end();
  CHECK(stage.log->has("the 2 nodes of the round have met, but after 10 s some have not announced "
                       "the wire-up tf (group rank 1): all nodes of a job need it"));
  CHECK(stage.failure() == errc::rendezvous_timeout);
  CHECK(stage.failure_text() ==
        "not all of the 2 nodes announced the wire-up tf within 300 s: all nodes of a job need it");
  silent.agent().stop({});
  co_await silent.end();
}

TIME_TEST("wire part: nodes with other wire-ups are an error", "[wire]") {
  wired_stage first(time, "tf", 1);
  wired_stage second(time, "mpi,tf", 1);
  join(first, second);
  first.start();
  second.start();
  co_await first.end();
  co_await second.end();
  CHECK(first.failure() == errc::invalid_argument);
  CHECK(has_text(first.failure_text(), "the node with ranks 1 to 1 has the wire-up mpi,tf"));
  CHECK(has_text(second.failure_text(), "the node with ranks 0 to 0 has the wire-up tf"));
}

TIME_TEST("wire part: variables of another launcher are kept from workers", "[wire]") {
  wired_stage stage(time, "mpi", 1);
  stage.workers.environment = {{"PMI_RANK", "7"}, {"PMIX_RANK", "7"}, {"HOME", "/root"}};
  stage.workers.env = {{"PMIX_RANK", "chosen"}};
  stage.start();
  co_await stage.quiet();
  CHECK(stage.worker(0).variable("PMI_RANK") == "0");
  CHECK(stage.worker(0).variable("PMIX_RANK") == "chosen");
  CHECK(stage.worker(0).variable("HOME") == "/root");
  CHECK(stage.log->has("the wire-up mpi removes variables of another launcher from the workers' "
                       "environment: PMIX_RANK, PMI_RANK"));
  stage.worker(0).exit(0);
  co_await stage.end();
}

TIME_TEST("wire part: keys of MPI are known on all nodes after a barrier", "[wire]") {
  wired_stage first(time, "mpi", 1);
  wired_stage second(time, "mpi", 1);
  join(first, second);
  first.start();
  second.start();
  co_await first.quiet();
  REQUIRE(first.kept->sockets.size() == 1);
  REQUIRE(second.kept->sockets.size() == 1);
  CHECK(second.worker(0).variable("PMI_FD") == "5");
  CHECK(second.worker(0).variable("PMI_RANK") == "1");
  CHECK(second.worker(0).variable("PMI_SIZE") == "2");
  const std::string init = "cmd=init pmi_version=1 pmi_subversion=1";
  for (wired_stage* const node : {&first, &second}) {
    const std::string greeting = co_await node->ask(0, init);
    CHECK(has_text(greeting, "cmd=response_to_init"));
    const std::string mapping =
        co_await node->ask(0, "cmd=get kvsname=elastic key=PMI_process_mapping");
    CHECK(mapping == "cmd=get_result rc=0 msg=success value=(vector,(0,2,1))\n");
  }
  const std::string put = co_await first.ask(0, "cmd=put kvsname=elastic key=a value=1");
  CHECK(put == "cmd=put_result rc=0 msg=success\n");
  for (int time_of_barrier = 0; time_of_barrier < 2; ++time_of_barrier) {
    first.write(0, "cmd=barrier_in\n");
    co_await first.quiet();
    const std::string passed = co_await second.ask(0, "cmd=barrier_in");
    CHECK(passed == "cmd=barrier_out rc=0\n");
    const std::string also_passed = co_await first.read(0);
    CHECK(also_passed == "cmd=barrier_out rc=0\n");
  }
  const std::string known = co_await second.ask(0, "cmd=get kvsname=elastic key=a");
  CHECK(known == "cmd=get_result rc=0 msg=success value=1\n");
  for (wired_stage* const node : {&first, &second}) {
    const std::string bye = co_await node->ask(0, "cmd=finalize");
    CHECK(bye == "cmd=finalize_ack rc=0\n");
    node->worker(0).exit(0);
  }
  co_await first.end();
  co_await second.end();
  CHECK(first.result().state == worker_state::succeeded);
}

TIME_TEST("wire part: a barrier waits for every worker of a node", "[wire]") {
  wired_stage stage(time, "mpi", 2);
  stage.start();
  co_await stage.quiet();
  for (std::size_t worker : {std::size_t{0}, std::size_t{1}}) {
    const std::string greeting =
        co_await stage.ask(worker, "cmd=init pmi_version=1 pmi_subversion=1");
    CHECK(has_text(greeting, "rc=0"));
  }
  stage.write(0, "cmd=barrier_in\n");
  // It is answered before the barrier could end.
  const std::string size = co_await stage.ask(1, "cmd=get_universe_size");
  CHECK(size == "cmd=universe_size size=2\n");
  pollfd readable{stage.kept->sockets.at(0).get(), POLLIN, 0};
  CHECK(::poll(&readable, 1, 0) == 0);
  const std::string out = co_await stage.ask(1, "cmd=barrier_in");
  CHECK(out == "cmd=barrier_out rc=0\n");
  const std::string also_out = co_await stage.read(0);
  CHECK(also_out == "cmd=barrier_out rc=0\n");
  stage.worker(0).exit(0);
  stage.worker(1).exit(0);
  co_await stage.end();
}

TIME_TEST("wire part: a worker that breaks PMI-1 loses its socket alone", "[wire]") {
  wired_stage stage(time, "mpi", 2);
  stage.start();
  co_await stage.quiet();
  const std::string end = co_await stage.ask(0, "hello");
  CHECK(end.empty());
  CHECK(stage.log->has("the PMI connection of rank 0 is closed: not a PMI-1 request: 'hello'"));
  const std::string greeting = co_await stage.ask(1, "cmd=init pmi_version=1 pmi_subversion=1");
  CHECK(has_text(greeting, "rc=0"));
  stage.worker(0).exit(0);
  stage.worker(1).exit(0);
  co_await stage.end();
  CHECK(stage.result().state == worker_state::succeeded);
}

TIME_TEST("wire part: a worker that breaks PMI-1 in a barrier loses its socket alone",
          "[wire]") {
  wired_stage stage(time, "mpi", 2);
  stage.start();
  co_await stage.quiet();
  for (std::size_t worker : {std::size_t{0}, std::size_t{1}}) {
    const std::string greeting =
        co_await stage.ask(worker, "cmd=init pmi_version=1 pmi_subversion=1");
    CHECK(has_text(greeting, "rc=0"));
  }
  // It is looked at when the barrier is over.
  stage.write(0, "cmd=barrier_in\nhello\n");
  const std::string out = co_await stage.ask(1, "cmd=barrier_in");
  CHECK(out == "cmd=barrier_out rc=0\n");
  const std::string end = co_await stage.read(0);
  CHECK(end.empty());
  CHECK(stage.log->has("the PMI connection of rank 0 is closed: not a PMI-1 request: 'hello'"));
  const std::string size = co_await stage.ask(1, "cmd=get_universe_size");
  CHECK(size == "cmd=universe_size size=2\n");
  stage.worker(0).exit(0);
  stage.worker(1).exit(0);
  co_await stage.end();
  CHECK(stage.result().state == worker_state::succeeded);
}

TIME_TEST("wire part: a worker that writes in a barrier is in no further one", "[wire]") {
  wired_stage first(time, "mpi", 1);
  wired_stage second(time, "mpi", 1);
  join(first, second);
  first.start();
  second.start();
  co_await first.quiet();
  for (wired_stage* const node : {&first, &second}) {
    const std::string greeting = co_await node->ask(0, "cmd=init pmi_version=1 pmi_subversion=1");
    CHECK(has_text(greeting, "rc=0"));
  }
  first.write(0, "cmd=barrier_in\n");
  co_await first.quiet();
  first.write(0, "cmd=get_universe_size\n");
  co_await first.quiet();
  const std::string passed = co_await second.ask(0, "cmd=barrier_in");
  CHECK(passed == "cmd=barrier_out rc=0\n");
  const std::string replies = co_await first.read(0);
  CHECK(replies == "cmd=barrier_out rc=0\ncmd=universe_size size=2\n");
  // The other one waits in the next barrier for this one.
  second.write(0, "cmd=barrier_in\n");
  co_await second.quiet();
  pollfd readable{second.kept->sockets.at(0).get(), POLLIN, 0};
  CHECK(::poll(&readable, 1, 0) == 0);
  const std::string out = co_await first.ask(0, "cmd=barrier_in");
  CHECK(out == "cmd=barrier_out rc=0\n");
  const std::string also_out = co_await second.read(0);
  CHECK(also_out == "cmd=barrier_out rc=0\n");
  first.worker(0).exit(0);
  second.worker(0).exit(0);
  co_await first.end();
  co_await second.end();
}

TIME_TEST("wire part: workers that start again have new sockets", "[wire]") {
  wired_stage stage(time, "mpi", 1);
  stage.workers.max_restarts = 1;
  stage.start();
  co_await stage.quiet();
  const std::string init = "cmd=init pmi_version=1 pmi_subversion=1";
  const std::string first = co_await stage.ask(0, init);
  CHECK(has_text(first, "rc=0"));
  const std::string put = co_await stage.ask(0, "cmd=put kvsname=elastic key=a value=1");
  CHECK(has_text(put, "rc=0"));
  stage.worker(0).exit(1);
  co_await stage.quiet();
  REQUIRE(stage.kept->sockets.size() == 2);
  const std::string end = co_await stage.read(0);
  CHECK(end.empty());
  const std::string again = co_await stage.ask(1, init);
  CHECK(has_text(again, "rc=0"));
  const std::string unknown = co_await stage.ask(1, "cmd=get kvsname=elastic key=a");
  CHECK(has_text(unknown, "rc=-1"));
  stage.worker(1).exit(0);
  co_await stage.end();
}

}  // namespace wire_part_test

}  // namespace
}  // namespace elastic
