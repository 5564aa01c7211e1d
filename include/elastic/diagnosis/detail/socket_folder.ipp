// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/diagnosis/detail/socket_folder.hpp>

#include <elastic/process/detail/process_tree.hpp>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

inline constexpr std::string_view socket_folder_prefix = "elastic-sockets-";

/// Opens a folder that only this user can access, and locks it unless another process has. The
/// kernel releases the lock however its owner ends, even if the owner is in another PID namespace.
inline unique_fd lock_own_folder(const std::string& path) {
  unique_fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status{};
  const bool is_own = folder && ::fstat(folder.get(), &status) == 0 &&
                      status.st_uid == ::geteuid() && (status.st_mode & 0777) == S_IRWXU;
  const bool is_locked = is_own && ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0;
  return is_locked ? std::move(folder) : unique_fd();
}

/// Whether the path still names the open folder.
inline bool is_still_there(const std::string& path, const unique_fd& folder) {
  struct stat named{};
  struct stat open{};
  return ::lstat(path.c_str(), &named) == 0 && ::fstat(folder.get(), &open) == 0 &&
         named.st_dev == open.st_dev && named.st_ino == open.st_ino;
}

/// Removes a folder and its files. If it contains folders, it is not ours, and it stays.
inline void remove_with_sockets(const std::string& path) {
  std::error_code failure;
  for (std::filesystem::directory_iterator entry(path, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    ::unlink(entry->path().c_str());
  }
  ::rmdir(path.c_str());
}

ELASTIC_DECL void remove_left_folders(const std::string& place) {
  constexpr int most_entries = 10'000;
  int looked_at = 0;
  std::error_code failure;
  for (std::filesystem::directory_iterator entry(place, failure), end;
       !failure && entry != end && looked_at < most_entries;
       entry.increment(failure), ++looked_at) {
    const std::string path = entry->path();
    const bool has_name =
        entry->path().filename().native().starts_with(socket_folder_prefix);
    const unique_fd lock = has_name ? lock_own_folder(path) : unique_fd();
    if (lock) remove_with_sockets(path);
  }
}

ELASTIC_DECL socket_folder::socket_folder() {
  // A slash, the longest pid, and the terminating zero.
  constexpr std::size_t name_bytes = 1 + 10 + 1;
  for (const char* const variable : {"XDG_RUNTIME_DIR", "TMPDIR", ""}) {
    const char* const place = *variable != '\0' ? std::getenv(variable) : "/tmp";
    if (place == nullptr || *place != '/') continue;
    const std::size_t length = std::string_view(place).size() + socket_folder_prefix.size() + 7;
    if (length + name_bytes > sizeof(sockaddr_un::sun_path)) continue;
    remove_left_folders(place);
    make_in(place);
    if (lock_) return;
  }
}

ELASTIC_DECL void socket_folder::make_in(const std::string& place) {
  // Retries, since another agent may remove a new folder as abandoned before it is locked.
  constexpr int attempts = 8;
  for (int attempt = 0; attempt < attempts && !lock_; ++attempt) {
    std::string path = fmt::format("{}/{}XXXXXX", place, socket_folder_prefix);
    if (::mkdtemp(path.data()) == nullptr) return;
    lock_ = lock_own_folder(path);
    if (lock_ && !is_still_there(path, lock_)) lock_.reset();
    if (lock_) {
      path_ = path;
    } else {
      ::rmdir(path.c_str());
    }
  }
}

ELASTIC_DECL socket_folder::~socket_folder() {
  if (!path_.empty()) remove_with_sockets(path_);
}

ELASTIC_DECL std::string socket_folder::socket_of(pid_t pid) const {
  return path_.empty() ? path_ : fmt::format("{}/{}", path_, pid);
}

ELASTIC_DECL void socket_folder::remove_ended() const {
  if (path_.empty()) return;
  std::error_code failure;
  for (std::filesystem::directory_iterator entry(path_, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    const std::string name = entry->path().filename();
    pid_t pid = 0;
    std::from_chars(name.data(), name.data() + name.size(), pid);
    if (!read_process(pid)) ::unlink(entry->path().c_str());
  }
}

}  // namespace elastic::detail
