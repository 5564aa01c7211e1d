// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/console_log.hpp>

#include <elastic/base/detail/required.hpp>
#include <elastic/base/printable_text.hpp>

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <exception>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL std::string log_line(log_level level, wall_time moment, std::string_view text) {
  constexpr const char* names[] = {"DEBUG", "INFO", "WARNING", "ERROR"};
  const std::time_t seconds = std::chrono::system_clock::to_time_t(moment);
  const auto since_epoch = moment.time_since_epoch();
  const auto milliseconds = std::chrono::floor<std::chrono::milliseconds>(since_epoch) -
                            std::chrono::floor<std::chrono::seconds>(since_epoch);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  char date[32] = {};
  std::strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", &local);
  std::string line = fmt::format("{} {}.{:03} ", names[static_cast<std::size_t>(level) % 4], date,
                                 milliseconds.count());
  // Some lines quote external text, which must not look like a line of this log.
  line += printable_text(text, "    ");
  return line + '\n';
}

ELASTIC_DECL void show_text(std::string_view text, int descriptor) {
  detail::console_target target(descriptor);
  target.break_line();
  while (target && !text.empty()) {
    if (const std::optional<std::size_t> written = target.write_some(text)) {
      text.remove_prefix(*written);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd room{target.fd(), POLLOUT, 0};
      ::poll(&room, 1, -1);
    } else {
      return;  // no reader is left
    }
  }
}

ELASTIC_DECL console_log::console_log(std::shared_ptr<time_source> time, int descriptor)
    : time_(detail::required(std::move(time), "console_log: the time source")),
      target_(descriptor) {}

ELASTIC_DECL void console_log::write(log_level level, std::string_view text) noexcept {
  try {
    const wall_time now = time_->wall_now();
    const int lost = lost_.exchange(0);
    std::string lines;
    if (lost > 0) {
      lines = log_line(log_level::warning, now,
                       fmt::format("{} log records were left out: nobody read them", lost));
    }
    lines += log_line(level, now, text);
    const std::lock_guard one_at_a_time(mutex_);
    target_.break_line();
    if (!send(lines, lost > 0)) lost_ += lost + 1;
  } catch (const std::exception&) {
    ++lost_;  // no memory to format it
  }
}

ELASTIC_DECL bool console_log::send(std::string_view bytes, bool was_full) {
  const std::size_t whole = bytes.size();
  while (!bytes.empty()) {
    const std::optional<std::size_t> written = target_.write_some(bytes);
    if (written) {
      bytes.remove_prefix(*written);
      continue;
    }
    if (errno != EAGAIN && errno != EWOULDBLOCK) return true;  // no reader is left
    pollfd room{target_.fd(), POLLOUT, 0};
    if (::poll(&room, 1, was_full ? 0 : patience_milliseconds) <= 0) break;
    was_full = true;
  }
  return bytes.size() < whole;
}

}  // namespace elastic
