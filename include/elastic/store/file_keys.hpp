// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/asio.hpp>
#include <elastic/base/blocking.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/random.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/store/detail/key_directory.hpp>
#include <elastic/store/versioned_keys.hpp>

#include <sys/inotify.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace elastic {

/// What the directory of a job is called: as its run id, where that is a name for one.
inline std::string key_directory_name(const std::string& run_id) {
  return detail::key_file_name(run_id);
}

/// Keys in a directory that several nodes share, a file for each: on a local file system or a
/// network file system with locks, such as NFS.
///
/// A change on this host is told at once where the file system is a local one; what others change
/// is looked for. Files are used on threads of their own, so that a server that hangs stops nobody
/// but those who wait for a key.
///
/// Errors: `errc::connection_failed` where the file system does not answer or the directory is
/// gone, `errc::file_access` where it may not be used, `errc::store_value` for a file that is not
/// understood; each names the file. Thread-safety: one strand at a time.
class file_keys final : public versioned_keys {
 public:
  /// How long a call of the file system may take, and how long others may hold the lock.
  static constexpr std::chrono::milliseconds patience{2000};
  /// How often a key is looked at that is waited for: where the kernel tells of changes and where
  /// it does not.
  static constexpr std::chrono::milliseconds local_pause{1000};
  static constexpr std::chrono::milliseconds remote_pause{100};

  /// @param directory  of these keys alone; the one above it has to exist
  file_keys(std::string directory, std::shared_ptr<time_source> time)
      : directory_(std::make_shared<detail::key_directory>(std::move(directory))),
        time_(std::move(time)) {}

  /// Makes the directory. The first call.
  task<void> prepare() {
    const auto directory = directory_;
    const std::function<bool()> work = [directory] {
      directory->prepare();
      return directory->is_local();
    };
    is_local_ = co_await in_time<bool>(work);
  }

  std::string place_of(const std::string& key) const override {
    return fmt::format("the file '{}'", directory_->file_of(key));
  }

  task<versioned_value> get(std::string key) override {
    const auto directory = directory_;
    const std::function<versioned_value()> work = [directory, key] {
      std::optional<detail::key_file> found = directory->read(key);
      versioned_value seen;
      seen.version = found ? found->version : std::string(nothing);
      if (found) seen.value = std::move(found->value);
      return seen;
    };
    co_return co_await in_time<versioned_value>(work);
  }

  task<bool> put(std::string key, std::string value, std::string version) override {
    std::optional<std::string> expected = version == nothing ? std::string() : std::move(version);
    co_return co_await write(std::move(key), std::move(value), std::move(expected));
  }

  task<void> put(std::string key, std::string value) override {
    std::optional<std::string> whatever;
    co_await write(std::move(key), std::move(value), std::move(whatever));
  }

  task<bool> erase(std::string key) override {
    const auto directory = directory_;
    const std::function<outcome()> work = [directory, key] { return directory->erase(key); };
    co_return co_await under_lock(work);
  }

  task<std::int64_t> count() override {
    const auto directory = directory_;
    const std::function<std::int64_t()> work = [directory] { return directory->count(); };
    co_return co_await in_time<std::int64_t>(work);
  }

  task<void> wait_for_change(std::string key, std::string version) override {
    directory_watch watch(co_await asio::this_coro::executor, directory_->path());
    // It may have changed before it was watched.
    const versioned_value seen = co_await get(std::move(key));
    if (seen.version != version) co_return;
    const bool is_told = is_local_ && watch.is_open();
    const time_point limit = time_->now() + (is_told ? local_pause : remote_pause);
    if (!is_told) {
      co_await time_->sleep_until(limit);
      co_return;
    }
    task<void> waiting = watch.changed();
    co_await with_deadline(*time_, limit, std::move(waiting));
  }

 private:
  using outcome = detail::key_directory::outcome;

  static constexpr const char* nothing = "-";
  static constexpr std::chrono::milliseconds first_lock_pause{1};
  static constexpr std::chrono::milliseconds last_lock_pause{20};

  /// Told by the kernel when something happens in a directory.
  class directory_watch {
   public:
    directory_watch(asio::any_io_executor executor, const std::string& path)
        : stream_(std::move(executor)) {
      const int fd = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
      if (fd < 0) return;
      stream_.assign(fd);
      ::inotify_add_watch(fd, path.c_str(),
                          IN_MOVED_TO | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF);
    }

    bool is_open() const { return stream_.is_open(); }

    /// Needs an open one. Cancellation: all types.
    task<void> changed() {
      co_await stream_.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
    }

   private:
    asio::posix::stream_descriptor stream_;
  };

  task<bool> write(std::string key, std::string value, std::optional<std::string> expected) {
    const auto directory = directory_;
    const std::string version = random_uuid(random_);
    const std::function<outcome()> work = [directory, key, value, version, expected] {
      return directory->write(key, value, version, expected);
    };
    co_return co_await under_lock(work);
  }

  // Tries it until nobody else holds the lock: they hold it for a moment, unless they are stopped.
  task<bool> under_lock(std::function<outcome()> work) {
    const time_point limit = time_->now() + patience;
    duration pause = first_lock_pause;
    for (;;) {
      const outcome came = co_await in_time<outcome>(work);
      if (came != outcome::locked) co_return came == outcome::made;
      if (time_->now() >= limit) {
        throw error(errc::connection_failed,
                    fmt::format("the lock file '{}/.lock' has been held by another process for "
                                "over {} ms",
                                directory_->path(), patience.count()));
      }
      const auto most = std::chrono::duration_cast<std::chrono::microseconds>(pause).count();
      const auto chosen = 1 + random_.below(static_cast<std::uint64_t>(most));
      const time_point next_try = time_->now() + std::chrono::microseconds(chosen);
      co_await time_->sleep_until(next_try);
      pause = std::min<duration>(2 * pause, last_lock_pause);
    }
  }

  template <class Result>
  task<Result> in_time(std::function<Result()> work) {
    const time_point limit = time_->now() + patience;
    task<Result> running = run_blocking<Result>(std::move(work));
    std::optional<Result> result = co_await with_deadline(*time_, limit, std::move(running));
    if (result) co_return std::move(*result);
    throw error(errc::connection_failed,
                fmt::format("the directory '{}' cannot be used: its file system does not answer",
                            directory_->path()));
  }

  std::shared_ptr<detail::key_directory> directory_;
  std::shared_ptr<time_source> time_;
  random_source random_;
  bool is_local_ = false;
};

}  // namespace elastic
