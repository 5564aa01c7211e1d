// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// What users' scripts depend on, compared with tests/golden: the variables of a worker, the
// exit codes of refusals, and the files in a log directory.

#include <support/catch.hpp>
#include <support/elasticrun_stage.hpp>
#include <support/golden_file.hpp>
#include <support/reserved_port.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>
#include <support/text.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace golden_files_tests {

namespace fs = std::filesystem;
using elastic::test::check_golden;
using elastic::test::file_text;
using elastic::test::has_text;
using elastic::test::lines_of;
using elastic::test::program_result;
using elastic::test::running_program;
using words = std::vector<std::string>;

/// elasticrun in an environment that contains only what the test puts there.
struct stage : elastic::test::elasticrun_stage {
  stage() { fs::create_directory(logs()); }

  words base() const {
    return {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", "TMPDIR=" + temporary(),
            left.name + "=" + left.value};
  }

  words command(const words& options, const words& worker, const words& more = {}) const {
    words all{"/usr/bin/env", "-i"};
    const words program =
        elasticrun({{"--redirects", "1", "--log-dir", logs()}, options, worker});
    for (const words& part : {base(), more, program}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }

  /// Runs a job that prints its environment.
  const stage& run(const words& options, const words& worker = {"--no-python", "env"},
                   const words& more = {}) const {
    const program_result result = run_command(command(options, worker, more));
    INFO(result.err);
    CHECK(result.code == 0);
    return *this;
  }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder / name) << text;
    return folder / name;
  }

  /// The text with placeholders for what differs from run to run.
  std::string normalised(const std::string& text) const {
    static const std::vector<std::pair<std::regex, std::string>> rules{
        {std::regex("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "UUID"},
        {std::regex("_[a-z0-9_]{8}(?=[/\n])"), "_RANDOM"},
        {std::regex("(MASTER_PORT|HTTP)=[0-9]+"), "$1=PORT"},
        {std::regex(":[0-9]{4,5}\\b"), ":PORT"}};
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
      const bool is_here = text.compare(at, folder.path().size(), folder.path()) == 0;
      result += is_here ? "FOLDER" : text.substr(at, 1);
      at += is_here ? folder.path().size() : 1;
    }
    for (const auto& [pattern, name] : rules) result = std::regex_replace(result, pattern, name);
    return result;
  }

  /// The variables that elasticrun gave to a worker, which wrote all of its own to stdout.log below
  /// a folder such as "attempt_0/1": of several such workers to the one that has this variable.
  words given(const std::string& below, const std::string& variable = "") const {
    for (const auto& entry : fs::recursive_directory_iterator(logs())) {
      if (!entry.path().string().ends_with("/" + below + "/stdout.log")) continue;
      words lines = lines_of(file_text(entry.path()));
      const words own = base();
      std::erase_if(lines, [&](const std::string& line) { return has_line(own, line); });
      if (!variable.empty() && !has_line(lines, variable)) continue;
      std::sort(lines.begin(), lines.end());
      return lines_of(normalised(fmt::format("{}\n", fmt::join(lines, "\n"))));
    }
    return {};
  }

  static bool has_line(const words& lines, const std::string& line) {
    return std::find(lines.begin(), lines.end(), line) != lines.end();
  }
};

/// The environments of several workers: the first one in full, of the others how they differ.
class environments {
 public:
  void add(const std::string& title, const words& variables) {
    REQUIRE_FALSE(variables.empty());
    text_ += fmt::format("{}== {}\n", text_.empty() ? "" : "\n", title);
    if (first_.empty()) first_ = variables;
    const bool is_first = first_ == variables;
    for (const std::string& line : variables) {
      const bool is_known = std::find(first_.begin(), first_.end(), line) != first_.end();
      if (is_first || !is_known) text_ += line + "\n";
    }
    for (const std::string& line : first_) {
      const std::string name = line.substr(0, line.find('=') + 1);
      const bool is_set = std::any_of(variables.begin(), variables.end(),
                                      [&](const auto& each) { return each.starts_with(name); });
      if (!is_set) text_ += "not set: " + name.substr(0, name.size() - 1) + "\n";
    }
  }

  const std::string& text() const { return text_; }

 private:
  words first_;
  std::string text_;
};

const std::string print_environment = R"(
import os
for name, value in os.environ.items():
    print(f"{name}={value}", flush=True)
)";

/// A worker that takes the place of one that has failed, in an interpreter that has waited.
words given_to_standby() {
  const stage at;
  const std::string script = at.write("script.py", print_environment + R"(
import pathlib, sys, time
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    while not pathlib.Path(sys.argv[1]).exists():
        time.sleep(0.01)
    sys.exit(1)
)");
  const std::string go = at.folder / "go";
  running_program run(at.command({"--rdzv-id=job", "--max-restarts=1", "--warm-standby",
                                  "--standby-delay=0"},
                                 {script, go}, {"LOGLEVEL=INFO"}));
  run.await_err("local rank 0 has a standby");
  std::ofstream(go) << "now";
  const program_result result = run.wait();
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK(has_text(result.err, "local rank 0 starts warm"));
  words variables = at.given("attempt_1/0");
  std::erase(variables, "LOGLEVEL=INFO");
  return variables;
}

/// Two nodes, which meet by c10d; both have ended.
void run_two_nodes(const stage& at) {
  const std::string place = fmt::format("127.0.0.1:{}", elastic::test::reserved_port());
  const words command =
      at.command({"--nnodes=2", "--nproc-per-node=2", "--rdzv-id=job", "--rdzv-backend=c10d",
                  "--rdzv-endpoint", place},
                 {"--no-python", "env"});
  running_program first(command);
  running_program second(command);
  CHECK(first.wait().code == 0);
  CHECK(second.wait().code == 0);
}

/// A job of a trainer with two ranks and of two replicas with a port each.
std::string job_file(const stage& at, const std::string& trainer, const std::string& replica) {
  return at.write("job.toml", fmt::format(R"(
name = "job"
[role.trainer]
command = ["--no-python", {}]
nproc_per_node = 2
[role.server]
command = ["--no-python", {}, "HTTP=${{port.http}}"]
processes_per_node = 2
max_restarts = 3
)",
                                          trainer, replica));
}

TEST_CASE("golden files: the environment of workers", "[integration][golden]") {
  environments all;
  const words job{"--rdzv-id=job", "--nproc-per-node=2"};
  const auto add = [&](const std::string& title, const words& more, const words& variables = {}) {
    words options = job;
    options.insert(options.end(), more.begin(), more.end());
    const stage at;
    all.add(title + ", rank 1 of 2",
            at.run(options, {"--no-python", "env"}, variables).given("attempt_0/1"));
  };
  all.add("a program, rank 0 of 2", stage().run(job).given("attempt_0/0"));
  add("a program", {});
  const stage python;
  const std::string script = python.write("script.py", print_environment);
  all.add("a script, rank 1 of 2", python.run(job, {script}).given("attempt_0/1"));
  const stage diagnosed;
  all.add("a script with --diagnose, rank 1 of 2",
          diagnosed.run({"--rdzv-id=job", "--nproc-per-node=2", "--diagnose"}, {script})
              .given("attempt_0/1"));
  all.add("a script that starts in a standby after a failure", given_to_standby());
  add("--on-failure replace", {"--on-failure=replace", "--max-restarts=3"});
  add("--env", {"--env=OWN=${rank} of ${world_size}"});
  add("--virtual-local-rank", {"--virtual-local-rank"}, {"CUDA_VISIBLE_DEVICES=4,6"});
  add("--wire jax,tf", {"--wire=jax,tf"});
  add("--wire mpi", {"--wire=mpi"});
  add("--vault-limit", {"--vault-limit=1G"});
  add("a timer file", {}, {"TORCHELASTIC_ENABLE_FILE_TIMER=1"});
  add("a store of the workers' own", {}, {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1"});
  add("the backend static",
      {"--master-port", std::to_string(elastic::test::reserved_port()), "--role=trainer"});
  all.add("an id by itself", stage().run({"--standalone"}).given("attempt_0/0"));
  const stage nodes;
  run_two_nodes(nodes);
  all.add("the backend c10d, rank 0 of 4", nodes.given("attempt_0/0", "RANK=0"));
  all.add("the backend c10d, rank 3 of 4", nodes.given("attempt_0/1", "RANK=3"));
  const stage roles;
  roles.run({"--job", job_file(roles, "\"env\"", "\"env\"")}, {});
  all.add("a role, rank 1 of 2", roles.given("trainer/attempt_0/1"));
  all.add("a replica, 1 of 2", roles.given("server/attempt_0/1"));
  check_golden("golden/environment.txt", all.text());
}

// ---- refusals ----------------------------------------------------------------------------------

/// A line of golden/refusals.txt: a command for the shell, the exit code with which it ends, and
/// what the error names.
struct refusal {
  std::string code;
  std::string name;
  std::string command;
};

/// How a command ends in a folder with a script and with a program in the place of Python.
refusal tried(const refusal& wanted) {
  const stage at;
  const std::string mark = at.folder / "started";
  at.write("train.py", "");
  fs::permissions(at.write("python", "#!/bin/sh\n: > '" + mark + "'\n"), fs::perms::owner_all);
  fs::create_symlink(ELASTIC_ELASTICRUN, at.folder / "elasticrun");
  words command{"/usr/bin/env", "-i"};
  const words variables = at.base();
  command.insert(command.end(), variables.begin(), variables.end());
  command.insert(command.end(), {"PATH=" + at.folder.path() + ":/usr/bin:/bin",
                                 "PYTHON_EXEC=" + (at.folder / "python"), "/bin/sh", "-c",
                                 "cd '" + at.folder.path() + "' && " + wanted.command});
  const program_result result = at.run_command(command);
  refusal found = wanted;
  found.code = std::to_string(result.code);
  const bool is_named = has_text(result.err, wanted.name) && has_text(result.err, "elasticrun: ");
  if (!is_named) found.name = "(not named)";
  if (fs::exists(mark)) found.code += " STARTED";
  INFO(wanted.command << "\n" << result.out << result.err);
  CHECK(is_named);
  return found;
}

TEST_CASE("golden files: the exit codes of refusals", "[integration][golden]") {
  const std::regex row("([0-9]+) +(\\S+) +\\$ (.*)");
  const std::string file = ELASTIC_SOURCE_DIR "/tests/golden/refusals.txt";
  std::string text;
  int count = 0;
  for (const std::string& line : lines_of(file_text(file))) {
    std::smatch parts;
    if (!std::regex_match(line, parts, row)) {
      text += line + "\n";
      continue;
    }
    ++count;
    const refusal found = tried({parts[1], parts[2], parts[3]});
    text += fmt::format("{:<4}{:<25} $ {}\n", found.code, found.name, found.command);
  }
  CHECK(count > 100);
  check_golden("golden/refusals.txt", text);
}

// ---- log directories ---------------------------------------------------------------------------

/// The files and folders below a log directory.
std::string tree_of(const stage& at) {
  words lines;
  for (const auto& entry : fs::recursive_directory_iterator(at.logs())) {
    const std::string path = entry.path().string().substr(at.logs().size() + 1);
    lines.push_back(path + (entry.is_directory() ? "/" : ""));
  }
  std::sort(lines.begin(), lines.end());
  return at.normalised(fmt::format("{}\n", fmt::join(lines, "\n")));
}

TEST_CASE("golden files: the files in a log directory", "[integration][golden]") {
  const std::string puppet = ELASTIC_PUPPET;
  std::string text;
  const auto add = [&](const std::string& title, const words& options, const words& worker,
                       int code) {
    const stage at;
    const program_result result = at.run_command(at.command(options, worker));
    INFO(title << "\n" << result.err);
    CHECK(result.code == code);
    text += fmt::format("{}== {}\n{}", text.empty() ? "" : "\n", title, tree_of(at));
  };
  const words output{"line", "out", "eline", "err"};
  const auto program = [&](words acts) {
    acts.insert(acts.begin(), output.begin(), output.end());
    acts.insert(acts.begin(), {"--no-python", ELASTIC_PUPPET});
    return acts;
  };
  const words both{"--rdzv-id=job", "--redirects=3"};
  const auto with = [&](const words& more) {
    words options = both;
    options.insert(options.end(), more.begin(), more.end());
    return options;
  };
  add("two workers that succeed", with({"--nproc-per-node=2"}), program({"exit", "0"}), 0);
  add("a worker whose output is not redirected", with({"--redirects=0"}), program({"exit", "0"}),
      0);
  add("a worker that fails in two attempts", with({"--max-restarts=1"}), program({"exit", "3"}), 1);
  add("a worker with an error file", with({}),
      {"--no-python", "sh", "-c", "echo '{}' > $TORCHELASTIC_ERROR_FILE; exit 3"}, 1);
  add("a hung worker", with({"--first-heartbeat-timeout=0.1", "--hang-hook=echo stack"}),
      program({"hang"}), 1);
  add("full log files, and lines that are filtered",
      with({"--log-max-size=1k", "--log-max-files=3", "--duplicate-stdout-filters=out",
            "--duplicate-stderr-filters=err"}),
      program({"flood-lines", "10000", "60", "exit", "0"}), 0);
  const stage job;
  const std::string file =
      job_file(job, R"("sh", "-c", "echo out")",
               R"("sh", "-c", "echo out; test $ROLE_RANK$TORCHELASTIC_RESTART_COUNT != 00")");
  add("roles, and a replica that fails once", {"--job", file}, {}, 0);
  check_golden("golden/log_directories.txt", text);
}

}  // namespace golden_files_tests
