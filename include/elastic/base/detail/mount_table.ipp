// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/mount_table.hpp>

#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/time.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <cstddef>
#include <mutex>
#include <optional>
#include <utility>

namespace elastic::detail {

/// Whether the kernel alone serves file systems of this type.
inline bool is_local_type(std::string_view type) {
  constexpr std::array types{
      "ext2",     "ext3",     "ext4",    "xfs",     "btrfs",       "f2fs",      "zfs",
      "bcachefs", "jfs",      "overlay", "aufs",    "tmpfs",       "ramfs",     "rootfs",
      "devtmpfs", "squashfs", "erofs",   "iso9660", "udf",         "vfat",      "exfat",
      "msdos",    "ntfs3",    "proc",    "sysfs",   "devpts",      "mqueue",    "hugetlbfs",
      "cgroup",   "cgroup2",  "debugfs", "tracefs", "securityfs",  "configfs",  "pstore",
      "bpf",      "efivarfs", "fusectl", "nsfs",    "binfmt_misc", "selinuxfs", "rpc_pipefs"};
  return std::find(types.begin(), types.end(), type) != types.end();
}

/// A mount point without the escapes of /proc ("\040" is a space).
inline std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view digits = text.substr(i + 1, 3);
    if (text[i] == '\\' && digits.size() == 3) {
      plain += static_cast<char>((digits[0] - '0') * 64 + (digits[1] - '0') * 8 + digits[2] - '0');
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

/// Removes and returns the part before the next mark, and removes the mark.
inline std::string_view next_part(std::string_view& rest, char mark) {
  const std::string_view part = rest.substr(0, rest.find(mark));
  rest.remove_prefix(std::min(rest.size(), part.size() + 1));
  return part;
}

ELASTIC_DECL mount_table::mount_table(std::string_view mountinfo) {
  while (!mountinfo.empty()) {
    std::string_view line = next_part(mountinfo, '\n');
    // "36 35 98:0 / /mnt/point rw,noatime master:1 - ext3 /dev/root rw"
    for (int skipped = 0; skipped < 4; ++skipped) next_part(line, ' ');
    mount entry;
    entry.point = unescaped(next_part(line, ' '));
    while (!line.empty() && next_part(line, ' ') != "-") {
    }
    const std::string_view type = next_part(line, ' ');
    if (type.empty()) continue;
    entry.is_local = is_local_type(type);
    mounts_.push_back(std::move(entry));
  }
  const auto local = [](const mount& entry) { return entry.is_local; };
  if (std::all_of(mounts_.begin(), mounts_.end(), local)) mounts_ = {};
}

ELASTIC_DECL bool mount_table::is_local(std::string_view path) const {
  const mount* nearest = nullptr;
  for (const mount& entry : mounts_) {
    const bool is_above = entry.point == "/" || entry.point == path ||
                          (path.starts_with(entry.point) && path[entry.point.size()] == '/');
    // A later mount hides an earlier one.
    const bool is_nearer = !nearest || entry.point.size() >= nearest->point.size();
    if (is_above && is_nearer) nearest = &entry;
  }
  return nearest && nearest->is_local;
}

/// Adds the parts of a path, the first one last.
inline void add_parts(std::vector<std::string>& parts, std::string_view path) {
  const auto before = static_cast<std::ptrdiff_t>(parts.size());
  while (!path.empty()) parts.emplace_back(next_part(path, '/'));
  std::reverse(parts.begin() + before, parts.end());
}

/// Empty if it cannot be known.
inline std::string working_directory() {
  std::array<char, PATH_MAX> path;
  return ::getcwd(path.data(), path.size()) ? path.data() : "";
}

ELASTIC_DECL bool mount_table::may_hang(const std::string& path) const {
  if (mounts_.empty()) return false;
  constexpr int most_links = 40;
  // The parts still to resolve, the next one last.
  std::vector<std::string> parts;
  add_parts(parts, path);
  if (!path.starts_with('/')) add_parts(parts, working_directory());
  std::string resolved = "/";
  int links = 0;
  while (is_local(resolved) && !parts.empty() && links <= most_links) {
    const std::string part = std::move(parts.back());
    parts.pop_back();
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      resolved.resize(std::max<std::size_t>(resolved.rfind('/'), 1));
      continue;
    }
    const std::string next = resolved == "/" ? "/" + part : resolved + "/" + part;
    std::array<char, PATH_MAX> target;
    // Checks first whether the name itself is a mount point.
    const ssize_t size =
        is_local(next) ? ::readlink(next.c_str(), target.data(), target.size()) : -1;
    if (size < 0) {
      resolved = next;
      continue;
    }
    ++links;
    const std::string_view link(target.data(), static_cast<std::size_t>(size));
    if (link.starts_with('/')) resolved = "/";
    add_parts(parts, link);
  }
  return !is_local(resolved);
}

/// Without a stream, whose code would stay in the memory of an idle agent.
inline std::string read_mountinfo() {
  const unique_fd file(::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> part;
  ssize_t size = 0;
  while (file && (size = ::read(file.get(), part.data(), part.size())) > 0) {
    text.append(part.data(), static_cast<std::size_t>(size));
  }
  return text;
}

ELASTIC_DECL bool may_hang(const std::string& path) {
  static std::mutex mutex;
  static mount_table mounts;
  static std::optional<time_point> looked_at;
  static bool is_known = false;
  const std::lock_guard lock(mutex);
  const time_point now = system_time().now();
  if (!looked_at || now - *looked_at >= std::chrono::seconds(1)) {
    const std::string text = read_mountinfo();
    mounts = mount_table(text);
    is_known = !text.empty();
    looked_at = now;
  }
  return !is_known || mounts.may_hang(path);
}

}  // namespace elastic::detail
