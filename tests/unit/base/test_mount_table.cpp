// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/detail/mount_table.hpp>

#include <support/catch.hpp>
#include <support/run_program.hpp>

#include <filesystem>
#include <string>

#include <fmt/format.h>

namespace mount_table_tests {

namespace fs = std::filesystem;
using elastic::detail::mount_table;

std::string line_of(const std::string& point, const std::string& type) {
  return fmt::format("25 1 0:21 / {} rw,relatime shared:1 - {} source rw\n", point, type);
}

TEST_CASE("mount table: what another machine or program answers for may hang", "[base]") {
  const mount_table mounts(line_of("/", "ext4") + line_of("/data", "nfs4") +
                           line_of("/data/fast", "tmpfs") +
                           line_of("/fuse\\040disk", "fuse.sshfs") +
                           line_of("/new", "a_type_of_tomorrow") + line_of("/net", "autofs"));
  struct row {
    const char* path;
    bool may_hang;
  };
  for (const row& entry : {row{"/", false}, row{"/home/logs", false}, row{"/data", true},
                           row{"/data/", true}, row{"/data/logs", true}, row{"/database", false},
                           row{"/data/../home", true}, row{"/home/../data/x", true},
                           // What is mounted there can only be reached through it.
                           row{"/data/fast/x", true}, row{"/fuse disk/logs", true},
                           row{"/new/logs", true}, row{"/net/host", true}}) {
    INFO(entry.path);
    CHECK(mounts.may_hang(entry.path) == entry.may_hang);
  }
}

TEST_CASE("mount table: a later mount hides an earlier one", "[base]") {
  const mount_table mounts(line_of("/", "ext4") + line_of("/boot", "autofs") +
                           line_of("/boot", "ext4"));
  CHECK_FALSE(mounts.may_hang("/boot/x"));
}

TEST_CASE("mount table: if all is local, nothing may hang", "[base]") {
  CHECK_FALSE(mount_table().may_hang("/anything"));
  CHECK_FALSE(mount_table(line_of("/", "overlay") + line_of("/dev/shm", "tmpfs")).may_hang("/x"));
}

TEST_CASE("mount table: links are followed, without asking what may hang", "[base]") {
  const elastic::test::temporary_directory folder;
  const std::string remote = folder / "remote";
  fs::create_directory(remote);
  fs::create_directory_symlink("remote/logs", folder / "relative");
  fs::create_directory_symlink(remote, folder / "absolute");
  fs::create_directory_symlink("circle", folder / "circle");
  const mount_table mounts(line_of("/", "ext4") + line_of(remote, "fuse"));
  CHECK(mounts.may_hang(folder / "relative"));
  CHECK(mounts.may_hang(folder / "absolute/file"));
  CHECK_FALSE(mounts.may_hang(folder / "missing/file"));
  CHECK_FALSE(mounts.may_hang(folder / "circle/file"));
}

TEST_CASE("mount table: a relative path begins at the working directory", "[base]") {
  const std::string here = fs::current_path();
  const mount_table mounts(line_of("/", "ext4") + line_of(here, "nfs"));
  CHECK(mounts.may_hang("file"));
  CHECK(mounts.may_hang("./folder/file"));
  CHECK_FALSE(mount_table(line_of("/", "ext4") + line_of(here + "_2", "nfs")).may_hang("file"));
}

TEST_CASE("mount table: the temporary folder of this machine is local", "[base]") {
  const elastic::test::temporary_directory folder;
  CHECK_FALSE(elastic::detail::may_hang(folder.path()));
}

}  // namespace mount_table_tests
