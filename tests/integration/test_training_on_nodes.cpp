// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <support/candidate_endpoints.hpp>
#include <support/catch.hpp>
#include <support/etcd_server.hpp>
#include <support/job_of_nodes.hpp>
#include <support/run_program.hpp>
#include <support/reserved_port.hpp>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

// Jobs of several nodes with PyTorch workers, which find each other only if all of them got the
// same restart count.
namespace {

using elastic::test::etcd_server;
using elastic::test::job_of_nodes;
using elastic::test::node_of_job;

// A worker that meets the others once, and does not notice by itself that one of them has died.
std::vector<std::string> torch_work(const std::string& python) {
  return {"env", "GLOO_SOCKET_IFNAME=lo", "OMP_NUM_THREADS=1", python,
          ELASTIC_SOURCE_DIR "/tests/integration/python/torch_restart_worker.py"};
}

void await_training(const std::vector<std::unique_ptr<node_of_job>>& nodes, int attempt) {
  for (const auto& node : nodes) {
    (*node)->await_out(fmt::format("trains with {} in attempt {}", nodes.size(), attempt));
  }
}

// A worker is killed on one of two nodes; then a node joins.
void check_training(const std::vector<std::string>& meeting, const std::string& conf = "") {
  const std::string python = elastic::test::torch_python();
  if (python.empty()) return;
  // In torchrun's way a round that is joined waits so long for the nodes of the last one.
  job_of_nodes job("2:3", meeting, "last_call_timeout=5" + conf);
  job.work = torch_work(python);
  std::vector<std::unique_ptr<node_of_job>> nodes;
  nodes.push_back(job.node());
  nodes.push_back(job.node());
  await_training(nodes, 0);
  ::kill(nodes[1]->worker(), SIGKILL);
  await_training(nodes, 1);
  nodes.push_back(job.node());
  await_training(nodes, 1);
  job.finish();
  for (const auto& node : nodes) {
    const elastic::test::program_result result = (*node)->wait();
    INFO(result.out << result.err);
    CHECK(result.code == 0);
    // They have found each other each time.
    std::size_t starts = 0;
    std::size_t meetings = 0;
    for (std::size_t at = 0; (at = result.out.find("works with", at) + 1) != 0;) ++starts;
    for (std::size_t at = 0; (at = result.out.find("trains with", at) + 1) != 0;) ++meetings;
    CHECK(starts == meetings);
    CHECK(starts == (node == nodes.back() ? 1 : 3));
  }
  job.check_nothing_left();
}

TEST_CASE("training on nodes: goes on after a worker's death, over c10d", "[integration][nodes]") {
  const std::string endpoint = fmt::format("localhost:{}", elastic::test::reserved_port());
  const std::string dialect = GENERATE("", ",dialect=2.6", ",dialect=1.13");
  check_training({"--rdzv-backend", "c10d", "--rdzv-endpoint", endpoint}, dialect);
}

TEST_CASE("training on nodes: workers meet at the address of --local-addr, also at loopback",
          "[integration][nodes]") {
  const std::string python = elastic::test::torch_python();
  if (python.empty()) return;
  const std::string endpoint = fmt::format("localhost:{}", elastic::test::reserved_port());
  job_of_nodes job("2", {"--rdzv-backend", "c10d", "--rdzv-endpoint", endpoint},
                   "join_timeout=60");
  job.work = torch_work(python);
  std::vector<std::unique_ptr<node_of_job>> nodes;
  for (const char* address : {"127.0.0.2", "127.0.0.3"}) {
    nodes.push_back(job.node("", {"--local-addr", address}));
  }
  await_training(nodes, 0);
  job.finish();
  for (const auto& node : nodes) node->check_success();
  job.check_nothing_left();
}

TEST_CASE("training on nodes: with a secret, goes on after the death of a worker and of a node",
          "[integration][nodes][secret]") {
  const std::string python = elastic::test::torch_213_python();
  if (python.empty()) return;
  const elastic::test::temporary_directory folder;
  const std::string secret = folder / "secret";
  std::ofstream(secret) << "correct-horse-battery-staple";
  std::filesystem::permissions(secret, std::filesystem::perms(0600));
  const std::string endpoint = fmt::format("localhost:{}", elastic::test::reserved_port());
  job_of_nodes job("2:3", {"--rdzv-backend", "c10d", "--rdzv-endpoint", endpoint},
                   "last_call_timeout=1,secret_file=" + secret);
  job.work = torch_work(python);
  std::vector<std::unique_ptr<node_of_job>> nodes;
  for (int i = 0; i < 3; ++i) nodes.push_back(job.node(i == 0 ? "is_host=yes" : "is_host=no"));
  await_training(nodes, 0);
  ::kill(nodes[1]->worker(), SIGKILL);
  await_training(nodes, 1);
  nodes.back()->lose();
  nodes.pop_back();
  await_training(nodes, 1);
  job.finish();
  for (const auto& node : nodes) node->check_success();
  job.check_nothing_left();
}

TEST_CASE("training on nodes: goes on after a worker's death, over etcd", "[integration][etcd]") {
  const etcd_server server({"--enable-v2"});
  const std::string backend = GENERATE("etcd-v3", "etcd-v2");
  check_training({"--rdzv-backend", backend, "--rdzv-endpoint", server.endpoint()});
}

TEST_CASE("training on nodes: goes on after a worker's death, over a directory",
          "[integration][file]") {
  const elastic::test::temporary_directory place;
  check_training({"--rdzv-backend", "file", "--rdzv-endpoint", place.path()});
}

TEST_CASE("training on nodes: goes on after the death of a worker and of the agent that leads",
          "[integration][nodes]") {
  const std::string python = elastic::test::torch_213_python();
  if (python.empty()) return;
  const elastic::test::candidate_endpoints endpoints;
  job_of_nodes job("2:3", {"--rdzv-backend", "c10d", "--rdzv-endpoint", endpoints.list()},
                   "last_call_timeout=1");
  job.work = torch_work(python);
  std::vector<std::unique_ptr<node_of_job>> nodes;
  for (int more = 0; more < 3; ++more) nodes.push_back(job.node());
  await_training(nodes, 0);
  ::kill(nodes[1]->worker(), SIGKILL);
  await_training(nodes, 1);
  // On a busy machine another one may have led before.
  const auto last_term = [](const auto& node) {
    const std::string said = " leads in term ";
    const std::size_t at = (*node)->err().rfind(said);
    return at == std::string::npos ? -1 : std::atoll((*node)->err().c_str() + at + said.size());
  };
  const auto leader = std::max_element(
      nodes.begin(), nodes.end(),
      [&](const auto& one, const auto& other) { return last_term(one) < last_term(other); });
  REQUIRE(last_term(*leader) >= 0);
  (*leader)->lose();
  nodes.erase(leader);
  await_training(nodes, 1);
  job.finish();
  for (const auto& node : nodes) node->check_success();
  job.check_nothing_left();
}

}  // namespace
