// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <string>
#include <string_view>

namespace elastic::detail {

/// Shows an agent that another one on this host served the same candidate of the same job before,
/// and was killed, or left while nodes may have had workers. The marker is an empty file in
/// /dev/shm, which never hangs. It outlives the process, and a container that restarts in its pod,
/// but not a reboot of the host.
///
/// Where no file can be made, the agent counts as the first one.
class candidate_marker {
 public:
  /// @param list  all endpoints, in their order
  ELASTIC_DECL candidate_marker(std::string_view run_id, std::string_view list, int place);

  /// Whether an earlier agent left the marker.
  ELASTIC_DECL bool exists() const;

  /// Result: whether the marker exists now.
  ELASTIC_DECL bool leave() const;

  /// Removes the marker: no node of the job can have workers any more.
  ELASTIC_DECL void remove() const;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/nodes/detail/impl/candidate_marker.ipp>
#endif
