// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/net/job_secret.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/net/detail/secure_session.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include <fmt/format.h>

namespace elastic {

namespace detail {

inline std::string why_unfit(std::size_t size) {
  if (size == 0) return "is empty";
  if (size < limits::job_secret_least_bytes) {
    return fmt::format("has {} bytes; {} are the least", size, limits::job_secret_least_bytes);
  }
  if (size > limits::job_secret_bytes) {
    return fmt::format("has over {} bytes", limits::job_secret_bytes);
  }
  return "";
}

[[noreturn]] inline void refuse_secret_file(const std::string& path, const std::string& why) {
  throw error(errc::invalid_argument,
              fmt::format("the job's secret in the file '{}' {}", path, why));
}

/// What is wrong with the file, apart from its content; empty: nothing.
inline std::string why_exposed(const struct stat& file) {
  if (!S_ISREG(file.st_mode)) return "cannot be used: it is not a regular file";
  if (file.st_uid != ::geteuid() && file.st_uid != 0) {
    return "cannot be trusted: the file belongs to another user";
  }
  constexpr mode_t of_others = S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH;
  if ((file.st_mode & of_others) == 0) return "";
  return fmt::format("is open to others (mode {:04o}): chmod 600", file.st_mode & 07777);
}

/// The bytes of an open file, up to two more than allowed.
inline std::string read_secret(int fd, const std::string& path) {
  std::string bytes(limits::job_secret_bytes + 3, '\0');
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t count = ::read(fd, bytes.data() + size, bytes.size() - size);
    if (count == 0) break;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) refuse_secret_file(path, "cannot be read: " + errno_text(errno));
    size += static_cast<std::size_t>(count);
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace detail

ELASTIC_DECL job_secret::job_secret(std::string_view bytes) {
  const std::string why = detail::why_unfit(bytes.size());
  if (!why.empty()) throw error(errc::invalid_argument, "the job's secret " + why);
  state_ = detail::make_job_secret_state(bytes);
}

ELASTIC_DECL bool job_secret::is_signed(std::string_view text, std::string_view proof) const {
  const std::string right = sign(text);
  if (proof.size() != right.size()) return false;
  unsigned char difference = 0;
  for (std::size_t place = 0; place < right.size(); ++place) {
    difference |= static_cast<unsigned char>(right[place] ^ proof[place]);
  }
  return difference == 0;
}

ELASTIC_DECL job_secret job_secret::read(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) detail::refuse_secret_file(path, "cannot be read: " + errno_text(errno));
  const struct closing {
    int fd;
    ~closing() { ::close(fd); }
  } guard{fd};
  struct stat file{};
  if (::fstat(fd, &file) != 0) detail::refuse_secret_file(path, "cannot be read");
  const std::string exposed = detail::why_exposed(file);
  if (!exposed.empty()) detail::refuse_secret_file(path, exposed);
  std::string bytes = detail::read_secret(fd, path);
  while (!bytes.empty() && (bytes.back() == '\n' || bytes.back() == '\r')) bytes.pop_back();
  const std::string why = detail::why_unfit(bytes.size());
  if (!why.empty()) detail::refuse_secret_file(path, why);
  return job_secret(bytes);
}

}  // namespace elastic
