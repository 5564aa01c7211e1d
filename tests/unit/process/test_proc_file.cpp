// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/process/detail/proc_file.hpp>

#include <support/catch.hpp>
#include <support/run_program.hpp>

#include <sys/types.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

namespace proc_file_tests {

using elastic::detail::read_proc_file;

TEST_CASE("proc file: no more than it is told to read", "[process]") {
  const elastic::test::temporary_directory folder;
  const std::string path = folder / "file";
  const std::string text = std::string(10'000, 'a') + "end";
  std::ofstream(path) << text;
  CHECK(read_proc_file(path, 20'000) == text);
  CHECK(read_proc_file(path, 10'003) == text);
  CHECK(read_proc_file(path, 10'001) == text.substr(0, 10'001));
  CHECK(read_proc_file(path, 5) == "aaaaa");
  CHECK(read_proc_file(path, 0).empty());
}

TEST_CASE("proc file: a file of the kernel, which has no size", "[process]") {
  CHECK_THAT(read_proc_file("/proc/self/status", 4096), elastic::test::contains_text("VmRSS:"));
  // In several pieces.
  CHECK(read_proc_file("/proc/self/smaps", 9000).size() == 9000);
}

TEST_CASE("proc file: one that cannot be read is empty", "[process]") {
  CHECK(read_proc_file("/proc/self/no such file", 100).empty());
  CHECK(read_proc_file("/proc/self", 100).empty());
}

TEST_CASE("proc file: the number after a label", "[process]") {
  using elastic::detail::number_after;
  const std::string text = "oom 3\noom_kill_disable 0\noom_kill 12\nVmRSS:\t    1234 kB\nlast 5";
  CHECK(number_after(text, "oom ") == 3U);
  CHECK(number_after(text, "oom_kill ") == 12U);
  CHECK(number_after(text, "VmRSS:") == 1234U);
  CHECK(number_after(text, "last ") == 5U);
  CHECK(number_after("77\n", "") == 77U);
  CHECK_FALSE(number_after("max\n", ""));
  CHECK_FALSE(number_after(text, "missing "));
  CHECK_FALSE(number_after("label", "label"));
  CHECK_FALSE(number_after("label   ", "label"));
  CHECK_FALSE(number_after("", "label"));
  // Larger than any number.
  CHECK_FALSE(number_after("n 99999999999999999999", "n "));
}

TEST_CASE("proc file: the entries of a directory that are numbers", "[process]") {
  const elastic::test::temporary_directory folder;
  for (const char* name : {"12", "7", "x3", "3x", "-", "99999999999"}) {
    std::ofstream(folder / name) << name;
  }
  std::vector<pid_t> found = elastic::detail::numbered_entries(folder.path());
  std::sort(found.begin(), found.end());
  CHECK(found == std::vector<pid_t>{7, 12});
  CHECK(elastic::detail::numbered_entries(folder / "missing").empty());
}

}  // namespace proc_file_tests
