// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/roles/detail/port_probe.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/error.hpp>
#include <elastic/net/detail/socket_stream.hpp>
#include <elastic/process/detail/port_use.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

enum class port_answer { refused, other_program, accepted };

/// Whether the worker itself listens, as far as /proc shows.
inline port_answer answer_of_port(const served_port& port) {
  constexpr std::size_t most_files = 4096;
  const std::optional<bool> is_its = listens_at(port.pid, port.address.port, most_files);
  if (is_its) return *is_its ? port_answer::accepted : port_answer::other_program;
  // If /proc hides the sockets of a worker that exists, its port counts as its own.
  std::error_code ignored;
  const bool is_there = std::filesystem::exists(fmt::format("/proc/{}", port.pid), ignored);
  return is_there ? port_answer::accepted : port_answer::refused;
}

inline task<void> try_port(served_port port, std::shared_ptr<port_answer> answer) {
  try {
    auto connecting = connect_tcp(port.address);
    const auto socket = co_await std::move(connecting);
    *answer = answer_of_port(port);
  } catch (const error& failure) {
    if (failure.code() != errc::connection_failed) throw;
    *answer = port_answer::refused;
  }
}

inline std::string_view answer_words(port_answer answer) {
  return answer == port_answer::other_program ? "another program accepts connections"
                                              : "nobody accepts connections";
}

ELASTIC_DECL task<void> await_served_port(served_port port, std::shared_ptr<time_source> time,
                                          logger log) {
  constexpr std::chrono::milliseconds longest_pause(500);
  constexpr std::chrono::seconds attempt_limit(2);
  const time_point begun = time->now();
  duration pause = std::chrono::milliseconds(5);
  std::chrono::seconds warned_after(30);
  const auto answer = std::make_shared<port_answer>(port_answer::refused);
  for (;;) {
    task<void> trying = try_port(port, answer);
    co_await with_deadline(*time, time->now() + attempt_limit, std::move(trying));
    if (*answer == port_answer::accepted) co_return;
    if (time->now() >= begun + warned_after) {
      log.warning("{} (pid {}) is not ready: after {} s, {} at {}", port.whose, port.pid,
                  warned_after.count(), answer_words(*answer), to_text(port.address));
      warned_after *= 2;
    }
    co_await time->sleep_until(time->now() + pause);
    pause = std::min<duration>(pause * 2, longest_pause);
  }
}

}  // namespace elastic::detail
