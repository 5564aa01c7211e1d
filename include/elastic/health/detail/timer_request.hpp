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
  /// The time of day at which it expires; none: the timer is taken back.
  std::optional<wall_time> expiry;
  /// What the process is to be sent then; 0 or less: nothing.
  int signal = 0;
};

/// Reads a line without its end.
/// Errors: `errc::protocol_violation`, naming what is wrong.
ELASTIC_DECL timer_request parse_timer_request(std::string_view line);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/health/detail/impl/timer_request.ipp>
#endif
