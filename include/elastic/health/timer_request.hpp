// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Includes the whole of nlohmann/json.

#include <elastic/base/error.hpp>
#include <elastic/base/time.hpp>
#include <elastic/health/control_message.hpp>

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace elastic {

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
inline timer_request parse_timer_request(std::string_view line) {
  const detail::control_fields fields(line);
  timer_request asked;
  asked.pid = static_cast<pid_t>(fields.number("pid", 1, std::numeric_limits<pid_t>::max()));
  asked.scope = fields.text("scope_id", limits::control_text_bytes);
  asked.signal = static_cast<int>(fields.number("signal", -64, 64));
  const double seconds = fields.real("expiration_time");
  if (seconds < 0) return asked;
  constexpr double last = 1e10;  // in the year 2286
  if (!(seconds <= last)) {
    detail::control_fields::refuse(
        fmt::format("has \"expiration_time\" after {} seconds since 1970", last));
  }
  asked.expiry = wall_time(
      std::chrono::ceil<wall_time::duration>(std::chrono::duration<double>(seconds)));
  return asked;
}

}  // namespace elastic
