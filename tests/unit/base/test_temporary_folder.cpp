// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/base/detail/temporary_folder.hpp>

#include <support/catch.hpp>
#include <support/run_program.hpp>

#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace temporary_folder_tests {

using elastic::detail::folder_problem;
using elastic::detail::temporary_folder;
using elastic::detail::temporary_folders;
using elastic::test::temporary_directory;

/// Sets these variables, and unsets the others that name a temporary folder, until its end.
class scene {
 public:
  explicit scene(const std::map<std::string, std::string>& variables) {
    for (const char* const name : {"TMPDIR", "TMP", "TEMP", "TEMPDIR"}) {
      const char* const value = std::getenv(name);
      before_[name] = value ? std::optional<std::string>(value) : std::nullopt;
      const auto position = variables.find(name);
      set(name, position == variables.end() ? std::nullopt : std::optional(position->second));
    }
  }
  ~scene() {
    for (const auto& [name, value] : before_) set(name, value);
  }
  scene(const scene&) = delete;
  scene& operator=(const scene&) = delete;

 private:
  static void set(const std::string& name, const std::optional<std::string>& value) {
    value ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str());
  }

  std::map<std::string, std::optional<std::string>> before_;
};

TEST_CASE("temporary folder: those that variables name precede the usual ones", "[base]") {
  const auto order = [](const std::map<std::string, std::string>& variables) {
    const scene now(variables);
    return temporary_folders();
  };
  using folders = std::vector<std::string>;
  CHECK(order({}) == folders{"/tmp", "/var/tmp"});
  CHECK(order({{"TMPDIR", "/a"}, {"TMP", "/b"}}) == folders{"/a", "/b", "/tmp", "/var/tmp"});
  CHECK(order({{"TMPDIR", ""}, {"TEMPDIR", "/d"}}) == folders{"/d", "/tmp", "/var/tmp"});
}

TEST_CASE("temporary folder: one that cannot be used is passed over, as Python does", "[base]") {
  const auto chosen = [](const std::map<std::string, std::string>& variables) {
    const scene now(variables);
    return temporary_folder();
  };
  const temporary_directory own;
  const std::string file = own / "file";
  std::ofstream(file).put('x');
  CHECK(chosen({{"TMPDIR", own.path()}}) == own.path());
  CHECK(chosen({{"TMPDIR", own / "absent"}}) == "/tmp");
  CHECK(chosen({{"TMPDIR", own / "absent"}, {"TMP", own.path()}}) == own.path());
  CHECK(chosen({{"TMPDIR", file}}) == "/tmp");
  CHECK(chosen({{"TMPDIR", file + "/below"}}) == "/tmp");
  CHECK(chosen({{"TMPDIR", "/proc"}}) == "/tmp");
}

TEST_CASE("temporary folder: a folder's problem is told in the system's words", "[base]") {
  const temporary_directory own;
  std::ofstream(own / "file").put('x');
  CHECK(folder_problem(own.path()).empty());
  CHECK(folder_problem(own / "absent") == "No such file or directory");
  CHECK(folder_problem(own / "file") == "Not a directory");
  CHECK_FALSE(folder_problem("/proc").empty());
}

}  // namespace temporary_folder_tests
