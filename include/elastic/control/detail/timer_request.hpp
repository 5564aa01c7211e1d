// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Includes the whole of nlohmann/json.

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

namespace elastic::detail {

/// A line that PyTorch's FileTimerClient writes to the file of TORCHELASTIC_TIMER_FILE.
///
/// Source: torch.distributed.elastic.timer.file_based_local_timer, FileTimerRequest.
struct timer_request {
  pid_t pid = 0;
  std::string scope;
  /// The time of day at which it expires; empty: the timer is released.
  std::optional<wall_time> expiry;
  /// The signal that the process gets then; 0 or less: none.
  int signal = 0;
};

/// Parses a line without its end.
/// Errors: `errc::protocol_violation`, with the problem.
ELASTIC_DECL timer_request parse_timer_request(std::string_view line);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/control/detail/timer_request.ipp>
#endif
