// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/io_choice.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/version.hpp>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL io_in_use find_io(io_choice choice) {
#if defined(ASIO_HAS_IO_URING) && defined(ASIO_DISABLE_EPOLL)
  return {"io_uring", {}};
#endif
  if (choice == io_choice::epoll) return {"epoll", {}};
  asio::io_context context(1);
  std::string why_not;
  if (detail::ring::try_make(context.get_executor(), {}, &why_not)) return {"io_uring", {}};
  return {"epoll", why_not};
}

ELASTIC_DECL std::string describe(const io_in_use& io) {
  const std::string reason =
      io.why_not.empty() ? "" : fmt::format(", for want of io_uring: {}", io.why_not);
  return fmt::format("I/O: {}{}", io.name, reason);
}

ELASTIC_DECL early_exit show_version(io_choice choice) {
  return {0, fmt::format("elasticrun {} ({})\n", version_text, describe(find_io(choice))), false};
}

ELASTIC_DECL std::optional<early_exit> check_io(io_choice choice) {
  if (choice != io_choice::ring) return std::nullopt;
  const io_in_use io = find_io(choice);
  if (io.why_not.empty()) return std::nullopt;
  return refuse(
      fmt::format("ELASTIC_IO=ring, but io_uring is not available: {}; allowed are auto "
                  "and epoll",
                  io.why_not));
}

}  // namespace elastic
