// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace elastic::detail {

/// A marker that tells an agent about its predecessor: another agent on this host served the same
/// candidate of the same job, and was killed, or left while nodes may have had workers. The marker
/// is an empty file in /dev/shm, which never hangs. It outlives the process, and a container that
/// restarts in its pod, but not a reboot of the host.
///
/// If the file cannot be created, the agent counts as the first one.
class candidate_marker {
 public:
  /// @param list  all endpoints, in their order
  candidate_marker(std::string_view run_id, std::string_view list, int place);

  /// Whether an earlier agent left the marker.
  bool exists() const;

  /// Result: whether the marker exists now.
  bool leave() const;

  /// Removes the marker: no node of the job can have workers any more.
  void remove() const;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// FNV-1a, because every build must compute the same hash.
inline std::uint64_t marker_hash(std::string_view text) {
  std::uint64_t sum = 14695981039346656037U;
  for (const char letter : text) {
    sum ^= static_cast<unsigned char>(letter);
    sum *= 1099511628211U;
  }
  return sum;
}

inline candidate_marker::candidate_marker(std::string_view run_id, std::string_view list, int place)
    : path_(fmt::format("/dev/shm/elastic-candidate-{}-{:016x}", ::geteuid(),
                        marker_hash(fmt::format("{}\n{}\n{}", run_id, list, place)))) {}

inline bool candidate_marker::exists() const {
  struct stat about{};
  // A file of another user does not count.
  return ::lstat(path_.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
         about.st_uid == ::geteuid();
}

inline bool candidate_marker::leave() const {
  // An existing file stays as it is: it may be another user's pipe.
  constexpr int flags = O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC;
  const int descriptor = ::open(path_.c_str(), flags, 0600);
  if (descriptor >= 0) ::close(descriptor);
  return exists();
}

inline void candidate_marker::remove() const { ::unlink(path_.c_str()); }

}  // namespace elastic::detail
