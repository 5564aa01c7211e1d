// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Jobs whose nodes meet at several endpoints: whichever node is lost, the others continue.

#include <support/candidate_endpoints.hpp>
#include <support/catch.hpp>
#include <support/http_peer.hpp>
#include <support/job_of_nodes.hpp>
#include <support/raw_client.hpp>
#include <support/run_program.hpp>
#include <support/silent_listener.hpp>

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace candidates_tests {

using elastic::test::candidate_endpoints;
using elastic::test::comes_true;
using elastic::test::contains_text;
using elastic::test::http_peer;
using elastic::test::job_of_nodes;
using elastic::test::node_of_job;
using elastic::test::program_result;
using elastic::test::run_program;
using elastic::test::silent_listener;
using elastic::test::temporary_directory;

/// A job at three endpoints, and who of its nodes leads.
class job {
 public:
  explicit job(const std::string& sizes, const std::string& conf = "")
      : nodes_(sizes, {"--rdzv-backend", "c10d", "--rdzv-endpoint", endpoints_.list()},
               "last_call_timeout=0.5" + conf) {}

  void start(int count) {
    for (int more = 0; more < count; ++more) running_.push_back(nodes_.node("", options_));
  }

  void await_world(int size, int times = 1) {
    for (const auto& node : running_) node->await_world(size, times);
  }

  /// Of those that run the one that was elected last.
  std::size_t leader() {
    std::size_t newest = running_.size();
    long most_term = -1;
    for (std::size_t place = 0; place < running_.size(); ++place) {
      const std::string text = (*running_[place])->err();
      const std::string words = " leads in term ";
      const auto at = text.rfind(words);
      if (at == std::string::npos) continue;
      const long term = std::stol(text.substr(at + words.size()));
      if (term > most_term) newest = place;
      most_term = std::max(most_term, term);
    }
    REQUIRE(newest < running_.size());
    return newest;
  }

  bool says(const std::string& words) {
    const auto does = [&words](auto& node) {
      return (*node)->err().find(words) != std::string::npos;
    };
    return std::any_of(running_.begin(), running_.end(), does);
  }

  std::uint16_t port(int place) const { return endpoints_.port(place); }

  int count_killed() const { return endpoints_.count_killed(); }

  /// From now on workers in a world of this size that are told to stop save something: they begin
  /// when the test lets them, and take far longer than any grace.
  void let_workers_save(int size) {
    nodes_.work = {"sh", "-c",
                   fmt::format("if test $WORLD_SIZE = {}; then "
                               "trap 'until test -e {}/$$$$; do sleep 0.02; done; sleep 1; "
                               "echo \"saved by $$$$;\"; exit 0' TERM; "
                               "echo \"can save;\"; fi; "
                               "until test -e \"$0\"; do sleep 0.02; done",
                               size, directory_.path())};
    // One after the other, on a busy machine.
    options_ = {"--shutdown-timeout", "300"};
  }
  void let_save(const node_of_job& node) {
    std::ofstream(directory_ / std::to_string(node.worker())) << "saved";
  }

  node_of_job& at(std::size_t place) { return *running_[place]; }

  std::unique_ptr<node_of_job> take(std::size_t place) {
    auto node = std::move(running_[place]);
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(place));
    return node;
  }

  void check_success() {
    nodes_.finish();
    for (const auto& node : running_) node->check_success();
    nodes_.check_nothing_left();
  }

 private:
  const candidate_endpoints endpoints_;
  temporary_directory directory_;
  job_of_nodes nodes_;
  std::vector<std::string> options_;
  std::vector<std::unique_ptr<node_of_job>> running_;
};

TEST_CASE("candidates: nodes meet, work and end together", "[integration][nodes]") {
  job nodes("4");
  nodes.start(4);
  nodes.await_world(4);
  nodes.check_success();
}

TEST_CASE("candidates: whoever leads is lost, and the others go on", "[integration][nodes]") {
  job nodes("2:4");
  nodes.start(4);
  nodes.await_world(4);
  const auto begin = std::chrono::steady_clock::now();
  nodes.take(nodes.leader())->lose();
  nodes.await_world(3);
  const auto took = std::chrono::steady_clock::now() - begin;
  UNSCOPED_INFO("took " << std::chrono::duration<double>(took).count() << " s");
  // One that comes finds who leads now.
  nodes.start(1);
  nodes.await_world(4, 1);
  nodes.check_success();
}

TEST_CASE("candidates: all are killed and started again, and wait until the former world is over",
          "[integration][nodes]") {
  job nodes("3", ",keep_alive_interval=1,keep_alive_max_attempt=3");
  nodes.start(3);
  nodes.await_world(3);
  for (int node = 0; node < 3; ++node) {
    const auto killed = nodes.take(0);
    killed->lose();
    (*killed)->wait();
  }
  CHECK(nodes.count_killed() == 3);
  nodes.start(3);
  nodes.await_world(3);
  CHECK(nodes.says("may not know the newest round: waits 3 s"));
  CHECK(nodes.says("a job of another run id would not wait"));
  nodes.check_success();
  CHECK(nodes.count_killed() == 0);
}

TEST_CASE("candidates: one whose port another program held serves as soon as it is free",
          "[integration][nodes]") {
  job nodes("2:3", ",keep_alive_interval=1,keep_alive_max_attempt=3");
  silent_listener stranger(nodes.port(2));
  SECTION("before the job begins, which needs it") {
    silent_listener other_stranger(nodes.port(1));
    nodes.start(2);
    for (const std::size_t place : {0, 1}) {
      nodes.at(place)->await_err("waiting for the rendezvous at ");
    }
    other_stranger.close();
    nodes.await_world(2);
  }
  SECTION("while the job runs, which then bears the loss of its leader") {
    nodes.start(2);
    nodes.await_world(2);
    nodes.start(1);
    nodes.await_world(3);
    stranger.close();
    nodes.at(2)->await_err(fmt::format("the port of 127.0.0.1:{} is free now", nodes.port(2)));
    nodes.take(nodes.leader())->lose();
    nodes.at(0).await_world(2, 2);
    nodes.at(1).await_world(2);
  }
  nodes.check_success();
}

/// The port of "Status: http://127.0.0.1:PORT/".
std::uint16_t status_port(node_of_job& node) {
  const std::string begin = "Status: http://127.0.0.1:";
  node->await_err(begin);
  node->await_err("/\n");
  const std::string text = node->err();
  return static_cast<std::uint16_t>(std::atoi(text.c_str() + text.find(begin) + begin.size()));
}

nlohmann::json shown_at(std::uint16_t port) {
  const std::string answer = http_peer(port).get("/api/v1/job");
  return nlohmann::json::parse(answer.substr(answer.find("\r\n\r\n") + 4));
}

TEST_CASE("candidates: the one that leads shows the whole job, and the next one after it",
          "[integration][nodes]") {
  const candidate_endpoints endpoints;
  job_of_nodes job("2:3",
                   {"--rdzv-backend", "c10d", "--rdzv-endpoint", endpoints.list(), "--status", "0"},
                   "last_call_timeout=0.3");
  std::vector<std::unique_ptr<node_of_job>> nodes;
  for (int count = 0; count < 3; ++count) nodes.push_back(job.node());
  for (const auto& node : nodes) node->await_world(3);
  std::size_t leader = 0;
  nlohmann::json shown;
  // One shows it, with what the other two have told.
  const auto shows_all = [&](int active) {
    int count = 0;
    for (std::size_t place = 0; place < nodes.size(); ++place) {
      const nlohmann::json job_there = shown_at(status_port(*nodes[place]));
      if (job_there["whole"].is_null()) continue;
      ++count;
      leader = place;
      shown = job_there;
    }
    if (count != 1 || shown["whole"]["active"] != active) return false;
    int workers = 0;
    for (const auto& node : shown["whole"]["nodes"]) {
      for (const auto& worker : node["workers"]) workers += worker["state"] == "running" ? 1 : 0;
    }
    return workers == active - 1;
  };
  REQUIRE(comes_true([&] { return shows_all(3); }));
  CHECK(shown["whole"]["lost"] == 0);
  const std::string last_seen = fmt::format("{}-{}", shown["epoch"].get<std::int64_t>(), 3);
  nodes[leader]->lose();
  nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(leader));
  for (const auto& node : nodes) node->await_world(2);
  REQUIRE(comes_true([&] { return shows_all(2); }));
  // Who followed the former one begins with all of it anew.
  http_peer follower(status_port(*nodes[leader]));
  follower.get("/api/v1/events", fmt::format("Last-Event-ID: {}\r\n", last_seen));
  CHECK_THAT(follower.read_to("data: {}\n\n"), contains_text("event: reset\n"));
  job.finish();
  for (const auto& node : nodes) node->check_success();
  job.check_nothing_left();
}

TEST_CASE("candidates: a leader that is stopped hands over in order", "[integration][nodes]") {
  job nodes("2:3");
  nodes.start(3);
  nodes.await_world(3);
  const auto leader = nodes.take(nodes.leader());
  (*leader)->signal(SIGTERM);
  nodes.await_world(2);
  const program_result stopped = (*leader)->wait();
  INFO(stopped.err);
  CHECK(stopped.code == 128 + SIGTERM);
  nodes.check_success();
}

/// Has the node end in order, once its worker has saved what it has.
void check_saved(job& nodes, std::unique_ptr<node_of_job> node) {
  const std::string saved = fmt::format("saved by {};", node->worker());
  nodes.let_save(*node);
  const program_result stopped = (*node)->wait();
  INFO(stopped.out << stopped.err);
  CHECK(stopped.code == 128 + SIGTERM);
  CHECK(contains_text(saved).match(stopped.out));
  CHECK_FALSE(contains_text("killing the workers").match(stopped.err));
}

TEST_CASE("candidates: workers have time to save whoever is stopped, in whichever order",
          "[integration][nodes]") {
  job nodes("2:3");
  // Two nodes may begin alone, before the third one has started.
  nodes.let_workers_save(3);
  nodes.start(3);
  for (const std::size_t place : {0, 1, 2}) {
    nodes.at(place)->await_out("can save;");
    // An agent that does not know yet that its worker runs kills it.
    nodes.at(place)->await_err(" of 3, ranks");
  }
  SECTION("the leader alone") {
    auto leader = nodes.take(nodes.leader());
    const pid_t others[] = {nodes.at(0).worker(), nodes.at(1).worker()};
    (*leader)->signal(SIGTERM);
    check_saved(nodes, std::move(leader));
    for (const std::size_t place : {0, 1}) {
      nodes.let_save(nodes.at(place));
      nodes.at(place)->await_out(fmt::format("saved by {};", others[place]));
    }
    nodes.await_world(2);
    nodes.check_success();
  }
  SECTION("all, and the leader ends first") {
    auto leader = nodes.take(nodes.leader());
    (*leader)->signal(SIGTERM);
    for (const std::size_t place : {0, 1}) nodes.at(place)->signal(SIGTERM);
    for (const std::size_t place : {0, 1}) nodes.at(place)->await_err("SIGTERM received");
    check_saved(nodes, std::move(leader));
    for (int others = 2; others > 0; --others) check_saved(nodes, nodes.take(0));
  }
  SECTION("all, and the leader ends last") {
    auto leader = nodes.take(nodes.leader());
    (*leader)->signal(SIGTERM);
    for (const std::size_t place : {0, 1}) nodes.at(place)->signal(SIGTERM);
    for (int others = 2; others > 0; --others) check_saved(nodes, nodes.take(0));
    check_saved(nodes, std::move(leader));
  }
}

TEST_CASE("candidates: who comes with another list, job or place is told so, and disturbs nobody",
          "[integration][nodes]") {
  const candidate_endpoints endpoints;
  const std::string& list = endpoints.list();
  const std::size_t comma = list.find(',');
  const std::string first = list.substr(0, comma);
  const std::string rest = list.substr(comma + 1);
  job_of_nodes right("3", {"--rdzv-backend", "c10d", "--rdzv-endpoint", list}, "");
  std::vector<std::unique_ptr<node_of_job>> running;
  for (int node = 0; node < 3; ++node) running.push_back(right.node());
  for (const auto& node : running) node->await_world(3);
  struct row {
    std::string endpoints;
    std::string run_id;
    std::string conf;
    std::string refusal;
    int warnings = 0;
  };
  const std::vector<row> rows = {
      {first, "job", "", "this server is one of several"},
      {rest + "," + first, "job", "", "all nodes need the same one, in the same order"},
      // Two endpoints bear no loss.
      {rest, "job", "", "all nodes need the same one, in the same order", 1},
      {list, "other", "", "serves the job 'job', not 'other': each job needs ports of its own"},
      {list, "job", "candidate=1", "the address is in use by another program"},
  };
  for (const row& entry : rows) {
    std::vector<std::string> command = {
        ELASTIC_ELASTICRUN, "--nnodes",  "3",          "--rdzv-backend", "c10d", "--rdzv-endpoint",
        entry.endpoints,    "--rdzv-id", entry.run_id, "--no-python",    "true"};
    if (!entry.conf.empty()) command.insert(command.begin() + 7, {"--rdzv-conf", entry.conf});
    const program_result result = run_program(command);
    INFO(entry.endpoints << " " << entry.run_id << " " << entry.conf << ": " << result.err);
    CHECK(result.code == 2);
    CHECK(result.err.find(entry.refusal) != std::string::npos);
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == entry.warnings + 1);
  }
  right.finish();
  for (const auto& node : running) {
    node->check_success();
    // Nobody had to meet again.
    node->await_world(3, 1);
  }
  right.check_nothing_left();
}

TEST_CASE("candidates: what a list may not be is refused in one line", "[integration][nodes]") {
  struct row {
    std::string endpoints;
    std::string conf;
    std::string refusal;
    std::string local_addr = "";
  };
  const std::vector<row> rows = {
      {"a:1,,b:1", "", "entry 2 is empty"},
      {"a:1,b:2,", "", "entry 3 is empty"},
      {"a:1,b:2,a:1", "", "a:1 is listed twice"},
      {"a:1,b,a", "", "a:1 is listed twice"},
      {"a,b,c,d,e,f,g,h,i,j", "", "10 are given, at most 9 are allowed"},
      {"a:1,b:0,c:1", "", "a port that they all know"},
      {"a:1,b:1,c:1", "is_host=1", "not --rdzv-conf is_host"},
      {"a:1,b:1,c:1", "candidate=3", "out of range: 0 to 2, or none"},
      {"a:1,b:1,c:1", "candidate=first", "a whole number"},
      {"a:1,b:1,c:1", "dialect=2.6", "agents of torchrun know one endpoint only"},
      {"a:1,b:1,c:1", "reconnect_grace=0.2", "at least 0.3 s"},
      {"a:1,b:1,c:1", "keep_alive_max_attempt=1", "a whole number from 2"},
      {"127.0.0.1:1,[::ffff:127.0.0.1]:1,c:1", "", "are one server, 127.0.0.1"},
      {"127.0.0.1:1,192.0.2.1:1,192.0.2.2:1", "", "--local-addr '192.0.2.1' is 192.0.2.1:1",
       "192.0.2.1"},
  };
  for (const row& entry : rows) {
    std::vector<std::string> command = {
        ELASTIC_ELASTICRUN, "--nnodes",  "2:4", "--rdzv-backend", "c10d", "--rdzv-endpoint",
        entry.endpoints,    "--rdzv-id", "job", "--no-python",    "true"};
    if (!entry.conf.empty()) command.insert(command.begin() + 7, {"--rdzv-conf", entry.conf});
    if (!entry.local_addr.empty()) {
      command.insert(command.begin() + 1, {"--local-addr", entry.local_addr});
    }
    const program_result result = run_program(command);
    INFO(entry.endpoints << " " << entry.conf << ": " << result.err);
    CHECK(result.code == 2);
    CHECK(result.err.find(entry.refusal) != std::string::npos);
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  }
}

}  // namespace candidates_tests
