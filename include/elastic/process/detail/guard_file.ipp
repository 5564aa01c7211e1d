// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/detail/guard_file.hpp>

#include <elastic/base/error.hpp>
#include <elastic/process/detail/guard_image.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL unique_fd above_passed(unique_fd fd) {
  constexpr int first = 6;
  if (!fd || fd.get() >= first) return fd;
  return unique_fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, first));
}

ELASTIC_DECL unique_fd open_own_pidfd(const syscalls& calls) {
  return above_passed(unique_fd(calls.pidfd_open(::getpid())));
}

/// Result: whether the whole guard was written; `errno` says why not.
inline bool write_guard_image(int fd) {
  std::string_view rest(reinterpret_cast<const char*>(guard_image), sizeof guard_image);
  while (!rest.empty()) {
    const ssize_t written = ::write(fd, rest.data(), rest.size());
    if (written < 0) return false;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// Moves the descriptor above those of the child's streams, or sets the reason why there is none.
inline guard_file with_descriptor(guard_file file, unique_fd fd) {
  if (fd) file.fd = above_passed(std::move(fd));
  if (!file.fd) file.problem = errno_text(errno);
  return file;
}

/// A file that the user named, such as the installed guard.
inline guard_file named_guard(const std::string& path) {
  unique_fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd && ::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) != 0) {
    return {{}, path, errno_text(errno)};
  }
  return with_descriptor({{}, path, {}}, std::move(fd));
}

/// A file that exists only in memory. A system may forbid executing it.
inline guard_file guard_in_memory() {
  const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  unique_fd fd(::memfd_create("elastic-guard", flags | MFD_EXEC));
  // Kernels before 6.3 know neither MFD_EXEC nor the policy that requires it.
  if (!fd && errno == EINVAL) fd = unique_fd(::memfd_create("elastic-guard", flags));
  if (fd && !write_guard_image(fd.get())) return {{}, "memory", errno_text(errno)};
  if (fd) ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
  return with_descriptor({{}, "memory", {}}, std::move(fd));
}

/// A file without a name in `folder`.
inline guard_file guard_in(const std::string& folder) {
  const std::string name = fmt::format("a file in {}", folder);
  const unique_fd written(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0700));
  if (!written || !write_guard_image(written.get())) return {{}, name, errno_text(errno)};
  // A file that is open for writing cannot be executed, so reopen it for reading.
  const std::string path = fmt::format("/proc/self/fd/{}", written.get());
  return with_descriptor({{}, name, {}}, unique_fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)));
}

ELASTIC_DECL std::optional<guard_file> guard_sources::next() {
  if (!named_.empty()) {
    if (tried_++ > 0) return std::nullopt;
    return named_guard(named_);
  }
  if constexpr (sizeof guard_image == 1) return std::nullopt;
  const char* const run = std::getenv("XDG_RUNTIME_DIR");
  const std::vector<std::string> folders{run ? run : "/run", "/tmp", "/dev/shm"};
  const std::size_t place = tried_++;
  if (place == 0) return guard_in_memory();
  if (place <= folders.size()) return guard_in(folders[place - 1]);
  return std::nullopt;
}

}  // namespace elastic::detail
