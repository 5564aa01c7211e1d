// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/log_file.hpp>

#include <elastic/base/detail/blocking.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

namespace elastic {

namespace detail {

ELASTIC_DECL unique_fd open_log_file(const std::string& path, const syscalls& calls) {
  constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOCTTY;
  unique_fd file(uninterrupted([&] { return calls.open(path.c_str(), flags, 0600); }));
  if (!file) {
    throw error(errc::file_access, fmt::format("log file '{}' cannot be opened for writing: {}",
                                               path, errno_text(errno)));
  }
  return file;
}

}  // namespace detail

ELASTIC_DECL log_file::log_file(detail::unique_fd file, std::string path, rotation bounds,
                                bool may_hang)
    : file_(std::move(file)), path_(std::move(path)), may_hang_(may_hang), rotation_(bounds) {}

ELASTIC_DECL log_file::~log_file() {
  if (may_hang_) detail::close_on_thread(std::move(file_));
}

ELASTIC_DECL std::shared_ptr<log_file> log_file::open(const std::string& path) {
  return open(path, rotation());
}

ELASTIC_DECL std::shared_ptr<log_file> log_file::open(const std::string& path, rotation bounds,
                                                      bool may_hang) {
  return open(path, bounds, detail::real_syscalls, may_hang);
}

ELASTIC_DECL std::shared_ptr<log_file> log_file::open(const std::string& path, rotation bounds,
                                                      const detail::syscalls& calls,
                                                      bool may_hang) {
  detail::unique_fd file;
  if (!may_hang) file = detail::open_log_file(path, calls);
  auto made = detail::internals::make<log_file>(std::move(file), path, bounds, may_hang);
  if (may_hang) made->opens_by_ = &calls;
  return made;
}

ELASTIC_DECL void log_file::write(std::string_view bytes, const logger& log) {
  for (const std::string& problem : write(bytes)) log.error("{}", problem);
}

ELASTIC_DECL std::vector<std::string> log_file::write(std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> problems;
  if (opens_by_) open_now(problems);
  while (file_ && !bytes.empty()) {
    const portion next = first_portion(bytes);
    append(bytes.substr(0, next.size), problems);
    bytes.remove_prefix(next.size);
    // Lost output does not fill a file.
    const bool is_full = next.fills && (lost_ == 0 || next.size == 0);
    if (is_full && file_) put_aside(problems);
  }
  return problems;
}

ELASTIC_DECL void log_file::open_now(std::vector<std::string>& problems) {
  try {
    file_ = detail::open_log_file(path_, *std::exchange(opens_by_, nullptr));
  } catch (const error& failure) {
    problems.push_back(fmt::format("{}: output is lost", failure.what()));
  }
}

ELASTIC_DECL auto log_file::first_portion(std::string_view bytes) const -> portion {
  if (rotation_.max_size == 0 || bytes.size() <= room()) return {bytes.size(), false};
  const std::size_t last_end = room() == 0 ? bytes.npos : bytes.rfind('\n', room() - 1);
  if (last_end != bytes.npos) return {last_end + 1, true};
  if (size_ > 0 && !in_line_) return {0, true};
  const std::size_t most = room_for_line();
  const std::size_t first_end = bytes.substr(0, most).find('\n');
  if (first_end != bytes.npos) return {first_end + 1, true};
  return {std::min(bytes.size(), most), bytes.size() >= most};
}

ELASTIC_DECL std::size_t log_file::room_for_line() const {
  const std::uint64_t most = rotation_.max_size + limits::copy_line_bytes;
  return size_ < most ? most - size_ : 0;
}

ELASTIC_DECL void log_file::append(std::string_view bytes, std::vector<std::string>& problems) {
  if (bytes.empty()) return;
  // Output after a loss begins on a new line.
  if (lost_ > 0 && in_line_ && write_some("\n") == 1) in_line_ = false;
  const bool is_ready = lost_ == 0 || !in_line_;
  const std::size_t written = is_ready ? write_some(bytes) : 0;
  const int number = errno;
  if (written > 0) {
    in_line_ = bytes[written - 1] != '\n';
    report_recovery(problems);
  }
  if (written < bytes.size()) lose(bytes.size() - written, number, problems);
}

ELASTIC_DECL std::size_t log_file::write_some(std::string_view bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t written = ::write(file_.get(), bytes.data() + done, bytes.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) break;
    done += static_cast<std::size_t>(written);
    size_ += static_cast<std::uint64_t>(written);
  }
  return done;
}

ELASTIC_DECL void log_file::lose(std::size_t count, int number,
                                 std::vector<std::string>& problems) {
  const bool may_recover = number == ENOSPC || number == EDQUOT;
  if (lost_ == 0 && reported_losses_ < most_reports) {
    ++reported_losses_;
    const bool is_last = may_recover && reported_losses_ == most_reports;
    problems.push_back(fmt::format("log file '{}' cannot be written, output is lost: {}{}", path_,
                                   errno_text(number),
                                   is_last ? "; further losses are not logged" : ""));
  }
  lost_ += count;
  if (!may_recover) file_.reset();
}

ELASTIC_DECL void log_file::report_recovery(std::vector<std::string>& problems) {
  const std::uint64_t lost = std::exchange(lost_, 0);
  if (lost == 0 || reported_losses_ == most_reports) return;
  problems.push_back(
      fmt::format("log file '{}' can be written again: {} bytes of output are lost", path_, lost));
}

ELASTIC_DECL std::string log_file::name(int number) const {
  return number == 0 ? path_ : fmt::format("{}.{}", path_, number);
}

ELASTIC_DECL void log_file::put_aside(std::vector<std::string>& problems) {
  try {
    const int oldest = std::min(others_ + 1, rotation_.max_files - 1);
    for (int number = oldest; number > 0; --number) {
      const bool moved = std::rename(name(number - 1).c_str(), name(number).c_str()) == 0;
      // Someone may have removed an older file.
      if (!moved && (number == 1 || errno != ENOENT)) {
        throw error(errc::file_access, errno_text(errno));
      }
    }
    file_ = detail::open_log_file(path_, detail::real_syscalls);
    others_ = oldest;
    size_ = 0;
    in_line_ = false;
  } catch (const error& failure) {
    problems.push_back(
        fmt::format("log file '{}' is full and cannot be rotated, so it keeps growing: {}", path_,
                    failure.what()));
    rotation_.max_size = 0;
  }
}

}  // namespace elastic
