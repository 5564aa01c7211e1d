// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/diagnosis/detail/kept_recorders.hpp>

#include <elastic/base/detail/blocking.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/error.hpp>
#include <elastic/diagnosis/detail/recorder_pickle.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL kept_recorders::kept_recorders(std::size_t most_bytes)
    : room_(new_shared<room>()) {
  room_->left = most_bytes;
}

ELASTIC_DECL task<std::string> kept_recorders::keep(std::vector<worker_inspection> found,
                                                    std::shared_ptr<time_source> time,
                                                    time_point deadline) {
  std::erase_if(found, [](const worker_inspection& each) {
    return each.recorders.empty() || each.log_folder.empty();
  });
  if (found.empty()) co_return std::string();
  std::sort(found.begin(), found.end(), [](const auto& left, const auto& right) {
    return left.worker.rank < right.worker.rank;
  });
  std::function<std::string()> work = [budget = room_, found = std::move(found)] {
    return write_all(*budget, found);
  };
  task<std::string> writing = run_blocking<std::string>(std::move(work));
  const auto folder = co_await with_deadline(*time, deadline, std::move(writing));
  co_return folder.value_or("");
}

ELASTIC_DECL std::string kept_recorders::write_all(room& budget,
                                                   const std::vector<worker_inspection>& found) {
  // If the file system does not answer, threads must not pile up.
  const std::unique_lock<std::mutex> lock(budget.mutex, std::try_to_lock);
  if (!lock) return {};
  std::string folder;
  bool is_complete = true;
  for (const worker_inspection& each : found) {
    folder = each.log_folder + "/flight_recorder";
    ::mkdir(folder.c_str(), 0700);
    const unique_fd directory(
        ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!directory || !write_one(budget, folder, directory.get(), each)) is_complete = false;
  }
  return is_complete ? folder : std::string();
}

/// PyTorch's analyser takes one file for each rank, so this keeps the first recorder that has
/// entries.
inline const std::string& recorder_to_keep(const worker_inspection& found) {
  const auto has_entries = [](const std::string& recorder) {
    return recorder.find("\"collective_seq_id\"") != std::string::npos;
  };
  const auto used = std::find_if(found.recorders.begin(), found.recorders.end(), has_entries);
  return used == found.recorders.end() ? found.recorders.front() : *used;
}

/// Writes all of a new file in a directory. Result: whether it could.
inline bool write_new_file(int directory, const char* name, std::string_view bytes) {
  ::unlinkat(directory, name, 0);
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  const unique_fd file(::openat(directory, name, flags, 0600));
  while (file && !bytes.empty()) {
    const ssize_t count = ::write(file.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return static_cast<bool>(file);
}

ELASTIC_DECL bool kept_recorders::write_one(room& budget, const std::string& folder, int directory,
                                            const worker_inspection& found) {
  const std::string name = fmt::format("rank_{}", found.worker.rank);
  const std::string path = fmt::format("{}/{}", folder, name);
  // The analyser treats each file whose name ends with a number as a rank's, so the draft has none.
  constexpr const char* draft = "draft";
  const auto known = budget.files.find(path);
  const std::size_t own = known == budget.files.end() ? 0 : known->second;
  try {
    const std::string bytes = recorder_pickle(
        recorder_to_keep(found), {found.worker.rank, found.world_size}, budget.left + own);
    if (write_new_file(directory, draft, bytes) &&
        ::renameat(directory, draft, directory, name.c_str()) == 0) {
      budget.left = budget.left + own - bytes.size();
      budget.files[path] = bytes.size();
      return true;
    }
  } catch (const error&) {
    // The recorder is invalid, or there is no room.
    return false;
  }
  ::unlinkat(directory, draft, 0);
  return false;
}

}  // namespace elastic::detail
