// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/base/detail/temporary_folder.hpp>

#include <support/catch.hpp>

#include <cstdlib>
#include <map>
#include <optional>
#include <string>

namespace temporary_folder_tests {

using elastic::detail::temporary_folder;

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

TEST_CASE("temporary folder: the first variable that is set and not empty names it", "[base]") {
  const auto chosen = [](const std::map<std::string, std::string>& variables) {
    const scene now(variables);
    return temporary_folder();
  };
  CHECK(chosen({}) == "/tmp");
  CHECK(chosen({{"TMPDIR", "/a"}, {"TMP", "/b"}}) == "/a");
  CHECK(chosen({{"TMPDIR", ""}}) == "/tmp");
  CHECK(chosen({{"TMPDIR", ""}, {"TEMPDIR", "/d"}}) == "/d");
  CHECK(chosen({{"TMP", "/b"}, {"TEMP", "/c"}}) == "/b");
}

}  // namespace temporary_folder_tests
