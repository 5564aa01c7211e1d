// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/asio.hpp>
#include <elastic/process/detail/process_tree.hpp>
#include <elastic/store/tcp_store.hpp>
#include <support/catch.hpp>
#include <support/leftovers.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>
#include <support/silent_listener.hpp>
#include <support/skip.hpp>
#include <support/text.hpp>
#include <support/reserved_port.hpp>

#include <signal.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace {

using elastic::test::has_text;
using elastic::test::leftovers;
using elastic::test::program_result;
using elastic::test::running_program;

// A job of several nodes, each a separate elasticrun on this host. Workers are shells that print
// their ranks and then follow the test's script.
class job {
 public:
  explicit job(std::string sizes) : sizes_(std::move(sizes)) {}
  ~job() { CHECK(remains_.processes().empty()); }
  job(const job&) = delete;
  job& operator=(const job&) = delete;

  // What a worker does after it has said its place; it sees its variables.
  std::string work = "exec sleep 600";
  std::vector<std::string> options;

  // Stands before the name of the program.
  std::vector<std::string> launcher;
  // Where the nodes meet, if it is not at one of them.
  std::vector<std::string> meeting = {"--rdzv-backend", "c10d", "--rdzv-endpoint",
                                      fmt::format("localhost:{}", elastic::test::reserved_port())};

  std::unique_ptr<running_program> start() {
    std::vector<std::string> command = launcher;
    command.insert(command.end(),
                   {ELASTIC_ELASTICRUN, "--nnodes", sizes_, "--nproc-per-node", "2", "--rdzv-id",
                    "job", "--rdzv-conf", "last_call_timeout=0.5", "--max-restarts", "2"});
    command.insert(command.end(), meeting.begin(), meeting.end());
    command.insert(command.end(), options.begin(), options.end());
    const std::string says =
        "echo \"$GROUP_RANK/$GROUP_WORLD_SIZE $RANK/$WORLD_SIZE $TORCHELASTIC_RESTART_COUNT\"; ";
    for (const std::string& word :
         {std::string("--no-python"), std::string("sh"), std::string("-c"), says + work}) {
      command.push_back(word);
    }
    return std::make_unique<running_program>(
        command,
        std::map<std::string, std::string>{
            {remains_.name, remains_.value}, {"OMP_NUM_THREADS", "1"}, {"LOGLEVEL", "DEBUG"}});
  }

 private:
  std::string sizes_;
  leftovers remains_;
};

TEST_CASE("nodes: two meet, work and end together", "[integration][nodes][io]") {
  job pair("2");
  pair.work = "exit 0";
  const auto first = pair.start();
  const auto second = pair.start();
  const program_result first_result = first->wait();
  const program_result second_result = second->wait();
  CHECK(first_result.code == 0);
  CHECK(second_result.code == 0);
  const std::string output = first_result.out + second_result.out;
  for (int rank = 0; rank < 4; ++rank) {
    CHECK(has_text(output, fmt::format("{}/2 {}/4 0\n", rank / 2, rank)));
  }
}

/// The keys in the store whose port a worker prints as "store PORT.".
std::vector<std::string> keys_of_store(const std::string& output) {
  const std::size_t at = output.find("store ");
  REQUIRE(at != std::string::npos);
  elastic::tcp_store::options options;
  options.port = static_cast<std::uint16_t>(std::stoi(output.substr(at + 6)));
  asio::io_context context;
  elastic::tcp_store store(context.get_executor(), options);
  std::vector<std::string> keys;
  asio::co_spawn(context, store.list_keys(),
                 [&](std::exception_ptr failure, std::vector<std::string> found) {
                   CHECK_FALSE(failure);
                   keys = std::move(found);
                   store.close();
                 });
  context.run();
  return keys;
}

TEST_CASE("nodes: the agents' keys are not in the store of the workers, but with static",
          "[integration][nodes]") {
  for (const bool is_static : {false, true}) {
    CAPTURE(is_static);
    job pair("2");
    // All agents have exchanged their ranks once a worker runs.
    pair.work = "echo store $MASTER_PORT.; exec sleep 600";
    if (is_static) {
      pair.meeting = {"--rdzv-backend", "static", "--rdzv-endpoint",
                      fmt::format("127.0.0.1:{}", elastic::test::reserved_port())};
    }
    std::vector<std::unique_ptr<running_program>> nodes;
    for (const char* rank : {"0", "1"}) {
      if (is_static) pair.options = {"--node-rank", rank};
      nodes.push_back(pair.start());
    }
    nodes[0]->await_out("store ", 2);
    nodes[0]->await_out(".\n", 2);
    const std::vector<std::string> keys = keys_of_store(nodes[0]->out());
    INFO(fmt::format("{}", fmt::join(keys, " ")));
    CHECK(keys.empty() == !is_static);
    for (const auto& node : nodes) node->signal(SIGTERM);
    for (const auto& node : nodes) node->wait();
  }
}

TEST_CASE("nodes: the address of a node is named by its interface or its network",
          "[integration][nodes]") {
  const auto run = [](const std::string& address) {
    const std::string endpoint = fmt::format("localhost:{}", elastic::test::reserved_port());
    return elastic::test::run_program({ELASTIC_ELASTICRUN, "--nnodes", "1:1", "--rdzv-backend",
                                       "c10d", "--rdzv-endpoint", endpoint, "--rdzv-id", "one",
                                       "--local-addr", address, "--no-python", "sh", "-c",
                                       "echo at $MASTER_ADDR"});
  };
  for (const char* address : {"lo", "127.0.0.0/8", "127.0.0.1"}) {
    INFO(address);
    const program_result result = run(address);
    CHECK(result.code == 0);
    CHECK(result.out == "at 127.0.0.1\n");
  }
  // Nobody has an address for documentation.
  const program_result refused = run("198.51.100.0/24");
  CHECK(refused.code == 2);
  CHECK(has_text(refused.err, "--local-addr 198.51.100.0/24: this host has no address in "));
  CHECK(has_text(refused.err, "; it has lo 127.0.0.1"));
  CHECK(refused.out.empty());
}

TEST_CASE("nodes: they meet as soon as the program that held their port is gone",
          "[integration][nodes][io]") {
  job pair("2");
  pair.work = "exit 0";
  const std::uint16_t port = elastic::test::reserved_port();
  pair.meeting.back() = fmt::format("localhost:{}", port);
  elastic::test::silent_listener stranger(port);
  const auto first = pair.start();
  const auto second = pair.start();
  first->await_err("waiting for the rendezvous at ");
  second->await_err("waiting for the rendezvous at ");
  stranger.close();
  const program_result first_result = first->wait();
  const program_result second_result = second->wait();
  CHECK(first_result.code == 0);
  CHECK(second_result.code == 0);
  for (const char* place : {"0/2 0/4 0\n", "1/2 3/4 0\n"}) {
    CHECK(has_text(first_result.out + second_result.out, place));
  }
}

TEST_CASE("nodes: one that joins makes the world larger, and costs no restart",
          "[integration][nodes][io]") {
  job growing("1:3");
  const auto first = growing.start();
  first->await_out("/1 ", 2);
  const auto second = growing.start();
  first->await_out("/2 ", 2);
  second->await_out("/2 ", 2);
  const auto third = growing.start();
  for (const auto* node : {&first, &second, &third}) {
    (*node)->await_out("/3 ", 2);
    CHECK(has_text((*node)->out(), "/6 0\n"));
  }
  for (const auto* node : {&third, &second, &first}) {
    (*node)->signal(SIGTERM);
    CHECK((*node)->wait().code == 128 + SIGTERM);
  }
}

// As two containers on one host that share its name and its network.
TEST_CASE("nodes: two agents of the same host name and pid are two nodes", "[integration][nodes]") {
  const std::vector<std::string> container = {"unshare", ::geteuid() == 0 ? "-pf" : "-Urpf",
                                              "--mount-proc", "--kill-child=KILL"};
  std::vector<std::string> trial = container;
  trial.insert(trial.end(), {"sh", "-c", "exit 0"});
  const program_result tried = elastic::test::run_program(trial);
  if (tried.code != 0) return elastic::test::skip("it takes pid namespaces: " + tried.err);

  const elastic::test::temporary_directory folder;
  const std::string place = GENERATE("c10d", "file");
  CAPTURE(place);
  job twins("1:2");
  twins.launcher = container;
  if (place == "file") {
    twins.meeting = {"--rdzv-backend", "file", "--rdzv-endpoint", folder / ""};
  }
  const auto first = twins.start();
  first->await_out("/2 0\n", 2);
  const auto second = twins.start();
  first->await_out("/4 0\n", 2);
  second->await_out("/4 0\n", 2);
  first->await_err("_1_0");
  const std::string output = first->out() + second->out();
  for (int rank = 0; rank < 4; ++rank) {
    CHECK(has_text(output, fmt::format("{}/2 {}/4 0\n", rank / 2, rank)));
  }
  // A first process of a namespace gets no signal that it does not handle; elasticrun handles it.
  for (const auto* node : {&second, &first}) {
    elastic::test::run_program({"pkill", "-TERM", "-P", std::to_string((*node)->pid())});
    (*node)->wait();
  }
}

TEST_CASE("nodes: the rest go on without one whose agent is killed", "[integration][nodes][io]") {
  job shrinking("1:3");
  const auto first = shrinking.start();
  first->await_out("/1 ", 2);
  const auto second = shrinking.start();
  first->await_out("/2 ", 2);
  second->await_out("/2 ", 2);
  const auto third = shrinking.start();
  first->await_out("/3 ", 2);
  second->await_out("/3 ", 2);
  third->await_out("/3 ", 2);
  third->signal(SIGKILL);
  CHECK(third->wait().code == -SIGKILL);
  first->await_out("/2 ", 4);
  second->await_out("/2 ", 4);
  first->await_err("is gone: the membership changed; this uses up no restart");
  second->signal(SIGKILL);
  CHECK(second->wait().code == -SIGKILL);
  first->await_out("/1 ", 4);
  first->signal(SIGINT);
  CHECK(first->wait().code == 128 + SIGINT);
}

TEST_CASE("nodes: a worker that fails on one node starts all of them anew, up to the budget",
          "[integration][nodes][io]") {
  job failing("2");
  // Of a failure before they have workers nodes hear no more than that there is another round.
  const elastic::test::temporary_directory folder;
  const std::string begun = folder / "begun.$TORCHELASTIC_RESTART_COUNT";
  failing.work = "[ $RANK = 0 ] && touch " + begun +
                 "; [ $RANK = 3 ] || exec sleep 600; while [ ! -e " + begun +
                 " ]; do sleep 0.01; done; exit 7";
  const auto first = failing.start();
  const auto second = failing.start();
  const program_result first_result = first->wait();
  const program_result second_result = second->wait();
  CHECK(first_result.code == 1);
  CHECK(second_result.code == 1);
  const std::string errors = first_result.err + second_result.err;
  CHECK(has_text(errors, "rank 3 ended: exit code 7: restart 1 of 2"));
  CHECK(has_text(errors, "rank 3 ended: exit code 7: restart 2 of 2"));
  CHECK(has_text(errors, "rank 3 ended: exit code 7: all 2 restarts have been used"));
  CHECK(has_text(errors, "exitcode  : 7"));
  CHECK(has_text(errors, "FAILED, not on this node"));
}

TEST_CASE("nodes: a job that is over is over for one that comes late, and for a spare",
          "[integration][nodes]") {
  const elastic::test::temporary_directory folder;
  job full("2:2");
  full.work = "while [ ! -e " + (folder / "end") + " ]; do sleep 0.02; done";
  const std::string conf = "last_call_timeout=0.5,is_host=";
  full.options = {"--rdzv-conf", conf + "yes"};
  const auto first = full.start();
  full.options = {"--rdzv-conf", conf + "no"};
  const auto second = full.start();
  first->await_out("/2 ", 2);
  const auto spare = full.start();
  first->await_err("stands by");
  std::ofstream(folder / "end").put('\n');
  CHECK(first->wait().code == 0);
  CHECK(second->wait().code == 0);
  const program_result third = spare->wait();
  CHECK(third.code == 0);
  CHECK(third.out.empty());
  CHECK(has_text(third.err, "nothing left to do"));
}

TEST_CASE("nodes: without the host of the rendezvous the others end, with an error",
          "[integration][nodes][io]") {
  job orphaned("1:2");
  orphaned.options = {"--rdzv-conf", "last_call_timeout=0.5,host_grace=0.5"};
  const auto host = orphaned.start();
  host->await_out("/1 ", 2);
  const auto other = orphaned.start();
  other->await_out("/2 ", 2);
  host->signal(SIGKILL);
  CHECK(host->wait().code == -SIGKILL);
  const program_result result = other->wait();
  CHECK(result.code == 1);
  CHECK(has_text(result.err, "lost the rendezvous at localhost:"));
  CHECK(
      has_text(result.err, ", and nobody served it again within 0.5 s (host_grace): "));
}

TEST_CASE("nodes: a host that is killed and started again takes up its job, restarts included",
          "[integration][nodes]") {
  job lasting("3");
  lasting.options = {"--max-restarts", "1"};
  const elastic::test::temporary_directory folder;
  // Fails once, on whichever node has rank 5.
  lasting.work = fmt::format(
      "[ $RANK = 5 ] && mkdir {0} 2>/dev/null && exit 7; "
      "while [ ! -e {1} ]; do sleep 0.02; done",
      folder / "failed", folder / "done");
  auto host = lasting.start();
  host->await_err("enters the round");
  auto second = lasting.start();
  auto third = lasting.start();
  for (const auto* node : {&host, &second, &third}) (*node)->await_out("/6 1\n", 2);
  for (int times = 2; times <= 3; ++times) {
    host->signal(SIGKILL);
    CHECK(host->wait().code == -SIGKILL);
    if (times == 3) second->await_err("waiting up to 60 s for its return");
    host = lasting.start();
    host->await_out("/6 1\n", 2);
    for (const auto* node : {&second, &third}) (*node)->await_out("/6 1\n", 2 * times);
  }
  std::ofstream(folder / "done") << "done";
  for (const auto* node : {&host, &second, &third}) {
    const program_result result = (*node)->wait();
    INFO(result.err);
    CHECK(result.code == 0);
    CHECK_FALSE(has_text(result.out, "/6 2\n"));
  }
}

TEST_CASE("nodes: if all are stopped, those of other nodes outlive the host of the rendezvous",
          "[integration][nodes]") {
  job stopped("1:2");
  const auto host = stopped.start();
  host->await_out("/1 ", 2);
  stopped.work =
      "trap 'sleep 1; echo saved; exit 0' TERM; echo ready; while :; do sleep 600 & wait $!; done";
  const auto other = stopped.start();
  other->await_out("ready\n", 2);
  // A stop during the start kills the workers.
  other->await_err(" of 2, ranks ");
  host->signal(SIGTERM);
  other->signal(SIGTERM);
  CHECK(host->wait().code == 128 + SIGTERM);
  const program_result result = other->wait();
  INFO(result.err);
  CHECK(result.code == 128 + SIGTERM);
  CHECK(has_text(result.out, "saved\nsaved\n"));
}

TEST_CASE(
    "nodes: in torchrun's way, too, workers may save if the host of the rendezvous is stopped",
    "[integration][nodes]") {
  job pair("2");
  // The others are taken for lost long before their workers have saved, but not while they begin.
  pair.options = {
      "--rdzv-conf",
      "dialect=2.6,last_call_timeout=0.5,keep_alive_interval=1.5,keep_alive_max_attempt=3"};
  const auto host = pair.start();
  host->await_err("serving the store");
  pair.work =
      "trap 'sleep 6; echo saved; exit 0' TERM; echo ready; "
      "while :; do sleep 600 & wait $!; done";
  const auto other = pair.start();
  host->await_out("/2 ", 2);
  other->await_out("ready\n", 2);
  // A stop during the start kills the workers.
  other->await_err(" of 2, ranks ");
  host->signal(SIGTERM);
  CHECK(host->wait().code == 128 + SIGTERM);
  const program_result result = other->wait();
  INFO(result.err);
  CHECK(result.code == 1);
  CHECK(has_text(result.out, "saved\nsaved\n"));
  CHECK(has_text(result.err, "the node that hosts the rendezvous has left the job"));
}

TEST_CASE("nodes: one that waits for others ends at Ctrl-C", "[integration][nodes]") {
  job lonely("2");
  lonely.options = {"--rdzv-conf", "last_call_timeout=0.5,join_timeout=1000"};
  const auto waiting = lonely.start();
  waiting->await_err("enters the round");
  waiting->signal(SIGINT);
  CHECK(waiting->wait().code == 128 + SIGINT);
}

TEST_CASE("nodes: a job of another size at the same place is refused, both sizes named",
          "[integration][nodes]") {
  job small("1:2");
  const auto first = small.start();
  first->await_out("/1 ", 2);
  small.options = {"--nnodes", "1:4"};
  const program_result refused = small.start()->wait();
  CHECK(refused.code == 2);
  CHECK(has_text(refused.err, "was started with 1:2 nodes, but this node with 1:4"));
  first->signal(SIGTERM);
  first->wait();
}

// ---- for as long as you like, each time in another way; otherwise always the same ---------------

// What the workers of all nodes said last: "place RANK/WORLD in attempt N".
struct seen_world {
  std::set<std::string> places;
  std::set<std::string> attempts;
  std::size_t lines = 0;

  // The last two lines of a node's output.
  void add(const std::string& out) {
    std::size_t at = out.size();
    for (int worker = 0; worker < 2; ++worker) {
      at = out.rfind("place ", at - 1);
      REQUIRE(at != std::string::npos);
      std::istringstream line(out.substr(at));
      std::string word, place, attempt;
      line >> word >> place >> word >> word >> attempt;
      places.insert(place);
      attempts.insert(attempt);
      ++lines;
    }
  }
};

class shaken_job {
 public:
  explicit shaken_job(std::uint64_t seed) : random_(seed), job_("1:4") {
    job_.options = {"--max-restarts", "1000000"};
    job_.work =
        "echo \"place $RANK/$WORLD_SIZE in attempt $TORCHELASTIC_RESTART_COUNT\"; exec sleep 600";
    add();
    settle();
  }
  ~shaken_job() {
    // The host last: without it the others have lost their rendezvous.
    while (!nodes_.empty()) {
      nodes_.back()->signal(SIGTERM);
      CHECK(nodes_.back()->wait().code == 128 + SIGTERM);
      nodes_.pop_back();
    }
  }

  // Something happens, and all that are left work in one new world.
  void shake() {
    const std::size_t event = random_() % 3;
    if (nodes_.size() == 1 || (event == 0 && nodes_.size() < 4)) {
      add();
    } else if (event == 1) {
      const std::size_t victim = 1 + random_() % (nodes_.size() - 1);
      nodes_[victim]->signal(SIGKILL);
      CHECK(nodes_[victim]->wait().code == -SIGKILL);
      nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(victim));
    } else {
      kill_worker(nodes_[random_() % nodes_.size()]->pid());
    }
    settle();
  }

 private:
  void add() { nodes_.push_back(job_.start()); }

  // One of the two workers: the child of a guard.
  void kill_worker(pid_t agent) {
    const auto guards = elastic::detail::read_children(agent);
    REQUIRE_FALSE(guards.empty());
    const auto workers = elastic::detail::read_children(guards[random_() % guards.size()]);
    REQUIRE(workers.size() == 1);
    ::kill(workers[0], SIGKILL);
  }

  void settle() {
    const std::size_t world = 2 * nodes_.size();
    seen_world reports;
    for (const auto& node : nodes_) {
      node->await_fresh_out(fmt::format("/{} in attempt", world), 2);
      reports.add(node->out());
    }
    std::set<std::string> places;
    for (std::size_t rank = 0; rank < world; ++rank) {
      places.insert(fmt::format("{}/{}", rank, world));
    }
    CHECK(reports.places == places);
    CHECK(reports.lines == places.size());
    CHECK(reports.attempts.size() == 1);
  }

  std::mt19937_64 random_;
  job job_;
  std::vector<std::unique_ptr<running_program>> nodes_;
};

TEST_CASE("nodes: whatever dies or comes, each rank is worked on once in the world that follows",
          "[integration][nodes]") {
  const char* const setting = std::getenv("ELASTIC_NODES_ROUNDS");
  const int rounds = setting ? std::atoi(setting) : 12;
  const std::uint64_t seed = setting ? std::random_device()() : 1;
  INFO("seed " << seed);
  shaken_job shaken(seed);
  for (int round = 0; round < rounds; ++round) {
    INFO("round " << round);
    shaken.shake();
  }
}

}  // namespace
