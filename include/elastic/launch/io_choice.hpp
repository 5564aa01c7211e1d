// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: for programs, not for those who embed a job.

#include <elastic/base/config.hpp>
#include <elastic/base/detail/ring.hpp>
#include <elastic/launch/early_exit.hpp>

#include <optional>
#include <string>

namespace elastic {

/// How a program wants its bytes moved: ELASTIC_IO.
enum class io_choice {
  /// By io_uring if it can be had.
  automatic,
  /// By io_uring, or not at all.
  ring,
  /// By Asio's reactor, even if io_uring can be had.
  epoll,
};

/// The I/O that a program gets.
struct io_in_use {
  /// "io_uring" or "epoll".
  std::string name;
  /// Why it is not io_uring; empty if it is, or was not asked for.
  std::string why_not;
};

/// Finds out what I/O a choice leads to on this machine, by making a ring and giving it up.
ELASTIC_DECL io_in_use find_io(io_choice choice);

/// "I/O: io_uring", or what is used instead of it and why.
ELASTIC_DECL std::string describe(const io_in_use& io);

/// What --version prints: "elasticrun 0.1.0 (I/O: io_uring)".
ELASTIC_DECL early_exit show_version(io_choice choice);

/// Result: empty if the choice can be met, else what to say.
ELASTIC_DECL std::optional<early_exit> check_io(io_choice choice);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/impl/io_choice.ipp>
#endif
