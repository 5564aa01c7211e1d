// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/descriptor_share.hpp>

#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/limits.hpp>

#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <utility>
#include <vector>

namespace elastic::detail {

ELASTIC_DECL std::size_t descriptor_limit() {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  return static_cast<std::size_t>(files.rlim_cur);
}

/// How many descriptors are open; the limit if none is left to find out.
inline std::size_t open_descriptors() {
  constexpr const char* list = "/proc/self/fd";
  struct stat about {};
  // Linux 6.2 and later report the number as the size.
  if (::stat(list, &about) == 0 && about.st_size > 0) {
    return static_cast<std::size_t>(about.st_size);
  }
  DIR* const folder = ::opendir(list);
  if (folder == nullptr) return errno == EMFILE || errno == ENFILE ? descriptor_limit() : 0;
  std::size_t count = 0;
  while (const dirent* entry = ::readdir(folder)) count += entry->d_name[0] != '.';
  ::closedir(folder);
  return count;
}

ELASTIC_DECL std::size_t free_descriptors() {
  const std::size_t limit = descriptor_limit();
  return limit - std::min(limit, open_descriptors());
}

struct descriptor_lender::registry {
  std::mutex access;
  std::vector<descriptor_lender*> lenders;
};

ELASTIC_DECL auto descriptor_lender::all() -> registry& {
  static registry lenders;
  return lenders;
}

ELASTIC_DECL descriptor_lender::descriptor_lender(std::function<void(request)> give_up)
    : give_up_(std::move(give_up)) {
  const std::lock_guard lock(all().access);
  all().lenders.push_back(this);
}

ELASTIC_DECL descriptor_lender::~descriptor_lender() {
  const std::lock_guard lock(all().access);
  std::erase(all().lenders, this);
}

ELASTIC_DECL auto descriptor_lender::ask(std::size_t count) -> request {
  const auto made = new_shared<descriptor_request>();
  made->wanted = count;
  const std::lock_guard lock(all().access);
  made->unanswered = static_cast<int>(all().lenders.size());
  for (const descriptor_lender* lender : all().lenders) lender->give_up_(made);
  return made;
}

ELASTIC_DECL task<void> make_room_for_descriptors(std::shared_ptr<time_source> time,
                                                  std::size_t count) {
  constexpr std::chrono::milliseconds pause{2};
  const std::size_t room = free_descriptors();
  if (room >= count) co_return;
  const auto asked = descriptor_lender::ask(count - room);
  const time_point deadline = time->now() + limits::descriptor_patience;
  const auto is_waited_for = [&] {
    if (asked->unanswered > 0) return true;
    return asked->given > 0 && free_descriptors() < count;
  };
  while (is_waited_for() && time->now() < deadline) co_await time->sleep_until(time->now() + pause);
}

}  // namespace elastic::detail
