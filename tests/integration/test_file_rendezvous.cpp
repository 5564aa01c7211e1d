// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <support/catch.hpp>
#include <support/job_of_nodes.hpp>
#include <support/run_program.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

// Jobs whose nodes meet in a directory.
namespace {
namespace file_rendezvous_test {

using elastic::test::job_of_nodes;
using elastic::test::temporary_directory;

const std::string quick = "last_call_timeout=1,keep_alive_interval=0.75,keep_alive_max_attempt=4";

std::vector<std::string> in(const std::string& directory) {
  return {"--rdzv-backend", "file", "--rdzv-endpoint", directory};
}

TEST_CASE("file rendezvous: nodes meet and end together", "[integration][file]") {
  temporary_directory place;
  job_of_nodes job("2:3", in(place.path()), quick);
  elastic::test::check_meeting(job);
}

TEST_CASE("file rendezvous: a worker is killed, all begin anew", "[integration][file]") {
  temporary_directory place;
  job_of_nodes job("2", in(place.path()), quick);
  elastic::test::check_worker_killed(job);
}

TEST_CASE("file rendezvous: the others of a node that is lost go on, and take in another",
          "[integration][file]") {
  temporary_directory place;
  job_of_nodes job("2:3", in(place.path()), quick);
  elastic::test::check_node_lost(job);
}

TEST_CASE("file rendezvous: whichever agent is killed, nobody waits for its lease",
          "[integration][file]") {
  temporary_directory place;
  job_of_nodes job("1:3", in(place.path()), elastic::test::long_lease);
  elastic::test::check_agents_killed(job);
}

TEST_CASE("file rendezvous: a node that waits for others can be interrupted",
          "[integration][file]") {
  temporary_directory place;
  job_of_nodes job("2", in(place.path()), quick);
  elastic::test::check_interrupted_wait(job, "meeting in the directory");
}

TEST_CASE("file rendezvous: a directory that is not there is told at once", "[integration][file]") {
  temporary_directory place;
  job_of_nodes job("2", in(place / "missing"), quick);
  job.node()->check_failure(1, "the directory '" + (place / "missing") + "' cannot be used");
}

TEST_CASE("file rendezvous: a state that is damaged is named, and left as it is",
          "[integration][file]") {
  temporary_directory place;
  std::filesystem::create_directory(place / "job");
  const std::string state = place / "job/rendezvous";
  std::ofstream(state) << "cos\nsystem\n(S'touch pwned'\ntR.";
  const std::string before = elastic::test::file_text(state);
  job_of_nodes job("2", in(place.path()), quick);
  job.node()->check_failure(1, "the file '" + state + "' was not written by elasticrun");
  CHECK(elastic::test::file_text(state) == before);
}

TEST_CASE("file rendezvous: when the directory is gone, agents stop their workers and end",
          "[integration][file]") {
  temporary_directory place;
  job_of_nodes job("2", in(place.path()), quick);
  const auto first = job.node();
  const auto second = job.node();
  for (const auto* node : {&first, &second}) (*node)->await_world(2);
  std::filesystem::rename(place / "job", place / "gone");
  for (const auto* node : {&first, &second}) (*node)->check_failure(1, "the directory '");
  job.check_nothing_left();
}

}  // namespace file_rendezvous_test
}  // namespace
