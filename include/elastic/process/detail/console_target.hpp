// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/unique_fd.hpp>

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string_view>

namespace elastic::detail {

/// A stdout or stderr, shared with other processes, that is written without blocking and without
/// a change of the flags that they all see: a terminal, a pipe, a file, a socket.
///
/// Thread-safety: one thread at a time.
class console_target {
 public:
  /// `fd` is borrowed: the target keeps a descriptor of its own, and none if `fd` is not open.
  ELASTIC_DECL explicit console_target(int fd);

  explicit operator bool() const { return static_cast<bool>(fd_); }

  /// For waiting until there is room.
  int fd() const { return fd_.get(); }

  /// Result: how many bytes were written; empty if there is no room now, or with another
  /// `errno` than EAGAIN if there will never be any.
  ELASTIC_DECL std::optional<std::size_t> write_some(std::string_view bytes);

 private:
  enum class how {
    /// A file or a device such as /dev/null: takes everything at once.
    blocking,
    /// An open file description of our own that does not block.
    own,
    /// A socket: asked for each write not to block.
    socket,
    /// Shared with others and blocking: written when it has room for `PIPE_BUF`, and no more.
    shared,
  };

  // An open file description of its own, with flags of its own, for the same pipe or terminal.
  ELASTIC_DECL static unique_fd reopened(int fd);

  // The side of a pseudo-terminal where its user sits: opened again, it would be a new one.
  ELASTIC_DECL static bool is_terminal_master(int fd);
  ELASTIC_DECL ssize_t attempt(std::string_view bytes);

  how how_ = how::blocking;
  unique_fd fd_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/impl/console_target.ipp>
#endif
