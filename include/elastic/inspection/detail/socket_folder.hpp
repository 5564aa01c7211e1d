// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/unique_fd.hpp>

#include <sys/types.h>

#include <string>

namespace elastic::detail {

/// A folder of mode 0700 for the Unix sockets of workers, each named by its process. It lies in
/// $XDG_RUNTIME_DIR, else in $TMPDIR or /tmp: the first of them in which a socket's path has room
/// for its name. The destructor removes the folder with its sockets.
///
/// The folder is locked while this lives. So the constructor also removes those of this user that
/// nobody has locked: agents that were killed have left them.
class socket_folder {
 public:
  ELASTIC_DECL socket_folder();
  socket_folder(const socket_folder&) = delete;
  socket_folder& operator=(const socket_folder&) = delete;
  ELASTIC_DECL ~socket_folder();

  /// Empty: no folder could be made.
  const std::string& path() const { return path_; }

  /// Where the process listens, if it does; empty: there is no folder.
  ELASTIC_DECL std::string socket_of(pid_t pid) const;

  /// Removes the sockets of processes that have ended.
  ELASTIC_DECL void remove_ended() const;

 private:
  ELASTIC_DECL void make_in(const std::string& place);

  std::string path_;
  unique_fd lock_;
};

/// Removes the folders in `place` that agents of this user have left. Other users' folders, and
/// whatever has another name or mode, stay.
ELASTIC_DECL void remove_left_folders(const std::string& place);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/inspection/detail/impl/socket_folder.ipp>
#endif
