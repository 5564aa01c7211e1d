// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/file/file_keys.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/detail/required.hpp>
#include <elastic/file/detail/key_file.hpp>

#include <sys/inotify.h>

#include <algorithm>

namespace elastic {

ELASTIC_DECL std::string key_directory_name(const std::string& run_id) {
  return detail::key_file_name(run_id);
}

ELASTIC_DECL file_keys::file_keys(std::string directory, std::shared_ptr<time_source> time)
    : directory_(detail::new_shared<detail::key_directory>(std::move(directory))),
      time_(detail::required(std::move(time), "file_keys: the time source")) {}

ELASTIC_DECL task<void> file_keys::prepare() {
  const auto directory = directory_;
  const std::function<bool()> work = [directory] {
    directory->prepare();
    return true;
  };
  co_await in_time<bool>(work);
}

ELASTIC_DECL task<std::vector<std::string>> file_keys::exposed_files() {
  const auto directory = directory_;
  const std::function<std::vector<std::string>()> work = [directory] {
    return directory->exposed_files();
  };
  co_return co_await in_time<std::vector<std::string>>(work);
}

ELASTIC_DECL task<bool> file_keys::is_local() {
  if (is_local_) co_return *is_local_;
  const auto directory = directory_;
  const std::function<bool()> work = [directory] { return directory->is_local(); };
  is_local_ = co_await in_time<bool>(work);
  co_return *is_local_;
}

ELASTIC_DECL std::string file_keys::place_of(const std::string& key) const {
  return fmt::format("the file '{}'", directory_->file_of(key));
}

ELASTIC_DECL task<versioned_keys::entry> file_keys::get(std::string key) {
  const auto directory = directory_;
  const std::function<versioned_keys::entry()> work = [directory, key] {
    std::optional<detail::key_file> content = directory->read(key);
    versioned_keys::entry seen;
    seen.version = content ? content->version : std::string(nothing);
    if (content) seen.value = std::move(content->value);
    return seen;
  };
  co_return co_await in_time<versioned_keys::entry>(work);
}

ELASTIC_DECL task<bool> file_keys::put(std::string key, std::string value, std::string version) {
  std::optional<std::string> expected = version == nothing ? std::string() : std::move(version);
  co_return co_await write(std::move(key), std::move(value), std::move(expected));
}

ELASTIC_DECL task<void> file_keys::put(std::string key, std::string value) {
  std::optional<std::string> whatever;
  co_await write(std::move(key), std::move(value), std::move(whatever));
}

ELASTIC_DECL task<bool> file_keys::erase(std::string key) {
  const auto directory = directory_;
  const std::function<outcome()> work = [directory, key] { return directory->erase(key); };
  co_return co_await under_lock(work);
}

ELASTIC_DECL task<std::int64_t> file_keys::count() {
  const auto directory = directory_;
  const std::function<std::int64_t()> work = [directory] { return directory->count(); };
  co_return co_await in_time<std::int64_t>(work);
}

ELASTIC_DECL task<void> file_keys::wait_for_change(std::string key, std::string version) {
  directory_watch watch(co_await asio::this_coro::executor, directory_->path());
  // The key may have changed before the watch began.
  const versioned_keys::entry seen = co_await get(std::move(key));
  if (seen.version != version) co_return;
  const bool is_told = watch.is_open() && co_await is_local();
  const time_point limit = time_->now() + (is_told ? local_pause : remote_pause);
  if (!is_told) {
    co_await time_->sleep_until(limit);
    co_return;
  }
  task<void> waiting = watch.changed();
  co_await with_deadline(*time_, limit, std::move(waiting));
}

ELASTIC_DECL file_keys::directory_watch::directory_watch(asio::any_io_executor executor,
                                                         const std::string& path)
    : stream_(std::move(executor)) {
  const int fd = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (fd < 0) return;
  stream_.assign(fd);
  ::inotify_add_watch(fd, path.c_str(), IN_MOVED_TO | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF);
}

ELASTIC_DECL task<void> file_keys::directory_watch::changed() {
  return stream_.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
}

ELASTIC_DECL task<bool> file_keys::write(std::string key, std::string value,
                                         std::optional<std::string> expected) {
  const auto directory = directory_;
  const std::string version = detail::random_uuid(random_);
  const std::function<outcome()> work = [directory, key, value, version, expected] {
    return directory->write(key, value, version, expected);
  };
  co_return co_await under_lock(work);
}

ELASTIC_DECL task<bool> file_keys::under_lock(std::function<outcome()> work) {
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

}  // namespace elastic
