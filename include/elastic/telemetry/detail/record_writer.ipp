// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/telemetry/detail/record_writer.hpp>

#include <elastic/base/detail/blocking.hpp>
#include <elastic/base/detail/mount_table.hpp>
#include <elastic/base/error.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <functional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

/// Whether the path is a link of this user or of the system, which no other user can replace. In a
/// user namespace the system's links may seem to belong to another user.
inline bool is_trusted_link(const std::string& path) {
  if (path == "/dev/stdout" || path == "/dev/stderr") return true;
  struct stat about {};
  return ::lstat(path.c_str(), &about) == 0 && S_ISLNK(about.st_mode) &&
         (about.st_uid == ::geteuid() || about.st_uid == 0);
}

ELASTIC_DECL record_writer::record_writer(record_writer_options options)
    : options_(std::move(options)), may_hang_(detail::may_hang(options_.path)) {}

ELASTIC_DECL record_writer::~record_writer() {
  if (may_hang_) close_on_thread(std::move(file_));
}

ELASTIC_DECL void record_writer::add(std::string line) {
  if (!may_hang_) return write(std::move(line));
  const std::lock_guard lock(mutex_);
  if (pending_.size() >= limits::journal_pending_lines) {
    problem_ = fmt::format("the {} '{}' takes no records, which are lost", kind(), path());
    return;
  }
  pending_.push_back(std::move(line));
  if (is_writing_) return;
  is_writing_ = true;
  try {
    start_thread([self = shared_from_this()] { self->write_pending(); }).detach();
  } catch (const std::system_error& failure) {
    // A late line is better than a blocked loop: the next line retries.
    is_writing_ = false;
    problem_ = fmt::format("no thread can write the {} '{}': {}", kind(), path(), failure.what());
  }
}

ELASTIC_DECL bool record_writer::has_pending() {
  const std::lock_guard lock(mutex_);
  return is_writing_;
}

ELASTIC_DECL bool record_writer::wait(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  return idle_.wait_for(lock, patience, [&] { return !is_writing_; });
}

ELASTIC_DECL void record_writer::log_problem(const logger& log) {
  const std::lock_guard lock(mutex_);
  if (problem_.empty() || std::exchange(is_problem_logged_, true)) return;
  log.error("{}", problem_);
}

ELASTIC_DECL void record_writer::write_pending() {
  std::unique_lock lock(mutex_);
  while (!pending_.empty()) {
    std::string line = std::move(pending_.front());
    pending_.pop_front();
    lock.unlock();
    write(std::move(line));
    lock.lock();
  }
  is_writing_ = false;
  idle_.notify_all();
}

ELASTIC_DECL void record_writer::write(std::string line) {
  try {
    if (!file_) open();
    if (size_ > options_.head.size() && size_ + line.size() > options_.max_size) put_aside();
    if (is_torn_) line.insert(line.begin(), '\n');
    append(line);
  } catch (const error& failure) {
    const std::lock_guard lock(mutex_);
    if (problem_.empty()) problem_ = failure.what();
  }
}

// A pipe without a reader must not block the open.
ELASTIC_DECL void record_writer::open() {
  int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW;
  if (options_.is_anew && !was_opened_) flags |= O_TRUNC;
  // /dev/stderr is a link, too.
  if (is_trusted_link(path())) flags &= ~O_NOFOLLOW;
  unique_fd file(::open(path().c_str(), flags, 0600));
  if (!file && errno == ELOOP) {
    throw error(errc::file_access,
                fmt::format("the {} '{}' is not written, records are lost: it is a link that "
                            "another user made",
                            kind(), path()));
  }
  if (!file) refuse("opened");
  was_opened_ = true;
  struct stat about = {};
  const bool is_file = ::fstat(file.get(), &about) == 0 && S_ISREG(about.st_mode);
  size_ = is_file ? static_cast<std::uint64_t>(about.st_size) : 0;
  is_torn_ = size_ > 0 && !ends_with_line();
  file_ = std::move(file);
  if (size_ == 0) append(options_.head);
}

// A process that died during a write may have left an incomplete line.
ELASTIC_DECL bool record_writer::ends_with_line() const {
  const unique_fd file(::open(path().c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  char last = '\n';
  if (file) static_cast<void>(::pread(file.get(), &last, 1, static_cast<off_t>(size_ - 1)));
  return last == '\n';
}

ELASTIC_DECL void record_writer::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) refuse("written");
    is_torn_ = true;
    size_ += static_cast<std::uint64_t>(written);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  is_torn_ = false;
}

// Renames each file to the next number; the oldest is removed.
ELASTIC_DECL void record_writer::put_aside() {
  const auto name = [&](int number) {
    return number == 0 ? path() : fmt::format("{}.{}", path(), number);
  };
  for (int number = options_.max_files - 1; number > 0; --number) {
    static_cast<void>(std::rename(name(number - 1).c_str(), name(number).c_str()));
  }
  if (options_.max_files <= 1) static_cast<void>(::unlink(path().c_str()));
  file_.reset();
  open();
}

ELASTIC_DECL void record_writer::refuse(const char* failed) const {
  throw error(errc::file_access, fmt::format("the {} '{}' cannot be {}, records are lost: {}",
                                             kind(), path(), failed, errno_text(errno)));
}

ELASTIC_DECL task<void> finish_writing(std::shared_ptr<record_writer> writer, logger log) {
  if (writer->has_pending()) {
    std::function<bool()> work = [writer] { return writer->wait(limits::journal_patience); };
    const bool is_written = co_await run_blocking<bool>(std::move(work));
    if (!is_written) {
      log.warning("the {} '{}' does not answer: its end is lost", writer->kind(), writer->path());
    }
  }
  writer->log_problem(log);
}

}  // namespace elastic::detail
