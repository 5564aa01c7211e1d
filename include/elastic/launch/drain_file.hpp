// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: for programs, not for those who embed a job.

#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace elastic {

/// Waits until a file is there by which somebody takes this node out of the job. The kernel tells
/// of it (inotify), so the file must come to be on this host: no network file system tells of what
/// another one does. In a directory in which every user may make files, such as /tmp, one counts
/// that belongs to this user or to root; another one is passed over, with a line in the log.
///
/// If its directory goes away, the log says so, and nothing ends the wait any more.
/// Result: the reason: the file's name, and what stands in it, on one line; or why that cannot be
/// read, which changes nothing.
/// Errors: `errc::file_access` if the directory cannot be watched.
/// Cancellation: all types.
ELASTIC_DECL task<std::string> wait_for_drain_file(std::string path,
                                                   std::shared_ptr<time_source> time, logger log);

namespace detail {

/// What stands in a drain file, or why it cannot be read.
struct drain_text {
  std::string text;
  std::string problem;
};

ELASTIC_DECL std::string drain_reason(const std::string& path, const drain_text& content);

/// Whether a drain file counts: whoever may write in its directory may take the node out of the
/// job, unless that is everybody.
/// @param owner  the user that the file belongs to; `self` is the one of this process
/// @param has_other_names  the file is a link to one that is elsewhere, too
/// @param directory_mode  the permissions of its directory
ELASTIC_DECL bool may_drain(std::uint32_t owner, bool has_other_names, std::uint32_t self,
                            std::uint32_t directory_mode);

}  // namespace detail

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/impl/drain_file.ipp>
#endif
