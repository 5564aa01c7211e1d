// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <support/catch.hpp>
#include <support/job_of_nodes.hpp>
#include <support/leftovers.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>
#include <support/reserved_port.hpp>

#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

// Jobs with nodes of elasticrun and of the real torchrun.
namespace {

using elastic::test::node_of_job;
using elastic::test::program_result;
using elastic::test::temporary_directory;

// A job of several nodes on this host.
class mixed_job {
 public:
  explicit mixed_job(std::string nodes, std::string python = elastic::test::torch_python())
      : nodes_(std::move(nodes)) {
    environment_ = {{"GLOO_SOCKET_IFNAME", "lo"},
                    {"OMP_NUM_THREADS", "1"},
                    {"PYTHON_EXEC", std::move(python)},
                    {"LOGLEVEL", "INFO"},
                    {remains_.name, remains_.value}};
  }

  // `conf` is added to the settings of the rendezvous; `first` makes its ranks the lowest.
  std::unique_ptr<node_of_job> elasticrun(const std::string& conf, bool first = false,
                                          const std::vector<std::string>& more = {}) {
    std::vector<std::string> command = {
        ELASTIC_ELASTICRUN, "--nnodes",  nodes_,  "--rdzv-backend", "c10d", "--rdzv-endpoint",
        endpoint(),         "--rdzv-id", "mixed", "--max-restarts", "5",    "--log-dir",
        directory_ / "logs"};
    command.push_back("--rdzv-conf");
    command.push_back("last_call_timeout=2" + (conf.empty() ? conf : "," + conf));
    if (first) command.insert(command.end(), {"--local-addr", "127.0.0.1"});
    command.insert(command.end(), more.begin(), more.end());
    return start(std::move(command));
  }

  std::unique_ptr<node_of_job> torchrun() {
    std::vector<std::string> command = elastic::test::torchrun_command(
        environment_.at("PYTHON_EXEC"), nodes_, "mixed", directory_ / "torch_logs");
    command.insert(command.end(), {"--rdzv_backend", "c10d", "--rdzv_endpoint", endpoint(),
                                   "--rdzv_conf", "last_call_timeout=2"});
    return start(std::move(command));
  }

  // The same by the static rendezvous, where the node of rank 0 serves.
  std::unique_ptr<node_of_job> static_elasticrun(int rank) {
    return start_static({ELASTIC_ELASTICRUN, "--log-dir", directory_ / "logs"}, rank);
  }
  std::unique_ptr<node_of_job> static_torchrun(int rank) {
    return start_static({environment_.at("PYTHON_EXEC"), "-m", "torch.distributed.run", "--log_dir",
                         directory_ / "torch_logs"},
                        rank);
  }

  // Tells the workers that they are done.
  void finish() { std::ofstream(stop_file()) << "done"; }

  void check_nothing_left() const { CHECK(remains_.processes().empty()); }

 private:
  std::unique_ptr<node_of_job> start_static(std::vector<std::string> command, int rank) {
    for (const std::string& word :
         {std::string("--nnodes"), nodes_, std::string("--node_rank"), std::to_string(rank),
          std::string("--master_addr"), std::string("127.0.0.1"), std::string("--master_port"),
          std::to_string(port_)}) {
      command.push_back(word);
    }
    return start(std::move(command));
  }

  std::unique_ptr<node_of_job> start(std::vector<std::string> command) {
    command.push_back(ELASTIC_SOURCE_DIR "/tests/integration/python/torch_mixed_worker.py");
    command.push_back(stop_file());
    return std::make_unique<node_of_job>(std::move(command), environment_, "adds");
  }

  std::string endpoint() const { return fmt::format("localhost:{}", port_); }
  std::string stop_file() const { return directory_ / "stop"; }

  const elastic::test::leftovers remains_;
  temporary_directory directory_;
  std::uint16_t port_ = elastic::test::reserved_port();
  std::string nodes_;
  std::map<std::string, std::string> environment_;
};

const std::string serving = "serving the store";

TEST_CASE("mixed job: elasticrun serves the store, a node of torchrun joins",
          "[integration][mixed]") {
  if (elastic::test::torch_python().empty()) return;
  // Whichever of the two has rank 0: it says where the workers meet.
  const bool first = GENERATE(true, false);
  mixed_job job("2");
  const auto ours = job.elasticrun("dialect=1.13", first);
  (*ours)->await_err(serving);
  const auto theirs = job.torchrun();
  ours->await_world(2);
  theirs->await_world(2);
  job.finish();
  theirs->check_success();
  ours->check_success();
  job.check_nothing_left();
}

TEST_CASE("mixed job: torchrun serves the store, a node of elasticrun finds out and joins",
          "[integration][mixed]") {
  if (elastic::test::torch_python().empty()) return;
  const bool first = GENERATE(true, false);
  mixed_job job("2");
  const auto theirs = job.torchrun();
  const auto ours = job.elasticrun("is_host=no", first);
  ours->await_world(2);
  theirs->await_world(2);
  job.finish();
  theirs->check_success();
  ours->check_success();
  job.check_nothing_left();
}

TEST_CASE("mixed job: a node of elasticrun that would replace ranks is refused",
          "[integration][mixed]") {
  if (elastic::test::torch_python().empty()) return;
  const bool we_serve = GENERATE(true, false);
  mixed_job job("2");
  const auto ours = job.elasticrun(we_serve ? "dialect=1.13" : "is_host=no", we_serve,
                                   {"--on-failure", "replace"});
  if (we_serve) (*ours)->await_err(serving);
  const auto theirs = job.torchrun();
  ours->check_failure(2, "the nodes of the round meet by the rules of torchrun");
  theirs->lose();
  (*theirs)->wait();
  job.check_nothing_left();
}

TEST_CASE("mixed job: two nodes of each kind", "[integration][mixed]") {
  if (elastic::test::torch_python().empty()) return;
  const bool we_serve = GENERATE(true, false);
  mixed_job job("4");
  std::vector<std::unique_ptr<node_of_job>> nodes;
  if (we_serve) {
    nodes.push_back(job.elasticrun("dialect=1.13"));
    (*nodes[0])->await_err(serving);
    // This one is not told the dialect: it asks the server.
    nodes.push_back(job.elasticrun(""));
    nodes.push_back(job.torchrun());
    nodes.push_back(job.torchrun());
  } else {
    nodes.push_back(job.torchrun());
    nodes.push_back(job.torchrun());
    nodes.push_back(job.elasticrun("is_host=no", true));
    nodes.push_back(job.elasticrun("is_host=no,dialect=1.13"));
  }
  for (const auto& node : nodes) node->await_world(4);
  job.finish();
  for (const auto& node : nodes) node->check_success();
  job.check_nothing_left();
}

TEST_CASE("mixed job: a node of torchrun is lost, the others go on", "[integration][mixed]") {
  if (elastic::test::torch_python().empty()) return;
  mixed_job job("2:3");
  const auto host = job.elasticrun("dialect=1.13");
  (*host)->await_err(serving);
  const auto other = job.torchrun();
  const auto lost = job.torchrun();
  for (const auto* node : {&host, &other, &lost}) (*node)->await_world(3);
  lost->lose();
  host->await_world(2);
  other->await_world(2);
  job.finish();
  other->check_success();
  host->check_success();
}

TEST_CASE("mixed job: a node of elasticrun is lost, the others go on", "[integration][mixed]") {
  if (elastic::test::torch_python().empty()) return;
  mixed_job job("2:3");
  const auto host = job.elasticrun("dialect=1.13");
  (*host)->await_err(serving);
  const auto lost = job.elasticrun("dialect=1.13");
  const auto theirs = job.torchrun();
  for (const auto* node : {&host, &lost, &theirs}) (*node)->await_world(3);
  lost->lose();
  host->await_world(2);
  theirs->await_world(2);
  job.finish();
  theirs->check_success();
  host->check_success();
}

TEST_CASE("mixed job: a node joins a running job", "[integration][mixed]") {
  if (elastic::test::torch_python().empty()) return;
  const bool is_ours = GENERATE(true, false);
  mixed_job job("2:3");
  const auto host = job.elasticrun("dialect=1.13");
  (*host)->await_err(serving);
  const auto theirs = job.torchrun();
  host->await_world(2);
  theirs->await_world(2);
  const auto late = is_ours ? job.elasticrun("") : job.torchrun();
  for (const auto* node : {&host, &theirs, &late}) (*node)->await_world(3);
  job.finish();
  for (const auto* node : {&theirs, &late, &host}) (*node)->check_success();
  job.check_nothing_left();
}

TEST_CASE("mixed job: a node of torchrun that finds a job of elasticrun alone is turned away",
          "[integration][mixed]") {
  if (elastic::test::torch_python().empty()) return;
  // One node is enough: left to itself it would make a job of its own under the same name.
  mixed_job job("1:3");
  const auto ours = job.elasticrun("");
  ours->await_world(1);
  const auto theirs = job.torchrun();
  (*ours)->await_err("start every node of elasticrun with --rdzv-conf dialect=1.13");
  const program_result turned_away = (*theirs)->wait();
  CHECK(turned_away.code != 0);
  CHECK(turned_away.err.find("RendezvousClosedError") != std::string::npos);
  CHECK(turned_away.out.find("adds with") == std::string::npos);
  // One that would meet as torchrun's do is told so at once.
  const auto another = job.elasticrun("is_host=no,dialect=1.13");
  const program_result refused = (*another)->wait();
  CHECK(refused.code == 2);
  CHECK(refused.err.find("meet in elasticrun's own way") != std::string::npos);
  // The job itself has not noticed.
  job.finish();
  ours->check_success();
  job.check_nothing_left();
}

TEST_CASE("mixed job: when the node of torchrun that serves the store is lost, the others end",
          "[integration][mixed]") {
  if (elastic::test::torch_python().empty()) return;
  mixed_job job("2");
  const auto host = job.torchrun();
  const auto ours = job.elasticrun("is_host=no");
  ours->await_world(2);
  host->await_world(2);
  host->lose();
  const program_result ended = (*ours)->wait();
  INFO(ended.err);
  CHECK(ended.code == 1);
  CHECK(ended.err.find("cannot be reached") != std::string::npos);
}

TEST_CASE("mixed job: nodes of elasticrun by themselves in each dialect", "[integration][mixed]") {
  if (elastic::test::torch_python().empty()) return;
  const std::string dialect = GENERATE("1.13", "2.0", "2.6");
  mixed_job job("2");
  const auto host = job.elasticrun("dialect=" + dialect);
  (*host)->await_err(serving);
  const auto other = job.elasticrun("");
  host->await_world(2);
  other->await_world(2);
  // In 2.6 the agent serves the workers, and those of PyTorch 1.13 would look for each other under
  // the number of their attempt, which is each node's own.
  if (dialect != "2.6") {
    ::kill(other->worker(), SIGKILL);
    host->await_world(2, 2);
    other->await_world(2, 2);
  }
  job.finish();
  other->check_success();
  host->check_success();
  job.check_nothing_left();
}

TEST_CASE("mixed job: a worker is killed, all begin anew", "[integration][mixed]") {
  if (elastic::test::torch_python().empty()) return;
  const bool is_ours = GENERATE(true, false);
  mixed_job job("2");
  const auto ours = job.elasticrun("dialect=1.13");
  (*ours)->await_err(serving);
  const auto theirs = job.torchrun();
  ours->await_world(2);
  theirs->await_world(2);
  ::kill((is_ours ? ours : theirs)->worker(), SIGKILL);
  ours->await_world(2, 2);
  theirs->await_world(2, 2);
  job.finish();
  theirs->check_success();
  ours->check_success();
  job.check_nothing_left();
}

// ---- PyTorch 2.13 -----------------------------------------------------------------------------

// Its nodes say and read but in their first round where the workers meet.
TEST_CASE("mixed job: with torchrun 2.13 workers are killed, all begin anew",
          "[integration][mixed]") {
  const std::string python = elastic::test::torch_213_python();
  if (python.empty()) return;
  const bool we_serve = GENERATE(true, false);
  // Whichever of the two has rank 0: it says where the workers meet.
  const bool first = GENERATE(true, false);
  mixed_job job("2", python);
  std::unique_ptr<node_of_job> ours;
  std::unique_ptr<node_of_job> theirs;
  if (we_serve) {
    ours = job.elasticrun("dialect=2.6", first);
    (*ours)->await_err(serving);
    theirs = job.torchrun();
  } else {
    theirs = job.torchrun();
    ours = job.elasticrun("is_host=no", first);
  }
  ours->await_world(2);
  theirs->await_world(2);
  ::kill((we_serve ? ours : theirs)->worker(), SIGKILL);
  ours->await_world(2, 2);
  theirs->await_world(2, 2);
  job.finish();
  theirs->check_success();
  ours->check_success();
  job.check_nothing_left();
}

TEST_CASE("mixed job: with torchrun 2.13 by the static rendezvous", "[integration][mixed]") {
  const std::string python = elastic::test::torch_213_python();
  if (python.empty()) return;
  const bool we_serve = GENERATE(true, false);
  const bool we_are_first = GENERATE(true, false);
  mixed_job job("2", python);
  const int rank = we_serve ? 0 : 1;
  std::unique_ptr<node_of_job> ours;
  if (we_are_first) ours = job.static_elasticrun(rank);
  const auto theirs = job.static_torchrun(1 - rank);
  if (!ours) {
    (*theirs)->await_err("Rendezvous'ing worker group");
    ours = job.static_elasticrun(rank);
  }
  ours->await_world(2);
  theirs->await_world(2);
  job.finish();
  theirs->check_success();
  ours->check_success();
  job.check_nothing_left();
}

// Without elasticrun that ends the job: the node that joins is not told where the workers meet.
TEST_CASE("mixed job: a node of elasticrun joins a running job of torchrun 2.13",
          "[integration][mixed]") {
  const std::string python = elastic::test::torch_213_python();
  if (python.empty()) return;
  const bool first = GENERATE(true, false);
  mixed_job job("1:2", python);
  const auto theirs = job.torchrun();
  theirs->await_world(1);
  const auto ours = job.elasticrun("is_host=no", first);
  ours->await_world(2);
  theirs->await_world(2);
  job.finish();
  theirs->check_success();
  ours->check_success();
  job.check_nothing_left();
}

}  // namespace
