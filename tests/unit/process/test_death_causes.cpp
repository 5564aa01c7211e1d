// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/process/detail/core_file.hpp>
#include <elastic/process/detail/memory_room.hpp>
#include <elastic/process/detail/oom_kills.hpp>

#include <support/catch.hpp>
#include <support/run_program.hpp>

#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>

namespace death_cause_tests {

using elastic::test::temporary_directory;

void write(const std::string& file, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(file).parent_path());
  std::ofstream(file) << text;
}

// ---- memory that ran out ------------------------------------------------------------------------

TEST_CASE("oom kills: are counted where this process's memory is", "[process]") {
  const temporary_directory root;
  const std::string own_cgroup = root / "proc/self/cgroup";
  const std::string cgroup_mount = root / "sys/fs/cgroup";
  SECTION("cgroup v2") {
    write(own_cgroup, "0::/user.slice/job\n");
    write(cgroup_mount + "/user.slice/job/memory.events", "low 0\nhigh 9\noom 4\noom_kill 3\n");
    CHECK(elastic::detail::count_oom_kills(root.path()) == 3U);
  }
  SECTION("cgroup v1") {
    write(own_cgroup, "9:cpu:/a\n4:memory:/jobs/7\n0::/\n");
    write(cgroup_mount + "/memory/jobs/7/memory.oom_control",
          "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n");
    CHECK(elastic::detail::count_oom_kills(root.path()) == 5U);
  }
  SECTION("cgroup v1, of a container that sees its own part only") {
    write(own_cgroup, "4:memory:/docker/1234\n");
    write(cgroup_mount + "/memory/memory.oom_control", "oom_kill 6\n");
    CHECK(elastic::detail::count_oom_kills(root.path()) == 6U);
  }
  SECTION("no cgroup: the machine's") {
    write(root / "proc/vmstat", "nr_free_pages 1\noom_kill 40\n");
    CHECK(elastic::detail::count_oom_kills(root.path()) == 40U);
  }
  SECTION("nothing") { CHECK_FALSE(elastic::detail::count_oom_kills(root.path())); }
}

TEST_CASE("oom kills: this machine counts them", "[process]") {
  CHECK(elastic::detail::count_oom_kills());
}

TEST_CASE("memory room: the least of the machine and the cgroups above", "[process]") {
  const temporary_directory root;
  CHECK_FALSE(elastic::detail::available_memory(root.path()));
  write(root / "proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:    5000 kB\n");
  CHECK(elastic::detail::available_memory(root.path()) == 5000U * 1024);
  write(root / "proc/self/cgroup", "0::/slice/job\n");
  const std::string slice = root / "sys/fs/cgroup/slice";
  write(slice + "/job/memory.max", "max\n");
  write(slice + "/job/memory.current", "7\n");
  CHECK(elastic::detail::available_memory(root.path()) == 5000U * 1024);
  write(slice + "/memory.max", "1000\n");
  write(slice + "/memory.current", "900\n");
  CHECK(elastic::detail::available_memory(root.path()) == 100U);
  write(slice + "/memory.stat", "active_file 9\ninactive_file 300\n");
  CHECK(elastic::detail::available_memory(root.path()) == 400U);
  write(slice + "/memory.current", "5000\n");
  CHECK(elastic::detail::available_memory(root.path()) == 0U);
}

TEST_CASE("memory room: the whole is that of the machine or the least limit above", "[process]") {
  const temporary_directory root;
  CHECK_FALSE(elastic::detail::whole_memory(root.path()));
  write(root / "proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:    5000 kB\n");
  CHECK(elastic::detail::whole_memory(root.path()) == 9000U * 1024);
  write(root / "proc/self/cgroup", "0::/slice/job\n");
  const std::string slice = root / "sys/fs/cgroup/slice";
  write(slice + "/job/memory.max", "max\n");
  CHECK(elastic::detail::whole_memory(root.path()) == 9000U * 1024);
  write(slice + "/job/memory.max", "3000\n");
  CHECK(elastic::detail::whole_memory(root.path()) == 3000U);
  write(slice + "/memory.max", "1000\n");
  CHECK(elastic::detail::whole_memory(root.path()) == 1000U);
}

TEST_CASE("memory room: what this process takes", "[process]") {
  CHECK(elastic::detail::available_memory().value_or(0) > 0);
  CHECK(elastic::detail::memory_of(::getpid()) > 100'000);
  CHECK(elastic::detail::memory_of(-1) == 0);
}

// ---- core files ---------------------------------------------------------------------------------

class core_stage {
 public:
  void pattern(const std::string& text, bool uses_pid = false) {
    write(root_ / "proc/sys/kernel/core_pattern", text + "\n");
    write(root_ / "proc/sys/kernel/core_uses_pid", uses_pid ? "1\n" : "0\n");
  }
  std::string file(const std::string& name) {
    const std::string path = folder_ / name;
    write(path, "core");
    return path;
  }
  std::string core_path(std::time_t since = 0) const {
    return elastic::detail::find_core(42, folder_.path(), since, root_.path());
  }
  std::string folder() const { return folder_.path(); }

 private:
  temporary_directory root_;
  temporary_directory folder_;
};

TEST_CASE("core file: is found where the kernel's pattern puts it", "[process]") {
  core_stage stage;
  stage.pattern("core");
  CHECK(stage.core_path().empty());
  const std::string plain_core = stage.file("core");
  CHECK(stage.core_path() == plain_core);
  CHECK(stage.core_path(std::time(nullptr) + 100).empty());

  stage.pattern("core", true);
  CHECK(stage.core_path().empty());
  const std::string core_with_pid = stage.file("core.42");
  CHECK(stage.core_path() == core_with_pid);

  stage.pattern("core-%e-%p-%%");
  stage.file("core-trainer-43-%");
  CHECK(stage.core_path().empty());
  const std::string named_core = stage.file("core-trainer-42-%");
  CHECK(stage.core_path() == named_core);

  stage.pattern(stage.folder() + "/deep/%h.%t");
  const std::string deep_core = stage.file("deep/host.1234");
  CHECK(stage.core_path() == deep_core);
}

TEST_CASE("core file: one that a program takes is told of by its name", "[process]") {
  core_stage stage;
  stage.pattern("|/usr/lib/systemd/systemd-coredump %P %u");
  CHECK(stage.core_path() == "coredumpctl info 42");
  stage.pattern("|/usr/share/apport/apport -p%p");
  CHECK(stage.core_path() == "given to /usr/share/apport/apport");
}

TEST_CASE("core file: a pattern that is none finds nothing", "[process]") {
  core_stage stage;
  CHECK(stage.core_path().empty());
  for (const std::string text : {"", "%", "[", "*"}) {
    stage.pattern(text);
    CHECK(stage.core_path().empty());
  }
}

}  // namespace death_cause_tests
