// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/unique_fd.hpp>

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

namespace elastic::detail {

struct shown_line;

/// A stdout or stderr that other processes share: a terminal, a pipe, a file or a socket. Writes
/// neither block nor change the descriptor flags, which all those processes would see.
///
/// All targets of this process for the same file share the knowledge whether its last line is
/// finished, because stdout, stderr and the log are often one terminal.
///
/// Thread-safety: different targets, from any thread, also for the same file; one target, one
/// thread at a time. `break_line`: any thread.
class console_target {
 public:
  /// `fd` is borrowed: the target has its own descriptor for the same file, or none if `fd` is not
  /// open.
  ELASTIC_DECL explicit console_target(int fd);

  explicit operator bool() const { return static_cast<bool>(fd_); }

  /// The descriptor to wait on until there is room.
  int fd() const { return fd_.get(); }

  /// Result: how many bytes were written. Empty with `errno` EAGAIN: there is no room now. Empty
  /// with another `errno`: there never will be.
  ELASTIC_DECL std::optional<std::size_t> write_some(std::string_view bytes);

  /// The same for bytes that leave the cursor of a terminal where it was.
  ELASTIC_DECL std::optional<std::size_t> draw_some(std::string_view bytes);

  /// Makes the next `write_some` to this file begin a new line. Nothing happens if the last line is
  /// finished, or if nothing else is written.
  ELASTIC_DECL void break_line();

 private:
  enum class how {
    /// A file or a device such as /dev/null, which takes everything at once.
    blocking,
    /// Our own open file description, which does not block.
    own,
    /// A socket: each write asks not to block.
    socket,
    /// A shared, blocking description: written only when it has room for `PIPE_BUF`, and no more
    /// than that at a time.
    shared,
  };

  // Opens the same pipe or terminal again, to get a file description with its own flags.
  ELASTIC_DECL static unique_fd reopened(int fd);

  // The master side of a pseudo-terminal cannot be reopened: that would create a new terminal.
  ELASTIC_DECL static bool is_terminal_master(int fd);
  ELASTIC_DECL ssize_t attempt(std::string_view bytes);

  how how_ = how::blocking;
  unique_fd fd_;
  std::shared_ptr<shown_line> line_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/console_target.ipp>
#endif
