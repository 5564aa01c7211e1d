// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/file/detail/key_file.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace elastic::detail {

/// A directory with a file for each key. Every call may block as long as the file system does.
///
/// A change holds a lock on one file of the directory. The lock belongs to an open file, so that
/// the kernel, or the server of a network file system, releases it if the process is killed. A
/// value becomes visible by a rename, so no reader sees an incomplete one.
///
/// The umask decides who may write the files; nobody else can read them. Who may only read a lock
/// could hold a read lock for ever, and values include a password.
///
/// Errors of every call: `errc::connection_failed` for a failure that may pass, `errc::file_access`
/// for a permanent one, `errc::store_value` for a file that this class did not write, or that was
/// damaged. Messages name the file.
/// Thread-safety: calls may run on several threads at once.
class key_directory {
 public:
  explicit key_directory(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  std::string file_of(std::string_view key) const { return path_ + "/" + key_file_name(key); }

  /// Makes the directory, whose parent must exist, and checks that it is writable.
  ELASTIC_DECL void prepare() const;

  /// Which of the lock and the keys' files users can read that cannot write them, one after the
  /// other: files whose mode was changed. Empty: none.
  ELASTIC_DECL std::vector<std::string> exposed_files() const;

  /// Whether the kernel reports every change, because only this host can make one.
  ELASTIC_DECL bool is_local() const;

  /// The content of a key's file; empty if it is missing.
  ELASTIC_DECL std::optional<key_file> read(const std::string& key) const;

  /// The result of a change.
  enum class outcome { made, not_made, locked };

  /// Stores a value under `version`. If `expected` is set, only if the key has that version; the
  /// empty text means that there is no such key.
  ELASTIC_DECL outcome write(const std::string& key, const std::string& value,
                             const std::string& version,
                             const std::optional<std::string>& expected) const;

  /// Removes a key.
  ELASTIC_DECL outcome erase(const std::string& key) const;
  ELASTIC_DECL std::int64_t count() const;

 private:
  struct descriptor {
    explicit descriptor(int number) : fd(number) {}
    descriptor(descriptor&& other) noexcept : fd(std::exchange(other.fd, -1)) {}
    descriptor& operator=(descriptor&&) = delete;
    ELASTIC_DECL ~descriptor();
    int fd;
  };

  [[noreturn]] ELASTIC_DECL static void refuse(const char* subject, const std::string& path,
                                               int number);
  ELASTIC_DECL descriptor open_lock() const;

  // The descriptor is -1 if another process holds the lock.
  ELASTIC_DECL descriptor take_lock() const;

  // A new file that replaces an existing one. Who may write it may read it.
  ELASTIC_DECL static descriptor create(const std::string& path);
  ELASTIC_DECL static void write_file(const std::string& path, std::string_view text);
  ELASTIC_DECL std::optional<key_file> read_once(const std::string& key) const;

  std::string path_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/file/detail/key_directory.ipp>
#endif
