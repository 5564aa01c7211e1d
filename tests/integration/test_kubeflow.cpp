// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// The reports of elasticrun to Kubeflow Trainer.

#include <support/catch.hpp>
#include <support/certificates.hpp>
#include <support/elasticrun_stage.hpp>
#include <support/raw_client.hpp>
#include <support/running_program.hpp>
#include <support/text.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#if defined(ELASTIC_HAS_TLS)

namespace {

namespace kubeflow_tests {

using elastic::test::certificates;
using elastic::test::comes_true;
using elastic::test::elasticrun_stage;
using elastic::test::occurrences;
using elastic::test::running_program;
using words = std::vector<std::string>;

const std::string token = "a-token-of-kubernetes";

/// Its server, and a job of one worker that reports step 3 of 10.
class kubeflow_stage : public elasticrun_stage {
 public:
  explicit kubeflow_stage(const certificates& made)
      : server_({"/usr/bin/python3",
                 std::string(ELASTIC_SOURCE_DIR) + "/tests/integration/python/kubeflow_server.py",
                 made.file("server.pem"), made.file("server.key"), token}) {
    server_.await_out("port ");
    server_.await_out("\n");
    std::ofstream(folder / "token") << token << "\n";
    const std::string script = fmt::format(
        "import sys, time\nsys.path.insert(0, '{}/python')\nfrom elasticrun import worker\n"
        "worker.connect().progress(3, 10, text='', metrics={{'loss': 0.5}})\nprint('up')\n"
        "time.sleep(1000)\n",
        ELASTIC_SOURCE_DIR);
    std::ofstream(folder / "worker.py") << script;
  }

  running_program& server() { return server_; }

  words command() const {
    return elasticrun({{"--standalone", "--no-python", "/usr/bin/python3", folder / "worker.py"}});
  }

  variables environment_with(const std::string& authorities, const std::string& token_file) const {
    const int port = std::atoi(server_.out().c_str() + std::string("port ").size());
    const std::string url = fmt::format("https://127.0.0.1:{}/jobs/train/status?v=1", port);
    return environment({{"KUBEFLOW_TRAINER_SERVER_URL", url},
                        {"KUBEFLOW_TRAINER_SERVER_CA_CERT", authorities},
                        {"KUBEFLOW_TRAINER_SERVER_TOKEN", token_file}});
  }

 private:
  running_program server_;
};

TEST_CASE("kubeflow: it is told how far the job is", "[integration][kubeflow]") {
  const certificates made;
  kubeflow_stage stage(made);
  running_program run(stage.command(),
                      stage.environment_with(made.file("ca.pem"), stage.folder / "token"));
  stage.server().await_out("told");
  stage.server().await_out("\n", 2);
  run.signal(SIGTERM);
  run.wait();
  const std::string& text = stage.server().out();
  const std::string first = elastic::test::text_between(text, "told ", "\n");
  const auto message = nlohmann::json::parse(first, nullptr, false);
  INFO(text);
  REQUIRE(message.is_object());
  const auto& status = message["trainerStatus"];
  CHECK(status["progressPercentage"] == 30);
  CHECK(status["metrics"] == nlohmann::json::parse(R"([{"name": "step", "value": "3"},
                                                       {"name": "loss", "value": "0.5"}])"));
  CHECK(status["lastUpdatedTime"].get<std::string>().ends_with("Z"));
  CHECK(occurrences(run.err(), "Kubeflow") == 0);
}

TEST_CASE("kubeflow: that it cannot be told is said once, and costs the job nothing",
          "[integration][kubeflow]") {
  const certificates made;
  const certificates others;
  kubeflow_stage stage(made);
  const std::string wrong = stage.folder / "wrong";
  std::ofstream(wrong) << "two words";
  const std::vector<elasticrun_stage::variables> cases{
      stage.environment_with(others.file("ca.pem"), stage.folder / "token"),
      stage.environment_with(made.file("ca.pem"), wrong),
      stage.environment({{"KUBEFLOW_TRAINER_SERVER_URL", "ftp://127.0.0.1/"}}),
      stage.environment({{"KUBEFLOW_TRAINER_SERVER_URL", "http://127.0.0.1:1/"}})};
  for (const auto& environment : cases) {
    running_program run(stage.command(), environment);
    run.await_out("up");
    run.await_err("Kubeflow Trainer");
    run.signal(SIGTERM);
    run.wait();
    CHECK(occurrences(run.err(), "Kubeflow") == 1);
  }
  CHECK(occurrences(stage.server().out(), "told") == 0);
}

TEST_CASE("kubeflow: files that cannot be read hold up nothing", "[integration][kubeflow]") {
  const certificates made;
  kubeflow_stage stage(made);
  const std::string pipe = stage.folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::string authorities = pipe;
  std::string token_file = stage.folder / "token";
  SECTION("the authorities") {}
  SECTION("the token") {
    authorities = made.file("ca.pem");
    token_file = pipe;
  }
  running_program run(stage.command(), stage.environment_with(authorities, token_file));
  // That it can be opened for writing means that somebody reads it.
  int writing = -1;
  CHECK(comes_true([&] {
    writing = ::open(pipe.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    return writing >= 0;
  }));
  run.signal(SIGTERM);
  run.wait();
  ::close(writing);
  CHECK_THAT(run.err(), elastic::test::contains_text("SIGTERM received: stopping the workers"));
}

}  // namespace kubeflow_tests
}  // namespace

#endif
