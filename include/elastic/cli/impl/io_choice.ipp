// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/cli/io_choice.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/ring.hpp>
#include <elastic/base/version.hpp>

#include <fmt/format.h>

namespace elastic {

namespace detail {

/// The I/O that a program gets.
struct io_in_use {
  /// "io_uring" or "epoll".
  std::string name;
  /// Why it is not io_uring; empty if it is, or the program does not want it.
  std::string why_not;
};

inline io_in_use find_io(command_line::io_choice choice) {
#if (defined(ASIO_HAS_IO_URING) && defined(ASIO_DISABLE_EPOLL)) || \
    (defined(BOOST_ASIO_HAS_IO_URING) && defined(BOOST_ASIO_DISABLE_EPOLL))
  return {"io_uring", {}};
#endif
  if (choice == command_line::io_choice::epoll) return {"epoll", {}};
  asio::io_context context(1);
  std::string why_not;
  if (ring::try_make(context.get_executor(), {}, &why_not)) return {"io_uring", {}};
  return {"epoll", why_not};
}

}  // namespace detail

ELASTIC_DECL std::string describe_io(command_line::io_choice choice) {
  const detail::io_in_use io = detail::find_io(choice);
  const std::string reason =
      io.why_not.empty() ? "" : fmt::format(", for want of io_uring: {}", io.why_not);
  return fmt::format("I/O: {}{}", io.name, reason);
}

ELASTIC_DECL early_exit show_version(command_line::io_choice choice) {
  return {0, fmt::format("elasticrun {} ({})\n", version_text, describe_io(choice)), false};
}

ELASTIC_DECL std::optional<early_exit> check_io(command_line::io_choice choice) {
  if (choice != command_line::io_choice::ring) return std::nullopt;
  const detail::io_in_use io = detail::find_io(choice);
  if (io.why_not.empty()) return std::nullopt;
  return refuse(
      fmt::format("ELASTIC_IO=ring, but io_uring is not available: {}; use auto "
                  "or epoll",
                  io.why_not));
}

}  // namespace elastic
