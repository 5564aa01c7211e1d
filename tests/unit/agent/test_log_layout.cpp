// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/agent/log_layout.hpp>
#include <elastic/base/error.hpp>

#include <support/catch.hpp>
#include <support/run_program.hpp>

#include <dirent.h>
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace log_layout_tests {

namespace fs = std::filesystem;

/// How many entries of folders this thread can still read before its file system fails.
thread_local std::optional<int> readable_entries;

/// The function of the C library, for which the one below stands in everywhere in this program.
extern "C" __attribute__((visibility("default"))) dirent* readdir(DIR* folder) {
  static const auto real = reinterpret_cast<dirent* (*)(DIR*)>(::dlsym(RTLD_NEXT, "readdir"));
  if (!readable_entries || (*readable_entries)-- > 0) return real(folder);
  errno = ESTALE;
  return nullptr;
}

/// A directory of this test's own, removed at its end.
struct scratch_directory {
  std::string path;
  scratch_directory() {
    char name[] = "/tmp/elastic_layout_XXXXXX";
    path = ::mkdtemp(name);
  }
  ~scratch_directory() { fs::remove_all(path); }
};

TEST_CASE("log layout: the directories and files of torchelastic", "[agent]") {
  const scratch_directory scratch;
  elastic::log_layout layout(scratch.path + "/logs", "my/job");
  layout.start_attempt(2, 2);
  const fs::path root = layout.root();
  CHECK(root.parent_path() == scratch.path + "/logs");
  CHECK(root.filename().string().substr(0, 7) == "my_job_");
  CHECK(root.filename().string().size() == 7 + 8);
  CHECK(fs::is_directory(root / "attempt_2" / "1"));
  CHECK(layout.stdout_file(1) == (root / "attempt_2/1/stdout.log").string());
  CHECK(layout.stderr_file(0) == (root / "attempt_2/0/stderr.log").string());
  CHECK(layout.error_file(1) == (root / "attempt_2/1/error.json").string());
  CHECK(layout.hang_file(1) == (root / "attempt_2/1/hang.log").string());
  CHECK(layout.directory(1) == (root / "attempt_2/1").string());
}

TEST_CASE("log layout: a run id with control characters names a directory without them",
          "[agent]") {
  const scratch_directory scratch;
  const elastic::log_layout layout(scratch.path, "a\nb\x7f\x1b[c");
  CHECK(fs::path(layout.root()).filename().string().substr(0, 8) == "a_b__[c_");
}

TEST_CASE("log layout: a run's directory is its user's alone", "[agent]") {
  const scratch_directory scratch;
  const elastic::log_layout layout(scratch.path, "job");
  CHECK(fs::status(layout.root()).permissions() == fs::perms::owner_all);
  const elastic::log_layout temporary_layout("", "job");
  CHECK(fs::status(temporary_layout.root()).permissions() == fs::perms::owner_all);
  CHECK(fs::status(fs::path(temporary_layout.root()).parent_path()).permissions() ==
        fs::perms::owner_all);
}

TEST_CASE("log layout: the directories inside a run's are its user's alone, whatever the umask",
          "[agent]") {
  const scratch_directory scratch;
  const mode_t before = ::umask(0);
  elastic::log_layout layout(scratch.path + "/logs", "job", "trainer");
  layout.start_attempt(0, 2);
  layout.add_worker(0, 1, 7);
  ::umask(before);
  const auto mode_of = [](const fs::path& path) { return fs::status(path).permissions(); };
  // The directory that the user named is the user's matter.
  CHECK(mode_of(scratch.path + "/logs") == fs::perms::all);
  const fs::path root = layout.root();
  for (const fs::path& directory :
       {root, root / "attempt_0", root / "attempt_0/0", fs::path(layout.directory(1))}) {
    INFO(directory.string());
    CHECK(mode_of(directory) == fs::perms::owner_all);
  }
}

TEST_CASE("log layout: directories that somebody removed are made again", "[agent]") {
  const scratch_directory scratch;
  elastic::log_layout layout(scratch.path + "/logs", "job");
  fs::remove_all(scratch.path + "/logs");
  layout.start_attempt(1, 1);
  CHECK(fs::is_directory(layout.directory(0)));
}

TEST_CASE("log layout: an attempt that starts again with its number is empty", "[agent]") {
  const scratch_directory scratch;
  elastic::log_layout layout(scratch.path, "job");
  layout.start_attempt(0, 1);
  std::ofstream(layout.error_file(0)) << "{}";
  layout.start_attempt(0, 1);
  CHECK_FALSE(fs::exists(layout.error_file(0)));
}

TEST_CASE("log layout: an attempt that writes nothing leaves nothing", "[agent]") {
  const scratch_directory scratch;
  elastic::log_layout layout(scratch.path, "job");
  const fs::path root = layout.root();
  for (int attempt = 0; attempt < 3; ++attempt) {
    layout.start_attempt(attempt, 2);
    if (attempt == 1) std::ofstream(layout.error_file(1)) << "{}";
  }
  CHECK_FALSE(fs::exists(root / "attempt_0"));
  CHECK_FALSE(fs::exists(root / "attempt_1" / "0"));
  CHECK(fs::exists(root / "attempt_1" / "1" / "error.json"));
  // A worker that is started alone, too.
  layout.add_worker(3, 1, 5);
  CHECK_FALSE(fs::exists(root / "attempt_2" / "1"));
  CHECK(fs::exists(root / "attempt_2" / "0"));
  layout.remove_empty();
  CHECK_FALSE(fs::exists(root / "attempt_2"));
  CHECK_FALSE(fs::exists(root / "attempt_3"));
}

TEST_CASE("log layout: an attempt that cannot be made leaves nothing, and has no files",
          "[agent]") {
  const scratch_directory scratch;
  elastic::log_layout layout(scratch.path, "job", "run");
  layout.start_attempt(0, 2);
  CHECK_FALSE(layout.lacks_files(0));
  fs::remove_all(scratch.path + "/run");
  std::ofstream(scratch.path + "/run") << "no directory";
  CHECK_THROWS_AS(layout.start_attempt(1, 2), elastic::error);
  for (const int rank : {0, 1}) layout.go_without_files(1, rank);
  CHECK(layout.attempt() == 1);
  CHECK(layout.lacks_files(1));
  CHECK(layout.error_file(1).empty());
  CHECK(layout.directory(1).empty());
  fs::remove(scratch.path + "/run");
  layout.start_attempt(2, 2);
  CHECK_FALSE(layout.lacks_files(1));
  CHECK(fs::is_directory(layout.directory(1)));
}

TEST_CASE("log layout: a worker that is started alone has a directory of its own", "[agent]") {
  const scratch_directory scratch;
  elastic::log_layout layout(scratch.path, "job");
  const fs::path root = layout.root();
  layout.start_attempt(0, 2);
  layout.add_worker(1, 1, 4);
  CHECK(layout.directory(0) == root / "attempt_0" / "0");
  CHECK(layout.directory(1) == root / "attempt_1" / "1");
  std::ofstream(layout.error_file(1)) << "{}";
  // A change of the membership starts workers and does not count.
  layout.add_worker(1, 1, 6);
  CHECK(layout.directory(1) == root / "attempt_1" / "1_epoch_6");
  CHECK_FALSE(fs::exists(layout.error_file(1)));
}

TEST_CASE("log layout: a directory that the user named stays", "[agent]") {
  const scratch_directory scratch;
  elastic::log_layout layout(scratch.path, "job");
  layout.start_attempt(0, 1);
  const std::string root = layout.root();
  CHECK(layout.keeps_files());
  layout.discard();
  CHECK(fs::is_directory(root));
}

TEST_CASE("log layout: a temporary directory goes, unless a worker left a file", "[agent]") {
  elastic::log_layout layout("", "job");
  layout.start_attempt(0, 2);
  const fs::path root = layout.root();
  const fs::path parent = root.parent_path();
  CHECK_FALSE(layout.keeps_files());
  CHECK(parent.filename().string().substr(0, 13) == "torchelastic_");
  std::ofstream(layout.stdout_file(1)) << "output";
  layout.discard_if_empty();
  CHECK(fs::is_directory(root));
  fs::remove(layout.stdout_file(1));
  layout.discard_if_empty();
  CHECK_FALSE(fs::exists(parent));
  CHECK(layout.root().empty());
}

TEST_CASE("log layout: none at all writes nothing", "[agent]") {
  elastic::log_layout layout;
  layout.start_attempt(0, 2);
  CHECK(layout.error_file(0).empty());
  CHECK(layout.stdout_file(0).empty());
  CHECK(layout.hang_file(0).empty());
  CHECK(layout.directory(0).empty());
  CHECK_FALSE(layout.keeps_files());
  CHECK(layout.root().empty());
}

TEST_CASE("log layout: a directory with a name of its own lies beside others", "[agent]") {
  const elastic::test::temporary_directory base;
  elastic::log_layout trainer(base.path(), "job/trainer", "trainer");
  elastic::log_layout again(base.path(), "job/trainer", "trainer");
  elastic::log_layout nowhere(base.path(), "job/x", "../x");
  CHECK(trainer.root() == base / "trainer");
  CHECK(again.root() == trainer.root());
  CHECK(nowhere.root() == base / ".._x");
  trainer.start_attempt(0, 1);
  CHECK(trainer.directory(0) == base / "trainer/attempt_0/0");
}

TEST_CASE("log layout: a directory that cannot be made is named", "[agent]") {
  try {
    elastic::log_layout("/proc/nothing/here", "job");
    FAIL("it was made");
  } catch (const elastic::error& failure) {
    CHECK(failure.code() == elastic::errc::file_access);
    CHECK(std::string(failure.what()).find("/proc/nothing/here") != std::string::npos);
  }
}

TEST_CASE("log layout: a reader finds the files of each worker that was started last",
          "[agent]") {
  const elastic::test::temporary_directory base;
  CHECK(elastic::log_layout::find_workers(base.path()).empty());
  CHECK(elastic::log_layout::find_workers(base / "none").empty());
  elastic::log_layout layout(base.path(), "job", "run");
  const std::string root = layout.root();
  layout.start_attempt(0, 2);
  std::ofstream(layout.stdout_file(0)) << "kept";
  std::ofstream(layout.stdout_file(1)) << "kept";
  layout.start_attempt(10, 1);
  std::ofstream(layout.stdout_file(0)) << "former";
  layout.add_worker(10, 0, 3);
  std::filesystem::create_directory(root + "/attempt_x");
  std::filesystem::create_directory(root + "/attempt_10/flight_recorder");
  std::ofstream(root + "/attempt_10/filtered_stdout.log") << "";
  const auto workers = elastic::log_layout::find_workers(root);
  REQUIRE(workers.size() == 2);
  CHECK(workers[0].local_rank == 0);
  CHECK(workers[0].stdout_file == root + "/attempt_10/0_epoch_3/stdout.log");
  CHECK(workers[0].stderr_file == layout.stderr_file(0));
  CHECK(workers[1].stdout_file == root + "/attempt_0/1/stdout.log");
}

TEST_CASE("log layout: what a reader of files cannot list has no workers", "[agent]") {
  const elastic::test::temporary_directory base;
  elastic::log_layout layout(base.path(), "job", "run");
  layout.start_attempt(0, 2);
  std::size_t found = 0;
  // The root and its attempt, each with ".", ".." and an end.
  constexpr int entries = 3 + 1 + 3 + 2;
  for (int count = 0; count <= entries; ++count) {
    INFO(count);
    readable_entries = count;
    CHECK_NOTHROW(found = elastic::log_layout::find_workers(layout.root()).size());
    readable_entries.reset();
    CHECK(found <= 2);
  }
  CHECK(found == 2);
}

}  // namespace log_layout_tests
