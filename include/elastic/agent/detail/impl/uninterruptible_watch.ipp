// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/uninterruptible_watch.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string>
#include <system_error>

namespace elastic::detail {

ELASTIC_DECL duration uninterruptible_limit(const environment_map& environment) {
  const std::string text =
      find_variable(environment, "TORCHELASTIC_UNINTERRUPTIBLE_STATE_TIMEOUT").value_or("");
  double seconds = 0;
  const char* const end = text.data() + text.size();
  const std::from_chars_result read = std::from_chars(text.data(), end, seconds);
  if (read.ec != std::errc() || read.ptr != end || !(seconds > 0)) return duration::zero();
  constexpr double most = 1e9;
  return std::chrono::duration_cast<duration>(
      std::chrono::duration<double>(std::min(seconds, most)));
}

ELASTIC_DECL duration uninterruptible_watch::period() const {
  constexpr duration least = std::chrono::milliseconds(10);
  constexpr duration most = std::chrono::seconds(1);
  return std::clamp(limit_ / 4, least, most);
}

ELASTIC_DECL std::optional<duration> uninterruptible_watch::look(std::size_t slot, char state,
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
