// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/cli/default_python.hpp>

#include <support/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace {

TEST_CASE("default python: that of the environment in which the program was started", "[cli]") {
  struct row {
    std::string program;
    std::vector<std::string> files;
    std::string python;
  };
  const std::vector<row> rows = {
      {"/venv/bin/elasticrun", {"/venv/pyvenv.cfg", "/venv/bin/python3"}, "/venv/bin/python3"},
      {"/conda/bin/elasticrun", {"/conda/conda-meta", "/conda/bin/python3"}, "/conda/bin/python3"},
      // An environment that lost its Python, and a Python that belongs to no environment.
      {"/venv/bin/elasticrun", {"/venv/pyvenv.cfg"}, "python3"},
      {"/usr/bin/elasticrun", {"/usr/bin/python3"}, "python3"},
      {"/home/me/.local/bin/elasticrun", {"/venv/pyvenv.cfg", "/venv/bin/python3"}, "python3"},
      {"elasticrun", {}, "python3"},
      {"", {"/pyvenv.cfg", "/python3"}, "python3"},
  };
  for (const row& entry : rows) {
    const auto is_there = [&](const std::filesystem::path& path) {
      return std::find(entry.files.begin(), entry.files.end(), path.string()) != entry.files.end();
    };
    CHECK(elastic::default_python(entry.program, is_there) == entry.python);
  }
}

TEST_CASE("default python: test programs are in no environment", "[cli]") {
  CHECK(elastic::default_python() == "python3");
}

}  // namespace
