// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// elasticrun.survive with real PyTorch: alone, with a test's agent, and with elasticrun.

#include <support/catch.hpp>
#include <support/elasticrun_stage.hpp>
#include <support/run_program.hpp>
#include <support/text.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

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

TEST_CASE("survive: kept groups are connected by handles that ranks exchange at their store",
          "[integration]") {
  check_script(test::torch_213_python(), "survive_kept.py");
}

TEST_CASE("survive: survivors compute what undisturbed workers do, whatever happens to the others",
          "[integration][serial]") {
  check_script(test::torch_python(), "survive_agent.py",
               {"3", "kill@3:2", "kill-late@6:0", "kill-init@3:0", "stop@9:1",
                "raise-runtime@12:2", "kill-receive@6:2"});
}

TEST_CASE("survive: survivors of PyTorch 2.13 leave a collective whose peer is silent",
          "[integration][serial]") {
  check_script(test::torch_213_python(), "survive_agent.py", {"3", "stop@4:1", "kill-send@2:0"});
}

TEST_CASE("survive: a commit does not keep a step whose collective has failed",
          "[integration][serial]") {
  check_script(test::torch_python(), "survive_agent.py", {"careless"});
  check_script(test::torch_213_python(), "survive_agent.py", {"careless"});
}

// ---- with elasticrun ---------------------------------------------------------------------------

struct job : test::elasticrun_stage {
  /// Trains. Result: the output of all ranks, which have to end with success.
  std::string train(const std::string& python, const words& worker_options,
                    const std::string& ranks = "4") const {
    words script{"survive_worker.py", "--folder", marks()};
    script.insert(script.end(), worker_options.begin(), worker_options.end());
    const auto result = run(python, ranks, script);
    INFO(result.out << result.err);
    CHECK(result.code == 0);
    return result.out;
  }

  test::program_result run(const std::string& python, const std::string& ranks, words script,
                           const std::string& rejoin_timeout = "60",
                           const std::string& max_restarts = "6") const {
    script[0] = ELASTIC_SOURCE_DIR "/tests/integration/python/" + script[0];
    const words launch{"--standalone", "--nproc-per-node", ranks, "--max-restarts", max_restarts,
                       "--on-failure", "replace",          "--rejoin-timeout", rejoin_timeout};
    return run_command(
        elasticrun({launch, script}),
        {{"PYTHON_EXEC", python}, {"GLOO_SOCKET_IFNAME", "lo"}, {"OMP_NUM_THREADS", "1"}});
  }

  /// A folder for what the workers tell each other.
  std::string marks() const {
    const std::string path = folder / "marks";
    std::filesystem::create_directory(path);
    return path;
  }
};

std::set<std::string> all_of(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  std::set<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), expression), end; at != end; ++at) {
    found.insert((*at)[1]);
  }
  return found;
}

void check_replacements(const std::string& python) {
  if (python.empty()) return;
  const std::string undisturbed = job().train(python, {});
  const std::string disturbed = job().train(
      python, {"--groups", "--do", "kill@3:2", "--do", "kill-init@1:2", "--do", "raise@9:0"});
  INFO(disturbed);
  const auto checksum = all_of(undisturbed, "checksum ([-0-9.]+)");
  CHECK(checksum.size() == 1);
  CHECK(all_of(disturbed, "checksum ([-0-9.]+)") == checksum);
  // Ranks 1 and 3 train to the end in the processes that they began in.
  for (const std::string rank : {"1", "3"}) {
    const auto began = all_of(disturbed, "begins epoch \\d+ rank " + rank + " of 4 pid (\\d+)");
    CHECK(began.size() == 1);
    CHECK(all_of(disturbed, "finished rank " + rank + " of 4 pid (\\d+)") == began);
  }
}

TEST_CASE("survive: elasticrun replaces ranks of PyTorch 1.13, and the others go on",
          "[integration]") {
  check_replacements(test::torch_python());
}

TEST_CASE("survive: elasticrun replaces ranks of PyTorch 2.13, and the others go on",
          "[integration]") {
  check_replacements(test::torch_213_python());
}

/// Whoever dies, the state goes on in a rank that has only just received it.
void check_newcomer_alone(const std::string& python) {
  if (python.empty()) return;
  const std::string undisturbed = job().train(python, {"--steps", "6"}, "2");
  const std::string disturbed = job().train(
      python, {"--steps", "6", "--do", "kill@3:1", "--do", "kill-synced@1:0"}, "2");
  INFO(disturbed);
  CHECK(all_of(disturbed, "checksum ([-0-9.]+)") == all_of(undisturbed, "checksum ([-0-9.]+)"));
  const auto newcomer = all_of(disturbed, "begins epoch 1 rank 1 of 2 pid (\\d+) new True");
  CHECK(newcomer.size() == 1);
  CHECK(all_of(disturbed, "finished rank 1 of 2 pid (\\d+)") == newcomer);
}

TEST_CASE("survive: a newcomer of PyTorch 1.13 gives the state that it was given",
          "[integration]") {
  check_newcomer_alone(test::torch_python());
}

TEST_CASE("survive: a newcomer of PyTorch 2.13 gives the state that it was given",
          "[integration]") {
  check_newcomer_alone(test::torch_213_python());
}

TEST_CASE("survive: commits are steps, so that the cost of a replacement is known",
          "[integration]") {
  const std::string python = test::torch_python();
  if (python.empty()) return;
  const job job;
  const words script{ELASTIC_SOURCE_DIR "/tests/integration/python/survive_worker.py", "--folder",
                     job.marks(), "--steps", "8", "--do", "kill@4:1"};
  const auto result = job.run_command(
      job.elasticrun({{"--standalone", "--nproc-per-node", "2", "--max-restarts", "1",
                       "--on-failure", "replace", "--rejoin-timeout", "60", "--heartbeat-timeout",
                       "0.01", "--log-dir", job.logs()},
                      script}),
      {{"PYTHON_EXEC", python}, {"GLOO_SOCKET_IFNAME", "lo"}, {"OMP_NUM_THREADS", "1"}});
  INFO(result.err);
  // No commit is a heartbeat: without them, no rank can be late.
  REQUIRE(result.code == 0);
  std::vector<std::int64_t> reached;
  std::ifstream journal(job.log_root() / "journal.jsonl");
  for (std::string line; std::getline(journal, line);) {
    const auto record = nlohmann::json::parse(line);
    if (record["kind"] == "step_reached") reached.push_back(record["step"].get<std::int64_t>());
  }
  // At first, and after the replacement.
  REQUIRE(reached.size() == 2);
  CHECK(reached[0] == 1);
  CHECK(reached[1] >= 3);
  const auto story = test::run_program({ELASTIC_ELASTICRUN, "explain", job.logs()},
                                       job.environment());
  CHECK(story.out.find("until the furthest step was reached again, 1 failure cost ") !=
        std::string::npos);
  CHECK(story.out.find("is not known") == std::string::npos);
}

TEST_CASE("survive: before a first commit, ranks begin again in their processes",
          "[integration]") {
  const std::string python = test::torch_python();
  if (python.empty()) return;
  // One after the other, before the ranks know who has a copy.
  const std::string text = job().train(
      python, {"--steps", "6", "--do", "kill-sync@0:2", "--do", "kill-sync@1:1"}, "3");
  INFO(text);
  CHECK(all_of(text, "(finished rank \\d)").size() == 3);
  CHECK(all_of(text, "checksum ([-0-9.]+)").size() == 1);
  CHECK(all_of(text, "begins epoch \\d+ rank 0 of 3 pid (\\d+)").size() == 1);
}

TEST_CASE("survive: all start again if the state is lost with the ranks that had it",
          "[integration]") {
  const std::string python = test::torch_python();
  if (python.empty()) return;
  const job job;
  // The newcomer, which has not been given it yet, survives them.
  const auto result =
      job.run(python, "2", {"survive_worker.py", "--folder", job.marks(), "--steps", "6", "--do",
                            "kill@3:1", "--do", "kill-sync@1:0"});
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK_THAT(result.err, test::contains_text("no rank that is left has a committed state"));
  CHECK(all_of(result.out, "(finished rank \\d)").size() == 2);
  const auto newcomer = all_of(result.out, "begins epoch 1 rank 1 of 2 pid (\\d+) new True");
  CHECK(newcomer.size() == 1);
  CHECK(all_of(result.out, "finished rank 1 of 2 pid (\\d+)") != newcomer);
}

/// Gloo waits for ever for what it had begun to send to a rank that died.
void check_lost_call(const std::string& python) {
  if (python.empty()) return;
  for (const std::string call : {"send", "broadcast"}) {
    const job job;
    const auto result = job.run(python, "3", {"survive_lost_call.py", call, job.marks()});
    INFO(call << "\n" << result.out << result.err);
    CHECK(result.code == 0);
    // Rank 0 cannot be freed. It ends by itself, and both are replaced by one restart.
    CHECK(all_of(result.err, "(rank 0: a message was under way)").size() == 1);
    CHECK(all_of(result.out, "begins rank 0 pid (\\d+)").size() == 2);
    CHECK(all_of(result.out, "begins rank 1 pid (\\d+)").size() == 2);
    CHECK(all_of(result.out, "begins rank 2 pid (\\d+)").size() == 1);
    CHECK(all_of(result.out, "restarts (\\d+)") == std::set<std::string>{"0", "1"});
    CHECK(result.err.find("workers of the job restart") == std::string::npos);
  }
}

TEST_CASE("survive: a rank that gloo of PyTorch 1.13 cannot free is replaced, too",
          "[integration]") {
  check_lost_call(test::torch_python());
}

TEST_CASE("survive: a rank that gloo of PyTorch 2.13 cannot free is replaced, too",
          "[integration]") {
  check_lost_call(test::torch_213_python());
}

TEST_CASE("survive: what a script does that cannot survive is named", "[integration]") {
  struct row {
    std::string option;
    std::string complaint;
    std::size_t processes;  // of the rank that is not killed
  };
  const std::string python = test::torch_python();
  if (python.empty()) return;
  for (const auto& [option, complaint, processes] :
       {row{"--hold", "rank 0: the process group of epoch 0 is still in use: something outside", 1},
        row{"--stray", "rank 0: a TorchState commits that is not the first one among the", 1},
        row{"--own-group", "the script has begun its process group with torch.distributed", 2}}) {
    const job job;
    const auto result = job.run(python, "2", {"survive_worker.py", "--folder", job.marks(),
                                              "--steps", "6", "--do", "kill@3:1", option});
    INFO(result.out << result.err);
    CHECK(result.code == 0);
    CHECK_THAT(result.err, test::contains_text(complaint));
    CHECK(all_of(result.out, "begins epoch \\d+ rank 0 of 2 pid (\\d+)").size() == processes);
    CHECK(all_of(result.out, "finished rank (\\d) of 2 pid \\d+ step 6") ==
          std::set<std::string>{"0", "1"});
  }
}

TEST_CASE("survive: all ranks begin a new group if one of them cannot connect what it has kept",
          "[integration]") {
  struct row {
    std::string option;
    std::string reason;
  };
  const std::string python = test::torch_213_python();
  if (python.empty()) return;
  const auto expected = all_of(job().train(python, {"--steps", "6"}, "2"), "checksum ([-0-9.]+)");
  // This PyTorch connects no group anew: all ranks but the refusing one pretend that theirs does.
  for (const auto& [option, reason] :
       {row{"fail:1", "could not connect its process groups (RuntimeError: no route to host)"},
        row{"refuse:1", "cannot keep its process group (PyTorch 2.13.0+cpu)"}}) {
    const job job;
    const auto result =
        job.run(python, "2", {"survive_worker.py", "--folder", job.marks(), "--steps", "6", "--do",
                              "kill@3:1", "--connect", option});
    INFO(result.out << result.err);
    CHECK(result.code == 0);
    CHECK_THAT(result.err, test::contains_text("elasticrun.survive: rank 0: rank 1 " + reason +
                                               ": all ranks begin a new process group"));
    CHECK(all_of(result.out, "checksum ([-0-9.]+)") == expected);
    CHECK(all_of(result.out, "begins epoch \\d+ rank 0 of 2 pid (\\d+)").size() == 1);
  }
}

TEST_CASE("survive: all ranks restart if a script keeps something of a group that is given up",
          "[integration]") {
  const std::string python = test::torch_213_python();
  if (python.empty()) return;
  const job job;
  const auto result = job.run(python, "2", {"survive_worker.py", "--folder", job.marks(),
                                            "--connect", "fail:1", "--outside"}, "60", "1");
  INFO(result.out << result.err);
  CHECK(result.code == 1);
  CHECK_THAT(result.err, test::contains_text(
      "rank 1 could not connect its process groups (RuntimeError: no route to host), and what was "
      "made outside of the function under survive.run needs them: all ranks restart"));
  CHECK_THAT(result.err, test::contains_text("all workers of the job restart"));
  CHECK(all_of(result.out, "begins epoch \\d+ rank 0 of 2 pid (\\d+)").size() == 2);
}

TEST_CASE("survive: a group outside of train is refused where PyTorch cannot keep it",
          "[integration]") {
  for (const std::string& python : {test::torch_python(), test::torch_213_python()}) {
    if (python.empty()) continue;
    const job job;
    const auto result = job.run(python, "2", {"survive_worker.py", "--folder", job.marks(),
                                              "--outside"}, "60", "0");
    INFO(result.out << result.err);
    CHECK(result.code == 1);
    CHECK_THAT(result.err, test::contains_text(
        "RuntimeError: survive.init_process_group(lasting=True) needs PyTorch 2.14 or later, gloo "
        "and no other option than timeout, and this is PyTorch "));
    CHECK(result.out.find("begins") == std::string::npos);
  }
}

TEST_CASE("survive: without replacements, a script may make its group outside of train",
          "[integration]") {
  for (const std::string& python : {test::torch_python(), test::torch_213_python()}) {
    if (python.empty()) continue;
    const job job;
    const auto result = job.run_command(
        job.elasticrun({{"--standalone", "--nproc-per-node", "2"},
                        {ELASTIC_SOURCE_DIR "/tests/integration/python/survive_worker.py",
                         "--folder", job.marks(), "--steps", "4", "--outside", "--groups"}}),
        {{"PYTHON_EXEC", python}, {"GLOO_SOCKET_IFNAME", "lo"}, {"OMP_NUM_THREADS", "1"}});
    INFO(result.out << result.err);
    CHECK(result.code == 0);
    CHECK(all_of(result.out, "finished rank (\\d) of 2 pid \\d+ step 4").size() == 2);
    CHECK(all_of(result.out, "checksum ([-0-9.]+)").size() == 1);
  }
}

TEST_CASE("survive: a rank at work of its own has more time to leave than one in a collective",
          "[integration]") {
  for (const std::string& python : {test::torch_python(), test::torch_213_python()}) {
    if (python.empty()) continue;
    const job job;
    const auto result =
        job.run(python, "3", {"survive_worker.py", "--folder", job.marks(), "--steps", "6", "--do",
                              "kill-evaluated@3:1", "--evaluate", "10"}, "8");
    INFO(result.out << result.err);
    CHECK(result.code == 0);
    // Rank 0 takes longer than the time-out, and so does rank 2 to go on, which is ready.
    for (const std::string rank : {"0", "2"}) {
      CHECK(all_of(result.out, "begins epoch \\d+ rank " + rank + " of 3 pid (\\d+)").size() == 1);
    }
    CHECK(all_of(result.out, "finished rank (\\d) of 3 pid \\d+ step 6").size() == 3);
  }
}

TEST_CASE("survive: a DeviceMesh keeps no process group, but one outside of train, which is named",
          "[integration]") {
  const std::string python = test::torch_213_python();
  if (python.empty()) return;
  const std::string undisturbed = job().train(python, {"--steps", "6"}, "2");
  for (const bool is_held : {false, true}) {
    const job job;
    words script{"survive_worker.py", "--folder", job.marks(), "--steps", "6",
                 "--do",              "kill@3:1", "--mesh"};
    if (is_held) script.push_back("--hold");
    const auto result = job.run(python, "2", script);
    INFO(result.out << result.err);
    CHECK(result.code == 0);
    CHECK(all_of(result.out, "checksum ([-0-9.]+)") == all_of(undisturbed, "checksum ([-0-9.]+)"));
    CHECK(all_of(result.out, "begins epoch \\d+ rank 0 of 2 pid (\\d+)").size() == 1);
    // Nothing is said at the end of the job, where it does no harm.
    CHECK(all_of(result.err, "group of (epoch \\d) is still in use: a DeviceMesh outside") ==
          (is_held ? std::set<std::string>{"epoch 0"} : std::set<std::string>{}));
    CHECK(test::occurrences(result.err, "is still in use") == (is_held ? 1 : 0));
  }
}

TEST_CASE("survive: a rank that has finished its work does not keep the others from theirs",
          "[integration]") {
  for (const std::string& python : {test::torch_python(), test::torch_213_python()}) {
    if (python.empty()) continue;
    for (const std::string how : {"return", "exit"}) {
      const std::string text = job().train(python, {"--steps", "3", "--leave", how}, "3");
      INFO(how << "\n" << text);
      CHECK(all_of(text, "(begins epoch \\d+ rank \\d)").size() == 3);
      CHECK(all_of(text, "finished rank (\\d) of 3 pid \\d+ step 3").size() ==
            (how == "exit" ? 2 : 3));
    }
  }
}

TEST_CASE("survive: compiled models stay compiled", "[integration]") {
  const std::string python = test::torch_213_python();
  if (python.empty()) return;
  const auto compilations = [](const std::string& text) {
    std::map<std::string, int> counts;  // by process
    const std::regex line("compiles in pid (\\d+)");
    for (std::sregex_iterator at(text.begin(), text.end(), line), end; at != end; ++at) {
      ++counts[(*at)[1]];
    }
    return counts;
  };
  // A process that trains in one epoch compiles so often.
  const auto once = compilations(job().train(python, {"--steps", "6", "--compile"}, "2"));
  REQUIRE(once.size() == 2);
  const int count = once.begin()->second;
  const std::string text = job().train(
      python, {"--steps", "6", "--compile", "--do", "kill@2:1", "--do", "kill@4:1"}, "2");
  INFO(text);
  CHECK(all_of(text, "checksum ([-0-9.]+)").size() == 1);
  const auto survivor = all_of(text, "begins epoch \\d+ rank 0 of 2 pid (\\d+)");
  REQUIRE(survivor.size() == 1);
  CHECK(compilations(text)[*survivor.begin()] == count);
}

TEST_CASE("survive: without a commit all ranks begin again in their processes", "[integration]") {
  const std::string python = test::torch_213_python();
  if (python.empty()) return;
  const job job;
  const auto result =
      job.run(python, "2", {"survive_worker.py", "--folder", job.marks(), "--steps", "5", "--do",
                            "kill@3:1", "--no-commit"});
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(all_of(result.out, "begins epoch \\d+ rank 0 of 2 pid (\\d+)").size() == 1);
  CHECK(all_of(result.out, "finished rank (\\d) of 2 pid \\d+ step 5") ==
        std::set<std::string>{"0", "1"});
  CHECK(all_of(result.out, "checksum ([-0-9.]+)").size() == 1);
}

TEST_CASE("survive: the only rank of a world starts again", "[integration]") {
  for (const std::string& python : {test::torch_python(), test::torch_213_python()}) {
    if (python.empty()) continue;
    const job job;
    const auto result = job.run(python, "1", {"survive_worker.py", "--folder", job.marks(),
                                              "--steps", "5", "--do", "kill@3:0"});
    INFO(result.out << result.err);
    CHECK(result.code == 0);
    CHECK(all_of(result.out, "begins epoch (\\d+) rank 0 of 1 pid \\d+ new True") ==
          std::set<std::string>{"0", "1"});
    CHECK(all_of(result.out, "(finished rank 0 of 1 pid \\d+ step 5)").size() == 1);
  }
}

TEST_CASE("survive: a DataLoader outside of train keeps its process", "[integration]") {
  const std::string python = test::torch_python();
  if (python.empty()) return;
  const std::string text =
      job().train(python, {"--steps", "6", "--do", "kill@3:1", "--outer-loader"}, "2");
  INFO(text);
  CHECK(all_of(text, "begins epoch (\\d+) rank 0").size() == 2);
  CHECK(all_of(text, "loader of rank 0 pid (\\d+)").size() == 1);
}

TEST_CASE("survive: a sharded state makes all ranks restart, which is said", "[integration]") {
  const std::string python = test::torch_python();
  if (python.empty()) return;
  const job job;
  const auto result = job.run(python, "2", {"survive_worker.py", "--folder", job.marks(),
                                            "--steps", "5", "--do", "kill@3:1", "--sharded"});
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK_THAT(result.err, test::contains_text("a failure restarts all: ") &&
                             test::contains_text("no other rank has a copy of this part"));
  CHECK_THAT(result.err, test::contains_text("has not said that it can rejoin"));
  CHECK(all_of(result.out, "begins epoch \\d+ rank 0 of 2 pid (\\d+)").size() == 2);
}

TEST_CASE("survive: all ranks start again if one has not said that it survives",
          "[integration]") {
  const std::string python = test::torch_python();
  if (python.empty()) return;
  const std::string text = job().train(python, {"--plain", "1", "--do", "kill@3:2"});
  INFO(text);
  CHECK(all_of(text, "(finished rank \\d)").size() == 4);
  CHECK(all_of(text, "begins epoch \\d+ rank 3 of 4 pid (\\d+)").size() == 2);
}

}  // namespace survive_test
}  // namespace
