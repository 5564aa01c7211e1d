// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: for programs that run jobs, not for programs that embed one.

#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace elastic {

/// Waits until a drain file appears, which takes this node out of the job. The kernel reports it
/// (inotify), so the file must be created on this host: a network file system does not report
/// changes by other hosts. If inotify is used up or forbidden, the log says so, and this function
/// looks for the file each second instead. In a directory in which every user may create files,
/// such as /tmp, the file must belong to this user or to root; any other file is logged and
/// ignored.
///
/// If its directory is removed, the log says so, and the wait never ends.
/// Result: the reason, which is the file's name and its text on one line. If the text cannot be
/// read, the reason says why; the file has the same effect.
/// Errors: `errc::file_access` if the directory does not exist; `errc::invalid_argument` if `time`
/// is null.
/// Cancellation: all types.
ELASTIC_DECL task<std::string> wait_for_drain_file(std::string path,
                                                   std::shared_ptr<time_source> time, logger log);

namespace detail {

/// The text of a drain file, or why it cannot be read.
struct drain_text {
  std::string text;
  std::string problem;
};

ELASTIC_DECL std::string drain_reason(const std::string& path, const drain_text& content);

/// Whether a drain file is valid. Anyone who may write in its directory may drain the node, unless
/// every user may write there; then only the owner and root may.
/// @param owner  the user that owns the file; `self` is the user of this process
/// @param has_other_names  the file has further hard links
/// @param directory_mode  the permissions of its directory
ELASTIC_DECL bool may_drain(std::uint32_t owner, bool has_other_names, std::uint32_t self,
                            std::uint32_t directory_mode);

}  // namespace detail

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/impl/drain_file.ipp>
#endif
