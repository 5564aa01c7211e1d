// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/observe/journal_file.hpp>

#include <elastic/base/detail/blocking.hpp>
#include <elastic/base/detail/mount_table.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/error.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <functional>
#include <mutex>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace elastic {

namespace detail {

/// Writes lines to the files of a journal, on its caller's thread or on one of its own, which may
/// outlive the journal_file if the file system hangs.
class journal_writer : public std::enable_shared_from_this<journal_writer> {
 public:
  explicit journal_writer(const journal_file_options& options)
      : path_(options.path),
        max_size_(options.max_size),
        max_files_(options.max_files),
        may_hang_(detail::may_hang(options.path)) {}

  ~journal_writer() {
    if (may_hang_) close_on_thread(std::move(file_));
  }

  void add(std::string line) {
    if (!may_hang_) return write(line);
    const std::lock_guard lock(mutex_);
    if (pending_.size() >= limits::journal_pending_lines) {
      problem_ = fmt::format("the journal '{}' takes no records, which are lost", path_);
      return;
    }
    pending_.push_back(std::move(line));
    if (is_writing_) return;
    is_writing_ = true;
    try {
      start_thread([self = shared_from_this()] { self->write_pending(); }).detach();
    } catch (const std::system_error& failure) {
      // Better not at all than a loop that stands still: the next record tries again.
      is_writing_ = false;
      problem_ = fmt::format("no thread can write the journal '{}': {}", path_, failure.what());
    }
  }

  bool has_pending() {
    const std::lock_guard lock(mutex_);
    return is_writing_;
  }

  /// Result: whether all was written.
  bool wait(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    return idle_.wait_for(lock, patience, [&] { return !is_writing_; });
  }

  /// What went wrong first; empty: nothing.
  std::string problem() {
    const std::lock_guard lock(mutex_);
    return problem_;
  }

 private:
  void write_pending() {
    std::unique_lock lock(mutex_);
    while (!pending_.empty()) {
      const std::string line = std::move(pending_.front());
      pending_.pop_front();
      lock.unlock();
      write(line);
      lock.lock();
    }
    is_writing_ = false;
    idle_.notify_all();
  }

  void write(std::string line) {
    try {
      if (!file_) open();
      if (size_ > 0 && size_ + line.size() > max_size_) put_aside();
      if (is_torn_) line.insert(line.begin(), '\n');
      append(line);
    } catch (const error& failure) {
      const std::lock_guard lock(mutex_);
      if (problem_.empty()) problem_ = failure.what();
    }
  }

  // Not to be held up by a pipe that nobody reads.
  void open() {
    constexpr int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    unique_fd file(::open(path_.c_str(), flags, 0600));
    if (!file) refuse("opened");
    struct stat about = {};
    const bool is_file = ::fstat(file.get(), &about) == 0 && S_ISREG(about.st_mode);
    size_ = is_file ? static_cast<std::uint64_t>(about.st_size) : 0;
    is_torn_ = size_ > 0 && !ends_with_line();
    file_ = std::move(file);
  }

  // An agent that died while it wrote may have left half a line.
  bool ends_with_line() const {
    const unique_fd file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    char last = '\n';
    if (file) static_cast<void>(::pread(file.get(), &last, 1, static_cast<off_t>(size_ - 1)));
    return last == '\n';
  }

  void append(std::string_view bytes) {
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

  // The files of before move up by one, the oldest makes room.
  void put_aside() {
    const auto name = [&](int number) {
      return number == 0 ? path_ : fmt::format("{}.{}", path_, number);
    };
    for (int number = max_files_ - 1; number > 0; --number) {
      static_cast<void>(std::rename(name(number - 1).c_str(), name(number).c_str()));
    }
    if (max_files_ <= 1) static_cast<void>(::unlink(path_.c_str()));
    file_.reset();
    open();
  }

  [[noreturn]] void refuse(const char* what) const {
    throw error(errc::file_access,
                fmt::format("the journal '{}' cannot be {}, records are lost: {}", path_, what,
                            errno_text(errno)));
  }

  const std::string path_;
  const std::uint64_t max_size_;
  const int max_files_;
  const bool may_hang_;
  // Of whoever writes.
  unique_fd file_;
  std::uint64_t size_ = 0;
  bool is_torn_ = false;
  // Of all threads.
  std::mutex mutex_;
  std::condition_variable idle_;
  std::deque<std::string> pending_;
  bool is_writing_ = false;
  std::string problem_;
};

}  // namespace detail

ELASTIC_DECL journal_file::journal_file(journal_file_options options)
    : path_(options.path),
      log_(options.log),
      writer_(std::make_shared<detail::journal_writer>(options)) {}

ELASTIC_DECL journal_file::~journal_file() = default;

ELASTIC_DECL void journal_file::take(const journal_record& record) {
  writer_->add(to_json_line(record) + '\n');
  log_problem();
}

ELASTIC_DECL task<void> journal_file::finish() {
  if (writer_->has_pending()) {
    std::function<bool()> work = [writer = writer_] {
      return writer->wait(limits::journal_patience);
    };
    const bool is_written = co_await detail::run_blocking<bool>(std::move(work));
    if (!is_written) log_.warning("the journal '{}' does not answer: its end is lost", path_);
  }
  log_problem();
}

ELASTIC_DECL void journal_file::log_problem() {
  if (is_problem_logged_) return;
  const std::string problem = writer_->problem();
  if (problem.empty()) return;
  is_problem_logged_ = true;
  log_.error("{}", problem);
}

}  // namespace elastic
