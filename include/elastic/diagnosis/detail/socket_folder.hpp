// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/unique_fd.hpp>

#include <sys/types.h>

#include <string>

namespace elastic::detail {

/// A folder of mode 0700 for the Unix sockets of workers, each named by its pid. It is in
/// $XDG_RUNTIME_DIR, $TMPDIR or /tmp: the first of them in which the path of a socket is short
/// enough. The destructor removes the folder with its sockets.
///
/// The folder is locked during the object's lifetime. The constructor also removes unlocked folders
/// of this user, which killed agents have left.
class socket_folder {
 public:
  ELASTIC_DECL socket_folder();
  socket_folder(const socket_folder&) = delete;
  socket_folder& operator=(const socket_folder&) = delete;
  ELASTIC_DECL ~socket_folder();

  /// Empty if no folder could be created.
  const std::string& path() const { return path_; }

  /// The path at which the process would listen; empty if there is no folder.
  ELASTIC_DECL std::string socket_of(pid_t pid) const;

  /// Removes the sockets of processes that have ended.
  ELASTIC_DECL void remove_ended() const;

 private:
  ELASTIC_DECL void make_in(const std::string& place);

  std::string path_;
  unique_fd lock_;
};

/// Removes the folders in `place` that killed agents of this user have left. Keeps the folders of
/// other users and everything with another name or mode.
ELASTIC_DECL void remove_left_folders(const std::string& place);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/diagnosis/detail/socket_folder.ipp>
#endif
