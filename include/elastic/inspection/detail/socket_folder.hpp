// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <sys/types.h>

#include <string>

namespace elastic::detail {

/// A folder of mode 0700 for the Unix sockets of workers, each named by its process. It lies in
/// $XDG_RUNTIME_DIR, else in $TMPDIR or /tmp: the first of them in which a socket's path has room
/// for its name. The destructor removes the folder with its sockets.
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
  std::string path_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/inspection/detail/impl/socket_folder.ipp>
#endif
