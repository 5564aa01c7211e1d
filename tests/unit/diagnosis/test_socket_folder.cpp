// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/diagnosis/detail/socket_folder.hpp>

#include <support/catch.hpp>
#include <support/run_program.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace elastic {
namespace {

namespace socket_folder_test {

using detail::socket_folder;

/// Where socket folders are made during a test.
struct place {
  place() { ::setenv("XDG_RUNTIME_DIR", folder.path().c_str(), 1); }
  ~place() { ::unsetenv("XDG_RUNTIME_DIR"); }

  std::string make(const std::string& name, unsigned mode) const {
    const std::string path = folder / name;
    std::filesystem::create_directory(path);
    std::ofstream(path + "/4711") << "a socket";
    ::chmod(path.c_str(), mode);
    return path;
  }

  test::temporary_directory folder;
};

TEST_CASE("socket folder: it is for this user alone, and goes with its owner", "[inspection]") {
  const place here;
  std::string path;
  {
    const socket_folder folder;
    path = folder.path();
    REQUIRE(std::filesystem::path(path).parent_path() == here.folder.path());
    CHECK(std::filesystem::status(path).permissions() == std::filesystem::perms::owner_all);
    std::ofstream(folder.socket_of(::getpid())) << "a socket";
  }
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("socket folder: what a killed agent has left goes with the next start", "[inspection]") {
  const place here;
  const std::string left = here.make("elastic-sockets-Abc123", 0700);
  const socket_folder folder;
  CHECK_FALSE(std::filesystem::exists(left));
  CHECK(std::filesystem::exists(folder.path()));
}

TEST_CASE("socket folder: that of an agent that runs stays", "[inspection]") {
  const place here;
  const socket_folder running;
  const socket_folder another;
  CHECK(std::filesystem::exists(running.path()));
  CHECK(std::filesystem::exists(another.path()));
  CHECK(running.path() != another.path());
}

TEST_CASE("socket folder: nothing else is removed", "[inspection]") {
  const place here;
  const std::string of_others = here.make("elastic-other-Abc123", 0700);
  const std::string open = here.make("elastic-sockets-open00", 0755);
  std::filesystem::create_directory_symlink(of_others, here.folder / "elastic-sockets-link00");
  const std::string deep = here.make("elastic-sockets-deep00", 0700);
  std::filesystem::create_directory(deep + "/folder");
  detail::remove_left_folders(here.folder.path());
  CHECK(std::filesystem::exists(of_others + "/4711"));
  CHECK(std::filesystem::exists(open + "/4711"));
  CHECK(std::filesystem::exists(deep + "/folder"));
}

}  // namespace socket_folder_test

}  // namespace
}  // namespace elastic
