// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/cli/default_python.hpp>

#include <support/catch.hpp>
#include <support/run_program.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

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

TEST_CASE("default python: a program is named by its path", "[cli]") {
  CHECK(elastic::path_of_program("sh", "/nowhere:/bin:/usr/bin") == "/bin/sh");
  CHECK(elastic::path_of_program("sh", "") == "sh");
  CHECK(elastic::path_of_program("bin/python3", "/usr/bin") == "bin/python3");
  CHECK(elastic::path_of_program("no-such-program", "/bin") == "no-such-program");
}

/// Environments in a directory of their own: conda, one of conda's own, a venv by conda's Python, a
/// venv by another Python, and a link to that venv.
class environments {
 public:
  environments() {
    python("conda");
    python("conda/envs/work");
    python("usr");
    link("conda/bin/python3", "mixed/bin/python3");
    link("usr/bin/python3", "venv/bin/python3");
    link("venv", "link");
    fs::create_directories(folder_ / "empty/bin");
    python("shims", "#!/bin/sh\n");
  }
  std::string operator()(const std::string& name) const { return folder_ / name; }

  /// The folders of programs in PATH.
  std::string path(const std::vector<std::string>& names) const {
    std::string list;
    for (const std::string& name : names) {
      list += (list.empty() ? "" : ":") + (folder_ / name) + "/bin";
    }
    return list;
  }

 private:
  void python(const std::string& name, const std::string& content = "\x7f" "ELF") const {
    fs::create_directories(folder_ / (name + "/bin"));
    const fs::path file = folder_ / (name + "/bin/python3");
    std::ofstream(file) << content;
    fs::permissions(file, fs::perms::owner_all);
  }
  void link(const std::string& target, const std::string& name) const {
    const fs::path file = folder_ / name;
    fs::create_directories(file.parent_path());
    fs::create_symlink(folder_ / target, file);
  }

  elastic::test::temporary_directory folder_;
};

TEST_CASE("default python: that of another environment than the active one is warned of",
          "[cli]") {
  const environments all;
  using names = std::vector<std::string>;
  struct row {
    std::string virtual_env;
    std::string conda;
    names path;
    /// The environment of the Python; empty: "python3" in PATH.
    std::string python;
    /// The active environment in the warning; empty: no warning.
    std::string warned_of;
  };
  const std::vector<row> rows = {
      {"", "", {"usr"}, "", ""},
      {"", "", {"usr"}, "venv", ""},
      {"venv", "", {"venv", "usr"}, "venv", ""},
      {"venv", "", {"venv", "usr"}, "", ""},
      {"venv", "", {"venv", "usr"}, "mixed", "venv"},
      {"", "conda", {"conda", "usr"}, "venv", "conda"},
      // PATH was changed after the activation.
      {"venv", "", {"usr", "venv"}, "", "venv"},
      {"venv", "", {"usr"}, "", "venv"},
      // One environment, by two names.
      {"link", "", {"link", "usr"}, "venv", ""},
      {"venv", "", {"venv", "usr"}, "link", ""},
      // A venv was activated in conda, and the other way round.
      {"venv", "conda", {"venv", "conda", "usr"}, "venv", ""},
      {"venv", "conda", {"venv", "conda", "usr"}, "conda", "venv"},
      {"venv", "conda", {"conda", "venv", "usr"}, "conda", ""},
      {"venv", "conda", {"conda", "venv", "usr"}, "venv", "conda"},
      {"venv", "conda", {"usr"}, "conda", ""},
      // conda's base is active in every shell of many users.
      {"", "conda", {"conda", "usr"}, "conda/envs/work", ""},
      {"", "conda", {"conda", "usr"}, "mixed", ""},
      // The script of pyenv starts the Python of any environment.
      {"venv", "", {"shims", "usr"}, "", ""},
      // An environment of another host, and one without a Python.
      {"absent", "", {"usr"}, "", ""},
      {"", "empty", {"empty", "usr"}, "", ""},
  };
  for (const row& each : rows) {
    CAPTURE(each.virtual_env, each.conda, each.path, each.python);
    elastic::environment_map variables = {{"PATH", all.path(each.path)}};
    if (!each.virtual_env.empty()) variables["VIRTUAL_ENV"] = all(each.virtual_env);
    if (!each.conda.empty()) variables["CONDA_PREFIX"] = all(each.conda);
    const std::string python =
        each.python.empty() ? "python3" : all(each.python) + "/bin/python3";
    const std::string warning = elastic::python_warning(variables, python);
    CHECK(warning.empty() == each.warned_of.empty());
    if (each.warned_of.empty()) continue;
    const std::string used =
        each.python.empty() ? all(each.path.front()) + "/bin/python3" : python;
    CHECK_THAT(warning, elastic::test::contains_text("run with " + used + ", "));
    CHECK_THAT(warning, elastic::test::contains_text("PYTHON_EXEC=" + all(each.warned_of) +
                                                     "/bin/python3"));
  }
}

}  // namespace
