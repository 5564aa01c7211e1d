// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// The file of ELASTIC_ROLES, and the text that the nodes of a role exchange.

#include <elastic/contract/detail/roles_document.hpp>

#include <elastic/base/error.hpp>
#include <support/catch.hpp>

#include <string>
#include <utility>
#include <vector>

namespace roles_document_tests {

using elastic::detail::parse_roles;
using elastic::detail::parse_workers;
using elastic::job_roles;
using elastic::detail::roles_text;
using elastic::detail::workers_text;
using elastic::test::contains_text;

job_roles sample() {
  job_roles document;
  document.revision = 7;
  document.roles.push_back({"trainer", "running", true, 2, {{0, 0, "node0", "10.0.0.1"}}});
  document.roles.push_back({"rollout", "waiting"});
  document.roles[0].workers[0].ports = {{"http", 40123}};
  return document;
}

TEST_CASE("roles document: it has its bytes, which scripts read", "[contract][roles]") {
  CHECK(roles_text(sample()) ==
        R"({"revision": 7, "roles": {"trainer": {"state": "running", "ready": true, "epoch": 2, )"
        R"("workers": [{"rank": 0, "local_rank": 0, "node": "node0", "address": "10.0.0.1", )"
        R"("ports": {"http": 40123}}]}, )"
        R"("rollout": {"state": "waiting", "ready": false, "workers": []}}})"
        "\n");
}

TEST_CASE("roles document: what is written can be read", "[contract][roles]") {
  CHECK(parse_roles(roles_text(sample())) == sample());
  CHECK(parse_roles(roles_text({})) == job_roles());
  const std::vector<job_roles::worker> workers = sample().roles[0].workers;
  CHECK(parse_workers(workers_text(workers)) == workers);
  CHECK(parse_workers(workers_text({})).empty());
}

TEST_CASE("roles document: later releases may say more", "[contract][roles]") {
  const job_roles read = parse_roles(
      R"({"revision": 1, "more": 1, "roles": {"a": {"state": "paused", "ready": false, )"
      R"("workers": [], "labels": ["x"]}}})");
  CHECK(read.roles[0].state == "paused");
}

TEST_CASE("roles document: nonsense is refused", "[contract][roles]") {
  const auto with = [](const std::string& worker) {
    return R"({"revision": 1, "roles": {"a": {"state": "running", "ready": true, "workers": [)" +
           worker + "]}}}";
  };
  const std::string place = R"({"rank": 0, "local_rank": 0, "node": "n", "address": "h")";
  const std::vector<std::pair<std::string, std::string>> rows{
      {"", "is not a JSON object"},
      {"[]", "is not a JSON object"},
      {"{}", "has no \"revision\""},
      {R"({"revision": -1, "roles": {}})", "\"revision\""},
      {R"({"revision": 1})", "has no \"roles\""},
      {R"({"revision": 1, "roles": []})", "other than an object of at most 64 roles"},
      {R"({"revision": 1, "roles": {"": {}}})", "a role whose name has 0 bytes"},
      {R"({"revision": 1, "roles": {"a": 1}})", "is not a JSON object"},
      {with("1"), "is not a JSON object"},
      {with(R"({"rank": 0})"), "has no \"local_rank\""},
      {with(place + "}"), "has no \"ports\""},
      {with(place + R"(, "ports": []})"), "\"ports\" other than an object of at most 16 numbers"},
      {with(place + R"(, "ports": {"http": 0}})"), "a port 'http' that is not a number from 1"},
      {with(place + R"(, "ports": {"http": 65536}})"), "a port 'http' that is not a number from 1"},
      {with(place + R"(, "ports": {"http": "80"}})"), "a port 'http' that is not a number from 1"},
  };
  for (const auto& [text, problem] : rows) {
    INFO(text);
    CHECK_THROWS_WITH(parse_roles(text), contains_text(problem));
  }
  CHECK_THROWS_WITH(parse_workers(R"({"workers": {}})"), contains_text("\"workers\""));
}

}  // namespace roles_document_tests
