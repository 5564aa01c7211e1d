// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/workers/worker_leftovers.hpp>

#include <elastic/base/detail/blocking.hpp>
#include <elastic/base/detail/keep_result.hpp>
#include <elastic/base/detail/mount_table.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/base/when_all.hpp>
#include <elastic/process/detail/core_file.hpp>

#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL std::string full_disk_of(const std::string& file) {
  struct statvfs disk{};
  if (file.empty() || ::statvfs(file.c_str(), &disk) != 0) return {};
  // A little room may be left although a larger write has failed.
  constexpr std::uint64_t least = 16 * 1024;
  const bool is_root = ::geteuid() == 0;
  const std::uint64_t room = (is_root ? disk.f_bfree : disk.f_bavail) * disk.f_frsize;
  const std::uint64_t files = is_root ? disk.f_ffree : disk.f_favail;
  // A file system without a fixed number of files reports none.
  const bool lacks_files = disk.f_files > 0 && files == 0;
  if (room >= least && !lacks_files) return {};
  return fmt::format("the disk of its log file {} is full: {}", in_quotes(file),
                     lacks_files ? "no further file can be created"
                                 : fmt::format("{} bytes are free", room));
}

ELASTIC_DECL worker_leftovers::worker_leftovers(log_layout& layout, std::string directory,
                                                std::shared_ptr<time_source> time, logger log)
    : layout_(layout),
      directory_(std::move(directory)),
      time_(std::move(time)),
      log_(std::move(log)) {}

ELASTIC_DECL task<void> worker_leftovers::read_ahead(std::vector<source> failed) {
  const bool cores_may_hang = may_hang(directory_.empty() ? "." : directory_);
  readers logs;
  readers cores;
  for (const source& each : failed) {
    const bool is_at_risk = layout_.may_hang() || (each.core_dumped && cores_may_hang);
    if (!is_at_risk || read_.count(each.slot) != 0) continue;
    logs.emplace(each.slot, log_reader_of(each));
    cores.emplace(each.slot, core_reader_of(each));
  }
  if (logs.empty()) co_return;
  // If the log directory was given up, its files are not read. The two readers have separate time
  // limits: one may hang without the other.
  const duration patience = limits::log_directory_patience;
  const bool is_given_up = layout_.is_given_up();
  std::optional<contents> in_logs;
  std::optional<contents> in_cores;
  std::vector<task<void>> reading;
  reading.push_back(read_within(is_given_up ? duration::zero() : patience, logs, in_logs));
  reading.push_back(read_within(patience, cores, in_cores));
  co_await when_all(std::move(reading));
  if (!in_logs) layout_.give_up();
  if (!in_cores) {
    log_.warning("the working directory does not answer: it is not searched for core files");
  }
  for (const auto& [slot, fill] : logs) {
    content& left = read_[slot];
    if (in_logs) left = std::move((*in_logs)[slot]);
    if (in_cores) left.core_file = std::move((*in_cores)[slot].core_file);
  }
}

ELASTIC_DECL worker_leftovers::content worker_leftovers::read(const source& failed) const {
  const auto position = read_.find(failed.slot);
  if (position != read_.end()) return position->second;
  content left;
  log_reader_of(failed)(left);
  core_reader_of(failed)(left);
  return left;
}

// Both readers may run on any thread.

ELASTIC_DECL worker_leftovers::reader worker_leftovers::log_reader_of(const source& failed) const {
  return [error_file = failed.error_file, log_file = failed.log_file,
          read_tail = failed.read_tail](content& left) {
    left.error = read_error_file(error_file);
    left.last_stderr = read_tail();
    left.full_disk = full_disk_of(log_file);
  };
}

ELASTIC_DECL worker_leftovers::reader worker_leftovers::core_reader_of(const source& failed) const {
  if (!failed.core_dumped) return [](content&) {};
  // Relative core names refer to the directory in which the agent's programs start.
  return [pid = failed.pid, directory = directory_, since = failed.since](content& left) {
    left.core_file = find_core(pid, directory, since);
  };
}

/// `read` stays empty if reading takes longer than `patience`; the readers then continue in the
/// background.
ELASTIC_DECL task<void> worker_leftovers::read_within(duration patience, readers work,
                                                      std::optional<contents>& read) {
  std::function<contents()> reading = [work = std::move(work)] {
    contents made;
    for (const auto& [slot, fill] : work) fill(made[slot]);
    return made;
  };
  const time_point deadline = deadline_after(time_->now(), patience);
  task<contents> running = run_blocking<contents>(std::move(reading));
  task<void> keeping = keep_result(std::move(running), read);
  co_await with_deadline(*time_, deadline, std::move(keeping));
}

}  // namespace elastic::detail
