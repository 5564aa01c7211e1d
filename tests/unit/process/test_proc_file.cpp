// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/process/detail/proc_file.hpp>

#include <support/catch.hpp>
#include <support/run_program.hpp>

#include <fstream>
#include <string>

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

}  // namespace proc_file_tests
