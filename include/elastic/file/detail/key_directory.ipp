// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/file/detail/key_directory.hpp>

#include <elastic/base/error.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <memory>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL void key_directory::prepare() const {
  const std::string parent = path_.substr(0, path_.rfind('/'));
  struct stat facts{};
  if (::stat(parent.c_str(), &facts) != 0) refuse("the directory", parent, errno);
  if (!S_ISDIR(facts.st_mode)) refuse("the directory", parent, ENOTDIR);
  if (::mkdir(path_.c_str(), 0777) != 0 && errno != EEXIST) refuse("the directory", path_, errno);
  const descriptor lock = open_lock();
}

ELASTIC_DECL std::vector<std::string> key_directory::exposed_files() const {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(path_.c_str()), &::closedir);
  if (!entries) refuse("the directory", path_, errno);
  std::vector<std::string> exposed;
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string file = path_ + "/" + entry->d_name;
    struct stat facts{};
    if (::lstat(file.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) continue;
    const mode_t readers = facts.st_mode & (S_IRGRP | S_IROTH);
    const mode_t writers = facts.st_mode & (S_IWGRP | S_IWOTH);
    if ((readers >> 1 & ~writers) != 0) exposed.push_back(file);
  }
  return exposed;
}

ELASTIC_DECL bool key_directory::is_local() const {
  struct statfs facts{};
  if (::statfs(path_.c_str(), &facts) != 0) return false;
  constexpr std::uint32_t xfs = 0x58465342;
  constexpr std::uint32_t zfs = 0x2fc12fc1;
  for (const std::uint32_t local_type :
       {std::uint32_t{EXT4_SUPER_MAGIC}, std::uint32_t{TMPFS_MAGIC}, std::uint32_t{RAMFS_MAGIC},
        std::uint32_t{BTRFS_SUPER_MAGIC}, std::uint32_t{OVERLAYFS_SUPER_MAGIC},
        std::uint32_t{F2FS_SUPER_MAGIC}, xfs, zfs}) {
    if (static_cast<std::uint32_t>(facts.f_type) == local_type) return true;
  }
  return false;
}

ELASTIC_DECL std::optional<key_file> key_directory::read(const std::string& key) const {
  std::optional<key_file> content = read_once(key);
  if (content || is_local()) return content;
  // A network file system may keep reporting that a file is missing, because it was missing a
  // moment ago, until this host itself has changed the directory.
  // By its number: glibc has gettid from 2.30 on only.
  const std::string probe =
      fmt::format("{}/.probe-{}-{}", path_, ::getpid(), ::syscall(SYS_gettid));
  const descriptor made(::open(probe.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  ::unlink(probe.c_str());
  return read_once(key);
}

ELASTIC_DECL auto key_directory::write(const std::string& key, const std::string& value,
                                       const std::string& version,
                                       const std::optional<std::string>& expected) const
    -> outcome {
  const descriptor lock = take_lock();
  if (lock.fd < 0) return outcome::locked;
  if (expected) {
    const std::optional<key_file> before = read(key);
    if ((before ? before->version : "") != *expected) return outcome::not_made;
  }
  // Only the process with the lock writes this file: an existing one was left by a dead process.
  const std::string fresh = path_ + "/.new";
  write_file(fresh, key_file::to_text(version, key, value));
  const std::string file = file_of(key);
  if (::rename(fresh.c_str(), file.c_str()) != 0) refuse("the file", file, errno);
  return outcome::made;
}

ELASTIC_DECL auto key_directory::erase(const std::string& key) const -> outcome {
  const descriptor lock = take_lock();
  if (lock.fd < 0) return outcome::locked;
  const std::string file = file_of(key);
  if (::unlink(file.c_str()) == 0) return outcome::made;
  if (errno != ENOENT) refuse("the file", file, errno);
  return outcome::not_made;
}

ELASTIC_DECL std::int64_t key_directory::count() const {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(path_.c_str()), &::closedir);
  if (!entries) refuse("the directory", path_, errno);
  std::int64_t count = 0;
  while (const dirent* entry = ::readdir(entries.get())) {
    if (entry->d_name[0] != '.') ++count;
  }
  return count;
}

ELASTIC_DECL key_directory::descriptor::~descriptor() {
  if (fd >= 0) ::close(fd);
}

ELASTIC_DECL void key_directory::refuse(const char* subject, const std::string& path, int number) {
  const bool may_pass = number == EIO || number == ESTALE || number == ETIMEDOUT ||
                        number == ENOENT || number == EINTR || number == ENETDOWN ||
                        number == EHOSTDOWN || number == EHOSTUNREACH || number == EMFILE ||
                        number == ENFILE || number == ENOSPC || number == EDQUOT;
  throw error(may_pass ? errc::connection_failed : errc::file_access,
              fmt::format("{} '{}' cannot be used: {}", subject, path, errno_text(number)));
}

ELASTIC_DECL auto key_directory::open_lock() const -> descriptor {
  const std::string file = path_ + "/.lock";
  // A write lock needs no right to read, so nobody gets it.
  descriptor lock(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0222));
  if (lock.fd < 0) refuse("the lock file", file, errno);
  return lock;
}

ELASTIC_DECL auto key_directory::take_lock() const -> descriptor {
  descriptor lock = open_lock();
  struct flock whole{};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (::fcntl(lock.fd, F_OFD_SETLK, &whole) == 0) return lock;
  if (errno != EAGAIN && errno != EACCES) refuse("the lock file", path_ + "/.lock", errno);
  return descriptor(-1);
}

ELASTIC_DECL auto key_directory::create(const std::string& path) -> descriptor {
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  constexpr mode_t all_may_write = 0222;
  descriptor made(::open(path.c_str(), flags, all_may_write));
  if (made.fd < 0 && errno == EEXIST) {
    // Another process may have put a pipe there that nobody reads.
    ::unlink(path.c_str());
    return create(path);
  }
  struct stat facts{};
  if (made.fd < 0 || ::fstat(made.fd, &facts) != 0) return made;
  const mode_t writers = facts.st_mode & all_may_write;
  // A file system without modes refuses this.
  (void)::fchmod(made.fd, writers | writers << 1);
  return made;
}

ELASTIC_DECL void key_directory::write_file(const std::string& path, std::string_view text) {
  const descriptor file = create(path);
  if (file.fd < 0) refuse("the file", path, errno);
  while (!text.empty()) {
    const ssize_t size = ::write(file.fd, text.data(), text.size());
    if (size < 0 && errno != EINTR) refuse("the file", path, errno);
    if (size > 0) text.remove_prefix(static_cast<std::size_t>(size));
  }
}

ELASTIC_DECL std::optional<key_file> key_directory::read_once(const std::string& key) const {
  const std::string path = file_of(key);
  // Opens nothing that could block, and nothing outside of the directory.
  const descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file.fd < 0 && errno == ENOENT) {
    if (::access(path_.c_str(), F_OK) != 0) refuse("the directory", path_, errno);
    return std::nullopt;
  }
  if (file.fd < 0) refuse("the file", path, errno);
  std::string text;
  char part[16 * 1024];
  for (;;) {
    const ssize_t size = ::read(file.fd, part, sizeof part);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) refuse("the file", path, errno);
    text.append(part, static_cast<std::size_t>(size));
    if (size == 0 || text.size() > key_file::most_bytes) break;
  }
  std::optional<key_file> content = key_file::parse(text, key);
  if (!content) {
    throw error(errc::store_value,
                fmt::format("the file '{}' was not written by elasticrun, or is damaged; it is "
                            "left as it is",
                            path));
  }
  return content;
}

}  // namespace elastic::detail
