// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/agent/run_result.hpp>
#include <elastic/agent/worker_spec.hpp>
#include <program/missing_module.hpp>

#include <support/catch.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace {

TEST_CASE("missing module: named by the end of a worker's stderr", "[program]") {
  using lines = std::vector<std::string>;
  const struct {
    lines stderr_lines;
    std::string module;
  } rows[] = {
      {{}, ""},
      {{"ValueError: No module"}, ""},
      {{"    import torch", "ModuleNotFoundError: No module named 'torch'"}, "torch"},
      {{"ModuleNotFoundError: No module named 'a.b'; 'a' is not a package", "done"}, "a.b"},
      {{"/usr/bin/python3: No module named trainer"}, "trainer"},
      {{"Error while finding module specification for 'a.b' (ModuleNotFoundError: No module named "
        "'a')"},
       "a"},
      {{"Error while finding module specification for 'a/b.py' (ModuleNotFoundError: No module "
        "named 'a/b')"},
       ""},
      // A script that does without a module, and then fails.
      {{"ModuleNotFoundError: No module named 'apex'", "Traceback (most recent call last):",
        "ValueError: 3"},
       ""},
  };
  for (const auto& row : rows) {
    CHECK(elasticrun::missing_module(row.stderr_lines) == row.module);
  }
}

TEST_CASE("missing module: any worker's stderr or error file tells it", "[program]") {
  elastic::run_result result;
  CHECK(elasticrun::missing_module(result).empty());
  result.failures.resize(2);
  result.failures[0].last_stderr = {"ValueError: 3"};
  CHECK(elasticrun::missing_module(result).empty());
  result.failures[1].error.emplace();
  result.failures[1].error->message = "ModuleNotFoundError: No module named 'torchvision'";
  CHECK(elasticrun::missing_module(result) == "torchvision");
  result.failures[1].last_stderr = {"ModuleNotFoundError: No module named 'torch'"};
  CHECK(elasticrun::missing_module(result) == "torch");
}

TEST_CASE("missing module: the first Python of PATH that has it", "[program]") {
  const std::map<std::string, std::vector<std::string>> folders = {
      {"/venv/bin", {"/venv/bin/python3"}},
      {"/venv/lib", {"/venv/lib/python3.11"}},
      {"/venv/lib/python3.11/site-packages", {"/venv/lib/python3.11/site-packages/torchvision"}},
      {"/usr/bin", {"/usr/bin/env", "/usr/bin/python3"}},
      {"/usr/lib", {"/usr/lib/python2", "/usr/lib/python3"}},
      {"/usr/lib/python3/dist-packages",
       {"/usr/lib/python3/dist-packages/torch", "/usr/lib/python3/dist-packages/six.py"}},
      {"/opt/bin", {"/opt/bin/python3"}},
      {"/opt/lib", {"/opt/lib/python3.12"}},
      {"/opt/lib/python3.12/site-packages", {"/opt/lib/python3.12/site-packages/torch"}},
  };
  const auto files_of = [&](const std::string& folder) {
    const auto entry = folders.find(folder);
    return entry == folders.end() ? std::vector<std::string>() : entry->second;
  };
  const auto find = [&](std::string_view module, std::string_view list) {
    return elasticrun::find_python_with(module, list, files_of);
  };
  CHECK(find("torch", "/venv/bin::.:/usr/bin:/opt/bin") == "/usr/bin/python3");
  CHECK(find("torch", "/opt/bin:/usr/bin") == "/opt/bin/python3");
  CHECK(find("torch", "/venv/bin:").empty());
  CHECK(find("torch", "").empty());
  CHECK(find("torchvision.ops", "/usr/bin:/venv/bin") == "/venv/bin/python3");
  CHECK(find("six", "/opt/bin:/usr/bin") == "/usr/bin/python3");
  CHECK(elasticrun::find_python_with("torch", "/no/such/folder").empty());
}

TEST_CASE("missing module: one line names both", "[program]") {
  CHECK(elasticrun::missing_module_hint("torch", "/venv/bin/python3", "/usr/bin/python3") ==
        "The workers were run by /venv/bin/python3, which has no torch; /usr/bin/python3 has: set "
        "PYTHON_EXEC=/usr/bin/python3\n");
  CHECK(elasticrun::missing_module_hint("trainer", "python3", "") ==
        "The workers were run by python3, which has no trainer; PYTHON_EXEC names another Python, "
        "and PYTHONPATH further folders of modules\n");
}

TEST_CASE("missing module: a program other than elasticrun's Python gets no hint", "[program]") {
  elastic::worker_spec workers;
  elastic::run_result result;
  result.failures.resize(1);
  result.failures[0].last_stderr = {"ModuleNotFoundError: No module named 'no_such_module'"};
  workers.program = "/nowhere/python3";
  workers.arguments = {"train.py"};
  CHECK(elasticrun::missing_module_hint(workers, result).empty());
  workers.arguments = {"-u", "train.py"};
  CHECK(elasticrun::missing_module_hint(workers, result) ==
        elasticrun::missing_module_hint("no_such_module", "/nowhere/python3", ""));
}

TEST_CASE("missing module: a Python without its standard library is told its PYTHONHOME",
          "[program]") {
  elastic::worker_spec workers;
  elastic::run_result result;
  result.failures.resize(1);
  result.failures[0].last_stderr = {"ModuleNotFoundError: No module named 'encodings'"};
  workers.program = "/usr/bin/python3";
  workers.arguments = {"-u", "train.py"};
  workers.environment["PYTHONHOME"] = "/old/python";
  CHECK(elasticrun::missing_module_hint(workers, result) ==
        "The workers were run by /usr/bin/python3, whose standard library is not at "
        "PYTHONHOME=/old/python: unset it\n");
}

}  // namespace
