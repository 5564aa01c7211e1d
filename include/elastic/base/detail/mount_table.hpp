// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// What is mounted where, as far as it matters to a caller that must not wait: a call that names a
/// file on NFS, FUSE and the like may wait for another machine or program, for ever.
///
/// A value; asks no file system that may hang.
class mount_table {
 public:
  /// Everything is local.
  mount_table() = default;

  /// From the text of /proc/self/mountinfo.
  ELASTIC_DECL explicit mount_table(std::string_view mountinfo);

  /// Whether a call that names this file, or one that is to be made there, may hang. Links are
  /// followed. A file system of a type that is not known to be local may.
  ELASTIC_DECL bool may_hang(const std::string& path) const;

 private:
  struct mount {
    std::string point;
    bool is_local;
  };

  // Of an absolute path without links.
  ELASTIC_DECL bool is_local(std::string_view path) const;

  /// Empty if all of them are local.
  std::vector<mount> mounts_;
};

/// The same by the mounts of this process, which are looked at again after a second. Without /proc
/// everything may hang.
///
/// Thread-safety: any thread.
ELASTIC_DECL bool may_hang(const std::string& path);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/base/detail/impl/mount_table.ipp>
#endif
