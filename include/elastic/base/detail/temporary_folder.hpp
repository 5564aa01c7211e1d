// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>
#include <string>

namespace elastic::detail {

/// The folder for temporary files: the value of TMPDIR, TMP, TEMP or TEMPDIR, the first that is set
/// and not empty, or else /tmp. Unlike `std::filesystem::temp_directory_path`, it does not touch
/// the file system, which may hang: the folder may not exist.
inline std::string temporary_folder() {
  for (const char* const name : {"TMPDIR", "TMP", "TEMP", "TEMPDIR"}) {
    const char* const folder = std::getenv(name);
    if (folder && *folder != '\0') return folder;
  }
  return "/tmp";
}

}  // namespace elastic::detail
