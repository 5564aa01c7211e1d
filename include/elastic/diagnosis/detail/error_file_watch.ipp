// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/diagnosis/detail/error_file_watch.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/unique_fd.hpp>

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <utility>

namespace elastic::detail {

ELASTIC_DECL bool error_file_watch::open() {
  if (stream_.is_open()) return true;
  unique_fd events(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!events) return false;
  asio_error_code failure;
  stream_.assign(events.get(), failure);
  if (failure) return false;
  events.release();
  return true;
}

ELASTIC_DECL void error_file_watch::clear() {
  for (const auto& [watch, each] : places_) ::inotify_rm_watch(stream_.native_handle(), watch);
  places_.clear();
}

ELASTIC_DECL void error_file_watch::add(int local_rank, const std::string& file) {
  constexpr std::uint32_t wanted = IN_CLOSE_WRITE | IN_MOVED_TO | IN_ONLYDIR;
  const std::filesystem::path path(file);
  if (!stream_.is_open() || !path.has_parent_path()) return;
  const std::string folder = path.parent_path();
  const int watch = ::inotify_add_watch(stream_.native_handle(), folder.c_str(), wanted);
  if (watch >= 0) places_[watch] = {local_rank, path.filename()};
}

ELASTIC_DECL task<std::vector<int>> error_file_watch::written() {
  std::vector<int> ranks;
  while (ranks.empty()) {
    co_await stream_.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
    ranks = read_events();
  }
  co_return ranks;
}

ELASTIC_DECL std::vector<int> error_file_watch::read_events() {
  std::vector<int> ranks;
  alignas(inotify_event) std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t size = ::read(stream_.native_handle(), buffer.data(), buffer.size());
    if (size <= 0) return ranks;
    for (std::size_t offset = 0; offset < static_cast<std::size_t>(size);) {
      inotify_event event;
      std::memcpy(&event, buffer.data() + offset, sizeof event);
      // The name ends with zero bytes.
      const char* const name = buffer.data() + offset + sizeof event;
      // Events were lost: any of the files may have been written.
      if ((event.mask & IN_Q_OVERFLOW) != 0) {
        for (const auto& [watch, each] : places_) ranks.push_back(each.local_rank);
      }
      const auto known = places_.find(event.wd);
      if (known != places_.end() && event.len > 0 && known->second.name == name) {
        ranks.push_back(known->second.local_rank);
      }
      offset += sizeof event + event.len;
    }
  }
}

}  // namespace elastic::detail
