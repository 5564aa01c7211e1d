// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/nodes/detail/candidate_marker.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>

#include <fmt/format.h>

namespace elastic::detail {

/// FNV-1a, because every build must compute the same hash.
inline std::uint64_t marker_hash(std::string_view text) {
  std::uint64_t sum = 14695981039346656037U;
  for (const char letter : text) {
    sum ^= static_cast<unsigned char>(letter);
    sum *= 1099511628211U;
  }
  return sum;
}

ELASTIC_DECL candidate_marker::candidate_marker(std::string_view run_id, std::string_view list,
                                                int place)
    : path_(fmt::format("/dev/shm/elastic-candidate-{}-{:016x}", ::geteuid(),
                        marker_hash(fmt::format("{}\n{}\n{}", run_id, list, place)))) {}

ELASTIC_DECL bool candidate_marker::exists() const {
  struct stat about{};
  // A file of another user does not count.
  return ::lstat(path_.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
         about.st_uid == ::geteuid();
}

ELASTIC_DECL bool candidate_marker::leave() const {
  // An existing file stays as it is: it may be another user's pipe.
  constexpr int flags = O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC;
  const int descriptor = ::open(path_.c_str(), flags, 0600);
  if (descriptor >= 0) ::close(descriptor);
  return exists();
}

ELASTIC_DECL void candidate_marker::remove() const { ::unlink(path_.c_str()); }

}  // namespace elastic::detail
