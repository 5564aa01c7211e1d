// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>

#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <vector>

namespace elastic::detail {

/// The folders that may take temporary files, in order of preference: the values of TMPDIR, TMP,
/// TEMP and TEMPDIR that are not empty, then /tmp and /var/tmp. Does not touch the file system,
/// which may hang.
inline std::vector<std::string> temporary_folders() {
  std::vector<std::string> folders;
  for (const char* const name : {"TMPDIR", "TMP", "TEMP", "TEMPDIR"}) {
    const char* const folder = std::getenv(name);
    if (folder && *folder != '\0') folders.emplace_back(folder);
  }
  folders.emplace_back("/tmp");
  folders.emplace_back("/var/tmp");
  return folders;
}

/// Why a folder cannot take new files; empty: it can. Tries it, since root has every permission
/// even where nothing can be created.
inline std::string folder_problem(const std::string& folder) {
  std::string trial = folder + "/elastic_XXXXXX";
  if (::mkdtemp(trial.data()) == nullptr) return errno_text(errno);
  ::rmdir(trial.c_str());
  return {};
}

/// The first of `temporary_folders` that can be used, as Python's `tempfile` chooses it, because a
/// scheduler may pass on the TMPDIR of another host; if none can be used, the first.
inline std::string temporary_folder() {
  const std::vector<std::string> folders = temporary_folders();
  for (const std::string& folder : folders) {
    if (folder_problem(folder).empty()) return folder;
  }
  return folders.front();
}

}  // namespace elastic::detail
