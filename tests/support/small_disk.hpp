// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <support/run_program.hpp>

#include <sys/mount.h>

namespace elastic::test {

/// A file system with little room; not every container may mount one.
struct small_disk {
  /// @param limits  options of tmpfs, such as "size=64k" or "nr_inodes=20"
  explicit small_disk(const char* limits) {
    is_there = ::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, limits) == 0;
  }
  small_disk(const small_disk&) = delete;
  small_disk& operator=(const small_disk&) = delete;
  ~small_disk() {
    if (is_there) ::umount2(folder.path().c_str(), MNT_DETACH);
  }

  temporary_directory folder;
  bool is_there = false;
};

}  // namespace elastic::test
