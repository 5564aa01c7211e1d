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

namespace elastic::detail {

/// A directory with a file for each key. Every call may block, for as long as the file system
/// does.
///
/// Who changes something holds a lock on one file of the directory. It belongs to an open file, so
/// that the kernel, or the server of a network file system, takes it away from a process that was
/// killed. A value comes into being by a rename: nobody sees half of one.
///
/// Errors of every call: `errc::connection_failed` for what may be different the next time,
/// `errc::file_access` for what will not, `errc::store_value` for a file that was not written
/// here or was damaged. Messages name the file.
/// Thread-safety: calls may run on several threads at once.
class key_directory {
 public:
  explicit key_directory(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  std::string file_of(std::string_view key) const { return path_ + "/" + key_file_name(key); }

  /// Makes the directory, in one that has to be there, and finds out whether it can be written to.
  ELASTIC_DECL void prepare() const;

  /// Whether the file system tells of every change, so that nobody but this host makes one.
  ELASTIC_DECL bool is_local() const;

  /// What a key holds; none if there is no file.
  ELASTIC_DECL std::optional<key_file> read(const std::string& key) const;

  /// A change that was tried.
  enum class outcome { made, not_made, locked };

  /// Stores a value under a version of its own. With `expected`, only if the key has that
  /// version; empty text: if there is no such key.
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

  // Without one, if another holds it.
  ELASTIC_DECL descriptor take_lock() const;

  // A new file, in place of what is there.
  ELASTIC_DECL static descriptor create(const std::string& path);
  ELASTIC_DECL static void write_file(const std::string& path, std::string_view text);
  ELASTIC_DECL std::optional<key_file> read_once(const std::string& key) const;

  std::string path_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/file/detail/impl/key_directory.ipp>
#endif
