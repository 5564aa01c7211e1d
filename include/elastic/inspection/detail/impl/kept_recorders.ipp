// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/inspection/detail/kept_recorders.hpp>

#include <elastic/base/detail/blocking.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/inspection/detail/recorder_pickle.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <system_error>
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
    std::error_code failure;
    std::filesystem::create_directory(folder, failure);
    if (failure || !write_one(budget, folder, each)) is_complete = false;
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

ELASTIC_DECL bool kept_recorders::write_one(room& budget, const std::string& folder,
                                            const worker_inspection& found) {
  const std::string path = fmt::format("{}/rank_{}", folder, found.worker.rank);
  // The analyser treats each file whose name ends with a number as a rank's, so the draft has none.
  const std::string draft = folder + "/draft";
  const auto known = budget.files.find(path);
  const std::size_t own = known == budget.files.end() ? 0 : known->second;
  std::error_code failure;
  try {
    const std::string bytes = recorder_pickle(
        recorder_to_keep(found), {found.worker.rank, found.world_size}, budget.left + own);
    std::ofstream(draft, std::ios::binary) << bytes << std::flush;
    const bool is_whole = std::filesystem::file_size(draft, failure) == bytes.size() && !failure;
    if (is_whole) std::filesystem::rename(draft, path, failure);
    if (is_whole && !failure) {
      budget.left = budget.left + own - bytes.size();
      budget.files[path] = bytes.size();
      return true;
    }
  } catch (const error&) {
    // The recorder is invalid, or there is no room.
    return false;
  }
  std::filesystem::remove(draft, failure);
  return false;
}

}  // namespace elastic::detail
