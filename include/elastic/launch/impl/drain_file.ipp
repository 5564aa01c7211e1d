// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/drain_file.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/blocking.hpp>
#include <elastic/base/detail/required.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace elastic {

namespace detail {

ELASTIC_DECL std::string drain_reason(const std::string& path, const drain_text& content) {
  const std::string text =
      printable_line(std::string_view(content.text).substr(0, limits::drain_text_bytes));
  const std::string sentence = fmt::format("the drain file {} exists", in_quotes(path));
  if (!content.problem.empty()) return fmt::format("{} ({})", sentence, content.problem);
  return text.empty() ? sentence : fmt::format("{}: {}", sentence, text);
}

ELASTIC_DECL bool may_drain(std::uint32_t owner, bool has_other_names, std::uint32_t self,
                            std::uint32_t directory_mode) {
  if ((directory_mode & S_IWOTH) == 0) return true;
  // Users other than the owner can create a hard link to a file.
  return (owner == self || owner == 0) && !has_other_names;
}

/// Whether the file exists and its owner may take this node out of the job.
/// @param log  reports once that the file exists but is ignored
inline bool is_drained(const std::string& path, const std::string& directory, logger& log) {
  struct stat file{};
  struct stat folder{};
  if (::lstat(path.c_str(), &file) != 0) return false;
  const bool is_known = ::stat(directory.c_str(), &folder) == 0;
  const bool has_other_names = !S_ISDIR(file.st_mode) && file.st_nlink != 1;
  if (is_known && may_drain(file.st_uid, has_other_names, ::geteuid(), folder.st_mode)) return true;
  log.warning(
      "the drain file {} is passed over: it belongs to user {}{}, and everybody may make files in "
      "its directory",
      in_quotes(path), file.st_uid, has_other_names ? " and has other names" : "");
  log = logger();
  return false;
}

inline drain_text read_drain_file(const std::string& path) {
  const auto failed = [] {
    drain_text content;
    content.problem = "it cannot be read: " + errno_text(errno);
    return content;
  };
  // The open must not block: the file may be of any type, such as a pipe without a writer.
  const unique_fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file) return failed();
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return failed();
  drain_text content;
  if (!S_ISREG(status.st_mode)) {
    content.problem = "it cannot be read: it is not a file with a text";
    return content;
  }
  content.text.resize(limits::drain_text_bytes);
  const ssize_t size = ::read(file.get(), content.text.data(), content.text.size());
  if (size < 0) return failed();
  content.text.resize(static_cast<std::size_t>(size));
  return content;
}

/// Watches one name in one directory.
class name_watch {
 public:
  /// Errors: `errc::file_access` if the directory does not exist.
  name_watch(asio::any_io_executor executor, const std::string& directory, std::string name)
      : stream_(std::move(executor)), name_(std::move(name)) {
    constexpr std::uint32_t wanted =
        IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
    unique_fd fd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    if (fd && ::inotify_add_watch(fd.get(), directory.c_str(), wanted) >= 0) {
      stream_.assign(fd.release());
      return;
    }
    problem_ = errno_text(errno);
    struct stat folder{};
    const bool exists = ::stat(directory.c_str(), &folder) == 0;
    const int failure = exists ? ENOTDIR : errno;
    if (exists && S_ISDIR(folder.st_mode)) return;
    throw error(errc::file_access, fmt::format("the directory {} of the drain file cannot be "
                                               "watched: {}",
                                               in_quotes(directory), errno_text(failure)));
  }

  /// Why the kernel does not report changes; empty: it does.
  const std::string& problem() const { return problem_; }

  /// A file of this name was created, and its writer has not closed it yet.
  bool is_being_written() const { return is_being_written_; }

  /// The directory no longer exists under its name.
  bool is_lost() const { return is_lost_; }

  /// Waits until the file of this name has changed, or the directory is lost. Only if the kernel
  /// reports changes.
  task<void> changed() {
    while (!take_events() && !is_lost_) {
      co_await stream_.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
    }
  }

 private:
  /// Reads the pending events. Result: whether one concerns the name, or may have.
  bool take_events() {
    bool is_named = false;
    alignas(inotify_event) std::array<char, 4096> buffer;
    for (;;) {
      const ssize_t size = ::read(stream_.native_handle(), buffer.data(), buffer.size());
      if (size <= 0) return is_named;
      for (std::size_t offset = 0; offset < static_cast<std::size_t>(size);) {
        inotify_event event;
        std::memcpy(&event, buffer.data() + offset, sizeof event);
        const char* const name = buffer.data() + offset + sizeof event;
        if ((event.mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT)) != 0) {
          is_lost_ = true;
        }
        // After lost events, anything may have happened. Otherwise the event's name ends with zero
        // bytes.
        const bool may_be = (event.mask & IN_Q_OVERFLOW) != 0;
        if (may_be || (event.len > 0 && name_ == name)) {
          is_named = true;
          is_being_written_ = (event.mask & IN_CREATE) != 0;
        }
        offset += sizeof event + event.len;
      }
    }
  }

  asio::posix::stream_descriptor stream_;
  std::string name_;
  std::string problem_;
  bool is_being_written_ = false;
  bool is_lost_ = false;
};

}  // namespace detail

ELASTIC_DECL task<std::string> wait_for_drain_file(std::string path,
                                                   std::shared_ptr<time_source> time, logger log) {
  namespace fs = std::filesystem;
  detail::required(time, "wait_for_drain_file: the time source");
  const fs::path file(path);
  const std::string directory = file.has_parent_path() ? file.parent_path().string() : ".";
  const std::string name = file.filename().string();
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  detail::name_watch watch(executor, directory, name);
  if (!watch.problem().empty()) {
    log.warning("the drain file {} is looked for each second: the kernel does not report changes "
                "of its directory: {}",
                in_quotes(path), watch.problem());
  }
  logger once = log;
  while (!detail::is_drained(path, directory, once)) {
    if (!watch.problem().empty()) {
      co_await time->sleep_until(time->now() + std::chrono::seconds(1));
      continue;
    }
    if (watch.is_lost()) {
      log.warning("the drain file {} is no longer watched: its directory is gone",
                  in_quotes(path));
      co_await time->sleep_until(time_point::max());
    }
    co_await watch.changed();
  }
  const std::function<detail::drain_text()> reading = [path] {
    return detail::read_drain_file(path);
  };
  detail::drain_text content = co_await detail::run_blocking<detail::drain_text>(reading);
  const bool is_told = watch.problem().empty();
  if (content.text.empty() && (watch.is_being_written() || !is_told)) {
    const time_point deadline = deadline_after(time->now(), limits::drain_text_patience);
    task<void> waiting = is_told ? watch.changed() : time->sleep_until(deadline);
    co_await with_deadline(*time, deadline, std::move(waiting));
    content = co_await detail::run_blocking<detail::drain_text>(reading);
  }
  co_return detail::drain_reason(path, content);
}

}  // namespace elastic
