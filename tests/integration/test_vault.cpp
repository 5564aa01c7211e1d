// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// The vault with real workers: plain Python, and trainings of PyTorch that are killed while they
// commit.

#include <support/catch.hpp>
#include <support/elasticrun_stage.hpp>
#include <support/job_of_nodes.hpp>
#include <support/reserved_port.hpp>
#include <support/run_program.hpp>
#include <support/text.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace {
namespace vault_test {

namespace test = elastic::test;
using test::has_text;
using words = std::vector<std::string>;

constexpr const char* scripts = ELASTIC_SOURCE_DIR "/tests/integration/python/";

const test::elasticrun_stage::variables plain_variables = {
    {"PYTHONPATH", ELASTIC_SOURCE_DIR "/python"},
    {"GLOO_SOCKET_IFNAME", "lo"},
    {"OMP_NUM_THREADS", "1"}};

/// The parts that match, each once.
std::set<std::string> matches_in(const std::string& text, const std::string& expression) {
  const std::regex wanted(expression);
  std::set<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), wanted), end; at != end; ++at) {
    found.insert(at->str(1));
  }
  return found;
}

struct job : test::elasticrun_stage {
  /// Runs a script with two ranks, or as many as the options say.
  test::program_result run(const std::string& python, const words& options,
                           const words& script) const {
    auto set = plain_variables;
    set["PYTHON_EXEC"] = python;
    words command = script;
    command[0] = scripts + command[0];
    return run_command(
        elasticrun({{"--nproc-per-node", "2", "--monitor-interval", "0.1", "--log-dir", logs()},
                    options,
                    command}),
        set);
  }

  /// What elasticrun explains of the run.
  std::string explanation() const {
    return test::run_program({ELASTIC_ELASTICRUN, "explain", log_root().string()}, environment())
        .out;
  }
};

/// "1:37,0:61": who is killed in each attempt, at which checksum.
std::string random_kills(std::mt19937& random, int attempts, int most_calls, int ranks = 2) {
  std::string text;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    text += fmt::format("{}{}:{}", attempt == 0 ? "" : ",", random() % static_cast<unsigned>(ranks),
                        1 + random() % static_cast<unsigned>(most_calls));
  }
  return text;
}

std::mt19937 random_source() {
  const char* const given = std::getenv("ELASTIC_TEST_SEED");
  const auto seed =
      given != nullptr ? static_cast<unsigned>(std::atoi(given)) : std::random_device()();
  UNSCOPED_INFO("ELASTIC_TEST_SEED=" << seed);
  return std::mt19937(seed);
}

TEST_CASE("vault: what is no whole commit is refused", "[integration][vault]") {
  for (const words& more : {words{}, words{"torch"}, words{"dcp"}}) {
    const std::string python = more.empty()            ? "/usr/bin/python3"
                               : more.front() == "dcp" ? test::torch_213_python()
                                                       : test::torch_python();
    if (python.empty()) continue;
    words command{python, fmt::format("{}vault_properties.py", scripts)};
    command.insert(command.end(), more.begin(), more.end());
    const auto result = test::run_program(command, plain_variables);
    INFO(result.out << result.err);
    CHECK(result.code == 0);
    CHECK(result.out == "passed\n");
  }
}

TEST_CASE("vault: workers that die in a commit continue from the last whole one",
          "[integration][vault]") {
  const job undisturbed;
  const words script{"vault_worker.py", "60"};
  const std::string ends = "(rank \\d ends with [0-9a-f]+)";
  const auto expected = undisturbed.run("/usr/bin/python3", {}, script);
  CAPTURE(expected.out, expected.err);
  REQUIRE(expected.code == 0);
  CHECK(has_text(expected.out, "nothing kept"));

  std::mt19937 random = random_source();
  const std::string kills = random_kills(random, 4, 200);
  CAPTURE(kills);
  const job killed;
  const auto result = killed.run("/usr/bin/python3", {"--max-restarts", "4", "--vault-limit", "8M"},
                                 {"vault_worker.py", "60", kills});
  CAPTURE(result.out, result.err);
  REQUIRE(result.code == 0);
  CHECK(matches_in(result.out, ends) == matches_in(expected.out, ends));
  const std::string explained = killed.explanation();
  CAPTURE(explained);
  CHECK(has_text(explained, "restored generation "));
  CHECK(has_text(explained, " from memory, of step "));
}

TEST_CASE("vault: fifty kills in commits and restores change nothing, and an agent leaves nothing",
          "[integration][vault]") {
  const unsigned seed = random_source()();
  const auto result = test::run_program({"/usr/bin/python3",
                                         ELASTIC_SOURCE_DIR "/tests/long/vault_kills.py",
                                         ELASTIC_ELASTICRUN, "/usr/bin/python3", "--kills", "50",
                                         "--agents", "2", "--seed", std::to_string(seed)});
  CAPTURE(seed, result.out, result.err);
  CHECK(result.code == 0);
  CHECK(result.out == "50 kills of workers and 2 of agents\n");
}

TEST_CASE("vault: a generation that its workers cannot use is given up", "[integration][vault]") {
  const job stage;
  // Every attempt dies before it commits once, and the state is that of the first one.
  const auto result = stage.run("/usr/bin/python3", {"--max-restarts", "5", "--vault-limit", "10%"},
                                {"vault_worker.py", "9", "0:20,1:4,1:4,1:4,1:4"});
  CAPTURE(result.out, result.err);
  CHECK(result.code == 0);
  CHECK(has_text(result.err, "is given up: it was restored 3 times without a later commit"));
}

TEST_CASE("vault: a state beyond the limit is not kept, and the reason is told once",
          "[integration][vault]") {
  const job stage;
  const auto result =
      stage.run("/usr/bin/python3", {"--vault-limit", "1M"}, {"vault_worker.py", "5", "", "20"});
  CAPTURE(result.out, result.err);
  CHECK(result.code == 0);
  CHECK(matches_in(result.out, "(rank \\d ends with [0-9a-f]+), nothing kept").size() == 2);
  CHECK(has_text(result.err, "elasticrun.vault: a commit is skipped: a commit of 6"));
  for (const char* const rank : {"rank 0", "rank 1"}) {
    const std::string line = fmt::format("{} skips the commit of generation 1: ", rank);
    const auto first = result.err.find(line);
    CHECK(first != result.err.npos);
    CHECK(result.err.find(rank + std::string(" skips"), first + 1) == result.err.npos);
  }
}

/// What two ranks say at the end if nothing happens to them.
std::set<std::string> undisturbed_ends(const std::string& steps) {
  const job undisturbed;
  const auto result = undisturbed.run("/usr/bin/python3", {}, {"vault_worker.py", steps});
  CAPTURE(result.out, result.err);
  REQUIRE(result.code == 0);
  return matches_in(result.out, "(rank \\d ends with [0-9a-f]+)");
}

/// A job of two nodes on this host, each with one rank.
struct pair_of_nodes : test::elasticrun_stage {
  std::unique_ptr<test::node_of_job> node(const std::string& name, const words& script) const {
    words command =
        elasticrun({{"--nnodes", "2", "--nproc-per-node", "1", "--rdzv-id", left.value,
                     "--rdzv-backend", "c10d", "--rdzv-endpoint", meeting, "--node-name", name,
                     "--max-restarts", "4", "--monitor-interval", "0.1", "--vault-limit", "8M",
                     "--log-dir", folder / name, "vault_worker.py"},
                    script});
    *std::find(command.begin(), command.end(), "vault_worker.py") =
        fmt::format("{}vault_worker.py", scripts);
    auto set = environment(plain_variables);
    set["PYTHON_EXEC"] = "/usr/bin/python3";
    return std::make_unique<test::node_of_job>(std::move(command), std::move(set));
  }

  std::string explanation(const std::string& name) const {
    for (const auto& run : std::filesystem::directory_iterator(folder / name)) {
      return test::run_program({ELASTIC_ELASTICRUN, "explain", run.path()}, environment()).out;
    }
    return {};
  }

  std::string meeting = fmt::format("localhost:{}", test::reserved_port());
};

TEST_CASE("vault: the nodes of a job restore the same commit", "[integration][vault]") {
  const pair_of_nodes pair;
  std::mt19937 random = random_source();
  const std::string kills = random_kills(random, 3, 200);
  CAPTURE(kills);
  const words script{"60", kills};
  const auto first = pair.node("a", script);
  const auto second = pair.node("b", script);
  std::string out;
  for (const auto* const node : {&first, &second}) {
    const auto result = (**node)->wait();
    CAPTURE(result.out, result.err);
    CHECK(result.code == 0);
    out += result.out;
  }
  CHECK(matches_in(out, "(rank \\d ends with [0-9a-f]+)") == undisturbed_ends("60"));
  CHECK(matches_in(out, "rank 0 (begins at step \\d+)") ==
        matches_in(out, "rank 1 (begins at step \\d+)"));
  CHECK(matches_in(out, "(begins at step [1-9])").size() > 0);
  for (const char* const name : {"a", "b"}) {
    const std::string explained = pair.explanation(name);
    CAPTURE(explained);
    CHECK(has_text(explained, " from memory, of step "));
  }
}

TEST_CASE("vault: the commits of a lost node are missed in one line", "[integration][vault]") {
  const pair_of_nodes pair;
  const std::string go_on = pair.folder / "go_on";
  const words script{"30", "", "1", go_on};
  const auto first = pair.node("a", script);
  const auto lost = pair.node("b", script);
  for (const auto* const node : {&first, &lost}) (**node)->await_out(" waits");
  lost->lose();
  const auto fresh = pair.node("c", script);
  for (const auto* const node : {&first, &fresh}) {
    (**node)->await_out("begins at step 0", node == &first ? 2 : 1);
  }
  std::ofstream(go_on) << "now";
  const auto result = (*first)->wait();
  CAPTURE(result.out, result.err);
  CHECK(result.code == 0);
  CHECK(has_text(result.err, "in memory is given up: the part of rank 1 was lost with node b: use "
                             "the checkpoint"));
  const auto other = (*fresh)->wait();
  CAPTURE(other.out, other.err);
  CHECK(other.code == 0);
  CHECK(has_text(other.err, "the part of rank 1 was lost with its node: use the checkpoint"));
  CHECK(matches_in(result.out + other.out, "(rank \\d ends with [0-9a-f]+)") ==
        undisturbed_ends("30"));
  CHECK(has_text(pair.explanation("a"), "is given up: the part of rank 1 was lost with node b"));
}

TEST_CASE("vault: memory that the kernel refuses costs the commit alone", "[integration][vault]") {
  const std::map<std::string, std::string> errors = {{"ENOMEM", "Cannot allocate memory"},
                                                     {"EFBIG", "File too large"}};
  for (const auto& [name, text] : errors) {
    CAPTURE(name);
    const job stage;
    words command{ELASTIC_DENY_SYSCALLS, "fallocate=" + name, "--"};
    const words run = job::elasticrun({{"--nproc-per-node", "2", "--vault-limit", "8M"},
                                       {fmt::format("{}vault_worker.py", scripts), "5"}});
    command.insert(command.end(), run.begin(), run.end());
    auto set = plain_variables;
    set["PYTHON_EXEC"] = "/usr/bin/python3";
    const auto result = stage.run_command(command, set);
    CAPTURE(result.out, result.err);
    CHECK(result.code == 0);
    CHECK(matches_in(result.out, "(rank \\d ends with [0-9a-f]+), nothing kept").size() == 2);
    CHECK(has_text(result.err, "rank 1 skips the commit of generation 1: the agent cannot get "));
    CHECK(has_text(result.err, ": " + text));
  }
}

TEST_CASE("vault: workers in C++ and Python read each other's commits", "[integration][vault]") {
  const std::string code =
      "from elasticrun import vault; import array, os, sys;"
      "numbers = array.array('d', [0.5, 7]); text = bytearray(5); found = vault.newest();"
      "found and (vault.read('numbers', numbers), vault.read('text', text),"
      " print('step', found.step, text.decode(), *numbers, flush=True), os._exit(0));"
      "vault.commit({'text': bytearray(b'hello'), 'numbers': numbers}, 7); os._exit(1)";
  const job stage;
  const auto result = stage.run_command(
      job::elasticrun(
          {{"--max-restarts", "2", "--vault-limit", "8M", "--no-python", "sh", "-c",
            "[ $TORCHELASTIC_RESTART_COUNT = 1 ] || exec /usr/bin/python3 -c \"$0\";"
            " exec \"$1\" vault-read 5 vault-commit 8 world exit 1",
            code, ELASTIC_PUPPET}}),
      plain_variables);
  CAPTURE(result.out, result.err);
  CHECK(result.code == 0);
  CHECK(has_text(result.out, "step 7: hello, 0.5, 7.0\nkept\n"));
  CHECK(has_text(result.out, "step 8 world 1.5 2.5\n"));
}

TEST_CASE("vault: a worker in C++ without a vault keeps nothing", "[integration][vault]") {
  const auto result = test::run_program(
      {ELASTIC_PUPPET, "vault-read", "5", "vault-commit", "8", "world"}, plain_variables);
  CHECK(result.out ==
        "nothing is in the vault\nskipped: there is no vault, or its agent is gone\n");
}

/// Trains undisturbed, and then in each of the kinds with a death at a random moment.
void check_training(const std::string& python, const words& kinds) {
  if (python.empty()) return;
  const std::string ends = "(rank \\d ends with [0-9a-f]+)";
  const job undisturbed;
  const auto expected =
      undisturbed.run(python, {"--vault-limit", "64M"}, {"vault_training.py", kinds[0], "12"});
  CAPTURE(expected.out, expected.err);
  REQUIRE(expected.code == 0);
  std::mt19937 random = random_source();
  for (const std::string& kind : kinds) {
    const std::string kills = random_kills(random, 1, 120);
    CAPTURE(kind, kills);
    const job killed;
    // More restarts than deaths: a process of PyTorch 2.13 was once seen to abort by itself.
    const auto result = killed.run(python, {"--max-restarts", "4", "--vault-limit", "64M"},
                                   {"vault_training.py", kind, "12", kills});
    CAPTURE(result.out, result.err);
    REQUIRE(result.code == 0);
    CHECK(has_text(result.err, "SIGKILL"));
    CHECK(matches_in(result.out, ends) == matches_in(expected.out, ends));
    CHECK_FALSE(has_text(result.out, "skips step"));
  }
}

TEST_CASE("vault: a training of PyTorch that is killed ends as if it was not",
          "[integration][vault]") {
  check_training(test::torch_python(), {"plain"});
}

TEST_CASE("vault: a sharded training of PyTorch that is killed ends as if it was not",
          "[integration][vault]") {
  check_training(test::torch_213_python(), {"sharded", "dcp"});
}

TEST_CASE("vault: shards of a rank that is replaced are restored, and the others go on",
          "[integration][vault]") {
  const std::string python = test::torch_213_python();
  if (python.empty()) return;
  std::mt19937 random = random_source();
  // In a commit or restore, the next one soon afterwards, and at any moment.
  const std::string kills = random_kills(random, 1, 150, 3) + "," +
                            random_kills(random, 1, 60, 3) +
                            fmt::format(",{}:~{}", random() % 3, 1 + random() % 400);
  CAPTURE(kills);
  const job job;
  const auto result =
      job.run(python,
              {"--nproc-per-node", "3", "--max-restarts", "4", "--on-failure", "replace",
               "--rejoin-timeout", "60", "--vault-limit", "64M"},
              {"survive_shards.py", "12", kills, job.folder / "saved"});
  CAPTURE(result.out, result.err);
  REQUIRE(result.code == 0);
  CHECK(matches_in(result.out, "(rank \\d pid \\d+ ends equal)").size() == 3);
  CHECK(has_text(result.err, ", the others keep their processes"));
  CHECK_FALSE(has_text(result.err, "all workers of the job restart"));
  CHECK_FALSE(has_text(result.err, "is still in use"));
  // Who was not killed, or could not be freed by gloo, has its first process.
  for (const std::string rank : {"0", "1", "2"}) {
    const bool was_lost =
        has_text(result.err, fmt::format("rank {} (local rank", rank)) ||
        has_text(result.err, fmt::format("rank {}: a message was under way", rank));
    const std::string pids = "rank " + rank + " pid (\\d+) begins";
    CHECK((matches_in(result.out, pids).size() == 1) == !was_lost);
  }
}

}  // namespace vault_test
}  // namespace
