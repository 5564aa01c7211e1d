// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/control/detail/timer_request.hpp>

#include <elastic/base/detail/json_fields.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/control/detail/printable.hpp>

#include <chrono>
#include <limits>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL timer_request parse_timer_request(std::string_view line) {
  const json_fields fields("a timer request", line, limits::control_line_bytes - 1);
  timer_request request;
  request.pid = static_cast<pid_t>(fields.number("pid", 1, std::numeric_limits<pid_t>::max()));
  request.scope = printable(fields.text("scope_id"), limits::control_text_bytes);
  request.signal = static_cast<int>(fields.number("signal", -64, 64));
  const double seconds = fields.real("expiration_time");
  if (seconds < 0) return request;
  constexpr double last = 9.2e9;  // in the year 2261: the limit of wall_time
  if (!(seconds <= last)) {
    fields.refuse(fmt::format("has \"expiration_time\" {}; at most {} seconds since 1970 are taken",
                              seconds, last));
  }
  request.expiry =
      wall_time(std::chrono::ceil<wall_time::duration>(std::chrono::duration<double>(seconds)));
  return request;
}

}  // namespace elastic::detail
