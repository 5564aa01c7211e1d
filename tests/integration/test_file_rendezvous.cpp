// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <support/catch.hpp>
#include <support/job_of_nodes.hpp>
#include <support/run_program.hpp>
#include <support/text.hpp>

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

TEST_CASE("file rendezvous: a directory that is not there is told at once", "[integration][file]") {
  temporary_directory place;
  job_of_nodes job("2", in(place / "missing"), quick);
  job.node()->check_failure(1, "the directory '" + (place / "missing") + "' cannot be used");
}

TEST_CASE("file rendezvous: a state that is damaged is named, and left as it is",
          "[integration][file]") {
  temporary_directory place;
  std::filesystem::create_directory(place / "job");
  const std::string state = place / "job/leader";
  std::ofstream(state) << "cos\nsystem\n(S'touch pwned'\ntR.";
  const std::string before = elastic::test::file_text(state);
  job_of_nodes job("2", in(place.path()), quick);
  job.node()->check_failure(1, "the file '" + state + "' was not written by elasticrun");
  CHECK(elastic::test::file_text(state) == before);
}

TEST_CASE("file rendezvous: a lock that others may read is warned of once", "[integration][file]") {
  temporary_directory place;
  std::filesystem::create_directory(place / "job");
  const std::string lock = place / "job/.lock";
  std::ofstream(lock) << "";
  std::filesystem::permissions(lock, std::filesystem::perms(0644));
  job_of_nodes job("1:2", in(place.path()), quick);
  const auto node = job.node();
  node->await_world(1);
  job.finish();
  node->check_success();
  CHECK(elastic::test::occurrences((*node)->err(), "chmod go-r " + lock) == 1);
}

#if defined(ELASTIC_HAS_TLS)
TEST_CASE("file rendezvous: with a secret, a node without it has no part in the job",
          "[integration][file]") {
  temporary_directory place;
  const std::string secret = place / "secret";
  std::ofstream(secret) << "0123456789abcdef0123456789abcdef\n";
  std::filesystem::permissions(secret, std::filesystem::perms::owner_read);
  job_of_nodes job("2:3", in(place.path()), quick);
  const auto first = job.node("secret_file=" + secret);
  const auto second = job.node("secret_file=" + secret);
  for (const auto* node : {&first, &second}) (*node)->await_world(2);
  job.node()->check_failure(2, "it is of a job with a secret");
  job.finish();
  for (const auto* node : {&first, &second}) (*node)->check_success();
  job.check_nothing_left();
}
#endif

}  // namespace file_rendezvous_test
}  // namespace
