// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: for programs, not for those who embed a job.

#include <elastic/base/asio.hpp>
#include <elastic/base/ring.hpp>
#include <elastic/base/version.hpp>
#include <elastic/launch/early_exit.hpp>

#include <optional>
#include <string>

#include <fmt/format.h>

namespace elastic {

/// How a program wants its bytes moved: ELASTIC_IO.
enum class io_choice {
  /// By io_uring where it can be had.
  automatic,
  /// By io_uring, or not at all.
  ring,
  /// By Asio's reactor, also where io_uring can be had.
  epoll,
};

/// The I/O that a program gets.
struct io_in_use {
  /// "io_uring" or "epoll".
  std::string name;
  /// Why it is not io_uring; empty where it is, or was not wanted.
  std::string why_not;
};

/// Finds out what I/O a choice leads to on this machine, by making a ring and giving it up.
inline io_in_use find_io(io_choice wanted) {
#if defined(ASIO_HAS_IO_URING) && defined(ASIO_DISABLE_EPOLL)
  return {"io_uring", {}};
#endif
  if (wanted == io_choice::epoll) return {"epoll", {}};
  asio::io_context context(1);
  std::string why_not;
  if (ring::try_make(context.get_executor(), {}, &why_not)) return {"io_uring", {}};
  return {"epoll", why_not};
}

/// "I/O: io_uring", or what is used instead of it and why.
inline std::string describe(const io_in_use& found) {
  const std::string reason =
      found.why_not.empty() ? "" : fmt::format(", for want of io_uring: {}", found.why_not);
  return fmt::format("I/O: {}{}", found.name, reason);
}

/// What --version prints: "elasticrun 0.1.0 (I/O: io_uring)".
inline early_exit show_version(io_choice wanted) {
  return {0, fmt::format("elasticrun {} ({})\n", version_text, describe(find_io(wanted))), false};
}

/// Result: empty where the choice can be met, else what to say.
inline std::optional<early_exit> check_io(io_choice wanted) {
  if (wanted != io_choice::ring) return std::nullopt;
  const io_in_use found = find_io(wanted);
  if (found.why_not.empty()) return std::nullopt;
  return refuse(fmt::format("ELASTIC_IO=ring, but io_uring is not available: {}; allowed are auto "
                            "and epoll",
                            found.why_not));
}

}  // namespace elastic
