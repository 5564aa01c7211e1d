// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <string>
#include <string_view>

namespace elastic::detail {

/// Tells an agent that another one on this host served the same candidate of the same job, and
/// left while nodes may have had workers, or was killed: an empty file in /dev/shm, which never
/// hangs and outlives a process, a container that is started again in its pod, and no boot.
///
/// Where there can be none, the agent is taken for the first.
class candidate_marker {
 public:
  /// @param list  all endpoints, in their order
  ELASTIC_DECL candidate_marker(std::string_view run_id, std::string_view list, int place);

  /// Whether it was left.
  ELASTIC_DECL bool exists() const;

  /// Result: whether there is one now.
  ELASTIC_DECL bool leave() const;

  /// No node of the job can have workers any more.
  ELASTIC_DECL void remove() const;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/native/detail/impl/candidate_marker.ipp>
#endif
