// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// elasticrun.survive with real PyTorch: by itself, and with an agent of the test's own.

#include <support/catch.hpp>
#include <support/run_program.hpp>

#include <string>
#include <vector>

namespace {
namespace survive_test {

namespace test = elastic::test;
using words = std::vector<std::string>;

void check_script(const std::string& python, const std::string& script, const words& more = {}) {
  if (python.empty()) return;
  words command{python, ELASTIC_SOURCE_DIR "/tests/integration/python/" + script};
  command.insert(command.end(), more.begin(), more.end());
  const auto result = test::run_program(
      command, {{"GLOO_SOCKET_IFNAME", "lo"}, {"OMP_NUM_THREADS", "1"}});
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(result.out == "all is as expected\n");
}

TEST_CASE("survive: the state of a training is kept and given, by both PyTorches",
          "[integration]") {
  check_script(test::torch_python(), "survive_state.py");
  check_script(test::torch_213_python(), "survive_state.py");
}

TEST_CASE("survive: survivors compute what undisturbed workers do, whatever happens to the others",
          "[integration]") {
  check_script(test::torch_python(), "survive_agent.py",
               {"3", "kill@3:2", "kill-late@6:0", "kill-init@3:0", "stop@9:1",
                "raise-runtime@12:2", "kill-receive@6:2"});
}

TEST_CASE("survive: survivors of PyTorch 2.13 leave a collective whose peer is silent",
          "[integration]") {
  check_script(test::torch_213_python(), "survive_agent.py", {"3", "stop@4:1", "kill-send@2:0"});
}

}  // namespace survive_test
}  // namespace
