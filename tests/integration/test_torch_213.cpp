// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/base/detail/internals.hpp>
#include <elastic/store/prefix_store.hpp>
#include <elastic/store/tcp_store.hpp>

#include <support/background_store.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>
#include <support/elasticrun_stage.hpp>
#include <support/raw_client.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>
#include <support/torch_package.hpp>
#include <unit/store/store_conformance.hpp>

#include <cstdlib>
#include <memory>
#include <regex>
#include <string>
#include <vector>

// Typical uses of PyTorch 2.13, with the real PyTorch.
namespace elastic {
namespace {
namespace torch_213_test {

using detail::internals;
using test::elasticrun_stage;

const std::string scripts = ELASTIC_SOURCE_DIR "/tests/integration/python/";

// ---- the store --------------------------------------------------------------------------------

TEST_CASE("PyTorch 2.13: its clients have every operation at our store", "[integration]") {
  const std::string python = test::torch_213_python();
  if (python.empty()) return;
  test::background_store server(tcp_store_server::options{});
  const auto result = test::run_program(
      {python, scripts + "torch213_store_client.py", std::to_string(server->port())});
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(result.out == "all operations are as expected\n");
  CHECK(test::comes_true([&] { return server->connections() == 0; }));
  CHECK(internals::engine_of(*server)->waiters() == 0);
}

task<void> use_store_of_213(tcp_store::options options) {
  const auto client = std::make_shared<tcp_store>(co_await asio::this_coro::executor, options);
  co_await client->connect();
  CHECK_AWAITED("hello", client->get("from torch"));
  CHECK(client->generation() == tcp_store_generation::torch_2_2);
  co_await test::check_values(client, true);
  co_await test::check_waits(client);
  co_await test::check_cancelled_waits(client);
  const auto prefixed = std::make_shared<prefix_store>("some/prefix", client);
  CHECK_AWAITED(7, prefixed->add("n", 7));
  CHECK_AWAITED("7", client->get("some/prefix/n"));
  co_await client->set("from elastic", "goodbye");
  co_await client->set("stop", "");
  client->close();
}

TEST_CASE("PyTorch 2.13: our client has every operation at its store", "[integration]") {
  const std::string python = test::torch_213_python();
  if (python.empty()) return;
  // Over libuv, which is the default, and the server of before.
  const std::string uses_libuv = GENERATE("1", "0");
  const test::temporary_directory directory;
  const std::string port_file = directory / "port";
  test::running_program server({python, scripts + "torch_store_server.py", port_file},
                               {{"USE_LIBUV", uses_libuv}}, std::chrono::seconds(180));
  server.await_out("serving");
  tcp_store::options options;
  options.port = static_cast<std::uint16_t>(std::atoi(test::file_text(port_file).c_str()));
  options.generation = GENERATE(tcp_store_generation::torch_2_2, tcp_store_generation::probe);
  test::run_test(use_store_of_213(options));
  const auto result = server.wait();
  INFO(result.err);
  CHECK(result.out == "serving\ngoodbye\n");
  CHECK(result.code == 0);
}

// ---- jobs -------------------------------------------------------------------------------------

class job_of_213 : public elasticrun_stage {
 public:
  explicit job_of_213(std::string python) : python_(std::move(python)) {}

  test::program_result run(const words& options, const words& script, variables more = {}) const {
    more.insert({{"PYTHON_EXEC", python_}, {"GLOO_SOCKET_IFNAME", "lo"}, {"OMP_NUM_THREADS", "1"}});
    return run_command(elasticrun({{"--standalone"}, options, script}), more);
  }

 private:
  std::string python_;
};

TEST_CASE("PyTorch 2.13: what 4 workers have sharded and saved 2 can load", "[integration]") {
  const std::string python = test::torch_213_python();
  if (python.empty()) return;
  const job_of_213 job(python);
  const std::string checkpoint = job.folder / "checkpoint";
  const std::string script = scripts + "torch213_shards.py";
  const auto saved = job.run({"--nproc-per-node", "4"}, {script, "save", checkpoint});
  INFO(saved.out << saved.err);
  REQUIRE(saved.code == 0);
  const auto loaded = job.run({"--nproc-per-node", "2"}, {script, "load", checkpoint});
  INFO(loaded.out << loaded.err);
  REQUIRE(loaded.code == 0);
  const std::regex line(R"(checksum (\S+) of \d;)");
  std::smatch before;
  std::smatch after;
  REQUIRE(std::regex_search(saved.out, before, line));
  REQUIRE(std::regex_search(loaded.out, after, line));
  CHECK(before[1] == after[1]);
}

TEST_CASE("PyTorch 2.13: its timers and worker servers", "[integration]") {
  const std::string python = test::torch_213_python();
  if (python.empty()) return;
  const job_of_213 job(python);
  const auto result =
      job.run({"--nproc-per-node", "2", "--max-restarts", "1", "--env",
               "TORCH_WORKER_SERVER_SOCKET=" + (job.folder / "${local_rank}.sock")},
              {scripts + "torch213_elastic.py"}, {{"TORCHELASTIC_ENABLE_FILE_TIMER", "1"}});
  INFO(result.out << result.err);
  CHECK(result.code == 1);
  for (const char* attempt : {"0", "1"}) {
    for (const char* rank : {"0", "1"}) {
      CHECK(result.out.find("rank " + std::string(rank) + ", attempt " + attempt +
                            ", server answers: True;") != std::string::npos);
    }
  }
  CHECK(result.err.find("timer 'step") != std::string::npos);
  CHECK(result.err.find("ValueError: the data is gone") != std::string::npos);
}

// Its own tests of the launcher, in other words, with elasticrun in the launcher's place.
TEST_CASE("PyTorch 2.13: what tests of its launcher ask of it", "[integration]") {
  const std::string python = test::torch_213_python();
  if (python.empty()) return;
  const elasticrun_stage stage;
  const auto result =
      stage.run_command({python, scripts + "torch213_launcher.py", ELASTIC_ELASTICRUN});
  INFO(result.out << result.err);
  CHECK(result.code == 0);
}

TEST_CASE("PyTorch 2.13: each option, variable and setting of torchrun is taken", "[integration]") {
  const std::string python = test::torch_213_python();
  if (python.empty()) return;
  const elasticrun_stage stage;
  const std::string table = ELASTIC_SOURCE_DIR "/tests/vectors/torchrun_options.json";
  const auto result =
      stage.run_command({python, scripts + "torchrun_options.py", ELASTIC_ELASTICRUN, table});
  INFO(result.out << result.err);
  CHECK(result.code == 0);
}

// ---- what others build on it ------------------------------------------------------------------

// Both workers of the second attempt went on from the checkpoint and agree.
void check_second_attempt(const test::program_result& result, const std::string& line) {
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(result.err.find("restart 1 of 1") != std::string::npos);
  const std::size_t first = result.out.find(line);
  REQUIRE(first != std::string::npos);
  CHECK(result.out.find(line, first + 1) != std::string::npos);
}

TEST_CASE("PyTorch 2.13: a training by Accelerate loses a worker and goes on", "[integration]") {
  const std::string python = test::python_with("accelerate");
  if (python.empty()) return;
  const job_of_213 job(python);
  const auto result = job.run({"--nproc-per-node", "2", "--max-restarts", "1"},
                              {scripts + "torch213_accelerate.py", job.folder / "saved"});
  check_second_attempt(result, "attempt 1, from step 1, 4 of 4 steps, 2 workers, equal: True;");
}

TEST_CASE("PyTorch 2.13: a training by Lightning loses a worker and goes on", "[integration]") {
  const std::string python = test::python_with("lightning");
  if (python.empty()) return;
  const job_of_213 job(python);
  const auto result = job.run({"--nproc-per-node", "2", "--max-restarts", "1"},
                              {scripts + "torch213_lightning.py", job.folder.path()});
  check_second_attempt(result,
                       "attempt 1, from epoch 1, 2 workers, TorchElasticEnvironment, equal: True;");
}

}  // namespace torch_213_test
}  // namespace
}  // namespace elastic
