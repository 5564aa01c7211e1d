// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/preflight.hpp>

#include <elastic/base/detail/blocking.hpp>
#include <elastic/base/detail/mount_table.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace elastic {

namespace detail {

/// A script that Python can read: a file, or a directory with a __main__.py.
inline void check_script(const std::string& script) {
  namespace fs = std::filesystem;
  std::error_code failure;
  fs::path file = script;
  const fs::file_type type = fs::status(file, failure).type();
  if (type == fs::file_type::directory) {
    file /= "__main__.py";
    if (!fs::exists(file, failure)) {
      throw error(errc::file_access, fmt::format("the script {} is a directory without a "
                                                 "__main__.py",
                                                 in_quotes(script)));
    }
  } else if (type != fs::file_type::regular) {
    throw error(errc::file_access, fmt::format("the script {} {}", in_quotes(script),
                                               type == fs::file_type::not_found ? "does not exist"
                                               : failure                        ? failure.message()
                                                                                : "is not a file"));
  }
  if (::access(file.c_str(), R_OK) != 0) {
    throw error(errc::file_access, fmt::format("the script {} cannot be read: {}",
                                               in_quotes(file.string()), errno_text(errno)));
  }
}

/// A directory in which directories can be made, or which can itself be made.
inline void check_log_directory(const std::string& directory) {
  namespace fs = std::filesystem;
  if (directory.empty() || directory == "/dev/null") return;
  std::error_code failure;
  fs::path nearest = fs::absolute(directory, failure);
  while (!failure && !fs::exists(nearest, failure) && nearest.has_relative_path()) {
    nearest = nearest.parent_path();
  }
  const bool is_directory = !failure && fs::is_directory(nearest, failure);
  const bool writable = is_directory && ::access(nearest.c_str(), W_OK | X_OK) == 0;
  if (writable) return;
  std::string reason = failure ? failure.message() : errno_text(errno);
  if (!failure && !is_directory) reason = errno_text(ENOTDIR);
  throw error(errc::file_access, fmt::format("the log directory {} is not writable: {}",
                                             in_quotes(directory), reason));
}

/// The same where the file system may not answer: what it does not say in time is not waited for,
/// since who writes there does so on a thread.
inline void check_remote_log_directory(const std::string& directory) {
  using check = std::packaged_task<void()>;
  const auto asking = std::make_shared<check>([directory] { check_log_directory(directory); });
  std::future<void> answer = asking->get_future();
  try {
    start_thread([asking] { (*asking)(); }).detach();
  } catch (const std::system_error&) {
    return;
  }
  if (answer.wait_for(limits::log_directory_check) == std::future_status::ready) answer.get();
}

/// A file that can be appended to, or made. A file system that may not answer is not asked: who
/// writes there does so on a thread.
inline void check_appendable(const char* purpose, const std::string& path) {
  namespace fs = std::filesystem;
  if (path.empty() || may_hang(path)) return;
  std::error_code failure;
  const fs::file_status status = fs::status(path, failure);
  const fs::path folder = fs::absolute(path, failure).parent_path();
  std::string reason;
  if (fs::is_directory(status)) {
    reason = errno_text(EISDIR);
  } else if (!fs::exists(status) && fs::is_regular_file(folder, failure)) {
    reason = errno_text(ENOTDIR);
  } else if (fs::exists(status) ? ::access(path.c_str(), W_OK) != 0
                                : ::access(folder.c_str(), W_OK | X_OK) != 0) {
    reason = errno_text(errno);
  }
  if (reason.empty()) return;
  throw error(errc::file_access,
              fmt::format("the {} {} cannot be written: {}", purpose, in_quotes(path), reason));
}

/// A directory that is there, for a file in it that is not, or not yet.
inline void check_drain_file(const std::string& path) {
  namespace fs = std::filesystem;
  if (path.empty()) return;
  const fs::path file(path);
  const fs::path directory = file.has_parent_path() ? file.parent_path() : fs::path(".");
  std::error_code failure;
  if (!file.has_filename()) {
    throw error(errc::invalid_argument,
                fmt::format("the drain file {} has no name", in_quotes(path)));
  }
  if (fs::is_directory(directory, failure)) return;
  throw error(errc::file_access, fmt::format("the directory {} of the drain file does not exist",
                                             in_quotes(directory.string())));
}

}  // namespace detail

ELASTIC_DECL std::optional<early_exit> check_files(const launch_config& config) {
  try {
    if (!config.script.empty()) detail::check_script(config.script);
    if (detail::may_hang(config.workers.log_dir)) {
      detail::check_remote_log_directory(config.workers.log_dir);
    } else {
      detail::check_log_directory(config.workers.log_dir);
    }
    detail::check_appendable("journal", config.workers.journal);
    detail::check_appendable("trace", config.trace);
    detail::check_drain_file(config.drain_file);
  } catch (const error& refusal) {
    return refuse(refusal.what());
  }
  return std::nullopt;
}

}  // namespace elastic
