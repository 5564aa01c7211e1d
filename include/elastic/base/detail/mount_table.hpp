// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// The mounts of a process, as far as they matter to a caller that must not block: a call that
/// names a file on NFS, FUSE or a similar file system may wait for another machine or program
/// forever.
///
/// A plain value; accesses no file system that may hang.
class mount_table {
 public:
  /// Every file system counts as local.
  mount_table() = default;

  /// From the text of /proc/self/mountinfo.
  ELASTIC_DECL explicit mount_table(std::string_view mountinfo);

  /// Whether a call may hang that names this file, existing or new. Follows links. File systems of
  /// types that are not known to be local may hang.
  ELASTIC_DECL bool may_hang(const std::string& path) const;

 private:
  struct mount {
    std::string point;
    bool is_local;
  };

  // For an absolute path without links.
  ELASTIC_DECL bool is_local(std::string_view path) const;

  /// Empty if all mounts are local.
  std::vector<mount> mounts_;
};

/// The same for the mounts of this process, which are read again after a second. Without /proc,
/// every file may hang.
///
/// Thread-safety: any thread.
ELASTIC_DECL bool may_hang(const std::string& path);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/base/detail/mount_table.ipp>
#endif
