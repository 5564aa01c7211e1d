// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/cli/early_exit.hpp>

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

/// What I/O a choice leads to on this machine: "I/O: io_uring", or what is used instead of it and
/// why. Finds it out by making a ring and giving it up.
ELASTIC_DECL std::string describe_io(io_choice choice);

/// What --version prints: "elasticrun 0.1.0 (I/O: io_uring)".
ELASTIC_DECL early_exit show_version(io_choice choice);

/// Result: empty if the choice can be met, else what to say.
ELASTIC_DECL std::optional<early_exit> check_io(io_choice choice);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/cli/impl/io_choice.ipp>
#endif
