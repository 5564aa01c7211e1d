// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/etcd/detail/etcd_client.hpp>
#include <elastic/etcd/detail/etcd_keys.hpp>
#include <elastic/etcd/detail/etcd_v2_keys.hpp>
#include <elastic/etcd/etcd_rendezvous.hpp>
#include <elastic/store/versioned_store.hpp>
#include <elastic/torch/detail/keyed_rendezvous_backend.hpp>
#include <support/cancelled_choice.hpp>
#include <support/catch.hpp>
#include <support/certificates.hpp>
#include <support/co_test.hpp>
#include <support/etcd_server.hpp>
#include <support/job_of_nodes.hpp>
#include <support/reserved_port.hpp>
#include <support/scripted_server.hpp>
#include <unit/store/store_conformance.hpp>
#include <unit/torch/backend_conformance.hpp>

#include <chrono>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace {
namespace etcd_test {

using namespace std::chrono_literals;
using elastic::task;
using elastic::test::etcd_server;

constexpr std::size_t largest_value = 256 * 1024;

elastic::detail::etcd_options options_for(const etcd_server& server) {
  elastic::detail::etcd_options options;
  options.members.push_back(elastic::parse_endpoint(server.endpoint(), 2379));
  return options;
}

std::shared_ptr<elastic::detail::etcd_keys> keys_of(
    std::shared_ptr<elastic::detail::etcd_client> client) {
  return std::make_shared<elastic::detail::etcd_keys>(std::move(client), "/test/store/");
}

std::shared_ptr<elastic::store> store_at(const etcd_server& server) {
  auto client = std::make_shared<elastic::detail::etcd_client>(options_for(server));
  return std::make_shared<elastic::versioned_store>(keys_of(std::move(client)));
}

CO_TEST("etcd store: has the operations of PyTorch's store", "[integration][etcd]") {
  const etcd_server server;
  co_await elastic::test::check_values(store_at(server), true, largest_value);
}

CO_TEST("etcd store: waits end when the keys come", "[integration][etcd]") {
  const etcd_server server;
  co_await elastic::test::check_waits(store_at(server));
}

CO_TEST("etcd store: cancelled waits leave nothing", "[integration][etcd]") {
  const etcd_server server;
  co_await elastic::test::check_cancelled_waits(store_at(server));
}

CO_TEST("etcd store: refuses what is too large or no number", "[integration][etcd]") {
  const etcd_server server;
  co_await elastic::test::check_refusals(store_at(server));
}

// ---- the state of a rendezvous ------------------------------------------------------------------

std::shared_ptr<elastic::detail::rendezvous_backend> v2_backend_at(const etcd_server& server) {
  auto client = std::make_shared<elastic::detail::etcd_client>(options_for(server));
  return std::make_shared<elastic::detail::keyed_rendezvous_backend>(
      std::make_shared<elastic::detail::etcd_v2_keys>(
          std::move(client), "/torch/elastic/rendezvous", elastic::detail::etcd_v2_form::plain),
      "j", elastic::detail::torch_dialect::torch_1_13);
}

CO_TEST("rendezvous backend in etcd by v2: does what the others do", "[integration][etcd]") {
  const etcd_server server({"--enable-v2"});
  const auto backend = v2_backend_at(server);
  const auto other = v2_backend_at(server);
  SECTION("replaces what was seen") { co_await elastic::test::check_backend(backend, other); }
  SECTION("one is first") { co_await elastic::test::check_backend_race(backend, other); }
  SECTION("tells of changes") { co_await elastic::test::check_backend_wait(backend, other); }
}

// ---- jobs ---------------------------------------------------------------------------------------

using elastic::test::job_of_nodes;

const std::string quick = "last_call_timeout=1,lease_ttl=3";

std::vector<std::string> at(const std::string& endpoint) {
  return {"--rdzv-backend", "etcd", "--rdzv-endpoint", endpoint};
}

TEST_CASE("etcd: of several members one is enough", "[integration][etcd]") {
  etcd_server server;
  const std::uint16_t nobody = elastic::test::reserved_port();
  job_of_nodes job("2:3", at(fmt::format("127.0.0.1:{},{}", nobody, server.endpoint())), quick);
  elastic::test::check_meeting(job);
}

TEST_CASE("etcd: a foreign value is named", "[integration][etcd]") {
  etcd_server server;
  const std::string key = "/elastic/job/job/leader";
  server.control({"put", key, "x"});
  job_of_nodes job("2", at(server.endpoint()), quick);
  const elastic::test::program_result result = (*job.node())->wait();
  INFO(result.err);
  CHECK(result.code == 2);
  CHECK(result.err.find("it was not written by elasticrun") != std::string::npos);
  CHECK(result.err.find(key) != std::string::npos);
}

TEST_CASE("etcd: one that cannot be reached ends the wait with what was tried",
          "[integration][etcd]") {
  const std::uint16_t nobody = elastic::test::reserved_port();
  const auto [endpoint, text] = GENERATE_COPY(table<std::string, std::string>(
      {{fmt::format("127.0.0.1:{}", nobody), "Connection refused; given up after 1 s"},
       {"no.such.host.invalid:2379", "the name 'no.such.host.invalid' cannot be resolved"}}));
  job_of_nodes job("2", at(endpoint), "join_timeout=1");
  job.node()->check_failure(1, text);
}

TEST_CASE("etcd: one that cannot be reached is told at once, and waited for",
          "[integration][etcd]") {
  etcd_server server;
  server.kill();
  job_of_nodes job("1:2", at(server.endpoint()), quick);
  const auto node = job.node();
  (*node)->await_err("Connection refused; it is tried for");
  server.start();
  node->await_world(1);
  job.finish();
  const elastic::test::program_result result = (*node)->wait();
  INFO(result.err);
  CHECK(result.code == 0);
  const std::size_t first = result.err.find("it is tried for");
  CHECK(result.err.find("it is tried for", first + 1) == std::string::npos);
}

TEST_CASE("etcd: a restart that waits for a silent etcd says so, though all nodes are there",
          "[integration][etcd]") {
  etcd_server server;
  job_of_nodes job("2", at(server.endpoint()), "last_call_timeout=1");
  const auto first = job.node();
  const auto second = job.node();
  for (const auto* node : {&first, &second}) {
    (*node)->await_world(2);
    // A worker speaks before its agent has ended the round, which takes the etcd.
    (**node)->await_err(" of 2, ranks");
  }
  server.hang();
  // The workers of both nodes end, and both nodes come to the next round.
  ::kill(first->worker(), SIGKILL);
  const std::string words = fmt::format(
      "still waiting after 5 s: the key '/elastic/job/job/leader' of the etcd at {} could not be "
      "read for ",
      server.url());
  for (const auto* node : {&first, &second}) (**node)->await_err(words);
  server.resume();
  for (const auto* node : {&first, &second}) (*node)->await_world(2, 2);
  job.finish();
  for (const auto* node : {&first, &second}) (*node)->check_success();
  job.check_nothing_left();
}

TEST_CASE("etcd: something else at its port is told at once", "[integration][etcd]") {
  const auto [answer, text] = GENERATE(table<std::string, std::string>(
      {{"220 smtp.example ESMTP\r\n", "it begins with '220 smtp.example ESMTP'"},
       {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "is not etcd: HTTP status 200, 'hello'"},
       {"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno", "is not etcd: HTTP status 404"}}));
  elastic::test::scripted_server server({{answer}});
  job_of_nodes job("2", at(fmt::format("127.0.0.1:{}", server.port())), "join_timeout=60");
  job.node()->check_failure(1, text);
}

// ---- the v2 API ---------------------------------------------------------------------------------

std::vector<std::string> at_v2(const std::string& endpoint) {
  return {"--rdzv-backend", "etcd-v2", "--rdzv-endpoint", endpoint};
}

const std::string quick_v2 =
    "last_call_timeout=1,keep_alive_interval=0.75,keep_alive_max_attempt=4";

std::shared_ptr<elastic::store> v2_store_at(const etcd_server& server) {
  auto client = std::make_shared<elastic::detail::etcd_client>(options_for(server));
  return std::make_shared<elastic::versioned_store>(std::make_shared<elastic::detail::etcd_v2_keys>(
      std::move(client), "/torch/elastic/store", elastic::detail::etcd_v2_form::base64));
}

CO_TEST("etcd-v2 store: has the operations of PyTorch's store", "[integration][etcd]") {
  const etcd_server server({"--enable-v2"});
  co_await elastic::test::check_values(v2_store_at(server), true, largest_value);
}

CO_TEST("etcd-v2 store: waits end when the keys come, and may be cancelled",
        "[integration][etcd]") {
  const etcd_server server({"--enable-v2"});
  co_await elastic::test::check_waits(v2_store_at(server));
  co_await elastic::test::check_cancelled_waits(v2_store_at(server));
}

TEST_CASE("etcd-v2: a worker is killed, all begin anew", "[integration][etcd]") {
  etcd_server server({"--enable-v2"});
  job_of_nodes job("2", at_v2(server.endpoint()), quick_v2);
  elastic::test::check_worker_killed(job);
}

TEST_CASE("etcd-v2: the others of a node that is lost go on, and take in another",
          "[integration][etcd]") {
  etcd_server server({"--enable-v2"});
  job_of_nodes job("2:3", at_v2(server.endpoint()), quick_v2);
  elastic::test::check_node_lost(job);
}

TEST_CASE("etcd-v2: a server without it is told at once", "[integration][etcd]") {
  etcd_server server;
  job_of_nodes job("2", at_v2(server.endpoint()), "join_timeout=60");
  job.node()->check_failure(1, "does not offer the v2 API: it has to be started with --enable-v2");
}

TEST_CASE("etcd: a server of 3.6 or later, which has no v2 API, leads to etcd-v3",
          "[integration][etcd]") {
  const auto answer = [](int status, const std::string& body) {
    return fmt::format("HTTP/1.1 {} X\r\nContent-Length: {}\r\n\r\n{}", status, body.size(), body);
  };
  const std::string version =
      answer(200, R"({"etcdserver":"3.6.13","etcdcluster":"3.6.0","storage":"3.6.0"})");
  const std::string absent = answer(404, "404 page not found\n");
  const elastic::test::scripted_server server({{version, absent, absent, absent, absent}});
  const std::string endpoint = fmt::format("127.0.0.1:{}", server.port());
  const std::string names_v3 = "the rendezvous backend etcd-v3 uses the v3 API (HTTP status 404)";
  job_of_nodes by_v2("2", at_v2(endpoint), "join_timeout=60");
  by_v2.node()->check_failure(1, names_v3);
  job_of_nodes as_torchrun("2", at(endpoint), "join_timeout=60,dialect=2.6");
  as_torchrun.node()->check_failure(1, names_v3);
}

TEST_CASE("etcd: is v2 if the server has nothing else", "[integration][etcd]") {
  etcd_server server({"--enable-v2", "--enable-grpc-gateway=false"});
  job_of_nodes job("2:3", at(server.endpoint()), quick_v2);
  elastic::test::check_meeting(job);
}

TEST_CASE("etcd-v2: nodes of torchrun take part", "[integration][etcd][mixed]") {
  const std::string python = elastic::test::torch_python();
  if (python.empty()) return;
  etcd_server server({"--enable-v2"});
  job_of_nodes job("2", at_v2(server.endpoint()), "last_call_timeout=2,dialect=1.13");
  const std::vector<std::string> theirs = {"--rdzv_backend",  "etcd-v2",     "--rdzv_endpoint",
                                           server.endpoint(), "--rdzv_conf", "last_call_timeout=2"};
  const auto ours = job.node();
  const auto other = job.torchrun(python, theirs);
  for (const auto* node : {&ours, &other}) (*node)->await_world(2);
  ::kill(ours->worker(), SIGKILL);
  for (const auto* node : {&ours, &other}) (*node)->await_world(2, 2);
  ::kill(other->worker(), SIGKILL);
  for (const auto* node : {&ours, &other}) (*node)->await_world(2, 3);
  job.finish();
  for (const auto* node : {&ours, &other}) (*node)->check_success();
  job.check_nothing_left();
}

// ---- torchrun's backend "etcd" ------------------------------------------------------------------

std::vector<std::string> at_legacy(const etcd_server& server) {
  return {"--rdzv_backend",  "etcd",        "--rdzv_endpoint",
          server.endpoint(), "--rdzv_conf", "last_call_timeout=1"};
}

const std::string quick_legacy = "last_call_timeout=1,join_timeout=170";

TEST_CASE("etcd: nodes of torchrun's backend etcd take part", "[integration][etcd][mixed]") {
  const std::string python = elastic::test::torch_python();
  if (python.empty()) return;
  etcd_server server({"--enable-v2"});
  job_of_nodes job("2", at(server.endpoint()), quick_legacy);
  std::unique_ptr<elastic::test::node_of_job> ours;
  std::unique_ptr<elastic::test::node_of_job> other;
  SECTION("elasticrun is the first, and is told the dialect") {
    ours = job.node("dialect=1.13");
    (*ours)->await_err("by their backend 'etcd'");
    other = job.torchrun(python, at_legacy(server));
  }
  SECTION("elasticrun is the first, and goes to the others") {
    ours = job.node();
    (*ours)->await_err("by its v3 API");
    other = job.torchrun(python, at_legacy(server));
    (*ours)->await_err("this node goes to them");
  }
  SECTION("torchrun is the first") {
    other = job.torchrun(python, at_legacy(server));
    (*other)->await_err("New rendezvous state created");
    ours = job.node();
  }
  REQUIRE(ours);
  for (const auto* node : {&ours, &other}) (*node)->await_world(2);
  // Workers that fail on one side begin anew on both.
  ::kill(ours->worker(), SIGKILL);
  for (const auto* node : {&ours, &other}) (*node)->await_world(2, 2);
  ::kill(other->worker(), SIGKILL);
  for (const auto* node : {&ours, &other}) (*node)->await_world(2, 3);
  job.finish();
  for (const auto* node : {&ours, &other}) (*node)->check_success();
  job.check_nothing_left();
}

TEST_CASE("etcd: a node of torchrun that is lost is seen, and another one taken in",
          "[integration][etcd][mixed]") {
  const std::string python = elastic::test::torch_python();
  if (python.empty()) return;
  etcd_server server({"--enable-v2"});
  job_of_nodes job("1:2", at(server.endpoint()), "last_call_timeout=5,dialect=1.13");
  const auto ours = job.node();
  const auto lost = job.torchrun(python, at_legacy(server));
  for (const auto* node : {&ours, &lost}) (*node)->await_world(2);
  lost->lose();
  ours->await_world(1);
  const auto late = job.torchrun(python, at_legacy(server));
  ours->await_world(2, 2);
  late->await_world(2);
  job.finish();
  for (const auto* node : {&ours, &late}) (*node)->check_success();
  job.check_nothing_left();
}

TEST_CASE("etcd: nodes of torchrun go on without one of elasticrun that is lost",
          "[integration][etcd][mixed]") {
  const std::string python = elastic::test::torch_python();
  if (python.empty()) return;
  etcd_server server({"--enable-v2"});
  job_of_nodes job("2", at(server.endpoint()), "last_call_timeout=1");
  const auto lost = job.node();
  (*lost)->await_err("by its v3 API");
  const auto theirs = job.torchrun(python, at_legacy(server));
  for (const auto* node : {&lost, &theirs}) (*node)->await_world(2);
  lost->lose();
  // That it was somewhere else first is no hindrance.
  const auto late = job.node();
  theirs->await_world(2, 2);
  late->await_world(2);
  job.finish();
  for (const auto* node : {&theirs, &late}) (*node)->check_success();
  job.check_nothing_left();
}

TEST_CASE("etcd: as torchrun's backend etcd, among nodes of elasticrun", "[integration][etcd]") {
  etcd_server server({"--enable-v2"});
  const std::string conf = "last_call_timeout=1,dialect=1.13";
  SECTION("a worker is killed") {
    job_of_nodes job("2", at(server.endpoint()), conf);
    elastic::test::check_worker_killed(job);
  }
  SECTION("a node is lost") {
    job_of_nodes job("2:3", at(server.endpoint()), conf);
    elastic::test::check_node_lost(job);
  }
  SECTION("agents of PyTorch 2.6") {
    job_of_nodes job("2:3", at(server.endpoint()), "last_call_timeout=1,dialect=2.6");
    elastic::test::check_meeting(job);
  }
}

TEST_CASE("etcd: a damaged state of torchrun's backend is told with its key, and left",
          "[integration][etcd]") {
  etcd_server server({"--enable-v2"});
  const std::string key = "/torchelastic/p2p/run_job/rdzv/active_version";
  const auto [text, problem] = GENERATE(table<std::string, std::string>(
      {{"{", "it is not a JSON object"},
       {R"({"status": "joinable", "version": 7, "participants": []})", "'version' is not a string"},
       {R"({"status": "final", "version": "7", "participants": [0]})",
        "'keep_alives' is missing"}}));
  const std::vector<std::string> command = {"etcdctl", "--endpoints=" + server.url(), "set", key,
                                            text};
  REQUIRE(elastic::test::run_program(command, {{"ETCDCTL_API", "2"}}).code == 0);
  job_of_nodes job("2", at(server.endpoint()), "join_timeout=60");
  job.node()->check_failure(1, fmt::format("{} (the key '{}' of the etcd at", problem, key));
  const std::vector<std::string> look = {"etcdctl", "--endpoints=" + server.url(), "get", key};
  CHECK(elastic::test::run_program(look, {{"ETCDCTL_API", "2"}}).out == text + "\n");
}

TEST_CASE("etcd: two ways to meet under one run id are told", "[integration][etcd]") {
  etcd_server server({"--enable-v2"});
  job_of_nodes job("1", at(server.endpoint()), quick);
  const auto ours = job.node();
  ours->await_world(1);
  const std::vector<std::string> command = {"etcdctl", "--endpoints=" + server.url(), "mkdir",
                                            "/torchelastic/p2p/run_job"};
  REQUIRE(elastic::test::run_program(command, {{"ETCDCTL_API", "2"}}).code == 0);
  job.node()->check_failure(2, "start it again under another id");
  job.finish();
  ours->check_success();
}

TEST_CASE("etcd: cancelled at any point of the choice, a node leaves nothing",
          "[integration][etcd]") {
  etcd_server server({"--enable-v2"});
  elastic::rendezvous_parameters parameters;
  parameters.backend = "etcd";
  parameters.endpoint = server.endpoint();
  parameters.local_addr = "127.0.0.1";
  parameters.min_nodes = 1;
  parameters.max_nodes = 2;
  parameters.last_call_timeout = 20ms;
  parameters.join_timeout = 120s;
  SECTION("by the v3 API, unless nodes of torchrun come") {}
  SECTION("as torchrun's backend etcd") { parameters.conf["dialect"] = "1.13"; }
  SECTION("by the v2 API") { parameters.backend = "etcd-v2"; }
  constexpr int most_events = 3000;
  int events = 0;
  // Each is a job of its own: one that is left without a word may be waited for.
  for (bool is_made = false; !is_made; ++events) {
    REQUIRE(events < most_events);
    parameters.run_id = fmt::format("job{}", events);
    is_made = elastic::test::is_made_within(events, elastic::make_etcd_rendezvous(parameters));
  }
  CHECK(events > 1);
}

// ---- what goes wrong ----------------------------------------------------------------------------

TEST_CASE("etcd: one without the v3 API is told at once", "[integration][etcd]") {
  etcd_server server({"--enable-grpc-gateway=false"});
  std::vector<std::string> meeting_there = at(server.endpoint());
  meeting_there[1] = "etcd-v3";
  job_of_nodes job("2", meeting_there, "join_timeout=60");
  job.node()->check_failure(1, "does not offer /v3/");
}

TEST_CASE("etcd: users and passwords", "[integration][etcd]") {
  etcd_server server;
  server.control({"user", "add", "root:secret"});
  server.control({"user", "grant-role", "root", "root"});
  server.control({"user", "add", "trainer:pass word"});
  server.control({"role", "add", "training"});
  server.control(
      {"role", "grant-permission", "training", "--prefix=true", "readwrite", "/elastic"});
  server.control({"user", "grant-role", "trainer", "training"});
  server.control({"auth", "enable"});
  // A check of a password is a bcrypt, which takes seconds on a busy machine.
  const std::string patient = "read_timeout=30,";
  SECTION("none is given") {
    job_of_nodes job("2", at(server.endpoint()), patient + "join_timeout=60");
    job.node()->check_failure(2, "it requires a user and a password (--rdzv-conf user=");
  }
  SECTION("a wrong password") {
    job_of_nodes job("2", at(server.endpoint()),
                     patient + "join_timeout=60,user=trainer,password=word");
    job.node()->check_failure(2, "authentication failed");
  }
  SECTION("keys that are not the user's") {
    job_of_nodes job("2", at(server.endpoint()),
                     patient + "join_timeout=60,user=trainer,password=pass word,"
                               "etcd_prefix=/other");
    job.node()->check_failure(2, "the user 'trainer' may not use these keys");
  }
  SECTION("the right ones") {
    job_of_nodes job("2:3", at(server.endpoint()),
                     patient + quick + ",user=trainer,password=pass word");
    elastic::test::check_meeting(job);
  }
  SECTION("the right ones, the password by a file") {
    const elastic::test::temporary_directory directory;
    const std::string file = directory / "password";
    std::ofstream(file) << "pass word\n";
    job_of_nodes job("2:3", at(server.endpoint()),
                     patient + quick + ",user=trainer,password_file=" + file);
    elastic::test::check_meeting(job);
  }
}

// ---- TLS ----------------------------------------------------------------------------------------

#if defined(ELASTIC_HAS_TLS)

using elastic::test::certificates;

etcd_server secure_server(const certificates& made) {
  return etcd_server(
      {"--cert-file=" + made.file("server.pem"), "--key-file=" + made.file("server.key"),
       "--trusted-ca-file=" + made.file("ca.pem"), "--client-cert-auth=true"},
      "https");
}

TEST_CASE("etcd: by TLS, with certificates of both sides", "[integration][etcd]") {
  const certificates made;
  const auto server = secure_server(made);
  const std::string conf =
      fmt::format("{},protocol=https,cacert={},cert={},key={}", quick, made.file("ca.pem"),
                  made.file("client.pem"), made.file("client.key"));
  job_of_nodes job("2:3", at(server.endpoint()), conf);
  elastic::test::check_meeting(job);
}

TEST_CASE("etcd: TLS that is refused is told at once", "[integration][etcd]") {
  const certificates made;
  const certificates others("DNS:elsewhere");
  const std::string authority = "protocol=https,cacert=" + made.file("ca.pem");
  const std::string client =
      fmt::format(",cert={},key={}", made.file("client.pem"), made.file("client.key"));
  SECTION("by whom the server is not known") {
    const auto server = secure_server(made);
    job_of_nodes job("2", at(server.endpoint()), "protocol=https" + client);
    job.node()->check_failure(2, "the TLS handshake failed: ");
  }
  SECTION("a server of another name") {
    const auto server = secure_server(others);
    job_of_nodes job("2", at(server.endpoint()), "protocol=https,cacert=" + others.file("ca.pem"));
    job.node()->check_failure(2, "the TLS handshake failed: ");
  }
  SECTION("a server that does not speak it") {
    etcd_server server;
    job_of_nodes job("2", at(server.endpoint()), "join_timeout=1," + authority);
    job.node()->check_failure(1, "(does it serve https?)");
  }
  SECTION("a server that speaks nothing else") {
    const auto server = secure_server(made);
    job_of_nodes job("2", at(server.endpoint()), "join_timeout=1");
    job.node()->check_failure(1, "(does it need --rdzv-conf protocol=https?)");
  }
  SECTION("a file that is not there") {
    job_of_nodes job("2", at("127.0.0.1:1"), "protocol=https,cacert=/no/such.pem");
    job.node()->check_failure(2, "the file '/no/such.pem' cannot be used for TLS");
  }
  SECTION("a certificate without its key") {
    job_of_nodes job("2", at("127.0.0.1:1"), "protocol=https,cert=" + made.file("client.pem"));
    job.node()->check_failure(2, "cert needs key: the file '" + made.file("client.pem") + "'");
  }
  SECTION("a key without its certificate") {
    job_of_nodes job("2", at("127.0.0.1:1"), "protocol=https,key=" + made.file("client.key"));
    job.node()->check_failure(2, "--rdzv-conf: key needs cert");
  }
  SECTION("files without TLS") {
    job_of_nodes job("2", at("127.0.0.1:1"), "cacert=" + made.file("ca.pem"));
    job.node()->check_failure(2, "certificates are of use with protocol=https only");
  }
}

#else

TEST_CASE("etcd: a program without TLS says so", "[integration][etcd]") {
  job_of_nodes job("2", at("127.0.0.1:1"), "protocol=https");
  job.node()->check_failure(2, "this program was built without TLS");
}

#endif

}  // namespace etcd_test
}  // namespace
