// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Frameworks that own the training loop, with the plug-ins of elasticrun: each script trains while
// ranks are killed, and then once more undisturbed, in the same processes.

#include <support/catch.hpp>
#include <support/elasticrun_stage.hpp>
#include <support/text.hpp>
#include <support/torch_package.hpp>

#include <cstddef>
#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {
namespace frameworks_test {

namespace test = elastic::test;
using words = std::vector<std::string>;

const std::string packages = ELASTIC_SOURCE_DIR "/python";
const std::string scripts = ELASTIC_SOURCE_DIR "/tests/integration/python/";

std::set<std::string> all_of(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  std::set<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), expression), end; at != end; ++at) {
    found.insert((*at)[1]);
  }
  return found;
}

struct job : test::elasticrun_stage {
  /// Two ranks.
  test::program_result run(const std::string& python, const std::string& script,
                           const words& arguments) const {
    const std::string marks = folder / "marks";
    std::filesystem::create_directory(marks);
    const words launch{
        "--standalone", "--nproc-per-node", "2",  "--max-restarts", "3",  "--on-failure",
        "replace",      "--rejoin-timeout", "60", scripts + script, marks};
    return run_command(
        elasticrun({launch, arguments}),
        {{"PYTHON_EXEC", python}, {"GLOO_SOCKET_IFNAME", "lo"}, {"OMP_NUM_THREADS", "1"}});
  }
};

/// One of two ranks is killed. The other one keeps its process, and both end with the parameters,
/// metrics, callbacks and checkpoints of ranks that nobody disturbs.
void check_survivors(const std::string& package, const std::string& kill) {
  const std::string lost = kill.substr(kill.size() - 1);
  const std::string kept = lost == "0" ? "1" : "0";
  const std::string python = test::python_with(package);
  if (python.empty()) return;
  const auto result = job().run(python, "plugin_" + package + ".py", {kill});
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(test::occurrences(result.err, "replacing it, the others keep their processes") == 1);
  CHECK(result.err.find("is still in use") == std::string::npos);
  CHECK(test::occurrences(result.out, " equal: True ") == 2);
  // Both were asked for a checkpoint before, at different steps.
  CHECK(all_of(result.out, "saved rank (\\d) for request 1") == std::set<std::string>{"0", "1"});
  const auto survivor = all_of(result.out, "begins rank " + kept + " pid (\\d+)");
  CHECK(survivor.size() == 1);
  CHECK(all_of(result.out, "finished rank " + kept + " pid (\\d+)") == survivor);
  CHECK(all_of(result.out, "begins rank " + lost + " pid (\\d+)").size() == 2);
}

TEST_CASE("frameworks: ranks agree when to save, and refuse newcomers of another release",
          "[integration]") {
  const std::string python = test::torch_213_python();
  if (python.empty()) return;
  const auto result = test::run_program({python, scripts + "framework_parts.py"});
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(result.out == "all is as expected\n");
}

// In the middle of the second epoch, between two batches whose gradients make one step; the data
// come from a process of the loader.
TEST_CASE("frameworks: a rank of Accelerate is replaced, and the others go on", "[integration]") {
  check_survivors("accelerate", "13:1");
}

// In the middle of the second epoch, and of a checkpoint.
TEST_CASE("frameworks: a rank of transformers is replaced, and the others go on", "[integration]") {
  check_survivors("transformers", "save@10:1");
}

// In the validation at the end of an epoch, which the survivor has left in evaluation mode. The
// lost rank is the one that writes checkpoints, and that gives others its buffers.
TEST_CASE("frameworks: a rank of Lightning is replaced, and the others go on", "[integration]") {
  check_survivors("lightning", "validate@6:0");
}

// It loads its checkpoint in the process that it has.
TEST_CASE("frameworks: a rank of FSDP2 is replaced, and the others go on", "[integration]") {
  const std::string python = test::torch_213_python();
  if (python.empty()) return;
  const auto train = [&](const words& more) {
    const job job;
    const words launch{"--standalone",
                       "--nproc-per-node",
                       "2",
                       "--max-restarts",
                       "1",
                       "--on-failure",
                       "replace",
                       "--rejoin-timeout",
                       "60",
                       ELASTIC_SOURCE_DIR "/examples/python/train_survive_sharded.py",
                       "--output",
                       job.folder / "saved"};
    return job.run_command(job.elasticrun({launch, more}), {{"PYTHON_EXEC", python},
                                                            {"PYTHONPATH", packages},
                                                            {"GLOO_SOCKET_IFNAME", "lo"},
                                                            {"OMP_NUM_THREADS", "1"}});
  };
  const auto undisturbed = train({});
  const auto disturbed = train({"--kill-rank", "1"});
  INFO(undisturbed.err << disturbed.out << disturbed.err);
  CHECK(disturbed.code == 0);
  CHECK(disturbed.err.find("is still in use") == std::string::npos);
  CHECK(all_of(disturbed.out, "begins rank 0 pid (\\d+)").size() == 1);
  CHECK(all_of(disturbed.out, "begins rank 1 pid (\\d+)").size() == 2);
  const auto checksum = all_of(undisturbed.out, "checksum ([-0-9.]+)");
  CHECK(checksum.size() == 1);
  CHECK(all_of(disturbed.out, "checksum ([-0-9.]+)") == checksum);
}

}  // namespace frameworks_test
}  // namespace
