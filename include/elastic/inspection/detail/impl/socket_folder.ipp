// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/inspection/detail/socket_folder.hpp>

#include <elastic/process/detail/process_tree.hpp>

#include <stdlib.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL socket_folder::socket_folder() {
  // A slash, the largest number of a process, and the zero at the end.
  constexpr std::size_t name_bytes = 1 + 10 + 1;
  for (const char* const variable : {"XDG_RUNTIME_DIR", "TMPDIR", ""}) {
    const char* const place = *variable != '\0' ? std::getenv(variable) : "/tmp";
    if (place == nullptr || *place != '/') continue;
    std::string path = fmt::format("{}/elastic-XXXXXX", place);
    if (path.size() + name_bytes > sizeof(sockaddr_un::sun_path)) continue;
    if (::mkdtemp(path.data()) == nullptr) continue;
    path_ = path;
    return;
  }
}

ELASTIC_DECL socket_folder::~socket_folder() {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
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
