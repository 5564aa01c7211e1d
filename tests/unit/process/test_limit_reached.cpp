// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/process/detail/limit_reached.hpp>

#include <support/catch.hpp>
#include <support/run_program.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace limit_reached_tests {

using elastic::detail::limit_reached;
using elastic::test::temporary_directory;

/// What stands before /proc and /sys of a machine that does not exist.
class machine {
 public:
  explicit machine(const std::string& own_cgroups) { write("/proc/self/cgroup", own_cgroups); }

  void write(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = root() + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  /// @param folder  below /sys/fs/cgroup
  void limit(const std::string& folder, const std::string& most, int used) const {
    write("/sys/fs/cgroup" + folder + "/pids.max", most + "\n");
    write("/sys/fs/cgroup" + folder + "/pids.current", fmt::format("{}\n", used));
  }
  std::string root() const { return folder_.path(); }

 private:
  temporary_directory folder_;
};

// The text if no cgroup is full: about the user's processes, if they have a limit.
std::string limit_of_user() {
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_NPROC, &limit) == 0);
  if (::geteuid() == 0 || limit.rlim_cur == RLIM_INFINITY) return "";
  return fmt::format("; this user may have {} processes and threads (ulimit -u)", limit.rlim_cur);
}

TEST_CASE("limit reached: too many open files names how many there may be", "[process]") {
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  CHECK(limit_reached(EMFILE) ==
        fmt::format("; this process may have {} open files (ulimit -n)", limit.rlim_cur));
}

TEST_CASE("limit reached: no other error has a limit", "[process]") {
  for (const int number : {0, ENOMEM, EPERM, ENOENT, ENFILE}) CHECK(limit_reached(number).empty());
}

TEST_CASE("limit reached: a cgroup that is full is named with its limit", "[process]") {
  const char* const full = "; the cgroup {} may have {} processes and threads (pids.max)";
  struct row {
    std::string own;
    std::string folder;
    std::string path;
  };
  const std::vector<row> rows = {
      {"0::/jobs/a\n", "/jobs/a", "/jobs/a"},
      {"0::/jobs/a\n", "/jobs", "/jobs"},
      // A container that sees its own cgroup as the root.
      {"0::/\n", "/", "/"},
      {"8:pids:/jobs/a\n0::/\n", "/pids/jobs/a", "/jobs/a"},
      // A container that sees the path of its host, but has its own cgroup mounted.
      {"8:pids:/docker/a\n", "/pids", "/"},
  };
  for (const row& entry : rows) {
    CAPTURE(entry.own, entry.folder);
    const machine here(entry.own);
    here.limit(entry.folder, "8", 8);
    CHECK(limit_reached(EAGAIN, here.root()) == fmt::format(fmt::runtime(full), entry.path, 8));
  }
}

TEST_CASE("limit reached: a cgroup that has room or no limit is not named", "[process]") {
  for (const auto& [most, used] : {std::pair("9", 8), std::pair("max", 8)}) {
    const machine here("0::/jobs/a\n");
    here.limit("/jobs/a", most, used);
    CHECK(limit_reached(EAGAIN, here.root()) == limit_of_user());
  }
  CHECK(limit_reached(EAGAIN, "/nonexistent") == limit_of_user());
}

TEST_CASE("limit reached: of two full cgroups the inner one is named", "[process]") {
  const machine here("0::/jobs/a\n");
  here.limit("/jobs/a", "4", 4);
  here.limit("/jobs", "8", 8);
  CHECK(limit_reached(EAGAIN, here.root()) ==
        "; the cgroup /jobs/a may have 4 processes and threads (pids.max)");
}

TEST_CASE("limit reached: a cgroup that is no longer full is named if it refused a process",
          "[process]") {
  const machine here("0::/jobs/a\n");
  here.limit("/jobs/a", "8", 5);
  here.limit("/jobs", "9", 6);
  here.write("/sys/fs/cgroup/jobs/a/pids.events", "max 0\n");
  here.write("/sys/fs/cgroup/jobs/pids.events", "max 3\n");
  CHECK(limit_reached(EAGAIN, here.root()) ==
        "; the cgroup /jobs may have 9 processes and threads (pids.max)");
  // One that is full now comes before it.
  here.limit("/jobs/a", "8", 8);
  CHECK(limit_reached(EAGAIN, here.root()) ==
        "; the cgroup /jobs/a may have 8 processes and threads (pids.max)");
}

}  // namespace limit_reached_tests
