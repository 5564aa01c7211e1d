// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_descriptor.hpp>
#include <elastic/base/detail/blocking.hpp>
#include <elastic/base/detail/random.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/file/detail/key_directory.hpp>
#include <elastic/store/versioned_keys.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace elastic {

/// The name of a job's directory: its run id, as far as it can be a file name.
ELASTIC_DECL std::string key_directory_name(const std::string& run_id);

/// Keys in a directory that several nodes share, a file for each: on a local file system or a
/// network file system with locks, such as NFS.
///
/// On a local file system the kernel reports changes at once; on others the keys are polled.
/// Separate threads access the files, so that a file server that hangs delays only the operations
/// on its keys.
///
/// Errors: `errc::connection_failed` if the file system does not answer or the directory is gone,
/// `errc::file_access` without permission, `errc::store_value` for a file that this class did not
/// write, or that was damaged; each names the file. Thread-safety: one strand at a time.
class ELASTIC_EXPORT file_keys final : public versioned_keys {
 public:
  /// The time limit for a call to the file system, and for another process to hold the lock.
  static constexpr std::chrono::milliseconds patience{2000};
  /// How often `wait_for_change` reads a key: if the kernel reports changes, and otherwise.
  static constexpr std::chrono::milliseconds local_pause{1000};
  static constexpr std::chrono::milliseconds remote_pause{100};

  /// @param directory  contains only these keys; its parent must exist
  /// Errors: `errc::invalid_argument` if `time` is null.
  ELASTIC_DECL file_keys(std::string directory, std::shared_ptr<time_source> time);

  /// Creates the directory. Must be called before all other members.
  ELASTIC_DECL task<void> prepare();

  /// The files in the directory that users can read who cannot write them. Such a user can keep the
  /// lock from the nodes of the job, and learn the keys' values.
  ELASTIC_DECL task<std::vector<std::string>> exposed_files();
  ELASTIC_DECL std::string place_of(const std::string& key) const override;
  ELASTIC_DECL task<versioned_keys::entry> get(std::string key) override;
  ELASTIC_DECL task<bool> put(std::string key, std::string value, std::string version) override;
  ELASTIC_DECL task<void> put(std::string key, std::string value) override;
  ELASTIC_DECL task<bool> erase(std::string key) override;
  ELASTIC_DECL task<std::int64_t> count() override;
  ELASTIC_DECL task<void> wait_for_change(std::string key, std::string version) override;

 private:
  using outcome = detail::key_directory::outcome;

  static constexpr const char* nothing = "-";
  static constexpr std::chrono::milliseconds first_lock_pause{1};
  static constexpr std::chrono::milliseconds last_lock_pause{20};

  /// inotify on a directory.
  class directory_watch {
   public:
    ELASTIC_DECL directory_watch(asio::any_io_executor executor, const std::string& path);

    bool is_open() const { return stream_.is_open(); }

    /// Waits for an event; the watch must be open. Cancellation: all types.
    ELASTIC_DECL task<void> changed();

   private:
    asio::posix::stream_descriptor stream_;
  };

  ELASTIC_DECL task<bool> write(std::string key, std::string value,
                                std::optional<std::string> expected);

  // Retries until the lock is free: others hold it only briefly, unless they are stopped.
  ELASTIC_DECL task<bool> under_lock(std::function<outcome()> work);

  ELASTIC_DECL task<bool> is_local();

  template <class Result>
  task<Result> in_time(std::function<Result()> work) {
    const time_point limit = time_->now() + patience;
    task<Result> running = detail::run_blocking<Result>(std::move(work));
    std::optional<Result> result = co_await with_deadline(*time_, limit, std::move(running));
    if (result) co_return std::move(*result);
    throw error(errc::connection_failed,
                fmt::format("the directory '{}' cannot be used: its file system does not answer",
                            directory_->path()));
  }

  std::shared_ptr<detail::key_directory> directory_;
  std::shared_ptr<time_source> time_;
  detail::random_source random_;
  /// Unknown until it is needed.
  std::optional<bool> is_local_;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/file/impl/file_keys.ipp>
#endif
