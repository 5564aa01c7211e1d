// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/base/time.hpp>
#include <elastic/contract/environment.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <system_error>

#include <fmt/format.h>

namespace elastic::detail {

/// Tracks how long each worker has been in uninterruptible sleep, as far as samples show.
class uninterruptible_watch {
 public:
  explicit uninterruptible_watch(duration limit) : limit_(limit) {}

  /// The time between two samples.
  duration period() const;

  /// Notes the state of a worker, as in /proc. Result: how long it has been in uninterruptible
  /// sleep, if that reaches the limit; empty otherwise.
  std::optional<duration> look(std::size_t slot, char state, time_point now);

 private:
  duration limit_;
  std::map<std::size_t, time_point> since_;
};

/// How long a worker may be in uninterruptible sleep: TORCHELASTIC_UNINTERRUPTIBLE_STATE_TIMEOUT,
/// in seconds. 0, which means forever, if that is not set, 0 or less.
///
/// Source: torch.distributed.elastic.agent.server.local_elastic_agent (2.13). It also takes what is
/// no number as forever; here that is refused, since the user wants a limit.
/// Errors: `errc::invalid_argument`, naming the variable.
inline duration uninterruptible_limit(const environment_map& environment) {
  const char* const name = "TORCHELASTIC_UNINTERRUPTIBLE_STATE_TIMEOUT";
  const std::string text = find_variable(environment, name).value_or("");
  if (text.empty()) return duration::zero();
  double seconds = 0;
  const char* const end = text.data() + text.size();
  const std::from_chars_result read = std::from_chars(text.data(), end, seconds);
  if (read.ec != std::errc() || read.ptr != end || std::isnan(seconds)) {
    throw error(errc::invalid_argument,
                fmt::format("{} {}: a number of seconds is needed", name, in_quotes(text)));
  }
  if (seconds <= 0) return duration::zero();
  constexpr double most = 1e9;
  return std::chrono::duration_cast<duration>(
      std::chrono::duration<double>(std::min(seconds, most)));
}

inline duration uninterruptible_watch::period() const {
  constexpr duration least = std::chrono::milliseconds(10);
  constexpr duration most = std::chrono::seconds(1);
  return std::clamp(limit_ / 4, least, most);
}

inline std::optional<duration> uninterruptible_watch::look(std::size_t slot, char state,
                                                           time_point now) {
  if (state != 'D') {
    since_.erase(slot);
    return std::nullopt;
  }
  const time_point since = since_.emplace(slot, now).first->second;
  if (now - since < limit_) return std::nullopt;
  return now - since;
}

}  // namespace elastic::detail
