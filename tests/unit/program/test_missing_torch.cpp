// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/agent/run_result.hpp>
#include <program/missing_torch.hpp>

#include <support/catch.hpp>

#include <map>
#include <string>
#include <vector>

namespace {

TEST_CASE("missing torch: seen by the end of a worker's stderr", "[program]") {
  elastic::run_result result;
  CHECK_FALSE(elasticrun::is_torch_missing(result));
  result.failures.resize(2);
  result.failures[1].last_stderr = {"    import torchvision",
                                    "ModuleNotFoundError: No module named 'torchvision'"};
  CHECK_FALSE(elasticrun::is_torch_missing(result));
  result.failures[1].last_stderr.push_back("ModuleNotFoundError: No module named 'torch'");
  CHECK(elasticrun::is_torch_missing(result));
}

TEST_CASE("missing torch: the first Python of PATH that has it", "[program]") {
  const std::map<std::string, std::vector<std::string>> folders = {
      {"/venv/bin", {"/venv/bin/python3"}},
      {"/venv/lib", {"/venv/lib/python3.11"}},
      {"/venv/lib/python3.11/site-packages", {"/venv/lib/python3.11/site-packages/torchvision"}},
      {"/usr/bin", {"/usr/bin/env", "/usr/bin/python3"}},
      {"/usr/lib", {"/usr/lib/python2", "/usr/lib/python3"}},
      {"/usr/lib/python3/dist-packages", {"/usr/lib/python3/dist-packages/torch"}},
      {"/opt/bin", {"/opt/bin/python3"}},
      {"/opt/lib", {"/opt/lib/python3.12"}},
      {"/opt/lib/python3.12/site-packages", {"/opt/lib/python3.12/site-packages/torch"}},
  };
  const auto files_of = [&](const std::string& folder) {
    const auto entry = folders.find(folder);
    return entry == folders.end() ? std::vector<std::string>() : entry->second;
  };
  CHECK(elasticrun::find_python_with_torch("/venv/bin::.:/usr/bin:/opt/bin", files_of) ==
        "/usr/bin/python3");
  CHECK(elasticrun::find_python_with_torch("/opt/bin:/usr/bin", files_of) == "/opt/bin/python3");
  CHECK(elasticrun::find_python_with_torch("/venv/bin:", files_of).empty());
  CHECK(elasticrun::find_python_with_torch("", files_of).empty());
  CHECK(elasticrun::find_python_with_torch("/no/such/folder").empty());
}

TEST_CASE("missing torch: the Python is named by its path", "[program]") {
  CHECK(elasticrun::path_of_program("sh", "/nowhere:/bin:/usr/bin") == "/bin/sh");
  CHECK(elasticrun::path_of_program("sh", "") == "sh");
  CHECK(elasticrun::path_of_program("bin/python3", "/usr/bin") == "bin/python3");
  CHECK(elasticrun::path_of_program("no-such-program", "/bin") == "no-such-program");
}

TEST_CASE("missing torch: one line names both", "[program]") {
  CHECK(elasticrun::missing_torch_hint("/venv/bin/python3", "/usr/bin/python3") ==
        "The workers were run by /venv/bin/python3, which has no torch; /usr/bin/python3 has: set "
        "PYTHON_EXEC=/usr/bin/python3\n");
  CHECK(elasticrun::missing_torch_hint("python3", "") ==
        "The workers were run by python3, which has no torch; PYTHON_EXEC names another\n");
}

}  // namespace
