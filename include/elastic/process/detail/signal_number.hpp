// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <optional>
#include <string_view>

namespace elastic::detail {

/// The number of a signal, named as in kill(1) or <csignal>: "SIGTERM" or "TERM". Empty for an
/// unknown name; real-time signals have no names here.
ELASTIC_DECL std::optional<int> signal_number(std::string_view name);

/// The name of a signal without "SIG": "TERM" for SIGTERM. Empty if it has none.
ELASTIC_DECL std::string_view signal_abbreviation(int number);

/// Whether the kernel has this signal, and the C library does not keep it for itself.
ELASTIC_DECL bool is_signal(int number);

/// Checks the number of a signal that is to be sent.
/// @param what  the beginning of the error: "local_agent::signal"
/// Errors: `errc::invalid_argument` if there is no such signal.
ELASTIC_DECL void require_signal(int number, std::string_view what);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/signal_number.ipp>
#endif
