// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/log_layout.hpp>

#include <elastic/base/detail/mount_table.hpp>
#include <elastic/base/detail/random.hpp>
#include <elastic/base/detail/temporary_folder.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/telemetry/journal_file.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <map>
#include <optional>
#include <system_error>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL log_layout::log_layout(const std::string& base, const std::string& run_id,
                                    const std::string& name) {
  std::filesystem::path parent = base;
  if (base.empty()) {
    temporary_ = make_own(choose_temporary_folder() / "torchelastic_");
    parent = temporary_;
  } else {
    make_base(parent);
  }
  if (name.empty()) {
    root_ = make_own(parent / (file_name_of(run_id) + "_"));
  } else {
    root_ = parent / file_name_of(name);
    make(root_);
  }
  may_hang_ = detail::may_hang(root_.string());
}

ELASTIC_DECL bool log_layout::base_may_hang(const std::string& base) {
  if (!base.empty()) return detail::may_hang(base);
  const std::vector<std::string> folders = detail::temporary_folders();
  return std::any_of(folders.begin(), folders.end(), detail::may_hang);
}

ELASTIC_DECL std::string log_layout::root() const { return root_.string(); }

ELASTIC_DECL void log_layout::start_attempt(int attempt, int local_world_size) {
  attempt_ = attempt;
  is_given_up_ = false;
  if (!is_enabled()) return;
  remove_empty();
  std::error_code ignored;
  const std::filesystem::path folder = attempt_directory();
  std::filesystem::remove_all(folder, ignored);
  workers_.clear();
  try {
    for (int rank = 0; rank < local_world_size; ++rank) {
      workers_.push_back(folder / std::to_string(rank));
      make(workers_.back());
    }
  } catch (...) {
    remove_empty();
    throw;
  }
}

ELASTIC_DECL void log_layout::add_worker(int attempt, int local_rank, std::int64_t epoch) {
  attempt_ = attempt;
  is_given_up_ = false;
  if (!is_enabled()) return;
  const auto slot = static_cast<std::size_t>(local_rank);
  if (workers_.size() <= slot) workers_.resize(slot + 1);
  remove_if_empty(workers_[slot]);
  std::error_code ignored;
  std::filesystem::path directory = attempt_directory() / std::to_string(local_rank);
  if (std::filesystem::exists(directory, ignored)) {
    directory = attempt_directory() / fmt::format("{}_epoch_{}", local_rank, epoch);
  }
  make(directory);
  workers_[slot] = std::move(directory);
}

ELASTIC_DECL void log_layout::go_without_files(int attempt, int local_rank) {
  attempt_ = attempt;
  const auto slot = static_cast<std::size_t>(local_rank);
  if (workers_.size() <= slot) workers_.resize(slot + 1);
  workers_[slot].clear();
}

ELASTIC_DECL bool log_layout::lacks_files(int local_rank) const {
  return is_enabled() && directory(local_rank).empty();
}

ELASTIC_DECL void log_layout::remove_empty() {
  for (const std::filesystem::path& worker : workers_) remove_if_empty(worker);
}

ELASTIC_DECL std::string log_layout::stdout_file(int local_rank) const {
  return file(local_rank, "stdout.log");
}

ELASTIC_DECL std::string log_layout::stderr_file(int local_rank) const {
  return file(local_rank, "stderr.log");
}

ELASTIC_DECL std::string log_layout::error_file(int local_rank) const {
  return file(local_rank, "error.json");
}

ELASTIC_DECL std::string log_layout::hang_file(int local_rank) const {
  return file(local_rank, "hang.log");
}

ELASTIC_DECL std::string log_layout::directory(int local_rank) const {
  if (!is_enabled()) return {};
  const auto slot = static_cast<std::size_t>(local_rank);
  return slot < workers_.size() ? workers_[slot].string() : worker_directory(local_rank).string();
}

ELASTIC_DECL std::string log_layout::report_file() const {
  return is_enabled() ? (root_ / "report.json").string() : "";
}

ELASTIC_DECL std::string log_layout::journal_file() const {
  return is_enabled() ? (root_ / journal_file_name).string() : "";
}

ELASTIC_DECL std::string log_layout::filtered_stdout_file() const {
  return shared_file("filtered_stdout.log");
}

ELASTIC_DECL std::string log_layout::filtered_stderr_file() const {
  return shared_file("filtered_stderr.log");
}

namespace detail {

/// The number after `begin` at the end of a name; none if the name has another form.
inline std::optional<std::int64_t> number_in_name(std::string_view name, std::string_view begin) {
  if (!name.starts_with(begin)) return std::nullopt;
  name.remove_prefix(begin.size());
  std::int64_t number = 0;
  const char* const last = name.data() + name.size();
  const auto [stop, failure] = std::from_chars(name.data(), last, number);
  if (failure != std::errc() || number < 0 || stop != last) return std::nullopt;
  return number;
}

}  // namespace detail

ELASTIC_DECL std::vector<log_layout::found_worker> log_layout::find_workers(
    const std::string& root) {
  // By local rank, the newest: by attempt, then by epoch.
  std::map<std::int64_t, std::tuple<std::int64_t, std::int64_t, std::string>> newest;
  std::error_code failure;
  for (std::filesystem::directory_iterator attempt(root, failure), end;
       !failure && attempt != end; attempt.increment(failure)) {
    const auto number = detail::number_in_name(attempt->path().filename().string(), "attempt_");
    if (!number) continue;
    std::error_code unreadable;
    for (std::filesystem::directory_iterator worker(attempt->path(), unreadable);
         !unreadable && worker != end; worker.increment(unreadable)) {
      const std::string name = worker->path().filename().string();
      const std::string slot = name.substr(0, name.find("_epoch_"));
      const auto local_rank = detail::number_in_name(slot, "");
      const auto epoch = detail::number_in_name(name, slot + "_epoch_");
      if (!local_rank || *local_rank >= limits::local_world_size) continue;
      auto& known = newest[*local_rank];
      known = std::max(known, {*number, epoch.value_or(0), worker->path().string()});
    }
  }
  std::vector<found_worker> workers;
  for (const auto& [local_rank, found] : newest) {
    const std::string& directory = std::get<std::string>(found);
    workers.push_back({static_cast<int>(local_rank), directory + "/stdout.log",
                       directory + "/stderr.log"});
  }
  return workers;
}

ELASTIC_DECL void log_layout::discard() noexcept {
  if (temporary_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(temporary_, ignored);
  root_.clear();
}

ELASTIC_DECL void log_layout::discard_if_empty() {
  std::error_code failure;
  for (std::filesystem::recursive_directory_iterator entry(root_, failure), end;
       !failure && entry != end; entry.increment(failure)) {
    const bool is_own = entry->path() == journal_file() || entry->path() == root_ / "roles.json";
    if (!entry->is_directory(failure) && !is_own) return;
  }
  // A directory that cannot be read may have files.
  if (!failure) discard();
}

ELASTIC_DECL void log_layout::make_base(const std::filesystem::path& directory) {
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  if (failure) refuse(directory, failure.message());
}

ELASTIC_DECL void log_layout::make(const std::filesystem::path& directory) const {
  if (::mkdir(directory.c_str(), 0700) == 0) return;
  // The parent directories may be missing, for example because somebody has removed them.
  if (errno == ENOENT) {
    const std::filesystem::path above = directory.parent_path();
    directory == root_ ? make_base(above) : make(above);
    if (::mkdir(directory.c_str(), 0700) == 0) return;
  }
  const int problem = errno;
  std::error_code failure;
  if (problem == EEXIST && std::filesystem::is_directory(directory, failure)) return;
  refuse(directory, errno_text(problem));
}

ELASTIC_DECL void log_layout::refuse(const std::filesystem::path& directory,
                                     std::string_view problem) {
  throw error(errc::file_access,
              fmt::format("cannot make the log directory '{}': {}", directory.string(), problem));
}

ELASTIC_DECL std::filesystem::path log_layout::choose_temporary_folder() {
  const std::string preferred = detail::temporary_folders().front();
  const std::string problem = detail::folder_problem(preferred);
  if (problem.empty()) return preferred;
  const std::string folder = detail::temporary_folder();
  if (folder == preferred) {
    throw error(errc::file_access, fmt::format("no temporary folder can take log files (TMPDIR "
                                               "'{}': {}); name a log directory",
                                               preferred, problem));
  }
  notice_ = fmt::format("the temporary folder '{}' cannot be used ({}): {} is used instead",
                        preferred, problem, folder);
  return folder;
}

ELASTIC_DECL std::filesystem::path log_layout::make_own(const std::filesystem::path& begin) {
  constexpr int most_tries = 100;
  for (int attempt = 1;; ++attempt) {
    const std::filesystem::path directory = begin.string() + detail::random_name(8);
    if (::mkdir(directory.c_str(), 0700) == 0) return directory;
    if (errno == EEXIST && attempt < most_tries) continue;
    refuse(directory, errno_text(errno));
  }
}

ELASTIC_DECL void log_layout::remove_if_empty(const std::filesystem::path& worker) {
  if (!worker.empty() && ::rmdir(worker.c_str()) == 0) ::rmdir(worker.parent_path().c_str());
}

ELASTIC_DECL std::string log_layout::file_name_of(std::string run_id) {
  for (char& letter : run_id) {
    const bool is_control = static_cast<unsigned char>(letter) < ' ' || letter == '\x7f';
    if (letter == '/' || is_control) letter = '_';
  }
  return run_id.substr(0, 128);
}

ELASTIC_DECL std::filesystem::path log_layout::attempt_directory() const {
  return root_ / fmt::format("attempt_{}", attempt_);
}

ELASTIC_DECL std::filesystem::path log_layout::worker_directory(int local_rank) const {
  const auto slot = static_cast<std::size_t>(local_rank);
  if (slot < workers_.size()) return workers_[slot];
  return attempt_directory() / std::to_string(local_rank);
}

ELASTIC_DECL std::string log_layout::file(int local_rank, const char* name) const {
  std::string path = directory(local_rank);
  if (!path.empty()) path.append("/").append(name);
  return path;
}

ELASTIC_DECL std::string log_layout::shared_file(const char* name) const {
  return is_enabled() ? (attempt_directory() / name).string() : std::string();
}

}  // namespace elastic
