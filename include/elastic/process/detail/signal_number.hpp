// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <optional>
#include <string_view>

namespace elastic::detail {

/// The number of a signal that is named as by kill(1) and in <csignal>: "SIGTERM" or "TERM". Empty
/// for a name that none has; real-time signals have none here.
ELASTIC_DECL std::optional<int> signal_number(std::string_view name);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/impl/signal_number.ipp>
#endif
